"""The one loop: stages in order, jobs in batches, until there is nothing to do or time is up.

A failing job is recorded, rests, and is tried another night; the others go on. A signal or the end
of the time budget stops the run between two writes.
"""

from __future__ import annotations

import logging
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import PurePath
from types import FrameType
from typing import Any

from pipeline.desk import Desk
from pipeline.errors import InvalidReply, MemoryFault, ModelFault, PromptTooLong, StoreFault
from pipeline.publish import Press, heal
from pipeline.records import Done, Event, Failed, Held, Outcome, Skipped
from pipeline.stages import Stage, changelog, chunk, cluster, ingest, synthesize, wikify
from pipeline.synthesis.renames import follow_renames

STAGES: tuple[Stage, ...] = (ingest, chunk, cluster, synthesize, wikify, changelog)
_LOG = logging.getLogger(__name__)


class Stopped(BaseException):
    """A signal or the end of the budget; not an Exception, so that no job can swallow it."""


class Control:
    """Tells the loop when to stop: at once while nothing is being written, else after the write."""

    def __init__(self, max_minutes: float) -> None:
        self._deadline = time.monotonic() + max_minutes * 60
        self._writing = False
        self._asked = ""

    def check(self) -> None:
        """Raise Stopped if it is time to."""
        if self._asked:
            raise Stopped(self._asked)
        if time.monotonic() > self._deadline:
            raise Stopped("the time budget is spent")

    @contextmanager
    def write(self) -> Iterator[None]:
        """A write that a signal must not cut in two."""
        self._writing = True
        try:
            yield
        finally:
            self._writing = False
        self.check()

    @contextmanager
    def signals(self) -> Iterator[None]:
        """Take SIGTERM and SIGINT for the length of the block."""
        before = {s: signal.signal(s, self._on_signal) for s in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        self._asked = f"stopped by {signal.Signals(number).name}"
        if not self._writing:
            raise Stopped(self._asked)


def run(desk: Desk, control: Control, only: str = "") -> str:
    """Do all stages, or the one named `only`; return the run's status and record it.

    Status: "nothing", "done", "partial" (some jobs failed), "stopped" or "failed". A fault that
    ends the run is recorded, told in the changelog, and raised again.
    """
    press = Press(desk.store, desk.vault, desk.history, desk.config.commit_user_edits)
    fault: MemoryFault | None = None
    stopped = fit = False
    before = desk.history.head()
    try:
        with control.signals():
            desk.history.refuse_if_unfit()
            fit = True
            with control.write():
                for line in (*heal(press, desk.now()), *follow_renames(desk.store, desk.vault)):
                    desk.say(Event("heal", 1, 1, line))
            desk.results.problems.extend(
                f"Meta/{name} is missing: the shipped page stands in for it"
                for name in desk.vault.missing_meta()
            )
            for stage in STAGES:
                if only in ("", stage.NAME) and stage is not changelog:
                    _run_stage(stage, desk, control)
    except Stopped as stop:
        stopped = True
        desk.results.failure = str(stop)
    except MemoryFault as error:
        fault = error
        desk.results.failure = str(error)
    finally:
        desk.model.close()
    # in the middle of a merge not even the changelog is committed
    if fit and only in ("", changelog.NAME):
        fault = _tell(desk, fault)
    after = desk.history.head()
    status = _status(desk, fault, stopped, changed=before != after)
    desk.store.runs.finish(
        desk.run, desk.now(), status=status, vault=after, results=desk.results.as_json()
    )
    if fault is not None:
        raise fault
    return status


def _tell(desk: Desk, fault: MemoryFault | None) -> MemoryFault | None:
    """Write the changelog whatever happened before; keep the first fault."""
    try:
        _run_stage(changelog, desk, Control(max_minutes=10))
    except MemoryFault as error:
        return fault or error
    return fault


def _status(desk: Desk, fault: MemoryFault | None, stopped: bool, *, changed: bool) -> str:
    if fault is not None:
        return "failed"
    if stopped:
        return "stopped"
    if desk.results.rejected or desk.results.held:
        return "partial"
    return "done" if changed or desk.results.counts else "nothing"


def _run_stage(stage: Stage, desk: Desk, control: Control) -> None:
    """Work through what is pending, and through what that makes pending, until nothing is left."""
    tried: set[str] = set()
    done: dict[str, Any] = {}
    while True:
        control.check()
        resting = desk.resting(stage.NAME) | tried
        # The very job that was done or skipped is not taken again; one of the same name that has
        # other work in it, as the rest of a long fold, is.
        jobs = [
            job
            for job in stage.pending(desk)
            if stage.key(job) not in resting and done.get(stage.key(job)) != job
        ]
        if not jobs:
            return
        size = desk.config.batch
        for start in range(0, len(jobs), size):
            control.check()
            batch = jobs[start : start + size]
            spent = desk.store.runs.spent(desk.run)
            for number, (job, result) in enumerate(_results(stage, batch, desk)):
                outcome = _kept(stage, result, desk, control)
                if isinstance(outcome, Done | Skipped):
                    done[stage.key(job)] = job
                else:
                    tried.add(stage.key(job))
                _record(stage, job, outcome, desk)
                desk.say(
                    Event(
                        stage.NAME,
                        start + number + 1,
                        len(jobs),
                        PurePath(stage.key(job)).name,
                        _speed(spent, desk.store.runs.spent(desk.run)),
                    )
                )


def _speed(before: dict[str, float], after: dict[str, float]) -> float:
    """Tokens written per second of model time between two readings."""
    seconds = after["seconds"] - before["seconds"]
    return (after["output_tokens"] - before["output_tokens"]) / seconds if seconds else 0.0


def _results(stage: Stage, jobs: Sequence[Any], desk: Desk) -> Iterator[tuple[Any, Any]]:
    """Each job with its result, or with Failed; a batch that fails is tried job by job."""
    try:
        results = stage.work(jobs, desk)
    except Exception as error:
        if len(jobs) > 1 and not _ends_the_run(error):
            for job in jobs:
                yield from _results(stage, [job], desk)
            return
        yield jobs[0], _failed(stage, error)
        return
    yield from zip(jobs, results, strict=True)


def _kept(stage: Stage, result: Any, desk: Desk, control: Control) -> Outcome:
    if isinstance(result, Failed):
        return result
    with control.write():
        try:
            return stage.keep(result, desk)
        except Exception as error:
            return _failed(stage, error)


def _failed(stage: Stage, error: Exception) -> Failed:
    """The failure of one job. Raises the error again when the whole run cannot go on."""
    if _ends_the_run(error):
        raise error
    _LOG.debug("a job of %s failed", stage.NAME, exc_info=error)
    if isinstance(error, MemoryFault):
        return Failed((str(error),))
    return Failed((f"unexpected {type(error).__name__}: {error}",))


def _ends_the_run(error: Exception) -> bool:
    """A missing model or a broken store fails every job alike; anything else is the job's own."""
    if isinstance(error, InvalidReply | PromptTooLong):
        return False
    return isinstance(error, ModelFault | StoreFault)


def _record(stage: Stage, job: Any, outcome: Outcome, desk: Desk) -> None:
    key, results = stage.key(job), desk.results
    if isinstance(outcome, Done | Skipped):
        results.counts.update(outcome.counts)
        desk.store.ledger.succeed(stage.NAME, key)
    elif isinstance(outcome, Held):
        results.held.append((outcome.article, outcome.reasons))
    else:
        results.rejected.append((f"{stage.NAME}: {key}", outcome.reasons))
        desk.store.ledger.fail(
            stage.NAME,
            key,
            "; ".join(outcome.reasons),
            now=desk.now(),
            pause=timedelta(hours=desk.policy.synthesize.pause_hours),
            max_attempts=desk.policy.synthesize.max_attempts,
        )
