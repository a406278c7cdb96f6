"""The sessions of a store, and what was asked in them."""

from __future__ import annotations

import re
import sqlite3
from typing import Any

from pipeline.errors import UnknownIdFault
from pipeline.project import times
from pipeline.project.linear import key_of_branch
from pipeline.project.place import Place
from pipeline.project.vocabulary import Clean
from pipeline.sqlite import transaction

Row = dict[str, Any]
_FORGOTTEN = times.DAY  # a session that never said it ended is not the current one after a day
_REQUEST = 2000  # characters of the first prompt that a session is known by


class Sessions:
    """The sessions and prompts tables."""

    def __init__(self, connection: sqlite3.Connection, clean: Clean, clock: times.Clock) -> None:
        self._connection = connection
        self._clean = clean
        self._clock = clock

    def get(self, identity: int) -> Row:
        """The session of this id. Raises UnknownIdFault."""
        row = self._connection.execute(
            "SELECT * FROM sessions WHERE id = ?", (identity,)
        ).fetchone()
        if row is None:
            raise UnknownIdFault(
                f"there is no session {identity}",
                mend="`anvil-memory session --list` shows those there are",
            )
        return dict(row)

    def named(self, name: str, place: Place) -> int:
        """The session of this number, or of this id of the agent's, which opens one if it is new.

        Raises UnknownIdFault for a number that no session has.
        """
        if re.fullmatch(r"\d{1,18}", name):
            return int(self.get(int(name))["id"])
        return self.open(name, place)

    def current(self, place: Place) -> Row | None:
        """The session of this worktree that was begun last and has not ended."""
        since = times.iso(self._clock() - _FORGOTTEN)
        row = self._connection.execute(
            """SELECT * FROM sessions WHERE worktree = ? AND ended_at IS NULL AND created_at >= ?
               ORDER BY created_at DESC, id DESC LIMIT 1""",
            (place.worktree, since),
        ).fetchone()
        return dict(row) if row else None

    def recent(self, limit: int) -> list[Row]:
        """The sessions begun last, the last first, each with how many `observations` it has."""
        rows = self._connection.execute(
            """SELECT s.*, (SELECT count(*) FROM observations WHERE session_id = s.id)
                   AS observations
               FROM sessions AS s ORDER BY created_at DESC, id DESC LIMIT ?""",
            (limit,),
        )
        return [dict(row) for row in rows]

    def last(self, worktree: str) -> Row | None:
        """The session begun last in this worktree, of those in which anything was asked or done."""
        row = self._connection.execute(
            """SELECT * FROM sessions AS s WHERE worktree = ? AND (request <> ''
                   OR EXISTS (SELECT 1 FROM observations WHERE session_id = s.id))
               ORDER BY created_at DESC, id DESC LIMIT 1""",
            (worktree,),
        ).fetchone()
        return dict(row) if row else None

    def open(self, claude_session_id: str, place: Place) -> int:
        """The session's id; one that has ended goes on, unless it did so after this moment. What is
        known of it already stays.
        """
        name, now = self._clean(claude_session_id) or "unnamed", times.iso(self._clock())
        with transaction(self._connection):
            self._connection.execute(
                """INSERT INTO sessions
                       (claude_session_id, project, branch, worktree, linear_issue, created_at)
                   VALUES (?, ?, ?, ?, ?, ?)
                   ON CONFLICT (claude_session_id) DO UPDATE SET
                       ended_at = CASE WHEN ended_at > ? THEN ended_at END,
                       branch = excluded.branch,
                       linear_issue = coalesce(linear_issue, excluded.linear_issue)""",
                (
                    name,
                    self._clean(place.project),
                    self._clean(place.branch),
                    self._clean(place.worktree),
                    key_of_branch(place.branch) or None,
                    now,
                    now,
                ),
            )
            row = self._connection.execute(
                "SELECT id FROM sessions WHERE claude_session_id = ?", (name,)
            ).fetchone()
        return int(row["id"])

    def ask(self, identity: int, prompt: str, project: str, issue: str = "") -> int | None:
        """Keep what the user asked; the prompt's id, None when all of it is private.

        The first one is what the session is known by.
        """
        text = self._clean(prompt)
        if not text:
            return None
        with transaction(self._connection):
            cursor = self._connection.execute(
                "INSERT INTO prompts (session_id, prompt, project, created_at) VALUES (?, ?, ?, ?)",
                (identity, text, self._clean(project), times.iso(self._clock())),
            )
            self._connection.execute(
                """UPDATE sessions SET request = CASE request WHEN '' THEN ? ELSE request END,
                       linear_issue = coalesce(linear_issue, ?) WHERE id = ?""",
                (text[:_REQUEST], issue or None, identity),
            )
        return cursor.lastrowid

    def prompts(self, identity: int, limit: int) -> list[Row]:
        """What was asked in the session, the last first."""
        rows = self._connection.execute(
            """SELECT * FROM prompts WHERE session_id = ?
               ORDER BY created_at DESC, id DESC LIMIT ?""",
            (identity, limit),
        )
        return [dict(row) for row in rows]

    def end(self, identity: int, summary: str | None = None) -> Row:
        """Note that it is over. summary: None for the one it has. Raises UnknownIdFault."""
        with transaction(self._connection):
            self.get(identity)
            self._connection.execute(
                "UPDATE sessions SET ended_at = ?, summary = coalesce(?, summary) WHERE id = ?",
                (
                    times.iso(self._clock()),
                    None if summary is None else self._clean(summary),
                    identity,
                ),
            )
        return self.get(identity)

    def peak(self, identity: int, percent: float | None) -> None:
        """Note that a checkpoint was made, with so much of the context used."""
        self._connection.execute(
            """UPDATE sessions SET checkpoint_triggered = 1,
                   context_peak_percent = max(coalesce(context_peak_percent, 0), coalesce(?, 0))
               WHERE id = ?""",
            (percent, identity),
        )
