"""Observations as lines for a reader, and as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]


def index_line(row: Row) -> str:
    """One line: enough to choose by, and the id to ask for more with."""
    told = [f"#{row['id']}", row["created_at"][:10], row["type"], row["title"]]
    about = [row["linear_issue"] or "", row["file_path"], f"~{row['tokens_read']} tokens"]
    return f"{'  '.join(told)}  ({', '.join(part for part in about if part)})"


def full(row: Row) -> list[str]:
    """The whole observation, some lines."""
    lines = [f"#{row['id']}  {row['created_at']}  {row['type']}", row["title"]]
    if row["subtitle"]:
        lines.append(row["subtitle"])
    for name, value in (
        ("files", ", ".join(row["files"])),
        ("concepts", ", ".join(row["concepts"])),
        ("issue", row["linear_issue"]),
        ("session", row["session_id"]),
        ("checkpoint", row["checkpoint_id"]),
    ):
        if value:
            lines.append(f"{name}: {value}")
    if row["content"]:
        lines += ["", *row["content"].splitlines()]
    return lines


def fulls(rows: Sequence[Row]) -> list[str]:
    """Whole observations, one after the other."""
    lines: list[str] = []
    for row in rows:
        lines += ["", *full(row)] if lines else full(row)
    return lines


def session_line(row: Row) -> str:
    """One line of a list of sessions."""
    request = " ".join(str(row["request"]).split())[:80]
    state = f"ended {row['ended_at'][:16]}" if row["ended_at"] else "open"
    about = ", ".join(part for part in (row["branch"], row["linear_issue"], state) if part)
    return f"{row['id']}  {row['created_at'][:16]}  {request or '(nothing asked yet)'}  ({about})"


def markdown(rows: Sequence[Row], project: str) -> list[str]:
    """All observations for reading, by day."""
    lines = [f"# Observations of {project}"]
    day = ""
    for row in rows:
        if row["created_at"][:10] != day:
            day = row["created_at"][:10]
            lines += ["", f"## {day}"]
        about = ", ".join(
            part
            for part in (row["type"], row["linear_issue"], ", ".join(map(_code, row["files"])))
            if part
        )
        lines += ["", f"### #{row['id']} {row['title']}", "", f"*{about}*"]
        lines += ["", row["subtitle"]] if row["subtitle"] else []
        lines += ["", *row["content"].splitlines()] if row["content"] else []
    return lines


def _code(path: str) -> str:
    return f"`{path}`"
