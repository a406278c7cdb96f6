"""`memory model`: list, fetch, find and check the models."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline.cli.printing import JsonOption, err, print_json, say, show, warn

app = typer.Typer(help="The models: list, fetch, find and check them.", no_args_is_help=True)


@app.command("list")
def model_list(as_json: JsonOption = False) -> None:
    """Every alias, what it is, how large it is and whether it has been fetched.

    Example: memory model list
    """
    from dataclasses import asdict

    from pipeline.config import load_config
    from pipeline.models.listing import listing

    found = listing(load_config().models_dir)
    if as_json:
        print_json([asdict(row) for row in found])
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
    show(table)


@app.command("fetch")
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
        warn(message)
    say(f"{taken}: {where}")


@app.command("path")
def model_path(name: Annotated[str, typer.Argument(help="Alias, hub name or folder.")]) -> None:
    """The folder of a fetched model.

    Example: memory model path e4b
    """
    from pipeline.config import load_config
    from pipeline.models.fetch import path

    say(str(path(name, load_config().models_dir)))


@app.command("check")
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
        say(f"{'ok ' if line.ok else 'BAD'} {line.what}: {line.result}")
    if not sound:
        raise ModelFault("the model is not fit for a night", mend="fetch it again, or take another")
