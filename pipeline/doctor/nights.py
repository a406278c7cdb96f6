"""Whether the nights are run, and how they go."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from statistics import median

from pipeline import ordinary
from pipeline.doctor.checks import Machine, Verdict, counted, fail, ok, warn
from pipeline.silence import missed

_MANY_NIGHTS = 3  # missed ones, from which on it is no longer a night on the road
_BY_HAND = timedelta(days=7)  # without a schedule a run is expected this often
_OVERTIME = timedelta(hours=1)  # over its time budget, for the changelog and a slow last job
_RECENT, _BEFORE = 3, 10  # runs compared for speed
_DROP = 0.5
_ENOUGH_TOKENS = 200  # written in a run, to tell its speed by


def scheduled(machine: Machine) -> Verdict:
    """The nightly run is scheduled, and its scheduler has it loaded and switched on."""
    state = machine.schedule
    if state.status == "not scheduled":
        return warn("no nightly run is scheduled", state.advice or "memory schedule")
    if state.status in ("disabled", "not loaded"):
        why = "; ".join(state.trouble)
        return fail(
            f"the schedule is {state.status}{f': {why}' if why else ''}",
            state.advice or "memory schedule",
        )
    if state.status == "unknown" or state.trouble:
        return warn("; ".join(state.trouble) or "the scheduler does not answer", state.advice)
    due = state.next_run
    return ok(f"{state.scheduler}, next {due:%Y-%m-%d %H:%M}" if due else state.scheduler)


def drifted(machine: Machine) -> Verdict:
    """The schedule starts this very program: neither Python nor command moved since."""
    state = machine.schedule
    if not state.drift:
        return ok("as installed" if state.installed else "nothing is scheduled")
    gone = state.installed is None or not state.installed.script.exists()
    told = "; ".join(state.drift)
    return (fail if gone else warn)(told, "memory schedule")


def succeeded(machine: Machine) -> Verdict:
    """A run has succeeded since the last night it was due; without a schedule, in seven days."""
    known, state, now = machine.nights, machine.schedule, machine.now
    last = known.last_success
    why = f" (the last run was {known.last_status}: {known.last_failure})"
    reason = why if known.last_failure and known.last_status != "running" else ""
    if state.installed is not None:
        since = max(state.installed.installed_at, last or state.installed.installed_at)
        count = missed(state.installed.at, since, now, at_work=machine.at_work is not None)
        if count:
            told = f"no successful run for {counted(count, 'night')}{reason}"
            return (fail if count >= _MANY_NIGHTS else warn)(
                told, "`memory logs` tells of the last run; run `memory synthesize`"
            )
    elif last and now - last > _BY_HAND:
        return warn(
            f"the last successful run was {(now - last).days} days ago{reason}",
            "run `memory synthesize`, or `memory schedule` it",
        )
    if known.last_status in ("failed", "interrupted"):
        return warn(
            f"the last run was {known.last_status}: {known.last_failure or 'it was killed'}",
            "`memory logs` tells of it; run `memory synthesize`",
        )
    if last is None:
        return ok("no run yet")
    return ok(f"{last.astimezone(machine.config.zone):%Y-%m-%d %H:%M}")


def locked(machine: Machine) -> Verdict:
    """No run hangs on to the lock longer than its time budget, and none was killed."""
    path, holder = machine.config.lock_path, machine.at_work
    if holder is not None:
        began = datetime.fromtimestamp(holder.started, UTC)
        budget = timedelta(minutes=machine.config.max_minutes)
        if machine.now - began > budget + _OVERTIME:
            return warn(
                f"a run is at work ({holder}), far longer than its "
                f"{machine.config.max_minutes} minutes",
                f"if it does nothing any more, end it: kill {holder.pid}",
            )
        return ok(f"a run is at work ({holder})")
    try:
        left = ordinary.content(path) if path.exists() else b""
    except OSError as error:
        return fail(f"{path} cannot be read: {error.strerror}", f"delete it: rm -r {path}")
    if left.strip():
        return warn(
            "a run, or another command that holds the lock, was killed",
            "nothing is lost: the next `memory synthesize` goes on",
        )
    return ok("free")


def slowed(machine: Machine) -> Verdict:
    """The model writes at least half as fast in the last runs as in those before."""
    speeds = machine.store.soundness.speeds(_ENOUGH_TOKENS) if machine.store else []
    recent, before = speeds[:_RECENT], speeds[_RECENT : _RECENT + _BEFORE]
    if not before:
        return ok("not enough runs to compare")
    now, then = median(recent), median(before)
    if now < _DROP * then:
        return warn(
            f"{now:.0f} tokens a second in the last runs, {then:.0f} before",
            "see docs/schedule.md on the process type, and `memory model check`",
        )
    return ok(f"{now:.0f} tokens a second")


def parked(machine: Machine) -> Verdict:
    """No work was given up after too many tries."""
    tried = machine.store.attempts.all() if machine.store else []
    given_up = [f"{attempt.stage}: {attempt.job}" for attempt in tried if attempt.parked]
    if given_up:
        return warn(
            f"{counted(len(given_up), 'job')} given up, the first {given_up[0]}",
            "`memory status` says why; `memory retry` has them tried again",
        )
    return ok("none")
