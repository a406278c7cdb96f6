"""The `memory` command: one function a command, each of which parses, calls and prints.

Heavy imports stay inside the commands, so that `memory --help` and `memory status` start at once.
"""

from __future__ import annotations

import logging
import os
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli import (
    buckets,
    costs,
    health,
    keeping,
    mcp,
    models,
    nights,
    project,
    prompts,
    reading,
    recall,
    reviews,
    scheduling,
    settings,
    sources,
)
from pipeline.cli.printing import err, hand_over, out
from pipeline.terminal import tell

app = typer.Typer(
    name="memory",
    help="Every night, fold the day's conversations with AI assistants into your Markdown wiki.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=True,
)


def main() -> None:
    """Entry point: run the command, print a fault as two lines, exit with its code."""
    for stream in ("stdout", "stderr"):
        if getattr(sys, stream) is None:  # whoever started us closed it
            nowhere = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - to the end
            setattr(sys, stream, nowhere)
    debug = "--debug" in sys.argv
    if debug:
        logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)
    try:
        try:
            app()
        finally:
            hand_over()
    except Exception as error:
        from pipeline.refusals import last_words

        # what the system refuses, as a locked store or a full disk, wherever it was met
        fault = last_words(error)
        if debug or fault is None:
            sys.excepthook = tell
            raise
        err.print(f"memory: {fault}", style="bold red")
        if fault.mend:
            err.print(f"  {fault.mend}")
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


for command in (
    nights.init,
    nights.synthesize,
    nights.backfill,
    health.status,
    costs.stats,
    health.doctor,
    health.logs,
    reviews.review,
    reviews.accept,
    reviews.reject,
    reviews.undo,
    reviews.diff,
    reviews.log,
    reviews.retry,
    reading.read,
    reading.toc,
    reading.section,
    reading.links,
    recall.search,
    sources.source,
    sources.sources,
    keeping.rebuild,
    keeping.forget,
    keeping.backup,
    keeping.restore,
    scheduling.unschedule,
):
    app.command()(command)
app.command("list")(reading.list_)
app.command("open")(reading.open_)
app.command("import")(sources.import_)
app.add_typer(buckets.app, name="buckets")
app.add_typer(scheduling.app, name="schedule")
app.add_typer(mcp.app, name="mcp")
app.add_typer(models.app, name="model")
app.add_typer(prompts.app, name="prompts")
app.add_typer(project.app, name="project")
app.add_typer(settings.app, name="config")
