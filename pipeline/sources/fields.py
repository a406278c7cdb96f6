"""Fields of records whose types nobody guarantees: a wrong one is read as an empty value."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from pipeline.records import Action

_PATHS = ("file_path", "path", "filePath", "notebook_path", "filename")
_NEVER_SET = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_YEAR = 9998  # at the end of the next, local times cannot be shown
_LONGEST_PATH = 4096  # characters
_MILLISECONDS_FROM = 1e11  # as seconds this would be the year 5138


def text_of(value: object) -> str:
    """The string, or "" for anything else."""
    return value if isinstance(value, str) else ""


def mapping_of(value: object) -> Mapping[str, Any]:
    """The JSON object, or an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def folder_of(value: object) -> str:
    """A working folder; "" for anything else, and for what is longer than any path can be."""
    folder = text_of(value)
    return folder if len(folder) <= _LONGEST_PATH else ""


def blocks_of(content: object) -> list[Mapping[str, Any]]:
    """A message's content as blocks: a plain string is one text block, what is no block is left."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if isinstance(content, list):
        return [block for block in content if isinstance(block, dict)]
    return []


def time_of(value: object) -> datetime | None:
    """An ISO time (UTC if it names no zone) or Unix seconds or milliseconds as aware UTC.

    None for what is no time, and for one that nobody can have said anything at.
    """
    try:
        if isinstance(value, str):
            at = datetime.fromisoformat(value)
            return _known(at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC))
        if isinstance(value, int | float) and not isinstance(value, bool):
            seconds = value / 1000 if value >= _MILLISECONDS_FROM else value
            return _known(datetime.fromtimestamp(seconds, UTC))
    except (ValueError, OverflowError, OSError):
        return None
    return None


def _known(at: datetime) -> datetime | None:
    """The time, unless the clock was never set, or is set to what no calendar shows."""
    return at if at > _NEVER_SET and at.year <= _LAST_YEAR else None


def trace(tool: object, arguments: object) -> Action:
    """The one-line trace of a tool call: its name and the file it was about, if one is named."""
    given = mapping_of(arguments)
    for key in _PATHS:
        if isinstance(path := given.get(key), str):
            return Action(_one_line(text_of(tool)), _one_line(path))
    return Action(_one_line(text_of(tool)))


def _one_line(text: str) -> str:
    return " ".join(text.split())
