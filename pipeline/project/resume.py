"""Where the work stands: what someone who takes it up again has to know first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipeline.project.place import Place, is_there
from pipeline.project.replies import of_summary
from pipeline.project.searching import Filters
from pipeline.project.store import ProjectStore
from pipeline.project.telling import index_line

Row = dict[str, Any]
ERROR = "Error: "  # opens the title of an observation that tells of one
_LAST = 40  # observations of a session that are looked through
_ASKED = 3  # of what the user asked last


def where_it_stands(store: ProjectStore, place: Place, *, always: bool) -> Row | None:
    """What the last checkpoint or handoff and its session tell; None when nothing is open.

    always: tell of the last of them, or else the last session, though its work seems done.
    """
    checkpoint = _newest(store.checkpoints.latest(place.worktree), _handoff(store, place))
    if checkpoint and not always and not store.checkpoints.is_open(checkpoint):
        checkpoint = None
    if checkpoint is None and not always:
        return None
    session = _session(store, place, checkpoint)
    if checkpoint is None and session is None:
        return None
    told: Mapping[str, Any] = checkpoint or {}
    asked = store.sessions.prompts(session["id"], _ASKED) if session else []
    seen = store.observations.recent(Filters(session=session["id"]), _LAST) if session else []
    handoff = told.get("handoff_file") or ""
    return {
        "checkpoint": told.get("id"),
        "observation": told.get("observation"),
        "level": told.get("level") or "",
        "trigger": told.get("trigger") or "",
        "at": told.get("created_at") or (session or {}).get("created_at", ""),
        "session": session["id"] if session else None,
        "task": told.get("current_task") or (session or {}).get("request", ""),
        "progress": told.get("task_progress") or "",
        "next": told.get("resume_summary") or of_summary((session or {}).get("summary", "")),
        "files": told.get("files_in_progress") or [],
        "issue": told.get("linear_issue") or (session or {}).get("linear_issue") or "",
        "branch": (session or {}).get("branch", "") or place.branch,
        "asked": [row["prompt"] for row in asked],
        "request": (session or {}).get("request", ""),
        "decision": _last(seen, lambda row: row["type"] == "decision"),
        "error": _last(seen, lambda row: row["title"].startswith(ERROR)),
        "handoff": handoff,
        "handoff_missing": bool(handoff) and not is_there(place, handoff),
    }


def lines(state: Row) -> list[str]:
    """The same as Markdown, the most needed first."""
    task, request = state["task"], state["request"]
    asked = [" ".join(text.split()) for text in state["asked"]]
    files = [
        f"`{one['path']}`" + (f" (lines {one['lines']})" if one["lines"] else "")
        for one in state["files"]
    ]
    handoff = state["handoff"] and (
        f"`{state['handoff']}`" + (" (no longer there)" if state["handoff_missing"] else "")
    )
    told = [
        ("Task", task),
        ("Progress", state["progress"]),
        ("Next", state["next"]),
        ("Files in progress", ", ".join(files)),
        ("Issue", state["issue"]),
        ("Branch", state["branch"]),
        ("Last decision", state["decision"]),
        ("Last error", state["error"]),
        ("Handoff", handoff),
        ("Asked last", " | ".join(text for text in asked if text != " ".join(task.split()))),
        ("Asked first", "" if request in (*state["asked"], task) else request),
    ]
    where = "Session"
    if state["checkpoint"]:
        where = f"Checkpoint {state['checkpoint']} ({state['level']}, {state['trigger']})"
    elif state["observation"]:
        where = f"Handoff #{state['observation']}"
    return [
        *(f"- {name}: {' '.join(text.split())}" for name, text in told if text),
        f"- {where} of {state['at'][:16]}Z",
    ]


def _handoff(store: ProjectStore, place: Place) -> Row | None:
    """The last handoff that was observed without a checkpoint, in the form of one."""
    row = store.checkpoints.observed_handoff(place.worktree)
    if row is None:
        return None
    return {
        "observation": row["id"],
        "session_id": row["session_id"],
        "created_at": row["created_at"],
        "current_task": row["title"],
        "task_progress": row["subtitle"],
        "resume_summary": row["content"],
        "files_in_progress": [{"path": path, "lines": ""} for path in row["files"][1:]],
        "handoff_file": row["file_path"],
        "linear_issue": row["linear_issue"],
    }


def _newest(*candidates: Row | None) -> Row | None:
    known = [one for one in candidates if one]
    return max(known, key=lambda one: str(one["created_at"]), default=None)


def _session(store: ProjectStore, place: Place, checkpoint: Row | None) -> Row | None:
    if checkpoint is not None:
        named = checkpoint["session_id"]
        return store.sessions.get(named) if named is not None else None
    return store.sessions.last(place.worktree)


def _last(rows: list[Row], holds: Any) -> str:
    return next((index_line(row) for row in rows if holds(row)), "")
