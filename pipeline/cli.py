"""The `memory` command: one function a command, each of which parses, calls and prints.

Heavy imports stay inside the commands, so that `memory --help` and `memory status` start at once.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from pipeline.errors import EXIT_PARTIAL, EXIT_STOPPED, ConfigFault, MemoryFault

if TYPE_CHECKING:
    from pipeline.config import Config

app = typer.Typer(
    name="memory",
    help="Every night, fold the day's conversations with AI assistants into your Markdown wiki.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=True,
)
model_app = typer.Typer(help="The models: list, fetch, find and check them.", no_args_is_help=True)
config_app = typer.Typer(
    help="The settings in force, and where they come from.", no_args_is_help=True
)
app.add_typer(model_app, name="model")
app.add_typer(config_app, name="config")

out = Console(soft_wrap=True)
err = Console(stderr=True, soft_wrap=True)

VaultOption = Annotated[
    Path | None, typer.Option("--vault", help="The vault to use instead of the configured one.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


def main() -> None:
    """Entry point: run the command, print a fault as two lines, exit with its code."""
    debug = "--debug" in sys.argv
    if debug:
        logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)
    try:
        app()
    except MemoryFault as fault:
        if debug:
            raise
        err.print(f"memory: {fault}", markup=False, highlight=False, style="bold red")
        if fault.mend:
            err.print(f"  {fault.mend}", markup=False, highlight=False)
        raise SystemExit(fault.exit_code) from None


def _version(wanted: bool) -> None:
    if wanted:
        out.print(version("nightly-memory"))
        raise typer.Exit


@app.callback()
def root(
    _version_flag: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
    _debug: Annotated[
        bool, typer.Option("--debug", help="Show where a fault was raised, and log details.")
    ] = False,
) -> None:
    """Every night, fold the day's conversations with AI assistants into your Markdown wiki."""


@app.command()
def init(vault: VaultOption = None) -> None:
    """Make the vault: folders, Meta pages, a git repository. Safe to repeat.

    Example: memory init --vault ~/MemoryVault
    """
    from pipeline.config import load_config
    from pipeline.history import History
    from pipeline.resources import folder
    from pipeline.store import Store
    from pipeline.vault import Vault

    config = load_config(vault=vault)
    Store(config.store_path).close()
    history = History(config.vault)
    seeded = Vault(config.vault).seed(folder("vault_meta"))
    history.init()
    if seeded:
        pages = [path.relative_to(config.vault).as_posix() for path in seeded]
        history.commit(pages, "init: the vault's pages")
    verb = "made" if seeded else "stands as it was"
    out.print(f"vault {config.vault}: {verb}", highlight=False)
    out.print("next: memory synthesize --dry-run", highlight=False)


@app.command()
def synthesize(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Do everything on copies and print the diff.")
    ] = False,
    since: Annotated[
        datetime | None,
        typer.Option(
            formats=["%Y-%m-%d"], help="Leave conversations alone that ended before this day."
        ),
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="Alias, hub name or folder of the model to use.")
    ] = None,
    max_minutes: Annotated[
        int | None, typer.Option(min=1, help="Stop at a safe point after so many minutes.")
    ] = None,
    stage: Annotated[str, typer.Option(help="Do this stage alone.")] = "",
    vault: VaultOption = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print events and the result as JSON lines.")
    ] = False,
) -> None:
    """Fold what was said since the last night into the vault.

    Example: memory synthesize --dry-run --since 2000-01-31
    """
    from pipeline import assemble
    from pipeline.config import load_config
    from pipeline.lock import one_run

    config = load_config(vault=vault, model=model, max_minutes=max_minutes)
    moment = since.replace(tzinfo=config.zone).astimezone() if since else None
    with one_run(config.lock_path):
        if dry_run:
            with assemble.rehearsal(config) as copies:
                status = _run(copies, moment, stage, as_json=as_json, rehearsing=config)
        else:
            status = _run(config, moment, stage, as_json=as_json)
    if code := {"partial": EXIT_PARTIAL, "stopped": EXIT_STOPPED}.get(status):
        raise typer.Exit(code)


def _run(
    config: Config,
    since: datetime | None,
    stage: str,
    *,
    as_json: bool,
    rehearsing: Config | None = None,
) -> str:
    """One run on the places of `config`; prints its result or its diff; returns its status."""
    from pipeline import assemble, orchestrator
    from pipeline.progress import watcher

    names = [known.NAME for known in orchestrator.STAGES]
    if stage and stage not in names:
        raise ConfigFault(f"there is no stage {stage!r}", mend=f"stages: {', '.join(names)}")
    name, message = assemble.chosen_model(config)
    if message and not as_json:
        err.print(message, markup=False, highlight=False)
    models = assemble.real_models(config)
    stream = sys.stdout if as_json else sys.stderr
    with watcher(stream, json=as_json) as say:
        desk = assemble.desk(config, models=models, since=since, say=say, rehearsing=rehearsing)
        before = desk.history.head()
        status = orchestrator.run(desk, orchestrator.Control(config.max_minutes), only=stage)
    diff = desk.history.diff(before, desk.history.head()) if rehearsing else ""
    results, spent = desk.results, desk.store.runs.spent(desk.run)
    desk.store.close()
    if as_json:
        told = {"run": desk.run, "status": status, "model": name, "spent": spent}
        told |= results.as_json() | ({"diff": diff} if rehearsing else {})
        sys.stdout.write(json.dumps(told, ensure_ascii=True) + "\n")
        return status
    if diff:
        from rich.syntax import Syntax

        out.print(
            Syntax(diff, "diff", background_color="default") if out.is_terminal else diff,
            markup=False,
            highlight=False,
        )
    for problem in results.problems:
        err.print(f"warning: {problem}", markup=False, highlight=False)
    for job, reasons in results.rejected:
        err.print(f"not kept: {job}: {'; '.join(reasons)}", markup=False, highlight=False)
    out.print(_sentence(desk.run, status, results.counts, spent), highlight=False)
    return status


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


