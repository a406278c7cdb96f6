"""One run from its conditions to its last line: by hand, or by the schedule."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from datetime import datetime, time
from typing import TYPE_CHECKING

import typer

from pipeline.cli.printing import print_diff, print_json, say, warn
from pipeline.errors import EXIT_PARTIAL, EXIT_SKIPPED, EXIT_STOPPED, ConfigFault

if TYPE_CHECKING:
    from pipeline.backlog import Passes
    from pipeline.config import Config
    from pipeline.records import Span


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
    from pipeline.system import awake

    with one_run(config.lock_path) as killed, awake():
        if killed:
            warn(f"the last run was killed ({killed}); this one goes on where it stopped")
        if wish.dry_run:
            with assemble.rehearsal(config) as copies:
                status = _run(copies, wish, rehearsing=config)
        else:
            status = _run(config, wish)
    if code := {"partial": EXIT_PARTIAL, "stopped": EXIT_STOPPED}.get(status):
        raise typer.Exit(code)


def at_night(config: Config, wish: Wish, at: str) -> None:
    """Run, unless this night is done already or the machine speaks against it."""
    from dataclasses import replace

    from pipeline import assemble, conditions, night

    hour = _time(at)
    now = assemble.utc_now()
    if night.done_since(config, night.due(hour, now.astimezone())):
        say(f"the night of {at} is done already")
        return
    folders = (config.vault, config.cache_dir, config.data_dir)
    weights = conditions.weights_bytes(assemble.place(assemble.chosen_model(config)[0], config))
    if reasons := conditions.reasons(conditions.read(folders), config.night, weights):
        night.skip(config, "; ".join(reasons), now)
        warn(f"skipped this night: {'; '.join(reasons)}")
        raise typer.Exit(EXIT_SKIPPED)
    by_hand(config, replace(wish, scheduled=True))


def _time(text: str) -> time:
    """A time of day. Raises ConfigFault for anything but HH:MM; nothing is clamped."""
    try:
        return datetime.strptime(text, "%H:%M").time()
    except ValueError as error:
        raise ConfigFault(
            f"{text!r} is no time of day", mend="write it as HH:MM, from 00:00 to 23:59"
        ) from error


def _run(config: Config, wish: Wish, *, rehearsing: Config | None = None) -> str:
    """One run on the places of `config`; prints its result or its diff; returns its status."""
    from pipeline import assemble, orchestrator
    from pipeline.control import Control
    from pipeline.progress import watcher

    names = [known.NAME for known in orchestrator.STAGES]
    if wish.stage and wish.stage not in names:
        raise ConfigFault(f"there is no stage {wish.stage!r}", mend=f"stages: {', '.join(names)}")
    if not wish.trust_clock:
        _refuse_wrong_clock(config)
    name, message = assemble.chosen_model(config)
    if message and not wish.as_json:
        warn(message)
    models = assemble.real_models(config)
    stream = sys.stdout if wish.as_json else sys.stderr
    with watcher(stream, json=wish.as_json) as watched:
        desk = assemble.desk(
            config, models=models, say=watched, span=wish.span, rehearsing=rehearsing
        )
        desk.results.scheduled = wish.scheduled
        before = desk.history.head()
        control = Control(config.max_minutes, config.max_tokens)
        status = orchestrator.run(desk, control, only=wish.stage, passes=wish.passes)
    diff = desk.history.diff(before, desk.history.head()) if rehearsing else ""
    results, spent = desk.results, desk.store.runs.spent(desk.run)
    desk.store.close()
    if wish.as_json:
        told = {"run": desk.run, "status": status, "model": name, "spent": spent}
        told |= results.as_json() | ({"diff": diff} if rehearsing else {})
        print_json(told)
        return status
    print_diff(diff)
    for problem in results.problems:
        warn(f"warning: {problem}")
    for job, reasons in results.rejected:
        warn(f"not kept: {job}: {'; '.join(reasons)}")
    for article, reasons in results.held:
        warn(f"held: {article}: {'; '.join(reasons)} (see it with `memory review`)")
    say(_sentence(desk.run, status, results.counts, spent))
    if results.backlog:
        say(f"{results.backlog} older conversations wait: `memory backfill` takes them, too")
    return status


def _refuse_wrong_clock(config: Config) -> None:
    """Raise ConfigFault when the clock stands before the last run."""
    from pipeline import assemble, night
    from pipeline.store import Store

    if not config.store_path.is_file():
        return
    store = Store(config.store_path)
    try:
        now = assemble.utc_now()
        if began := night.clock_went_back(store, now):
            raise ConfigFault(
                f"the clock shows {now:%Y-%m-%d %H:%M} UTC, but the last run began on "
                f"{began:%Y-%m-%d %H:%M}: what was said today would be dated wrong",
                mend="set the clock, or run once with --trust-clock if that run's was wrong",
            )
    finally:
        store.close()


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
