"""The terminal, and what the commands share of it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

out = Console(soft_wrap=True)
err = Console(stderr=True, soft_wrap=True)

VaultOption = Annotated[
    Path | None, typer.Option("--vault", help="The vault to use instead of the configured one.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


def say(line: str) -> None:
    """A line as it is, whatever is in it; to a file or a pipe to the byte, as a patch must be."""
    if out.is_terminal:
        out.print(line, markup=False, highlight=False, emoji=False)
    else:
        sys.stdout.write(f"{line}\n")


def warn(line: str) -> None:
    """A line on standard error."""
    err.print(line, markup=False, highlight=False, emoji=False)


@contextmanager
def unheard() -> Iterator[None]:
    """What is printed in the block may go unread: that is no fault of the run it tells of.

    The reader went away, or what is printed goes to a file on a full disk.
    """
    try:
        yield
        sys.stdout.flush()
    except OSError:
        # Python tries what is left once more when it ends, and would exit with 120
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_json(value: Any) -> None:
    """One line of JSON, in ASCII, whatever the terminal can show."""
    sys.stdout.write(json.dumps(value, ensure_ascii=True) + "\n")


def print_diff(diff: str) -> None:
    """A diff: coloured on a terminal, plain when piped."""
    if not diff:
        return
    if not out.is_terminal:
        say(diff.rstrip("\n"))
        return
    from rich.syntax import Syntax

    out.print(Syntax(diff.rstrip("\n"), "diff", background_color="default"))