@app.command()
def status(vault: VaultOption = None, as_json: JsonOption = False) -> None:
    """The last run, what is pending, and where everything is.

    Example: memory status --json
    """
    from pipeline.config import load_config
    from pipeline.status import gather, lines

    state = gather(load_config(vault=vault))
    if as_json:
        sys.stdout.write(json.dumps(state, ensure_ascii=True) + "\n")
        return
    for line in lines(state):
        out.print(line, markup=False, highlight=False)


@model_app.command("list")
def model_list(as_json: JsonOption = False) -> None:
    """Every alias, what it is, how large it is and whether it has been fetched.

    Example: memory model list
    """
    from dataclasses import asdict

    from pipeline.config import load_config
    from pipeline.models.listing import listing

    found = listing(load_config().models_dir)
    if as_json:
        sys.stdout.write(json.dumps([asdict(row) for row in found], ensure_ascii=True) + "\n")
        return
    from rich.table import Table

    table = Table("alias", "model", "download", "memory", "licence", "fetched")
    for column in table.columns:
        column.overflow = "fold"
    for row in found:
        table.add_row(
            row.alias,
            row.model,
            f"{row.download_gb:.1f} GB",
            f"{row.memory_gb:.1f} GB",
            row.licence,
            "yes" if row.fetched else "",
        )
    out.print(table)


@model_app.command("fetch")
def model_fetch(
    name: Annotated[str, typer.Argument(help="Alias, or hub name organisation/name.")],
    alternatives: Annotated[
        list[str] | None,
        typer.Option("--or", help="Take this one if the first is no longer to be had."),
    ] = None,
) -> None:
    """Download a model by day, check it, and keep it for the nights.

    Example: memory model fetch e4b
    """
    from rich.progress import DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    from pipeline.config import load_config
    from pipeline.models.fetch import fetch_first

    config = load_config()
    columns = (TextColumn("{task.description}"), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=err, disable=not err.is_terminal) as bars:
        tasks = {}

        def progress(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total or None)
            bars.update(tasks[what], completed=done, total=total or None)

        taken, where, messages = fetch_first(
            [name, *(alternatives or [])],
            config.models_dir,
            offline=config.offline,
            progress=progress,
        )
    for message in messages:
        err.print(message, markup=False, highlight=False)
    out.print(f"{taken}: {where}", highlight=False)


@model_app.command("path")
def model_path(name: Annotated[str, typer.Argument(help="Alias, hub name or folder.")]) -> None:
    """The folder of a fetched model.

    Example: memory model path e4b
    """
    from pipeline.config import load_config
    from pipeline.models.fetch import path

    out.print(str(path(name, load_config().models_dir)), highlight=False, markup=False)


@model_app.command("check")
def model_check(
    name: Annotated[str | None, typer.Argument(help="Default: the configured model.")] = None,
) -> None:
    """Load the model, ask it something, and say how fast it is and on what it runs.

    Example: memory model check e4b
    """
    from pipeline.assemble import check_model
    from pipeline.config import load_config
    from pipeline.errors import ModelFault

    sound = True
    for line in check_model(load_config(model=name)):
        sound = sound and line.ok
        out.print(
            f"{'ok ' if line.ok else 'BAD'} {line.what}: {line.result}",
            highlight=False,
            markup=False,
        )
    if not sound:
        raise ModelFault("the model is not fit for a night", mend="fetch it again, or take another")


@config_app.command("show")
def config_show(as_json: JsonOption = False) -> None:
    """Every setting in force: flags over MEMORY_… variables over the file over the defaults.

    Example: memory config show
    """
    from pipeline.config import load_config

    values = load_config().model_dump(mode="json")
    if as_json:
        sys.stdout.write(json.dumps(values, ensure_ascii=True) + "\n")
        return
    for key, value in values.items():
        if isinstance(value, dict):
            for inner, item in value.items():
                out.print(f"{key}.{inner} = {json.dumps(item)}", highlight=False, markup=False)
        else:
            out.print(f"{key} = {json.dumps(value)}", highlight=False, markup=False)


@config_app.command("path")
def config_path() -> None:
    """The configuration file, whether it exists or not.

    Example: memory config path
    """
    from pipeline.config import config_path as path

    out.print(str(path()), highlight=False, markup=False)
