"""A store as the nightly run reads it: whole sessions, opened for reading alone."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from pipeline.project.observations import Row, as_row
from pipeline.sqlite import reading


class Told(NamedTuple):
    """The observations of one session, or of one day outside of any.

    name: the session's, the same every night. title: what it was about, "" if unknown. folder:
    where it worked. rows: in order of time.
    """

    name: str
    title: str
    folder: str
    rows: tuple[Row, ...]


def told(path: Path) -> Iterator[Told]:
    """Every session with an observation, in order of its first one, then the days without.

    Raises StoreFault when the file cannot be read or is no store.
    """
    with reading(path) as connection:
        yield from _sessions(connection, path)
        yield from _days(connection, path)


def _sessions(connection: sqlite3.Connection, path: Path) -> Iterator[Told]:
    sessions = connection.execute(
        """SELECT s.* FROM sessions AS s JOIN observations AS o ON o.session_id = s.id
           GROUP BY s.id ORDER BY min(o.created_at_epoch), s.id"""
    ).fetchall()
    for session in sessions:
        rows = connection.execute(
            "SELECT * FROM observations WHERE session_id = ? ORDER BY created_at_epoch, id",
            (session["id"],),
        )
        yield Told(
            # the agent's own id names it wherever the store is moved to
            name=session["claude_session_id"] or f"{path}#{session['id']}",
            title=session["request"] or session["summary"],
            folder=session["worktree"] or str(_root(path)),
            rows=tuple(map(as_row, rows)),
        )


def _days(connection: sqlite3.Connection, path: Path) -> Iterator[Told]:
    rows: list[Row] = []
    for row in connection.execute(
        "SELECT * FROM observations WHERE session_id IS NULL ORDER BY created_at_epoch, id"
    ):
        if rows and _day(row["created_at_epoch"]) != _day(rows[0]["created_at_epoch"]):
            yield _of_day(path, rows)
            rows = []
        rows.append(as_row(row))
    if rows:
        yield _of_day(path, rows)


def _of_day(path: Path, rows: list[Row]) -> Told:
    day = _day(rows[0]["created_at_epoch"])
    root = _root(path)
    return Told(f"{path}#{day}", f"{root.name}, observed on {day}", str(root), tuple(rows))


def _day(moment: int) -> str:
    return f"{datetime.fromtimestamp(moment // 1000, UTC):%Y-%m-%d}"


def _root(path: Path) -> Path:
    """The project's folder: that which holds the store's own."""
    return path.parent.parent
