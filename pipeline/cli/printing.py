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
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from pipeline.errors import MemoryFault
from pipeline.terminal import visible


class _Terminal(Console):
    """A console that takes nothing it is given for markup, and shows what would control the
    terminal: names, paths and messages may hold either. Its own signs go through.
    """

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, soft_wrap=True, markup=False, highlight=False, emoji=False)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        for segment in super().render(renderable, options):
            text, style, control = segment
            yield segment if control else Segment(visible(text), style)


out = _Terminal()
err = _Terminal(stderr=True)

VaultOption = Annotated[
    Path | None, typer.Option("--vault", help="The vault to use instead of the configured one.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


class Unheard(MemoryFault):
    """What a command prints cannot be written."""


def say(line: str) -> None:
    """A line as it is, whatever is in it; to a file or a pipe to the byte, as a patch must be."""
    with _heard():
        if out.is_terminal:
            out.print(line)
        else:
            sys.stdout.write(f"{line}\n")


def show(what: RenderableType) -> None:
    """A table, or what else is drawn."""
    with _heard():
        out.print(what)


def warn(line: str) -> None:
    """A line on standard error."""
    err.print(line)


@contextmanager
def unheard() -> Iterator[None]:
    """What is printed in the block may go unread: that is no fault of the run it tells of.

    The reader went away, or what is printed goes to a file on a full disk.
    """
    try:
        yield
        sys.stdout.flush()
    except (OSError, Unheard):
        _into_nowhere()


def hand_over() -> None:
    """Write out what was printed and still waits. Raises Unheard."""
    with _heard():
        sys.stdout.flush()


@contextmanager
def _heard() -> Iterator[None]:
    """Print in the block; a reader that went away has seen enough, and the command goes on.

    Raises Unheard where what is printed cannot be written, as on a full disk: the reader lacks it.
    """
    try:
        yield
    except OSError as error:
        _into_nowhere()
        if not isinstance(error, BrokenPipeError):
            raise Unheard(
                f"what the command prints cannot be written: {error.strerror}",
                mend="free some space, or send its output elsewhere",
            ) from error


def _into_nowhere() -> None:
    # Python tries what is left once more when it ends, and would exit with 120
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_json(value: Any) -> None:
    """One line of JSON, in ASCII, whatever the terminal can show."""
    with _heard():
        sys.stdout.write(json.dumps(value, ensure_ascii=True) + "\n")


def print_diff(diff: str) -> None:
    """A diff: coloured on a terminal, plain when piped."""
    if not diff:
        return
    if not out.is_terminal:
        say(diff.rstrip("\n"))
        return
    from rich.syntax import Syntax

    show(Syntax(diff.rstrip("\n"), "diff", background_color="default"))
