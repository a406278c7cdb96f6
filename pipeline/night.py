"""Whether a scheduled night has to be run at all, and what holds it back.

The agent is started at its hour, after a sleep that went past it, and at login, for a Mac that was
switched off. So the run itself asks whether this night is done already.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, time, timedelta

from pipeline.config import Config
from pipeline.results import RunResults
from pipeline.store import Store
from pipeline.store.runs import Run
from pipeline.store.times import from_text

_DONE = frozenset({"done", "nothing", "partial", "stopped"})
_RUNS = 50  # looked back over: far more than begin between one night and the next
_STEADY = timedelta(hours=3)  # a clock may be put back so far: summer time, a correction


def due(at: time, now: datetime) -> datetime:
    """The last moment, up to `now`, when the clock of now's zone showed `at`."""
    local = now.replace(hour=at.hour, minute=at.minute, second=0, microsecond=0)
    return local if local <= now else local - timedelta(days=1)


def is_done(runs: Sequence[Run], since: datetime) -> bool:
    """Whether a scheduled run has done its work since then; one that a signal ended has not."""
    return any(
        run.results.get("scheduled")
        and run.status in _DONE
        and not run.results.get("asked")
        and from_text(run.started_at) >= since
        for run in runs
    )


def done_since(config: Config, since: datetime) -> bool:
    """`is_done` over the store, which is not made for the question."""
    if not config.store_path.is_file():
        return False
    store = Store(config.store_path)
    try:
        return is_done(store.runs.recent(_RUNS), since)
    finally:
        store.close()


def clock_went_back(store: Store, now: datetime) -> datetime | None:
    """The start of the newest run, if it lies so far ahead that this clock, or that one, is wrong.

    With a clock that is years behind, what was said today would count as told by a wrong clock.
    """
    last = store.runs.last()
    begun = from_text(last.started_at) if last else now
    return begun if begun - now > _STEADY else None


def skip(config: Config, reason: str, now: datetime) -> str:
    """Record that a scheduled night was skipped, and why; returns the run's id."""
    store = Store(config.store_path)
    try:
        results = RunResults(failure=reason, scheduled=True)
        return store.runs.skip(now, now.astimezone(config.zone), results.as_json())
    finally:
        store.close()
