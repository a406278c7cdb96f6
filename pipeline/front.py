"""The `memory` command's way in: a search is answered at once, all else is for `cli`.

An agent searches in the middle of its work, and the library of commands and settings takes longer
to load than the search itself. What is not plainly a search goes to `cli`, faults of usage too.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import sys
from collections.abc import Sequence
from datetime import date, tzinfo
from itertools import takewhile
from pathlib import Path
from typing import Any, NoReturn

from pipeline.project.machine import Settings, settings
from pipeline.recall.library import opened
from pipeline.recall.searching import Filters, search
from pipeline.recall.telling import as_json, lines
from pipeline.terminal import shown_on

_NUMBER = re.compile(r"-\.?\d")  # argparse takes it for an argument, others for an option


class _NotPlain(Exception):
    """`cli` is to see to it."""


class _Arguments(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _NotPlain(message)


def main() -> None:
    """Entry point."""
    for stream in (sys.stdout, sys.stderr):
        # what a terminal has no sign for is no reason to show nothing
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")
    try:
        _search(sys.argv[1:])
    except Exception:  # what goes wrong is told of there, with its code
        from pipeline.cli import main as all_commands

        all_commands()


def _search(arguments: Sequence[str]) -> None:
    """Answer a search. Raises _NotPlain where there is more to it, and what a search raises."""
    options = takewhile("--".__ne__, arguments)
    if arguments[:1] != ["search"] or sys.stdout is None or any(map(_NUMBER.match, options)):
        raise _NotPlain
    given = _parser().parse_args(arguments[1:])
    found = _settings()
    filters = Filters(
        places=tuple(given.places) if given.places else Filters().places,
        project=given.project,
        since=given.since,
        until=given.until,
    )
    zone = _zone(found.timezone)
    with opened(found.vault, found.cache_dir, found.redaction, zone) as library:
        hits = search(library, given.query, filters, given.limit)
    told: Sequence[Any] = [json.dumps(as_json(hits))] if given.json else list(lines(hits))
    try:
        sys.stdout.write(shown_on(sys.stdout, "\n".join(told) + "\n"))
        sys.stdout.flush()
    except BrokenPipeError:  # whoever reads it has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser() -> argparse.ArgumentParser:
    reader = _Arguments(prog="memory search", allow_abbrev=False, add_help=False)
    reader.add_argument("query")
    reader.add_argument("--in", dest="places", action="append")
    reader.add_argument("--project", default="")
    reader.add_argument("--since", type=date.fromisoformat)
    reader.add_argument("--until", type=date.fromisoformat)
    reader.add_argument("--limit", type=int, default=10, choices=range(1, 10_000))
    reader.add_argument("--json", action="store_true")
    return reader


def _settings() -> Settings:
    """The settings of a search. Raises _NotPlain where one of them cannot be used."""
    found = settings(os.environ, Path.home())
    if found.ignored:
        raise _NotPlain
    return found


def _zone(name: str) -> tzinfo | None:
    if name == "local":
        return None
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name)
    except (OSError, ValueError, LookupError) as error:
        raise _NotPlain from error
