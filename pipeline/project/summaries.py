"""The summary of a session, as lines: what was observed, the files edited, what comes next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.project.replies import NEXT

_FILES = "Files: "  # opens the line of the files
_NAMED = 8  # files

Row = Mapping[str, Any]


def files_line(rows: Sequence[Row]) -> list[str]:
    """The line that names the files of these observations; [] if they have none."""
    edited = list(dict.fromkeys(row["file_path"] for row in rows if row["file_path"]))
    more = f" and {len(edited) - _NAMED} more" if len(edited) > _NAMED else ""
    return [f"{_FILES}{', '.join(edited[:_NAMED])}{more}"] if edited else []


def without(summary: str, old: Row, new: Row | None, rows: Sequence[Row]) -> str:
    """The summary with nothing of what an observation said that is said no longer.

    new: what it says now, None if it is there no longer. rows: all there are in the session now.
    """
    titles = {row["title"] for row in rows}
    gone = {*old["files"]} - {row["file_path"] for row in rows}
    kept: list[str] = []
    for line in summary.splitlines():
        if line == old["title"] and line not in titles:
            kept += [new["title"]] if new else []
        elif line.startswith(_FILES) and any(path in line for path in gone):
            kept += files_line(rows)
        elif not line.startswith(NEXT) or not _is_gone(line.removeprefix(NEXT), old, new):
            kept.append(line)
    return "\n".join(kept)


def _is_gone(following: str, old: Row, new: Row | None) -> bool:
    """Whether a step of those that come next was said by the observation, and is no longer."""
    then, now = _said(old), _said(new) if new else ""
    steps = [step.rstrip("…") for step in following.split("; ")]
    return any(step in then and step not in now for step in steps if step)


def _said(row: Row) -> str:
    return "\n".join(row[name] for name in ("title", "subtitle", "content"))
