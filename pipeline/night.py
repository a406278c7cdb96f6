"""Whether a scheduled night has to be run at all, and what holds it back.

The agent is started at its hour, after a sleep that went past it, and at login, for a Mac that was
switched off. So the run itself asks whether this night is done already.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from pipeline.config import Config
from pipeline.errors import StoreFault
from pipeline.results import RunResults
from pipeline.sqlite import reading
from pipeline.store import Store
from pipeline.store.runs import Run, Runs
from pipeline.store.times import from_text

_DONE = frozenset({"done", "nothing", "partial", "stopped"})
_RUNS = 50  # looked back over: far more than begin between one night and the next
_STEADY = timedelta(hours=3)  # a clock may be put back so far: summer time, a correction


def done_since(config: Config, since: datetime, now: datetime) -> bool:
    """Whether a scheduled run has done its work since then; one that a signal ended has not.

    Nor has one that lies ahead of `now`: a clock once wrong would stand for every night up to it.
    """
    return any(
        run.results.get("scheduled")
        and run.status in _DONE
        and not run.results.get("asked")
        and since <= from_text(run.started_at) <= now + _STEADY
        for run in _recent(config)
    )


def clock_went_back(config: Config, now: datetime) -> datetime | None:
    """The start of the newest run, if it lies so far ahead that this clock, or that one, is wrong.

    With a clock that is years behind, what was said today would count as told by a wrong clock.
    """
    begun = next((from_text(run.started_at) for run in _recent(config)), now)
    return begun if begun - now > _STEADY else None


def _recent(config: Config) -> list[Run]:
    """The newest runs, newest first; none from a store that is not there or cannot be read.

    The run that follows says what is wrong with it.
    """
    try:
        with reading(config.store_path) as connection:
            return Runs(connection).recent(_RUNS)
    except StoreFault:
        return []


def skip(config: Config, reason: str, now: datetime) -> str:
    """Record that a scheduled night was skipped, and why; returns the run's id.

    Whoever calls holds the run lock: a run that is at work would count as interrupted.
    """
    store = Store(config.store_path)
    try:
        results = RunResults(failure=reason, scheduled=True)
        return store.runs.skip(now, now.astimezone(config.zone), results.as_json())
    finally:
        store.close()
