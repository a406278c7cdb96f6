"""One run from its conditions to its last line: by hand, or by the schedule."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from pipeline.cli.printing import print_diff, print_json, say, warn
from pipeline.errors import EXIT_PARTIAL, EXIT_SKIPPED, EXIT_STOPPED, ConfigFault, StoreFault

if TYPE_CHECKING:
    from pipeline.backlog import Passes
    from pipeline.config import Config
    from pipeline.records import Event, Span


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
    from pipeline import assemble
    from pipeline.lock import one_run
    from pipeline.store.soundness import is_damaged
    from pipeline.system import awake

    with one_run(config.lock_path) as killed, awake():
        problems = []
        if killed:
            problems.append(
                f"the last run was killed ({killed}); this one goes on where it stopped"
            )
        if wish.scheduled and (quiet := _silence(config)):
            problems.append(quiet)
        if not wish.trust_clock:
            _refuse_wrong_clock(config)
        if wish.dry_run:
            with assemble.rehearsal(config) as copies:
                status = _run(copies, wish, problems, rehearsing=config)
        else:
            try:
                status = _run(config, wish, problems)
            except StoreFault:
                if not is_damaged(config.store_path):
                    raise
                status = _run(config, wish, problems + _made_anew(config))
    if code := {"partial": EXIT_PARTIAL, "stopped": EXIT_STOPPED}.get(status):
        raise typer.Exit(code)


def at_night(config: Config, wish: Wish, at: str) -> None:
    """Run, unless this night is done already or the machine speaks against it."""
    from dataclasses import replace

    from pipeline import assemble, conditions, night, schedule
    from pipeline.lock import one_run
    from pipeline.notify import notify
    from pipeline.schedule.times import last_due, parse
    from pipeline.system import ask

    now = assemble.utc_now()
    due = last_due(parse(at), now)
    installed = schedule.installed()
    if installed and installed.installed_at > due:
        say(f"the schedule was installed after {at}: its first night is the next one")
        return
    try:
        if night.done_since(config, due):
            say(f"the night of {at} is done already")
            return
        folders = (config.vault, config.cache_dir, config.data_dir)
        weights = conditions.weights_bytes(assemble.place(assemble.chosen_model(config)[0], config))
        if reasons := conditions.reasons(conditions.read(folders), config.night, weights):
            with one_run(config.lock_path):
                night.skip(config, "; ".join(reasons), now)
            warn(f"skipped this night: {'; '.join(reasons)}")
            raise typer.Exit(EXIT_SKIPPED)
        by_hand(config, replace(wish, scheduled=True))
    except Exception as error:
        # a night fails while nobody looks; typer.Exit is none of these failures
        if config.night.notify and not isinstance(error, typer.Exit):
            notify("The night's run failed", str(error), ask)
        raise


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

    names = [known.NAME for known in orchestrator.STAGES]
    if wish.stage and wish.stage not in names:
        raise ConfigFault(f"there is no stage {wish.stage!r}", mend=f"stages: {', '.join(names)}")
    name, message = assemble.chosen_model(config)
    if message and not wish.as_json:
        warn(message)
    models = assemble.real_models(config)
    stream = sys.stdout if wish.as_json else sys.stderr
    with ExitStack() as open_, watcher(stream, json=wish.as_json) as watched:
        watching = [watched]

        def tell(event: Event) -> None:
            for watch in watching:
                watch(event)

        desk = assemble.desk(config, models=models, say=tell, span=wish.span, rehearsing=rehearsing)
        open_.callback(desk.store.close)
        desk.results.scheduled = wish.scheduled
        desk.results.problems += problems
        log = None
        if not rehearsing:  # the log of a rehearsal would bear a real run's name
            log = open_.enter_context(run_log(config, desk.run))
            watching.append(log.event)
        before = desk.history.head()
        control = Control(config.max_minutes, config.max_tokens)
        status = "failed"
        try:
            status = orchestrator.run(desk, control, only=wish.stage, passes=wish.passes)
        finally:
            spent = desk.store.runs.spent(desk.run)
            told = {"run": desk.run, "status": status, "model": name, "spent": spent}
            told |= desk.results.as_json()
            if log:
                log.result(status, desk.results, spent)
                _tell_the_users_command(config, told)
                if log.problem:
                    warn(log.problem)
        diff = desk.history.diff(before, desk.history.head()) if rehearsing else ""
    if wish.as_json:
        print_json(told | ({"diff": diff} if rehearsing else {}))
        return status
    _print(told, diff)
    return status


def _print(told: dict[str, Any], diff: str) -> None:
    """The result for a reader: the diff of a rehearsal, what was noticed, the run in one line."""
    print_diff(diff)
    for problem in told["problems"]:
        warn(f"warning: {problem}")
    for job, reasons in told["rejected"]:
        warn(f"not kept: {job}: {'; '.join(reasons)}")
    for article, reasons in told["held"]:
        warn(f"held: {article}: {'; '.join(reasons)} (see it with `memory review`)")
    say(_sentence(told["run"], told["status"], told["counts"], told["spent"]))
    if told["backlog"]:
        say(f"{told['backlog']} older conversations wait: `memory backfill` takes them, too")


def _tell_the_users_command(config: Config, told: dict[str, Any]) -> None:
    """Start night.on_finish, if it is set. What becomes of it is only logged."""
    import json

    from pipeline.notify import tell_command
    from pipeline.system import ask

    if config.night.on_finish:
        tell_command(config.night.on_finish, json.dumps(told), ask)


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
        f"run {run}: {status}; {told or 'no counts'}; "
        f"{int(spent['calls'])} model calls, {int(spent['prompt_tokens'])} tokens read, "
        f"{int(spent['output_tokens'])} written"
    )
