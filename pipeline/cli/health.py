"""`memory status`, `doctor` and `logs`: how the nights go, and what is wrong."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline.cli.printing import JsonOption, VaultOption, print_json, say


def status(vault: VaultOption = None, as_json: JsonOption = False) -> None:
    """The last run and the next, missed nights, what is pending, and where everything is.

    Example: memory status --json
    """
    from pipeline.config import load_config
    from pipeline.status import gather, lines

    config = load_config(vault=vault)
    state = gather(config)
    if as_json:
        print_json(state)
        return
    for line in lines(state, config.zone):
        say(line)


def doctor(
    fix: Annotated[bool, typer.Option("--fix", help="Do what is safe, then look again.")] = False,
    vault: VaultOption = None,
    as_json: JsonOption = False,
) -> None:
    """What is wrong with the machine, the vault and the store, and the cure of each.

    docs/doctor.md explains the checks. Warnings do not count as failures.

    Example: memory doctor --fix
    """
    from pipeline.config import load_config
    from pipeline.doctor import Level, Machine, examine, mend, settings
    from pipeline.errors import EXIT_UNSOUND

    config, first = settings(lambda: load_config(vault=vault))
    found, done = [first], []
    if config is not None:
        with Machine(config) as machine:
            found += examine(machine)
            done = mend(machine, found) if fix else []
        if done:
            with Machine(config) as machine:
                found = [first, *examine(machine)]
    failed = any(finding.level is Level.FAIL for finding in found)
    if as_json:
        print_json(
            {
                "ok": not failed,
                "findings": [finding.as_json() for finding in found],
                "done": [{"code": code, "what": what} for code, what in done],
            }
        )
    else:
        for code, what in done:
            say(f"did   {code} {what}")
        for finding in found:
            say(f"{finding.level:<5} {finding.code} {finding.title}: {finding.what}")
            if finding.cure:
                say(f"          cure: {finding.cure}")
    if failed:
        raise typer.Exit(EXIT_UNSOUND)


def logs(
    last: Annotated[
        bool, typer.Option("--last", help="That of the last run (the default).")
    ] = False,
    run: Annotated[
        str, typer.Option(help="That of this run; the beginning of its id will do.")
    ] = "",
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
