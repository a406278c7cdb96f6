"""What other tables say of an observation, and must not when it says it no longer."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from typing import Any

from pipeline.project.summaries import without

Row = Mapping[str, Any]


def told_checkpoint(connection: sqlite3.Connection, observation: Row) -> int | None:
    """The checkpoint that the observation tells of: of those that carry its id the last."""
    if observation["checkpoint_id"] is None or observation["type"] == "ralph_iteration":
        return None
    row = connection.execute(
        """SELECT c.id FROM checkpoints AS c WHERE c.id = :checkpoint_id AND :id = (
               SELECT max(o.id) FROM observations AS o
               WHERE o.checkpoint_id = c.id AND o.type != 'ralph_iteration'
                 AND o.created_at >= c.created_at)""",
        observation,
    ).fetchone()
    return int(row["id"]) if row else None


def told_iteration(connection: sqlite3.Connection, observation: Row) -> int | None:
    """The iteration that the observation tells of: the first to be observed since its end.

    One of an iteration that was told again tells of none.
    """
    if observation["type"] != "ralph_iteration":
        return None
    row = connection.execute(
        """SELECT r.id FROM ralph_iterations AS r
           WHERE r.ended_at <= :created_at AND NOT EXISTS (
               SELECT 1 FROM observations AS o WHERE o.type = 'ralph_iteration'
                 AND o.created_at >= r.ended_at AND o.created_at_epoch < :created_at_epoch)
           ORDER BY r.ended_at DESC LIMIT 1""",
        observation,
    ).fetchone()
    return int(row["id"]) if row else None


def deleting(connection: sqlite3.Connection, observation: Row) -> None:
    """Take out the checkpoint or the iteration that it tells of. It must still be there."""
    for table, told in (("checkpoints", told_checkpoint), ("ralph_iterations", told_iteration)):
        if (identity := told(connection, observation)) is not None:
            connection.execute(f"DELETE FROM {table} WHERE id = ?", (identity,))


def editing(connection: sqlite3.Connection, old: Row, new: Row) -> None:
    """Put into the checkpoint or the iteration that it tells of what it says now.

    Before its own row is changed.
    """
    changed = {name for name in ("title", "subtitle", "content", "files") if old[name] != new[name]}
    if not changed:
        return
    if (checkpoint := told_checkpoint(connection, old)) is not None:
        _put(connection, "checkpoints", checkpoint, _of_checkpoint(new, changed))
    if "content" in changed and (iteration := told_iteration(connection, old)) is not None:
        items = [line.removeprefix("- ") for line in new["content"].splitlines() if line]
        _put(connection, "ralph_iterations", iteration, {"items_completed": _json(items)})


def summarized(connection: sqlite3.Connection, old: Row, new: Row | None = None) -> None:
    """Have the summary of its session say nothing that it says no longer.

    After its own row is changed. new: None if it is there no longer.
    """
    session = connection.execute(
        "SELECT id, summary FROM sessions WHERE id = ? AND summary != ''", (old["session_id"],)
    ).fetchone()
    if session is None:
        return
    rows = connection.execute(
        "SELECT title, file_path FROM observations WHERE session_id = ? ORDER BY created_at_epoch",
        (session["id"],),
    ).fetchall()
    stays = new is not None and new["session_id"] == old["session_id"]
    summary = without(session["summary"], old, new if stays else None, rows)
    if summary != session["summary"]:
        _put(connection, "sessions", session["id"], {"summary": summary})


def _of_checkpoint(new: Row, changed: set[str]) -> dict[str, Any]:
    """The columns of a checkpoint, by what changed in the observation that tells of it."""
    values: dict[str, Any] = {}
    if "title" in changed:
        head, _, task = new["title"].partition(": ")
        values["current_task"] = task if head.startswith("Checkpoint ") else new["title"]
    if "subtitle" in changed:
        values["task_progress"] = new["subtitle"]
    if "content" in changed:
        values["resume_summary"], _, handoff = new["content"].partition("Handoff: ")
        values["resume_summary"] = values["resume_summary"].strip()
        values["handoff_file"] = handoff or None
    if "files" in changed:
        values["files_in_progress"] = _json([{"path": one, "lines": ""} for one in new["files"]])
    return values


def _put(
    connection: sqlite3.Connection, table: str, identity: int, values: Mapping[str, Any]
) -> None:
    names = ", ".join(f"{name} = ?" for name in values)
    connection.execute(f"UPDATE {table} SET {names} WHERE id = ?", (*values.values(), identity))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
