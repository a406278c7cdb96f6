"""`memory status`, `doctor` and `logs`: how the nights go, and what is wrong."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline.cli.printing import JsonOption, print_json, say


def logs(
    last: Annotated[
        bool, typer.Option("--last", help="That of the last run (the default).")
    ] = False,
    run: Annotated[str, typer.Option(help="That of this run.")] = "",
    list_all: Annotated[
        bool, typer.Option("--list", help="Which there are, newest first.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """The log of the last run, or of another.

    Example: memory logs --list
    """
    from pipeline.config import load_config
    from pipeline.errors import ConfigFault
    from pipeline.logs import logs as known
    from pipeline.logs import read

    if last + bool(run) + list_all > 1:
        raise ConfigFault("--last, --run and --list exclude each other", mend="give one of them")
    config = load_config()
    if list_all:
        found = known(config)
        if as_json:
            print_json(
                [
                    {
                        "run": log.run,
                        "path": str(log.path),
                        "bytes": log.size,
                        "modified": log.modified.isoformat(),
                    }
                    for log in found
                ]
            )
            return
        for log in found:
            at = log.modified.astimezone(config.zone)
            say(f"{log.run}  until {at:%Y-%m-%d %H:%M}  {log.size:>9} bytes")
        return
    log, text = read(config, run)
    if as_json:
        print_json({"run": log.run, "path": str(log.path), "lines": text.splitlines()})
        return
    say(text.rstrip("\n"))
