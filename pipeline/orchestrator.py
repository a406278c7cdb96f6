"""The one loop: stages in order, jobs in batches, until there is nothing to do or time is up.

A failing job is recorded, rests, and is tried another night; the others go on. A signal or the end
of the time budget stops the run between two writes.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import PurePath
from typing import Any

from pipeline.backlog import Passes, left, news
from pipeline.control import Control, StageOver, Stopped
from pipeline.desk import Desk
from pipeline.errors import MemoryFault, VaultFault
from pipeline.keeping.adopting import adopt
from pipeline.keeping.lost import CURE, lost, told
from pipeline.publish import Press, heal
from pipeline.records import Done, Event, Failed, Held, Outcome, Skipped
from pipeline.refusals import ending
from pipeline.stages import Stage, changelog, chunk, cluster, ingest, synthesize, wikify
from pipeline.synthesis.renames import follow_renames

STAGES: tuple[Stage, ...] = (ingest, chunk, cluster, synthesize, wikify, changelog)
_LOG = logging.getLogger(__name__)


def run(desk: Desk, control: Control, only: str = "", passes: Passes = news) -> str:
    """Do all stages, or the one named `only`; return the run's status and record it.

    Status: "nothing", "done", "partial" (some jobs failed), "stopped" or "failed". A fault that
    ends the run is recorded, told in the changelog, and raised again. A budget that ends while the
    backlog is worked on has done what the night is for: that is not "stopped".
    """
    press = Press(desk.store, desk.vault, desk.history, desk.config.commit_user_edits)
    fault: MemoryFault | None = None
    stopped = fit = False
    passed = 0
    before = desk.history.head()
    control.spent = lambda: desk.store.runs.spent(desk.run)["output_tokens"]
    with control.signals():
        try:
            try:
                desk.history.refuse_if_unfit()
                fit = True
                with control.write():
                    healed = heal(press, desk.now())
                    healed += follow_renames(desk.store, desk.vault)
                control.heed()
                healed += _adopted(desk, control, before)
                for line in healed:
                    desk.say(Event("heal", 1, 1, line))
                desk.results.problems.extend(
                    f"Meta/{name} is missing: the shipped page stands in for it"
                    for name in desk.vault.missing_meta()
                )
                for part in passes(desk):
                    stopped |= _all_stages(part, control, only)
                    passed += 1
            finally:
                control.conclude()
                desk.model.close()
        except Stopped as stop:
            desk.results.asked = stop.asked
            stopped |= stop.asked or passed == 0
            desk.results.failure = str(stop)
        except Exception as error:
            fault = _fault(error)
            desk.results.failure = str(fault)
        if desk.results.silence and fault is None and not desk.results.asked:
            desk.results.problems.insert(0, desk.results.silence)
        try:
            desk.results.backlog = left(desk)
            # in the middle of a merge not even the changelog is committed
            if fit and only in ("", changelog.NAME):
                _run_stage(changelog, desk, Control(max_minutes=10))
        except Exception as error:
            fault = fault or _fault(error)
        status = _finish(desk, fault, stopped=stopped, before=before)
        if fault is None and not desk.results.asked:
            # last of all: it takes room on the disk, and only searches are the quicker for it
            for problem in desk.store.fulltext.gather():
                _LOG.warning(problem)
                desk.say(Event("index", 1, 1, problem))
    if fault is not None:
        raise fault
    return status


def _adopted(desk: Desk, control: Control, head: str) -> list[str]:
    """Enter what another machine has committed to the vault since the last run; say so.

    What the vault does not hold any more is a problem of the run.
    """
    history, runs = desk.history, desk.store.runs
    left, known = runs.last_left(), runs.last_found()
    gone = left not in ("", head) and not history.contains(left)
    if gone and (found := lost(desk.store, history, desk.vault)):
        desk.results.problems.append(f"{told(found)}: {CURE}")
    if head == known:
        return []
    since = known if known and history.contains(known) else ""
    # a new machine has years of commits to enter
    count = adopt(desk.store, history, desk.vault, desk.now(), since=since, step=control.step)
    if not count:
        return []
    with control.step():
        renamed = follow_renames(desk.store, desk.vault)
    return [f"entered {count} commits that this store did not know", *renamed]


def _fault(error: Exception) -> MemoryFault:
    """What ended the run, as a fault. Raises again what nobody foresaw."""
    if fault := ending(error) or (error if isinstance(error, MemoryFault) else None):
        return fault
    raise error


def _finish(desk: Desk, fault: MemoryFault | None, *, stopped: bool, before: str) -> str:
    """Record how the run went; its status."""
    after = desk.history.head()
    status = _status(desk, fault, stopped, changed=before != after)
    try:
        desk.store.runs.finish(
            desk.run, desk.now(), status=status, vault=after, results=desk.results.as_json()
        )
        desk.store.journal.write()
    except Exception as error:
        # where not even this can be written, the next run counts this one as interrupted
        raise fault or _fault(error) from error
    return status


def _status(desk: Desk, fault: MemoryFault | None, stopped: bool, *, changed: bool) -> str:
    if fault is not None:
        return "failed"
    if stopped:
        return "stopped"
    if desk.results.rejected or desk.results.held:
        return "partial"
    return "done" if changed or desk.results.counts else "nothing"


def _all_stages(desk: Desk, control: Control, only: str) -> bool:
    """Every stage up to the changelog; whether one of them ran out of its own time."""
    over = False
    for stage in STAGES:
        if only not in ("", stage.NAME) or stage is changelog:
            continue
        minutes = desk.config.night.stage_minutes
        try:
            with control.stage(minutes):
                _run_stage(stage, desk, control)
        except StageOver:
            over = True
            problem = f"the stage {stage.NAME} was stopped after {minutes} minutes; "
            problem += "the next run goes on"
            if problem not in desk.results.problems:  # each slice of the backlog has the stage
                desk.results.problems.append(problem)
    return over


def _run_stage(stage: Stage, desk: Desk, control: Control) -> None:
    """Work through what is pending, and through what that makes pending, until nothing is left."""
    tried: set[str] = set()
    done: dict[str, Any] = {}
    while True:
        control.check()
        with control.write():
            desk.store.journal.write()
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
                # after it is recorded; what else the batch computed is kept unless a signal came
                control.heed()


def _speed(before: dict[str, float], after: dict[str, float]) -> float:
    """Tokens written per second of model time between two readings."""
    seconds = after["seconds"] - before["seconds"]
    return (after["output_tokens"] - before["output_tokens"]) / seconds if seconds else 0.0


def _results(stage: Stage, jobs: Sequence[Any], desk: Desk) -> Iterator[tuple[Any, Any]]:
    """Each job with its result, or with Failed; a batch that fails is tried job by job."""
    try:
        results = stage.work(jobs, desk)
    except Exception as error:
        if len(jobs) > 1 and not ending(error):
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
    """The failure of one job. Raises a MemoryFault when the whole run cannot go on."""
    if fault := ending(error):
        raise fault from error
    _LOG.debug("a job of %s failed", stage.NAME, exc_info=error)
    if isinstance(error, MemoryFault):
        return Failed((str(error),), parks=not isinstance(error, VaultFault))
    return Failed((f"unexpected {type(error).__name__}: {error}",))


def _record(stage: Stage, job: Any, outcome: Outcome, desk: Desk) -> None:
    key, results = stage.key(job), desk.results
    if isinstance(outcome, Done | Skipped):
        results.counts.update(outcome.counts)
        desk.store.attempts.succeed(stage.NAME, key)
    elif isinstance(outcome, Held):
        results.held.append((outcome.article, outcome.reasons))
    else:
        results.rejected.append((f"{stage.NAME}: {key}", outcome.reasons))
        desk.store.attempts.fail(
            stage.NAME,
            key,
            "; ".join(outcome.reasons),
            now=desk.now(),
            pause=timedelta(hours=desk.policy.synthesize.pause_hours),
            max_attempts=desk.policy.synthesize.max_attempts,
            parks=outcome.parks,
        )
