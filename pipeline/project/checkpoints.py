"""The checkpoints of a store: where the work stood when its context ran out."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Any, NamedTuple

from pipeline.project import times
from pipeline.project.observations import NewObservation, Observations
from pipeline.project.vocabulary import CRITICAL, Clean
from pipeline.sqlite import transaction

Row = dict[str, Any]


class FileInProgress(NamedTuple):
    """A file that was being worked on; lines: as they are spoken of ("12-40"), "" if unknown."""

    path: str
    lines: str = ""


class NewCheckpoint(NamedTuple):
    """A checkpoint to be stored. percent: of the context in use. handoff_file: "" for none."""

    level: str
    trigger: str
    percent: float | None = None
    task: str = ""
    progress: str = ""
    summary: str = ""
    files: tuple[FileInProgress, ...] = ()
    handoff_file: str = ""
    linear_issue: str = ""
    project: str = ""
    session_id: int | None = None


class Checkpoints:
    """The checkpoints table, and the observation that tells of each."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        clean: Clean,
        clock: times.Clock,
        observations: Observations,
    ) -> None:
        self._connection = connection
        self._clean = clean
        self._clock = clock
        self._observations = observations

    def add(self, new: NewCheckpoint) -> tuple[int, int]:
        """Store a checkpoint; its id, and that of the observation that tells of it.

        What was observed in the session since the last checkpoint belongs to this one.
        """
        files = [
            {"path": self._clean(one.path), "lines": self._clean(one.lines)} for one in new.files
        ]
        task, progress = self._clean(new.task), self._clean(new.progress)
        with transaction(self._connection):
            cursor = self._connection.execute(
                """INSERT INTO checkpoints
                       (session_id, level, context_percent, trigger, handoff_file, resume_summary,
                        files_in_progress, current_task, task_progress, linear_issue, created_at)
                   VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
                (
                    new.session_id,
                    new.level,
                    new.percent,
                    new.trigger,
                    self._clean(new.handoff_file) or None,
                    self._clean(new.summary),
                    json.dumps(files, ensure_ascii=False),
                    task,
                    progress,
                    new.linear_issue or None,
                    times.iso(self._clock()),
                ),
            )
            identity = cursor.lastrowid
            assert identity is not None
            if new.session_id is not None:
                self._connection.execute(
                    """UPDATE observations SET checkpoint_id = ?
                       WHERE session_id = ? AND checkpoint_id IS NULL""",
                    (identity, new.session_id),
                )
            used = "" if new.percent is None else f" at {new.percent:g} % of the context"
            told = self._observations.add(
                NewObservation(
                    type="handoff" if new.handoff_file else "checkpoint",
                    title=f"Checkpoint {new.level}{used}" + (f": {task}" if task else ""),
                    subtitle=progress,
                    content="\n\n".join(
                        part for part in (new.summary, _listed(new.handoff_file)) if part
                    ),
                    files=tuple(one["path"] for one in files),
                    concepts=(CRITICAL,),
                    project=new.project,
                    session_id=new.session_id,
                    checkpoint_id=identity,
                    linear_issue=new.linear_issue,
                )
            )
        return identity, told

    def get(self, identity: int) -> Row | None:
        """The checkpoint of this id, if there is one."""
        row = self._connection.execute(
            "SELECT * FROM checkpoints WHERE id = ?", (identity,)
        ).fetchone()
        return _row(row) if row else None

    def latest(self, worktree: str) -> Row | None:
        """The last checkpoint made in this worktree, or outside of any session."""
        row = self._connection.execute(
            """SELECT c.* FROM checkpoints AS c LEFT JOIN sessions AS s ON s.id = c.session_id
               WHERE c.session_id IS NULL OR s.worktree = ?
               ORDER BY c.created_at DESC, c.id DESC LIMIT 1""",
            (worktree,),
        ).fetchone()
        return _row(row) if row else None

    def observed_handoff(self, worktree: str) -> Row | None:
        """The last handoff observed without a checkpoint, in this worktree or outside of any
        session.
        """
        # the observation of a checkpoint carries its id, and so do those made before one
        row = self._connection.execute(
            """SELECT o.id FROM observations AS o LEFT JOIN sessions AS s ON s.id = o.session_id
               WHERE o.type = 'handoff' AND o.title NOT GLOB 'Checkpoint *'
                 AND (o.session_id IS NULL OR s.worktree = ?)
               ORDER BY o.created_at_epoch DESC, o.id DESC LIMIT 1""",
            (worktree,),
        ).fetchone()
        return self._observations.get([row["id"]])[0] if row else None

    def handoffs(self) -> list[Row]:
        """The checkpoints with a handoff file, the last first."""
        rows = self._connection.execute(
            """SELECT * FROM checkpoints WHERE handoff_file IS NOT NULL
               ORDER BY created_at DESC, id DESC"""
        )
        return [_row(row) for row in rows]

    def is_open(self, checkpoint: Row) -> bool:
        """Whether its work is still to be taken up: no later session has done anything here."""
        later = self._connection.execute(
            """SELECT 1 FROM sessions AS s
               WHERE s.created_at > ? AND s.id IS NOT ? AND s.ended_at IS NOT NULL
                 AND s.worktree = coalesce((SELECT worktree FROM sessions WHERE id = ?), s.worktree)
                 AND EXISTS (SELECT 1 FROM observations WHERE session_id = s.id) LIMIT 1""",
            (checkpoint["created_at"], checkpoint["session_id"], checkpoint["session_id"]),
        ).fetchone()
        return later is None


def files_in_progress(given: Any) -> Sequence[FileInProgress]:
    """The files named in decoded JSON: paths, or objects with `path` and `lines`.

    Raises ValueError for anything else.
    """
    if not isinstance(given, list):
        raise ValueError("it is no list")
    files = []
    for one in given:
        if isinstance(one, str):
            files.append(FileInProgress(one))
        elif isinstance(one, dict) and isinstance(one.get("path"), str):
            lines = one.get("lines") or ""
            if isinstance(lines, dict):
                raise ValueError(f"the lines {json.dumps(lines)} are neither a text nor a list")
            told = "-".join(map(str, lines)) if isinstance(lines, list) else str(lines)
            files.append(FileInProgress(one["path"], told))
        else:
            raise ValueError(f"{json.dumps(one)} names no path")
    return files


def _listed(handoff: str) -> str:
    return f"Handoff: {handoff}" if handoff else ""


def _row(row: sqlite3.Row) -> Row:
    return {**dict(row), "files_in_progress": json.loads(row["files_in_progress"])}
