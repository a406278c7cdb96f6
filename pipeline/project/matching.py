"""Everything in a store in which a text stands, and taking it out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.project.store import ProjectStore
from pipeline.project.transfer import rows

# Names of projects, worktrees and branches stay: other rows are found by them.
_TEXTS = {
    "observations": ("title", "subtitle", "content", "files", "concepts"),
    "prompts": ("prompt",),
    "sessions": ("request", "summary"),
    "checkpoints": (
        "current_task",
        "task_progress",
        "resume_summary",
        "files_in_progress",
        "handoff_file",
    ),
    "ralph_iterations": ("ralph_session_id", "items_completed"),
}
_SHOWN = 80  # characters of a text

Row = Mapping[str, Any]
Found = dict[str, list[Row]]


def found(store: ProjectStore, text: str) -> Found:
    """The rows by table in which the text stands, in whatever case and spacing."""
    wanted = _plain(text)
    there: Found = {table: [] for table in _TEXTS}
    for table, row in rows(store.connection):
        if any(wanted in _plain(row[name]) for name in _TEXTS[table]):
            there[table].append(row)
    return there


def take_out(store: ProjectStore, there: Found, text: str) -> None:
    """Delete the rows; of a session only what holds the text. Call it in a transaction."""
    connection = store.connection
    store.observations.delete([row["id"] for row in there["observations"]])
    for prompt in there["prompts"]:  # a session is known by the beginning of its first
        connection.execute(
            """UPDATE sessions SET request = ''
               WHERE id = ? AND request != '' AND request = substr(?, 1, length(request))""",
            (prompt["session_id"], prompt["prompt"]),
        )
    for table in ("prompts", "checkpoints", "ralph_iterations"):
        connection.executemany(
            f"DELETE FROM {table} WHERE id = ?", [(row["id"],) for row in there[table]]
        )
    for row in there["sessions"]:
        now = store.sessions.get(row["id"])
        connection.execute(
            "UPDATE sessions SET request = ?, summary = ? WHERE id = ?",
            (_without(now["request"], text), _without(now["summary"], text), row["id"]),
        )


def lines(there: Found) -> list[str]:
    """What was found, a row a line."""
    return [
        f"{table} {row['id']}  {_plain([row[name] for name in _TEXTS[table]], fold=False)[:_SHOWN]}"
        for table, listed in there.items()
        for row in listed
    ]


def _without(text: str, unwanted: str) -> str:
    """The lines in which it does not stand; none of them if it goes over several."""
    kept = "\n".join(line for line in text.splitlines() if _plain(unwanted) not in _plain(line))
    return "" if _plain(unwanted) in _plain(kept) else kept


def _plain(value: object, *, fold: bool = True) -> str:
    """A text, or the texts of a list, on one line."""
    if isinstance(value, Mapping):
        value = [*value.values()]
    if isinstance(value, Sequence) and not isinstance(value, str):
        return " ".join(_plain(one, fold=fold) for one in value)
    line = " ".join(str(value or "").split())
    return line.casefold() if fold else line
