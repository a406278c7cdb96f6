"""One night over the world: real transcripts, store, vault and git; what it left is returned."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from benchmarks.nights_world import FIRST_DAY, World
from benchmarks.sessions import write_session
from pipeline import assemble, orchestrator
from pipeline.assemble import Models
from pipeline.config import Config, load_config
from pipeline.control import Control
from pipeline.history import History
from pipeline.records import Claim
from pipeline.resources import folder
from pipeline.results import RunResults
from pipeline.review.deciding import accept
from pipeline.store import Store
from pipeline.vault import Vault

MINUTES = 120.0  # of budget a night
_THREE = timedelta(hours=3)


@dataclass(frozen=True, slots=True)
class Ran:
    """What a run did. claims: the kept claims of the chunks its commits folded.

    changed: whether a byte of the vault or its last commit is another.
    """

    status: str
    results: RunResults
    spent: Mapping[str, float]
    claims: tuple[Claim, ...]
    changed: bool


class House:
    """A home folder with transcripts, a vault and a memory, and the nights in it.

    models: None takes those the config names.
    """

    def __init__(
        self, root: Path, world: World, models: Models | None, *, model: str = "auto"
    ) -> None:
        self.world = world
        self._home = root
        self._shown: dict[str, int] = {}
        self.config: Config = load_config(
            vault=root / "vault",
            cache_dir=root / "cache",
            data_dir=root / "data",
            models_dir=load_config().models_dir,
            timezone="UTC",
            since_days="all",
            model=model,
            sources={
                "enabled": ["pi", "claude-code"],
                "roots": {
                    "pi": [str(root / ".pi" / "agent" / "sessions")],
                    "claude-code": [str(root / ".claude" / "projects")],
                },
            },
        )
        self._models = models or assemble.real_models(self.config)
        history, vault = History(self.config.vault), Vault(self.config.vault)
        history.init()
        seeded = vault.seed(folder("vault_meta"))
        pages = [path.relative_to(self.config.vault).as_posix() for path in seeded]
        history.commit(pages, "init", at=FIRST_DAY)

    def write(self, nights: Iterable[int]) -> None:
        """The transcripts as they are once these nights have come; what is known is left as is."""
        seen = set(nights)
        for talk in self.world.talks:
            lines = max((talk.shown(night) for night in seen), key=len, default=())
            if len(lines) > self._shown.get(talk.session, 0):
                self._shown[talk.session] = len(lines)
                said = [(line.role, line.text) for line in lines]
                write_session(self._home, talk.source, talk.session, talk.start, said)

    def night(self, day: int) -> Ran:
        """The run of the night after this day (1 = the first)."""
        return self._run(FIRST_DAY + timedelta(days=day) + _THREE)

    def again(self, day: int) -> Ran:
        """A second run in the same night."""
        return self._run(FIRST_DAY + timedelta(days=day, minutes=50) + _THREE)

    def morning(self, day: int) -> tuple[Claim, ...]:
        """The owner accepts what was held; returns the claims that this let in."""
        now = FIRST_DAY + timedelta(days=day) + _THREE * 2
        with assemble.reviewer(self.config, now=lambda: now) as reviewer:
            head = reviewer.press.history.head()
            accept(reviewer.press.store.holds.open(), reviewer)
            return _folded(reviewer.press.history, reviewer.press.store, head)

    def sayings(self, places: Iterable[tuple[str, int, int]]) -> dict[tuple[str, int, int], str]:
        """What the messages of each place (counted from 1) say, all in one."""
        store = Store(self.config.store_path)
        try:
            return {
                (conv, first, last): "\n".join(
                    m.text
                    for m in store.conversations.messages(conv, first=first - 1, last=last - 1)
                )
                for conv, first, last in places
            }
        finally:
            store.close()

    def _run(self, at: datetime) -> Ran:
        before = self._bytes()
        head = History(self.config.vault).head()
        desk = assemble.desk(
            self.config,
            models=self._models,
            say=lambda _event: None,
            now=lambda: at,
        )
        try:
            status = orchestrator.run(desk, Control(MINUTES))
            if status == "stopped":  # by whoever runs the benchmark: what follows means nothing
                raise SystemExit(desk.results.failure)
            return Ran(
                status,
                desk.results,
                desk.store.runs.spent(desk.run),
                _folded(desk.history, desk.store, head),
                (before, head) != (self._bytes(), desk.history.head()),
            )
        finally:
            desk.store.close()

    def _bytes(self) -> dict[str, bytes]:
        vault = self.config.vault
        return {
            path.relative_to(vault).as_posix(): path.read_bytes()
            for path in sorted(vault.rglob("*"))
            if path.is_file() and ".git" not in path.relative_to(vault).parts
        }


def _folded(history: History, store: Store, since: str) -> tuple[Claim, ...]:
    """The kept claims of the chunks that the commits after one say they folded."""
    chunks = [
        chunk
        for commit in history.log(since=since)
        for chunk in commit.trailers.get("Chunks", "").split()
    ]
    return tuple(claim for chunk in dict.fromkeys(chunks) for claim in store.claims.of(chunk))
