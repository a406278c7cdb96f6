"""One run from its conditions to its last line: by hand, or by the schedule."""

from __future__ import annotations

import logging
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from pipeline.cli.printing import print_diff, print_json, say, unheard, warn
from pipeline.errors import (
    EXIT_PARTIAL,
    EXIT_SKIPPED,
    EXIT_STOPPED,
    BusyFault,
    ConfigFault,
    StoreFault,
)

if TYPE_CHECKING:
    from pipeline.backlog import Passes
    from pipeline.config import Config
    from pipeline.desk import Desk
    from pipeline.lock import Holder
    from pipeline.records import Event, Span

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Wish:
    """What was asked for. span: None for the night's news. stage: "" for all of them."""

    span: Span | None
    passes: Passes
    dry_run: bool
    as_json: bool
    trust_clock: bool
    stage: str = ""
    scheduled: bool = False


def by_hand(config: Config, wish: Wish) -> None:
    """Run, print, and exit with the code of the run's status."""
    from pipeline.control import Control, Stopped
    from pipeline.lock import one_run
    from pipeline.system import awake

    _refuse_unknown_stage(wish.stage)
    status = "stopped"
    with one_run(config.lock_path) as killed:
        try:
            # for what stands before and after the stages: a signal there must not leave the lock
            # behind as a killed run does, nor a program of ours at work
            with Control(config.max_minutes).signals(), awake():
                status = _sound_run(config, wish, killed)
        except Stopped as stop:
            _tell_no_run(wish, "stopped", str(stop))
    if code := {"partial": EXIT_PARTIAL, "stopped": EXIT_STOPPED}.get(status):
        raise typer.Exit(code)


def at_night(config: Config, wish: Wish, at: str) -> None:
    """Run, unless this night is done already or the machine speaks against it."""
    from dataclasses import replace

    from pipeline import assemble, conditions, night, schedule
    from pipeline.hours import last_due, parse
    from pipeline.lock import one_run

    now = assemble.utc_now()
    due = last_due(parse(at), now)
    installed = schedule.installed()
    if installed and installed.installed_at > due:
        why = f"the schedule was installed after {at}: its first night is the next one"
        _tell_no_run(wish, "not due", why)
        return
    try:
        if night.done_since(config, due, now):
            _tell_no_run(wish, "not due", f"the night of {at} is done already")
            return
        folders = (config.vault, config.cache_dir, config.data_dir)
        weights = conditions.weights_bytes(assemble.place(assemble.chosen_model(config)[0], config))
        if reasons := conditions.reasons(conditions.read(folders), config.night, weights):
            why = "; ".join(reasons)
            with one_run(config.lock_path):
                run = night.skip(config, why, now)
            _tell_no_run(wish, "skipped", f"skipped this night: {why}", run)
            raise typer.Exit(EXIT_SKIPPED)
        by_hand(config, replace(wish, scheduled=True))
    except Exception as error:
        if config.night.notify:
            notify_of(error)
        raise


def notify_of(error: Exception) -> None:
    """Show that a night failed, since nobody looks: not for an exit, nor for a run at work."""
    from pipeline.notify import notify
    from pipeline.system import ask

    if not isinstance(error, typer.Exit | BusyFault):
        notify("The night's run failed", str(error), ask)


def _refuse_unknown_stage(stage: str) -> None:
    from pipeline.orchestrator import STAGES

    names = [known.NAME for known in STAGES]
    if stage and stage not in names:
        raise ConfigFault(f"there is no stage {stage!r}", mend=f"stages: {', '.join(names)}")


def _tell_no_run(wish: Wish, status: str, why: str, run: str = "") -> None:
    """That no stage was begun, and why, in the place of a run's result."""
    if wish.as_json:
        print_json({"run": run, "status": status, "why": why})
    elif status == "not due":
        say(why)
    else:
        warn(why)


def _sound_run(config: Config, wish: Wish, killed: Holder | None) -> str:
    """A run, its store made anew where that is damaged; returns its status.

    killed: the run before it, if it was.
    """
    from pipeline import assemble
    from pipeline.store.soundness import is_damaged

    problems = []
    if killed:
        problems.append(
            f"a run, or another command that holds the lock, was killed ({killed}); "
            "this run goes on where that stopped"
        )
    if not wish.trust_clock:
        _refuse_wrong_clock(config)
    if wish.dry_run:
        with assemble.rehearsal(config) as copies:
            return _run(copies, wish, problems, rehearsing=config)
    try:
        return _run(config, wish, problems)
    except StoreFault:
        if not is_damaged(config.store_path):
            raise
        return _run(config, wish, problems + _made_anew(config))


def _silence(config: Config) -> str:
    """What the changelog has to tell of nights that were missed or failed before this one."""
    from pipeline import assemble
    from pipeline.silence import silence

    now = assemble.utc_now()
    told = silence(config.store_path, config.lock_path, now, environ=os.environ, home=Path.home())
    return told.removeprefix("nightly-memory: ")


def _made_anew(config: Config) -> list[str]:
    """Make the damaged store anew and keep it aside; what there is to tell."""
    from pipeline.keeping.rebuilding import rebuild

    made = rebuild(config)
    counts = ", ".join(f"{number} {name}" for name, number in made.counts.items() if number)
    return [
        f"memory.sqlite was damaged and was made anew ({counts}); the damaged one is {made.aside}",
        *made.problems,
    ]


