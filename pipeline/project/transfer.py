"""A store as a file, and back: json and jsonl hold all of it, Markdown is for reading."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pipeline.errors import SourceFault
from pipeline.project import times
from pipeline.project.observations import content_hash
from pipeline.project.store import ProjectStore
from pipeline.project.vocabulary import tokens

FORMAT = "anvil-memory"
VERSION = 1
# In the order in which they can be written: what another refers to comes first.
TABLES = ("sessions", "checkpoints", "observations", "ralph_iterations", "prompts")
_TIMES = ("created_at", "ended_at")
_END_OF_TIME = 253_402_300_800_000  # milliseconds, the year 10,000
_LARGEST = 2**53  # a larger number is none that every reader of JSON knows


def _is_text(item: Any) -> bool:
    return isinstance(item, str)


def _is_file(item: Any) -> bool:
    return isinstance(item, dict) and all(_is_text(item.get(name)) for name in ("path", "lines"))


# The columns that hold lists, and what an item of each is.
_ITEM = {
    "files": _is_text,
    "concepts": _is_text,
    "items_completed": _is_text,
    "files_in_progress": _is_file,
}
_REFERENCES = {"session_id": "sessions", "checkpoint_id": "checkpoints"}
# What makes a row of another store the same as one of this; see `_known_observation` as well.
_SAME = {
    "sessions": ("claude_session_id", "created_at"),
    "checkpoints": ("created_at", "level", "current_task"),
    "ralph_iterations": ("ralph_session_id", "iteration"),
    "prompts": ("created_at", "prompt"),
}
# Two of the same may be in one store, made in the same moment.
_MAY_RECUR = frozenset({"checkpoints", "observations", "prompts"})

Row = dict[str, Any]


def rows(connection: sqlite3.Connection) -> Iterator[tuple[str, Row]]:
    """Every row of the store with its table, in an order in which they can be written again."""
    for table in TABLES:
        for row in connection.execute(f"SELECT * FROM {table} ORDER BY id"):
            yield (
                table,
                {
                    name: json.loads(value) if name in _ITEM else value
                    for name, value in dict(row).items()
                },
            )


def as_json(connection: sqlite3.Connection) -> Iterator[str]:
    """The export as one JSON value, in pieces."""
    yield json.dumps({"format": FORMAT, "version": VERSION})[:-1]
    open_table = ""
    for table, row in rows(connection):
        yield (
            f",\n{json.dumps(row, ensure_ascii=False)}"
            if table == open_table
            else (
                f"{']' if open_table else ''},\n{json.dumps(table)}: [\n"
                f"{json.dumps(row, ensure_ascii=False)}"
            )
        )
        open_table = table
    yield "]}\n" if open_table else "}\n"


def as_lines(connection: sqlite3.Connection) -> Iterator[str]:
    """The export as JSON Lines: a header, then a row on each line."""
    yield json.dumps({"format": FORMAT, "version": VERSION}) + "\n"
    for table, row in rows(connection):
        yield json.dumps({"table": table, "row": row}, ensure_ascii=False) + "\n"


def read(path: Path) -> Iterator[tuple[str, Row]]:
    """The rows of an export. Raises SourceFault when it cannot be read or is none."""
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, ValueError) as error:
        raise _refused(path, str(error)) from error
    # by newlines alone: other separators of lines stand inside of strings
    head, *rest = (line for line in text.split("\n") if line.strip()) if text.strip() else ("",)
    try:
        first = json.loads(head)
        values = [json.loads(line) for line in rest]
    except ValueError:
        first, values = None, []
    if not values:  # one JSON value, on a line or on many
        yield from _of_whole(path, text)
        return
    _check(path, first)
    for value in values:
        if not isinstance(value, dict) or value.get("table") not in TABLES:
            raise _refused(path, "a line of it is no row of a known table")
        if not isinstance(value.get("row"), dict):
            raise _refused(path, "a line of it has no row")
        yield value["table"], value["row"]


def load(store: ProjectStore, incoming: Iterable[tuple[str, Row]], path: Path) -> dict[str, int]:
    """Write rows that are not there yet; how many there were, by table and what became of them.

    A row keeps its id where that is free. Everything is cleaned again. Call it in a transaction.
    Raises SourceFault, which names the file, for a row that the store cannot hold.
    """
    counts = dict.fromkeys((f"{t} {what}" for t in TABLES for what in ("new", "known")), 0)
    numbers: dict[str, dict[int, int]] = {table: {} for table in TABLES}
    taken_in: dict[str, set[int]] = {table: set() for table in TABLES}
    columns = {
        table: {
            row["name"]: row["type"]
            for row in store.connection.execute(f"PRAGMA table_info({table})")
        }
        for table in TABLES
    }
    for table, given in incoming:
        try:
            _check_numbers(given, columns[table])
            row = _prepared(store, table, given, numbers)
            known = _known(store, table, row)
            if table in _MAY_RECUR and known in taken_in[table]:
                known = None  # it was told twice, and is taken in twice
            identity = _insert(store, table, row, columns[table]) if known is None else known
        except (sqlite3.Error, TypeError, ValueError, KeyError, OverflowError) as error:
            number = counts[f"{table} new"] + counts[f"{table} known"] + 1
            raise _refused(path, f"row {number} of {table} cannot be stored: {error}") from error
        if given.get("id") is not None:
            numbers[table][given["id"]] = identity
        if known is None:
            taken_in[table].add(identity)
        counts[f"{table} {'new' if known is None else 'known'}"] += 1
    return {name: count for name, count in counts.items() if count}


# ------------------------------------------------------------------ within


def _of_whole(path: Path, text: str) -> Iterator[tuple[str, Row]]:
    try:
        whole = json.loads(text)
    except ValueError as error:
        raise _refused(path, f"it is no JSON: {error}") from error
    _check(path, whole)
    for table in TABLES:
        listed = whole.get(table, [])
        if not isinstance(listed, list) or not all(isinstance(row, dict) for row in listed):
            raise _refused(path, f"{table} is no list of rows")
        for row in listed:
            yield table, row


def _check(path: Path, header: Any) -> None:
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise _refused(path, "it does not say that it is one")
    if header.get("version") != VERSION:
        raise _refused(path, f"its version is {header.get('version')!r}, known is {VERSION}")


def _refused(path: Path, reason: str) -> SourceFault:
    return SourceFault(
        f"{path} is no export of anvil-memory: {reason}",
        mend="import a file that `anvil-memory export` wrote as json or jsonl",
    )


def _check_numbers(given: Mapping[str, Any], columns: Mapping[str, str]) -> None:
    """SQLite takes any value into any column, but whoever counts with it does not.

    After the largest id that it knows, no row could be added any more.
    """
    for name, kind in columns.items():
        value = given.get(name)
        if kind == "TEXT" or value is None:
            continue
        if type(value) is not int and (kind == "INTEGER" or type(value) is not float):
            raise ValueError(f"{name} is no number")
        if not abs(value) <= _LARGEST:
            raise ValueError(f"{name} is too large")
    if given.get("id") is not None and given["id"] < 1:
        raise ValueError("id is below 1")


def _prepared(
    store: ProjectStore, table: str, given: Mapping[str, Any], numbers: Mapping[str, dict[int, int]]
) -> Row:
    """The row as it is to be stored: cleaned, lists as JSON, references to ids of this store."""

    def clean(value: Any) -> Any:
        if isinstance(value, str):
            return store.clean(value)
        if isinstance(value, list):
            return [clean(one) for one in value]
        if isinstance(value, dict):
            return {clean(name): clean(one) for name, one in value.items()}
        return value

    row = {name: clean(value) for name, value in given.items()}
    for name in _ITEM.keys() & row.keys():
        if not isinstance(row[name], list) or not all(map(_ITEM[name], row[name])):
            raise ValueError(f"{name} is not a list as it is exported")
        row[name] = json.dumps(row[name], ensure_ascii=False)
    for name in _TIMES:  # what every reader of the store can read
        if row.get(name) is not None:
            times.epoch(row[name])
    if not 0 <= row.get("created_at_epoch", 0) < _END_OF_TIME:
        raise ValueError("created_at_epoch is no time")
    for name, other in _REFERENCES.items():
        if row.get(name) is not None:
            row[name] = numbers[other].get(row[name])
    if table == "observations":
        row["created_at_epoch"] = row.get("created_at_epoch") or times.epoch(row["created_at"])
        row.setdefault("created_at", times.iso(row["created_at_epoch"]))
        said = {name: row.setdefault(name, "") for name in ("title", "subtitle", "content")}
        said["files"] = row.setdefault("files", "[]")
        row["content_hash"] = content_hash(row["type"], said)
        row.setdefault("tokens_read", tokens("\n".join(said.values())))
    return row


def _known(store: ProjectStore, table: str, row: Row) -> int | None:
    """The id of the row that is the same, if it is here already."""
    if table == "observations":
        return _known_observation(store, row)
    names = _SAME[table]
    if table == "sessions":  # the agent's own id is enough, where there is one
        names = names[:1] if row.get("claude_session_id") else names[1:]
    found = store.connection.execute(
        f"SELECT id FROM {table} WHERE {' AND '.join(f'{name} IS ?' for name in names)}",
        [row.get(name) for name in names],
    ).fetchone()
    return int(found["id"]) if found else None


def _known_observation(store: ProjectStore, row: Row) -> int | None:
    """The observation of this moment that has its id, its session or its words.

    The words alone would not do: they may have been edited since the export.
    """
    identity = row.get("id")
    found = store.connection.execute(
        """SELECT id FROM observations
           WHERE created_at_epoch = ? AND (id = ? OR session_id = ? OR content_hash = ?)""",
        (
            row["created_at_epoch"],
            identity,
            # claude-mem gives one moment to all that it found in one go, and no id of ours
            None if identity is None else row.get("session_id"),
            row["content_hash"],
        ),
    ).fetchone()
    return int(found["id"]) if found else None


def _insert(store: ProjectStore, table: str, row: Row, columns: Mapping[str, str]) -> int:
    kept = {name: row[name] for name in columns if name in row}
    taken = store.connection.execute(f"SELECT 1 FROM {table} WHERE id = ?", (kept.get("id"),))
    if taken.fetchone():
        del kept["id"]
    cursor = store.connection.execute(
        f"INSERT INTO {table} ({', '.join(kept)}) VALUES ({', '.join('?' * len(kept))})",
        list(kept.values()),
    )
    assert cursor.lastrowid is not None
    return cursor.lastrowid
