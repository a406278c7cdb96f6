"""`memory init`, `synthesize` and `status`."""

from __future__ import annotations

import sys
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli.printing import (
    JsonOption,
    VaultOption,
    print_diff,
    print_json,
    say,
    warn,
)
from pipeline.errors import EXIT_PARTIAL, EXIT_STOPPED, ConfigFault

if TYPE_CHECKING:
    from pipeline.config import Config


def init(vault: VaultOption = None) -> None:
    """Make the vault: folders, Meta pages, a git repository. Safe to repeat.

    Example: memory init --vault ~/MemoryVault
    """
    from pipeline.config import load_config
    from pipeline.history import History
    from pipeline.resources import folder
    from pipeline.store import Store
    from pipeline.vault import Vault

    config = load_config(vault=vault)
    Store(config.store_path).close()
    history = History(config.vault)
    seeded = Vault(config.vault).seed(folder("vault_meta"))
    history.init()
    if seeded:
        pages = [path.relative_to(config.vault).as_posix() for path in seeded]
        history.commit(pages, "init: the vault's pages")
    verb = "made" if seeded else "stands as it was"
    say(f"vault {config.vault}: {verb}")
    say("next: memory synthesize --dry-run")


def synthesize(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Do everything on copies and print the diff.")
    ] = False,
    since: Annotated[
        datetime | None,
        typer.Option(
            formats=["%Y-%m-%d"], help="Leave conversations alone that ended before this day."
        ),
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="Alias, hub name or folder of the model to use.")
    ] = None,
    max_minutes: Annotated[
        int | None, typer.Option(min=1, help="Stop at a safe point after so many minutes.")
    ] = None,
    stage: Annotated[str, typer.Option(help="Do this stage alone.")] = "",
    vault: VaultOption = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print events and the result as JSON lines.")
    ] = False,
) -> None:
    """Fold what was said since the last night into the vault.

    Example: memory synthesize --dry-run --since 2000-01-31
    """
    from pipeline import assemble
    from pipeline.config import load_config
    from pipeline.lock import one_run

    config = load_config(vault=vault, model=model, max_minutes=max_minutes)
    moment = since.replace(tzinfo=config.zone).astimezone() if since else None
    with one_run(config.lock_path):
        if dry_run:
            with assemble.rehearsal(config) as copies:
                status = _run(copies, moment, stage, as_json=as_json, rehearsing=config)
        else:
            status = _run(config, moment, stage, as_json=as_json)
    if code := {"partial": EXIT_PARTIAL, "stopped": EXIT_STOPPED}.get(status):
        raise typer.Exit(code)


def _run(
    config: Config,
    since: datetime | None,
    stage: str,
    *,
    as_json: bool,
    rehearsing: Config | None = None,
) -> str:
    """One run on the places of `config`; prints its result or its diff; returns its status."""
    from pipeline import assemble, orchestrator
    from pipeline.progress import watcher

    names = [known.NAME for known in orchestrator.STAGES]
    if stage and stage not in names:
        raise ConfigFault(f"there is no stage {stage!r}", mend=f"stages: {', '.join(names)}")
    name, message = assemble.chosen_model(config)
    if message and not as_json:
        warn(message)
    models = assemble.real_models(config)
    stream = sys.stdout if as_json else sys.stderr
    with watcher(stream, json=as_json) as watched:
        desk = assemble.desk(config, models=models, since=since, say=watched, rehearsing=rehearsing)
        before = desk.history.head()
        status = orchestrator.run(desk, orchestrator.Control(config.max_minutes), only=stage)
    diff = desk.history.diff(before, desk.history.head()) if rehearsing else ""
    results, spent = desk.results, desk.store.runs.spent(desk.run)
    desk.store.close()
    if as_json:
        told = {"run": desk.run, "status": status, "model": name, "spent": spent}
        told |= results.as_json() | ({"diff": diff} if rehearsing else {})
        print_json(told)
        return status
    print_diff(diff)
    for problem in results.problems:
        warn(f"warning: {problem}")
    for job, reasons in results.rejected:
        warn(f"not kept: {job}: {'; '.join(reasons)}")
    for article, reasons in results.held:
        warn(f"held: {article}: {'; '.join(reasons)} (see it with `memory review`)")
    say(_sentence(desk.run, status, results.counts, spent))
    return status


def _sentence(run: str, status: str, counts: dict[str, int], spent: dict[str, float]) -> str:
    """The run in one line."""
    if status == "nothing":
        return f"run {run}: nothing new"
    told = ", ".join(f"{number} {name}" for name, number in counts.items() if number)
    return (
        f"run {run}: {status}; {told or 'no counts'}; "
        f"{int(spent['calls'])} model calls, {int(spent['prompt_tokens'])} tokens read, "
        f"{int(spent['output_tokens'])} written"
    )


def status(vault: VaultOption = None, as_json: JsonOption = False) -> None:
    """The last run, what is pending, and where everything is.

    Example: memory status --json
    """
    from pipeline.config import load_config
    from pipeline.status import gather, lines

    state = gather(load_config(vault=vault))
    if as_json:
        print_json(state)
        return
    for line in lines(state):
        say(line)
