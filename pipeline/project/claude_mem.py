"""The database of claude-mem as rows of an export, so that it is taken in like one.

Its columns have changed over the years, so those that are there are asked for. The database is
opened for reading alone.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pipeline import ordinary
from pipeline.errors import SourceFault, StoreFault
from pipeline.project import place, times
from pipeline.sqlite import reading

Row = dict[str, Any]
_FILE = "claude-mem.db"
_END_OF_TIME = 253_402_300_800_000  # milliseconds, the year 10,000
_MOST = 10**12  # tokens
_TITLE_OF_TEXT = re.compile(r"[^\n.]{1,160}")


def default_database(environ: Mapping[str, str], home: Path) -> Path:
    """Where claude-mem keeps its database, by its own variable or settings."""
    folder = environ.get("CLAUDE_MEM_DATA_DIR")
    if not folder:
        try:
            settings = json.loads(ordinary.content(home / ".claude-mem" / "settings.json"))
            env = settings.get("env", settings)
            folder = env.get("CLAUDE_MEM_DATA_DIR")
        except (OSError, ValueError, AttributeError):
            folder = None
    return (place.user_path(folder) if isinstance(folder, str) else home / ".claude-mem") / _FILE


def rows(path: Path, project: str = "") -> Iterator[tuple[str, Row]]:
    """Sessions, observations, session summaries (as observations) and prompts; see `transfer.load`.

    project: only what belongs to this one, by the name claude-mem gives it; "" for all. Raises
    SourceFault when the file cannot be read or is none of claude-mem's.
    """
    try:
        with reading(path) as database:
            known = {
                table: {row["name"] for row in database.execute(f"PRAGMA table_info({table})")}
                for table in ("sdk_sessions", "observations", "session_summaries", "user_prompts")
            }
            if not known["sdk_sessions"] or not known["observations"]:
                raise SourceFault(
                    f"{path} is no database of claude-mem: it has no tables of it",
                    mend="name its claude-mem.db with --db",
                )
            reader = _Reader(database, known, project)
            yield from reader.sessions()
            yield from reader.observations()
            yield from reader.summaries()
            yield from reader.prompts()
    except StoreFault as fault:
        raise SourceFault(
            f"{path} cannot be read as claude-mem's: {fault}", mend="name its file with --db"
        ) from fault


def projects(path: Path) -> list[str]:
    """The names of the projects it has observations of. Raises StoreFault."""
    with reading(path) as database:
        found = database.execute("SELECT DISTINCT project FROM observations ORDER BY 1").fetchall()
    return [str(row["project"]) for row in found if row["project"]]


class _Reader:
    """One database. Old names of the columns that join the tables are found once."""

    def __init__(
        self, database: sqlite3.Connection, known: Mapping[str, set[str]], project: str
    ) -> None:
        self._database = database
        self._known = known
        self._project = project
        self._numbers: dict[str, int] = {}  # a session's own name in observations -> its number
        self._names: dict[str, int] = {}  # the agent's id of a session -> its number

    def sessions(self) -> Iterator[tuple[str, Row]]:
        for row in self._rows("sdk_sessions"):
            agent = _first(row, "content_session_id", "claude_session_id")
            memory = _first(row, "memory_session_id", "sdk_session_id")
            if memory:
                self._numbers[memory] = row["id"]
            if agent:
                self._names[agent] = row["id"]
            yield (
                "sessions",
                {
                    "id": row["id"],
                    "claude_session_id": agent or memory or f"claude-mem-{row['id']}",
                    "request": _first(row, "user_prompt"),
                    "project": _first(row, "project"),
                    "created_at": _time(row, "started_at") or times.iso(0),
                    "ended_at": _time(row, "completed_at") or None,
                },
            )

    def observations(self) -> Iterator[tuple[str, Row]]:
        for row in self._rows("observations"):
            facts = _list(row.get("facts"))
            told = [_first(row, "narrative", "text"), *(f"- {one}" for one in facts)]
            content = "\n".join(part for part in told if part)
            modified = _list(row.get("files_modified"))
            files = [*modified, *_list(row.get("files_read"))]
            yield (
                "observations",
                {
                    **self._common(row),
                    "type": _first(row, "type") or "change",
                    "title": _first(row, "title") or _title(content) or "Untitled",
                    "subtitle": _first(row, "subtitle"),
                    "content": content,
                    "file_path": files[0] if files else "",
                    "files": list(dict.fromkeys(files)),
                    # older ones carry an explanation behind the concept's name
                    "concepts": [
                        one.partition(":")[0].strip() for one in _list(row.get("concepts"))
                    ],
                    "tokens_work": _count(row.get("discovery_tokens")),
                },
            )

    def summaries(self) -> Iterator[tuple[str, Row]]:
        for row in self._rows("session_summaries"):
            told = {
                name: str(row[name]).strip()
                for name in (
                    "request",
                    "investigated",
                    "learned",
                    "completed",
                    "next_steps",
                    "notes",
                )
                if row.get(name)
            }
            if not told:
                continue
            files = [*_list(row.get("files_edited")), *_list(row.get("files_read"))]
            yield (
                "observations",
                {
                    **self._common(row),
                    "type": "change",
                    "title": f"Session: {_title(next(iter(told.values())))}",
                    "content": "\n\n".join(
                        f"{name.replace('_', ' ').capitalize()}: {text}"
                        for name, text in told.items()
                    ),
                    "file_path": files[0] if files else "",
                    "files": list(dict.fromkeys(files)),
                    "concepts": ["what-changed"],
                    "tokens_work": _count(row.get("discovery_tokens")),
                },
            )

    def prompts(self) -> Iterator[tuple[str, Row]]:
        for row in self._rows("user_prompts"):
            agent = _first(row, "content_session_id", "claude_session_id", "sdk_session_id")
            number = row.get("session_db_id") or self._names.get(agent)
            if self._project and number not in self._names.values():
                continue
            if prompt := _first(row, "prompt_text"):
                yield (
                    "prompts",
                    {
                        "session_id": number,
                        "prompt": prompt,
                        "project": self._project,
                        "created_at": _time(row, "created_at") or times.iso(0),
                    },
                )

    def _rows(self, table: str) -> Iterator[Row]:
        if not self._known[table]:
            return
        where, values = "1", []
        if self._project and "project" in self._known[table]:
            merged = "merged_into_project" in self._known[table]
            name = "coalesce(nullif(merged_into_project, ''), project)" if merged else "project"
            where, values = f"{name} = ?", [self._project]
        for row in self._database.execute(
            f"SELECT * FROM {table} WHERE {where} ORDER BY id", values
        ):
            yield {
                name: value.decode("utf-8", "replace") if isinstance(value, bytes) else value
                for name, value in dict(row).items()
            }

    def _common(self, row: Row) -> Row:
        memory = _first(row, "memory_session_id", "sdk_session_id")
        at = _time(row, "created_at") or times.iso(0)
        return {
            "session_id": self._numbers.get(memory),
            "project": _first(row, "project"),
            "created_at": at,
            "created_at_epoch": times.epoch(at),
        }


def _first(row: Row, *names: str) -> str:
    return next((str(row[name]) for name in names if row.get(name)), "")


def _time(row: Row, name: str) -> str:
    """The moment as our columns have it; "" where there is none, or one that no calendar has."""
    moment = row.get(f"{name}_epoch")
    if not isinstance(moment, int | float) or moment <= 0:
        try:
            moment = times.epoch(str(row.get(name) or ""))
        except (ValueError, OverflowError):
            return ""
    # one early version wrote seconds
    milliseconds = moment if moment > 1e11 else moment * 1000
    return times.iso(int(milliseconds)) if milliseconds < _END_OF_TIME else ""


def _count(value: Any) -> int:
    return int(value) if isinstance(value, int | float) and 0 < value < _MOST else 0


def _list(value: Any) -> list[str]:
    """A list that was written as JSON, or by an old version with commas."""
    if not isinstance(value, str) or not value.strip():
        return []
    try:
        found = json.loads(value)
    except ValueError:
        found = value.split(",")
    if isinstance(found, list):
        return [str(one).strip() for one in found if str(one).strip()]
    return [str(found)]


def _title(text: str) -> str:
    found = _TITLE_OF_TEXT.search(text.lstrip("- #"))
    return found[0].strip() if found else ""
