"""Config → Desk: the only place that picks the concrete parts of a run.

A rehearsal is the same desk on copies: the code that runs is the code of a real run.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import psutil

from pipeline import repository
from pipeline.archive import Archive
from pipeline.backlog import horizon
from pipeline.config import Config, config_path
from pipeline.desk import Desk
from pipeline.errors import ConfigFault, SourceFault, StoreFault
from pipeline.history import History
from pipeline.models import Account, Embedder, Model
from pipeline.models.address import address
from pipeline.models.calibration import Kept
from pipeline.models.catalog import RegistryModel, default_alias, folder_name, resolve, served
from pipeline.models.check import (
    Finding,
    check,
    check_embedder,
    check_length,
    check_served,
)
from pipeline.models.child import ChildModel
from pipeline.models.fetch import MANIFEST, check_files
from pipeline.models.keys import server_key
from pipeline.models.minilm import MiniLM
from pipeline.models.mlx import MlxModel
from pipeline.models.openai_api import ServedModel
from pipeline.models.server import Server
from pipeline.policy import load_policy
from pipeline.prompts import Prompts
from pipeline.publish import Press
from pipeline.records import BadLine, Event, Span
from pipeline.resources import folder
from pipeline.results import RunResults
from pipeline.review import Reviewer
from pipeline.sources import (
    Source,
    chatgpt,
    claude_ai,
    claude_code,
    codex,
    exports,
    observations,
    pi,
)
from pipeline.store import Store
from pipeline.system import Ask, ask
from pipeline.vault import Vault

Roots = Callable[[Mapping[str, str], Path], list[Path]]
SOURCES: dict[str, tuple[Callable[[Sequence[Path]], Source], Roots]] = {
    "pi": (pi.Pi, pi.default_roots),
    "claude-code": (claude_code.ClaudeCode, claude_code.default_roots),
    "codex": (codex.Codex, codex.default_roots),
    "claude-ai": (claude_ai.ClaudeAi, exports.default_roots),
    "chatgpt": (chatgpt.ChatGpt, exports.default_roots),
    "observations": (observations.Observations, observations.default_roots),
}

Clock = Callable[[], datetime]
Say = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class Models:
    """The two models of a run; tests hand in doubles, everything else is real in them too."""

    model: Callable[[Account], Model]
    embedder: Embedder | None


def utc_now() -> datetime:
    """The clock of real runs."""
    return datetime.now(UTC)


def chosen_model(config: Config) -> tuple[str, str | None]:
    """The model's name with "auto" resolved by this machine's memory, and a message about it."""
    if config.model != "auto":
        return config.model, None
    return default_alias(psutil.virtual_memory().total)


def mlx_model(config: Config) -> Callable[..., MlxModel]:
    """What makes the configured model run through mlx_lm; it is loaded, and missed if not fetched,
    at its first call.

    Raises ModelFault for a name that means nothing.
    """
    name, _ = chosen_model(config)
    return partial(
        MlxModel,
        name,
        place(name, config),
        adapters={stage: folder for stage, folder in config.adapters if folder is not None},
        max_prompt_tokens=config.max_prompt_tokens,
        calibration=Kept(config.cache_dir / "calibration"),
    )


def child_model(config: Config, *, account: Account) -> ChildModel:
    """The same in a process of its own, as a run has it."""
    return ChildModel(
        chosen_model(config)[0],
        mlx_model(config),
        account=account,
        batch=config.batch,
        silence=config.model_timeout_seconds,
    )


def model_server(config: Config, asking: Ask = ask, *, seconds: float | None = None) -> Server:
    """The server of the configured model; nothing is asked of it yet. seconds: for one request, in
    the place of what the settings say.

    Raises ConfigFault for one that may not be asked, that lacks its key, or with adapters.
    """
    name, _ = chosen_model(config)
    if worn := [stage for stage, folder in config.adapters if folder is not None]:
        raise ConfigFault(
            f"`adapters.{worn[0]}` is for a model that runs here, and {name} runs on a server",
            mend="let the server wear the adapter, or set `model` to one that runs here",
        )
    settings = config.server
    key = server_key(settings, os.environ, asking)
    at = address(settings.url, remote=settings.remote, keyed=bool(key))
    return Server(at, key, seconds=seconds or settings.timeout_seconds)


def served_model(config: Config, server: Server, *, account: Account) -> ServedModel:
    """The configured model on its server."""
    name, _ = chosen_model(config)
    return ServedModel(
        name,
        served(name),
        server,
        account=account,
        max_prompt_tokens=config.max_prompt_tokens,
        parallel=config.batch,
    )


def place(name: str, config: Config) -> Path:
    """The folder a model is in, or would be once fetched; one that is nowhere for a model that a
    server runs, since its weights are not here. Raises ModelFault for no model's name.
    """
    if served(name):
        return config.models_dir / name.replace("/", "--")
    found = resolve(name)
    return found if isinstance(found, Path) else config.models_dir / folder_name(found)


def real_models(config: Config) -> Models:
    """The configured models, each missed at its first call if it was not fetched."""
    embedder = None
    if config.embedder != "none":
        embedder = MiniLM(config.embedder, place(config.embedder, config))
    name, _ = chosen_model(config)
    place(name, config)  # a name that means nothing is said at once
    if served(name):
        server = model_server(config)
        return Models(lambda account: served_model(config, server, account=account), embedder)
    return Models(lambda account: child_model(config, account=account), embedder)


def check_model(config: Config) -> list[Finding]:
    """What `memory model check` finds of the configured model: its files, then how it works."""
    name, _ = chosen_model(config)
    if served(name):
        server = model_server(config)
        return check_served(served_model(config, server, account=lambda _call: None))
    model, there = resolve(name), place(name, config)
    findings = []
    if (there / MANIFEST).is_file():
        wrong = check_files(there)
        findings.append(Finding("files", "; ".join(wrong) or "as they were fetched", not wrong))
    if isinstance(model, RegistryModel) and model.kind == "encoder":
        return findings + check_embedder(MiniLM(name, there))
    reply = max(prompt.max_tokens for prompt in Prompts(folder("prompts")).all())
    findings.append(check_length(there, config.max_prompt_tokens, reply))
    return findings + check(mlx_model(config)(account=lambda _call: None, batch=config.batch))


def sources(config: Config, store: Store | None = None) -> tuple[Source, ...]:
    """The enabled sources with their configured or usual roots, and the exports once imported.

    Raises ConfigFault for a source that is unknown.
    """
    imported = store.conversations.imported() if store else {}
    unknown = [name for name in config.sources.enabled if name not in SOURCES]
    if unknown:
        raise ConfigFault(
            f"there is no source named {unknown[0]!r}",
            mend=f"sources.enabled takes any of: {', '.join(SOURCES)}",
        )
    chosen = []
    for name in config.sources.enabled:
        make, default_roots = SOURCES[name]
        roots = config.sources.roots.get(name) or default_roots(os.environ, Path.home())
        chosen.append(make([*roots, *(path for path, by in imported.items() if by == name)]))
    return tuple(chosen)


def desk(
    config: Config,
    *,
    models: Models,
    say: Say,
    span: Span | None = None,
    now: Clock = utc_now,
    rehearsing: Config | None = None,
) -> Desk:
    """Open everything and begin a run. Raises ConfigFault when there is no vault yet.

    span: the conversations that are worked on; None for those since the first night's horizon.
    rehearsing: the real config when `config` is that of a rehearsal.
    """
    real = rehearsing or config
    history = History(config.vault)
    if not repository.versioned(config.vault):
        raise ConfigFault(f"there is no vault at {real.vault}", mend="run `memory init` first")
    # whatever can be wrong with the settings is said before a run is begun
    prompts = Prompts(folder("prompts"), config_path().parent / "prompts")
    sources(config)
    # what a rehearsal did is not written down
    store = Store(config.store_path, None if rehearsing else config.journal_dir)
    store.journal.refuse_if_behind(real.journal_dir)
    _refuse_to_start_over(store, real)
    moment = now()
    run = store.runs.begin(
        moment,
        moment.astimezone(config.zone),
        model=chosen_model(config)[0],
        prompts=prompts.digests(),
        vault=history.head(),
    )
    model = models.model(lambda call: store.runs.account(run, call))
    return Desk(
        run=run,
        started_at=moment,
        span=span or Span(since=horizon(store, config)),
        config=config,
        own_folders=(real.vault, real.cache_dir),
        policy=load_policy(),
        store=store,
        archive=Archive(config.archive_dir),
        sources=sources(config, store),
        vault=Vault(config.vault, store.derived),
        history=history,
        model=model,
        embedder=models.embedder,
        prompts=prompts.within(config.max_prompt_tokens, model.count),
        now=now,
        results=RunResults(adapters=_worn(config)),
        say=say,
    )


def _worn(config: Config) -> dict[str, dict[str, str]]:
    """The adapters as the results of a run name them; without a sum where a file cannot be read."""
    worn = {}
    for stage, adapter in config.adapters:
        if adapter is None:
            continue
        try:
            with (adapter / "adapters.safetensors").open("rb") as weights:
                digest = hashlib.file_digest(weights, "sha256").hexdigest()
        except OSError:
            digest = ""  # told when it is put on
        worn[stage] = {"folder": str(adapter), "sha256": digest}
    return worn


def export_source(path: Path) -> str:
    """Which source reads this export. Raises SourceFault, naming the file, when none does."""
    bad: list[BadLine] = []
    for item in exports.conversations(path, bad):
        if chatgpt.is_conversation(item):
            return chatgpt.NAME
        if claude_ai.is_conversation(item):
            return claude_ai.NAME
    reason = f": {bad[0].reason}" if bad else ""
    raise SourceFault(
        f"{path} is no export of claude.ai or ChatGPT{reason}",
        mend="import the zip you downloaded, or the conversations.json in it",
    )


def _refuse_to_start_over(store: Store, config: Config) -> None:
    """Raise StoreFault when the store knows nothing of what the archive holds."""
    if store.runs.first_started() or store.conversations.counts()["conversations"]:
        return
    if Archive(config.archive_dir).convs():
        raise StoreFault(
            f"memory.sqlite is empty, while the archive {config.archive_dir} holds conversations",
            mend="`memory rebuild` fills it from there; to start over instead, move that folder "
            "away",
        )


@contextmanager
def reviewer(config: Config, *, now: Clock = utc_now) -> Iterator[Reviewer]:
    """What deciding by day needs, opened for the block. Raises ConfigFault without a vault."""
    if not repository.versioned(config.vault):
        raise ConfigFault(f"there is no vault at {config.vault}", mend="run `memory init` first")
    store = Store(config.store_path, config.journal_dir)
    try:
        vault, history = Vault(config.vault, store.derived), History(config.vault)
        press = Press(store, vault, history, config.commit_user_edits)
        yield Reviewer(press, load_policy(), config.zone, now)
    finally:
        store.close()


@contextmanager
def rehearsal(config: Config) -> Iterator[Config]:
    """The same config over copies of the store and the vault, which are thrown away at the end."""
    with tempfile.TemporaryDirectory(prefix="nightly-memory-") as place:
        root = Path(place).resolve()
        copy = config.model_copy(
            update={
                "vault": root / "vault",
                "cache_dir": root / "cache",
                "data_dir": root / "data",
            }
        )
        if config.vault.is_dir():
            repository.copy(config.vault, copy.vault)
            History(copy.vault).work_in_root()
        if config.store_path.is_file():
            original = Store(config.store_path)
            original.copy_to(copy.store_path)
            original.close()
        yield copy
