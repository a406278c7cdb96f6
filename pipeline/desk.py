"""The desk: the concrete parts of one run, handed to every stage. assemble.py alone picks them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from pipeline.archive import Archive
from pipeline.config import Config
from pipeline.history import History
from pipeline.models import Embedder, Model
from pipeline.policy import Policy
from pipeline.prompts import Prompts
from pipeline.records import Event, Span
from pipeline.results import RunResults
from pipeline.sources import Source
from pipeline.store import Store
from pipeline.vault import Vault


@dataclass(frozen=True, slots=True)
class Desk:
    """The concrete parts of one run.

    run: the run's id. started_at: aware UTC. span: the conversations that are worked on.
    own_folders: the real vault and cache, also in a rehearsal: sessions in them are our own.
    now: the clock, aware UTC. embedder: None when none is installed (chunking and placement then
    go by words alone). results: what the run did so far. say: tells whoever watches.
    """

    run: str
    started_at: datetime
    span: Span
    config: Config
    own_folders: tuple[Path, ...]
    policy: Policy
    store: Store
    archive: Archive
    sources: tuple[Source, ...]
    vault: Vault
    history: History
    model: Model
    embedder: Embedder | None
    prompts: Prompts
    now: Callable[[], datetime]
    results: RunResults
    say: Callable[[Event], None]

    def resting(self, stage: str) -> frozenset[str]:
        """Names of the stage's jobs that are parked, or pausing after a failure."""
        policy = self.policy.synthesize
        longest = timedelta(hours=policy.pause_hours * 2**policy.max_attempts)
        return self.store.attempts.resting(stage, self.now(), longest)
