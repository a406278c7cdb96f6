"""`memory schedule` and `unschedule`: the nightly run in the hands of the system's scheduler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli.printing import JsonOption, print_json, say
from pipeline.errors import ConfigFault

if TYPE_CHECKING:
    from pipeline.schedule import Plan, State

app = typer.Typer(invoke_without_command=True)


@app.callback()
def schedule(
    context: typer.Context,
    at: Annotated[
        str | None, typer.Option(metavar="HH:MM", help="When; 03:00 unless set before.")
    ] = None,
    on_battery: Annotated[
        bool | None,
        typer.Option("--on-battery/--not-on-battery", help="Let it work on battery power too."),
    ] = None,
    process_type: Annotated[
        str | None,
        typer.Option(
            metavar="standard|background|adaptive",
            help="How far it stands back behind your own work; docs/schedule.md weighs them.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be written and called.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Run every night at this time. Repeat it to change something; the rest stays as it was.

    Example: memory schedule --at 03:30
    """
    if context.invoked_subcommand:
        if at or on_battery is not None or process_type or dry_run or as_json:
            raise ConfigFault(
                f"options of `memory schedule` stand before `{context.invoked_subcommand}`",
                mend=f"give them to one command or the other: {context.invoked_subcommand} "
                "changes nothing of the schedule",
            )
        return
    from pipeline import schedule as scheduling
    from pipeline.config import load_config
    from pipeline.hours import parse
    from pipeline.system import ask

    config = load_config()
    kinds = [kind.value for kind in scheduling.ProcessType]
    if process_type is not None and process_type not in kinds:
        raise ConfigFault(
            f"there is no process type {process_type!r}", mend=f"known: {', '.join(kinds)}"
        )
    wanted = scheduling.job(
        parse(at) if at is not None else None,
        on_battery,
        scheduling.ProcessType(process_type) if process_type else None,
    )
    if dry_run:
        _print_plan(scheduling.plan(wanted, config), as_json=as_json)
        return
    changed = scheduling.install(wanted, config, ask)
    state = scheduling.state(config, ask)
    if as_json:
        print_json(state.as_json() | {"changed": changed})
        return
    say("scheduled" if changed else "scheduled so already: nothing changed")
    _print_state(state)


@app.command("status")
def schedule_status(as_json: JsonOption = False) -> None:
    """Whether the nightly run is scheduled, loaded and as it should be, and when it runs next.

    Example: memory schedule status --json
    """
    from pipeline import schedule as scheduling
    from pipeline.config import load_config
    from pipeline.system import ask

    state = scheduling.state(load_config(), ask)
    if as_json:
        print_json(state.as_json())
        return
    _print_state(state)


@app.command("try")
def schedule_try() -> None:
    """Have the scheduler start the job now, to see that it can; a night that is done stays so.

    Example: memory schedule try
    """
    from pipeline import schedule as scheduling
    from pipeline.system import ask

    if scheduling.installed() is None:
        raise ConfigFault("nothing is scheduled that could be tried", mend="memory schedule")
    scheduling.start(ask)
    say("started; `memory schedule status` shows how it ends")


def unschedule(as_json: JsonOption = False) -> None:
    """Run no more by night. A run at work stops at the next safe point; nothing else is deleted.

    Example: memory unschedule
    """
    from pipeline import schedule as scheduling
    from pipeline.system import ask

    removed = scheduling.remove(ask)
    if as_json:
        print_json({"removed": removed})
        return
    say("no longer scheduled" if removed else "it was not scheduled")


def _print_plan(plan: Plan, *, as_json: bool) -> None:
    if as_json:
        files = {str(path): content.decode() for path, content in plan.files.items()}
        print_json({"files": files, "commands": [list(command) for command in plan.commands]})
        return
    for path, content in plan.files.items():
        say(f"would write {path}:")
        say(content.decode().rstrip("\n"))
    for command in plan.commands:
        say(f"would call {' '.join(command)}")


def _print_state(state: State) -> None:
    say(f"schedule  {state.status}" + (f", by {state.scheduler}" if state.installed else ""))
    if state.installed:
        job = state.installed
        battery = ", on battery too" if job.on_battery else ""
        say(f"at        {job.at:%H:%M}, {job.process_type.value}{battery}")
        say(f"command   {job.script}")
        say(f"file      {job.path}")
    if state.next_run:
        say(f"next run  {state.next_run.isoformat(sep=' ', timespec='minutes')}")
    if state.pid is not None:
        say(f"at work   process {state.pid}")
    if state.runs is not None:
        say(f"runs      {state.runs} since it was loaded")
    if state.last_exit is not None:
        say(f"last exit {state.last_exit}")
    for sentence in state.drift:
        say(f"drifted   {sentence}")
    for sentence in state.trouble:
        say(f"trouble   {sentence}")
    if state.advice:
        say(f"mend      {state.advice}")
