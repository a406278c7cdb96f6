"""How many words the rows of a full-text index have, as FTS5 keeps them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

_MANY = 500  # parameters of one statement
_T = TypeVar("_T")


def lengths(
    connection: sqlite3.Connection, fts: str, rows: Iterable[int]
) -> tuple[dict[int, int], float]:
    """Words of each of these rows, and of a row on the average."""
    found = {
        row: _total(sizes)
        for some in slices(list(rows))
        for row, sizes in connection.execute(
            f"SELECT id, sz FROM {fts}_docsize WHERE id IN ({', '.join('?' * len(some))})", some
        )
    }
    count, words = _whole(connection, fts)
    return found, words / max(1, count)


def total(connection: sqlite3.Connection, fts: str) -> int:
    """Rows of the index; to count those of its table takes longer than to search it."""
    return _whole(connection, fts)[0]


def slices(rows: Sequence[_T]) -> Iterator[list[_T]]:
    """Some at a time, as many as a statement takes."""
    return (list(rows[start : start + _MANY]) for start in range(0, len(rows), _MANY))


def _whole(connection: sqlite3.Connection, fts: str) -> tuple[int, int]:
    """Rows and words of the index: FTS5 keeps both under this number."""
    row = connection.execute(f"SELECT block FROM {fts}_data WHERE id = 1").fetchone()
    if row is None or not row[0]:
        return 0, 0
    count, rest = _varint(row[0])
    return count, _total(rest)


def _total(data: bytes) -> int:
    """The sum of the numbers, one of each column."""
    if len(data) == 1:
        return data[0]
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
