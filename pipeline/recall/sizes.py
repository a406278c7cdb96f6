"""How many words the rows of a full-text index have, as FTS5 keeps them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable


def lengths(
    connection: sqlite3.Connection, fts: str, rows: Iterable[int]
) -> tuple[dict[int, int], float]:
    """Words of each of these rows, and of a row on the average."""
    found = connection.execute(
        f"SELECT id, sz FROM {fts}_docsize WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(rows)),),
    )
    return {row: words_in(sizes) for row, sizes in found}, average(connection, fts)


def average(connection: sqlite3.Connection, fts: str) -> float:
    """Words of a row of the index on the average."""
    count, words = _whole(connection, fts)
    return words / max(1, count)


def total(connection: sqlite3.Connection, fts: str) -> int:
    """Rows of the index; to count those of its table takes longer than to search it."""
    return _whole(connection, fts)[0]


def _whole(connection: sqlite3.Connection, fts: str) -> tuple[int, int]:
    """Rows and words of the index: FTS5 keeps both under this number."""
    row = connection.execute(f"SELECT block FROM {fts}_data WHERE id = 1").fetchone()
    if row is None or not row[0]:
        return 0, 0
    count, rest = _varint(row[0])
    return count, words_in(rest)


def words_in(data: bytes) -> int:
    """Words of a row by its `sz` in the docsize table, which has a number for each column."""
    if data.isascii():  # nearly always: no number takes more than a byte
        return sum(data)
    total_ = 0
    while data:
        number, data = _varint(data)
        total_ += number
    return total_


def _varint(data: bytes) -> tuple[int, bytes]:
    """The number that SQLite wrote at the beginning, and what follows it."""
    value = 0
    for at, byte in enumerate(data[:8]):
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, data[at + 1 :]
    return value << 8 | data[8], data[9:]
