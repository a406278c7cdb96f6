"""A stage is a module with three verbs, and the desk is what it works with.

The orchestrator owns everything else once: order, lock, budget, signals, retries, progress.
"""

from collections.abc import Sequence
from typing import Any, Protocol

from pipeline.desk import Desk
from pipeline.records import Outcome


class Stage(Protocol):
    """What every module of this package offers; jobs and results are its own types."""

    NAME: str

    def key(self, job: Any) -> str:
        """The job's name in `attempts`, the same every night."""

    def pending(self, desk: Desk) -> Sequence[Any]:
        """What there is to do, oldest first. Reads only."""

    def work(self, jobs: Sequence[Any], desk: Desk) -> Sequence[Any]:
        """One result per job, in order. Writes nothing; may ask the model."""

    def keep(self, result: Any, desk: Desk) -> Outcome:
        """The only writer. May run again after a kill, and then ends in the same state."""


__all__ = ["Desk", "Stage"]
