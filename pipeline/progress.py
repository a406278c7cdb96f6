"""A run's events made visible: bars on a terminal, lines in a log, JSON lines for a program."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TextIO

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Column

from pipeline.records import Event
from pipeline.terminal import one_line

Watch = Callable[[Event], None]


@contextmanager
def watcher(stream: TextIO, *, json: bool = False) -> Iterator[Watch]:
    """What to call with each event while the block lasts.

    json: one object per event and line, keys as in records.Event. Otherwise bars when `stream` is
    a terminal, else a line per stage at its start, at each further tenth of it, and at its end.
    A reader that goes away never stops the run: from then on the events are dropped.
    """
    if json:
        yield _until_closed(lambda event: _write_json(stream, event))
    elif stream.isatty():
        with _progress(Console(file=stream)) as progress:
            yield _until_closed(_bars(progress))
    else:
        yield _until_closed(_lines(stream))


def _until_closed(show: Watch) -> Watch:
    closed = False

    def watch(event: Event) -> None:
        nonlocal closed
        if closed:
            return
        try:
            show(event)
        except (OSError, ValueError):  # a broken pipe, or a stream closed on our side
            closed = True

    return watch


def _write_json(stream: TextIO, event: Event) -> None:
    # ASCII only, so that no locale can refuse a title
    stream.write(jsonlib.dumps(asdict(event), default=str) + "\n")
    stream.flush()


def _speed(event: Event) -> str:
    return f"{event.tokens_per_second:.0f} tokens/s" if event.tokens_per_second else ""


def _lines(stream: TextIO) -> Watch:
    """Plain text, for a log."""
    stage = ""
    shown = -1
    encoding = getattr(stream, "encoding", None) or "utf-8"

    def show(event: Event) -> None:
        nonlocal stage, shown
        tenth = 10 * event.done // event.total if event.total else 10
        if event.stage == stage and tenth <= shown:
            return
        stage, shown = event.stage, tenth
        count = f"{event.done}/{event.total}" if event.total else ""
        parts = (count, one_line(event.message), _speed(event))
        line = f"{event.stage}: {' · '.join(part for part in parts if part)}\n"
        stream.write(line.encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()

    return show


def _progress(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description:<10}", markup=False),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("{task.fields[speed]:>14}", markup=False),
        TimeRemainingColumn(compact=True),
        TextColumn(
            "{task.fields[message]}",
            markup=False,
            style="dim",
            table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis"),
        ),
        console=console,
        expand=True,  # a long message takes what room is left, not that of the numbers
    )


def _bars(progress: Progress) -> Watch:
    """One bar per stage, in the order the stages begin."""
    tasks: dict[str, TaskID] = {}

    def show(event: Event) -> None:
        if event.stage not in tasks:
            tasks[event.stage] = progress.add_task(
                event.stage, completed=event.done, total=event.total, speed="", message=""
            )
        progress.update(
            tasks[event.stage],
            completed=event.done,
            total=event.total,
            speed=_speed(event),
            message=one_line(event.message),
        )

    return show