def _run(
    config: Config, wish: Wish, problems: list[str], *, rehearsing: Config | None = None
) -> str:
    """One run on the places of `config`; prints its result or its diff; returns its status.

    problems: what was noticed before it began.
    """
    from contextlib import ExitStack

    from pipeline import assemble, orchestrator
    from pipeline.control import Control
    from pipeline.logs import run_log
    from pipeline.progress import watcher

    name, message = assemble.chosen_model(config)
    if message and not wish.as_json:
        warn(message)
    models = assemble.real_models(config)
    stream = sys.stdout if wish.as_json else sys.stderr
    silence = _silence(config) if wish.scheduled else ""  # before this run is the newest
    with ExitStack() as open_, watcher(stream, json=wish.as_json) as watched:
        watching = [watched]

        def tell(event: Event) -> None:
            for watch in watching:
                watch(event)

        desk = assemble.desk(config, models=models, say=tell, span=wish.span, rehearsing=rehearsing)
        open_.callback(desk.store.close)
        desk.results.scheduled = wish.scheduled
        desk.results.silence = silence
        desk.results.problems += problems
        log = None
        if not rehearsing:  # the log of a rehearsal would bear a real run's name
            log = open_.enter_context(run_log(config, desk.run))
            watching.append(log.event)
            desk.results.problems += [log.problem] if log.problem else []
        before = desk.history.head()
        control = Control(config.max_minutes, config.max_tokens)
        status = "failed"
        try:
            status = orchestrator.run(desk, control, only=wish.stage, passes=wish.passes)
        finally:
            spent = _spent(desk)
            told = {"run": desk.run, "status": status, "model": name, "spent": spent}
            told |= desk.results.as_json()
            if log:
                log.result(status, desk.results, spent)
                _tell_the_users_command(config, told)
                if log.problem not in ("", *desk.results.problems):  # it broke on the way
                    warn(log.problem)
            if wish.as_json and status == "failed":
                with unheard():
                    print_json(told)
        diff = desk.history.diff(before, desk.history.head()) if rehearsing else ""
    with unheard():
        if wish.as_json:
            print_json(told | ({"diff": diff} if rehearsing else {}))
        else:
            _print(told, diff, rehearsed=rehearsing is not None)
    return status


def _spent(desk: Desk) -> dict[str, float]:
    """What the run asked of the model; nothing known where the store no longer says.

    A second error here would hide the first, which tells that the store has to be made anew.
    """
    from pipeline import sqlite

    try:
        return desk.store.runs.spent(desk.run)
    except sqlite.Error:
        kinds = ("calls", "prompt_tokens", "cached_tokens", "output_tokens", "seconds")
        return dict.fromkeys(kinds, 0.0)


def _print(told: dict[str, Any], diff: str, *, rehearsed: bool) -> None:
    """The result for a reader: the diff of a rehearsal, what was noticed, the run in one line."""
    print_diff(diff)
    for problem in told["problems"]:
        warn(f"warning: {problem}")
    for job, reasons in told["rejected"]:
        warn(f"not kept: {job}: {'; '.join(reasons)}")
    for article, reasons in told["held"]:
        # what a rehearsal holds is gone with its copies
        where = "" if rehearsed else " (see it with `memory review`)"
        warn(f"held: {article}: {'; '.join(reasons)}{where}")
    say(_sentence(told["run"], told["status"], told["counts"], told["spent"]))
    if rehearsed:
        say("all of it on copies: vault and store are as they were")
    if told["backlog"]:
        say(f"{told['backlog']} older conversations wait: `memory backfill` takes them, too")


def _tell_the_users_command(config: Config, told: dict[str, Any]) -> None:
    """Start night.on_finish, if it is set. What becomes of it is only logged."""
    import json

    from pipeline.control import Stopped
    from pipeline.notify import HOOK_SECONDS, HOOK_SECONDS_STOPPED, tell_command
    from pipeline.system import ask

    seconds = HOOK_SECONDS_STOPPED if told["asked"] else HOOK_SECONDS
    try:
        tell_command(config.night.on_finish, json.dumps(told), ask, seconds=seconds)
    except Stopped as stop:  # the run has ended and is recorded; its command alone is cut short
        _LOG.warning("on_finish: %s", stop)


def _refuse_wrong_clock(config: Config) -> None:
    """Raise ConfigFault when the clock stands before the last run."""
    from pipeline import assemble, night

    now = assemble.utc_now()
    if began := night.clock_went_back(config, now):
        raise ConfigFault(
            f"the clock shows {now:%Y-%m-%d %H:%M} UTC, but the last run began on "
            f"{began:%Y-%m-%d %H:%M}: what was said today would be dated wrong",
            mend="set the clock, or run once with --trust-clock if that run's was wrong",
        )


def _sentence(run: str, status: str, counts: dict[str, int], spent: dict[str, float]) -> str:
    """The run in one line."""
    if status == "nothing":
        return f"run {run}: nothing new"
    told = ", ".join(f"{number} {name}" for name, number in counts.items() if number)
    return (
        f"run {run}: {status}; {told or 'no news'}; "
        f"{int(spent['calls'])} model calls, {int(spent['prompt_tokens'])} tokens read, "
        f"{int(spent['output_tokens'])} written"
    )
