"""Messages of conversations: what was said in one of them, and around it."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from pipeline.recall.postings import Index, postings
from pipeline.recall.ranking import Ranked, Weights, likely, ranked, shortness
from pipeline.recall.terms import Term

# by leave-one-conversation-out on LoCoMo: benchmarks/recall.py
WEIGHTS = Weights(
    beside={1: 0.65, 2: 0.3, 3: 0.1, -1: 0.4, -2: 0.2, -3: 0.1},
    length=0.2,
    saturation=1.0,
    group=0.4,
)
_CLOSE = 400  # messages that are ranked with what stands beside them
_MANY = 500  # parameters of one statement
_FTS = "messages_fts"


def rank(
    store: sqlite3.Connection,
    wanted: Sequence[Term],
    where: str = "",
    values: tuple[object, ...] = (),
    weights: Weights = WEIGHTS,
) -> Ranked:
    """The messages that match, by rowid, and the conversations they stand in."""
    found = postings(Index(store, _FTS, "messages", where, values), wanted)
    close = likely(((one.rarity, one.rows) for one in found), weights.beside, _CLOSE)
    places = _places(store, close)
    words, average = lengths(store, _FTS, places)
    matches = [
        (
            one.rarity,
            {
                row: shortness(words.get(row, 0), average, weights.length)
                for row in one.rows
                if row in places
            },
        )
        for one in found
    ]
    return ranked(matches, places, _sizes(store, places, words), weights)


def lengths(
    store: sqlite3.Connection, fts: str, rows: Iterable[int]
) -> tuple[dict[int, int], float]:
    """Words of each of these rows of an index, and of a row on the average."""
    found = {
        row: _total(sizes)
        for some in _slices(list(rows))
        for row, sizes in store.execute(
            f"SELECT id, sz FROM {fts}_docsize WHERE id IN ({', '.join('?' * len(some))})", some
        )
    }
    # FTS5 keeps how many rows there are, and the words of them all, under this number
    row = store.execute(f"SELECT block FROM {fts}_data WHERE id = 1").fetchone()
    if row is None or not row[0]:
        return found, 1.0
    count, rest = _varint(row[0])
    return found, _total(rest) / max(1, count)


def _places(store: sqlite3.Connection, rows: Sequence[int]) -> dict[int, tuple[str, int]]:
    return {
        row: (conv, position)
        for some in _slices(rows)
        for row, conv, position in store.execute(
            f"""SELECT rowid, conv, position FROM messages
                WHERE rowid IN ({", ".join("?" * len(some))})""",
            some,
        )
    }


def _sizes(
    store: sqlite3.Connection, places: Mapping[int, tuple[str, int]], words: Mapping[int, int]
) -> dict[str, float]:
    """Words of each conversation, judged by those of its messages that are looked at."""
    looked: defaultdict[str, list[int]] = defaultdict(list)
    for row, (conv, _) in places.items():
        looked[conv].append(words.get(row, 0))
    count = "SELECT count(*) FROM messages WHERE conv = ?"
    return {
        conv: store.execute(count, (conv,)).fetchone()[0] * sum(each) / len(each)
        for conv, each in looked.items()
    }


def _slices(rows: Sequence[int]) -> Iterable[list[int]]:
    return (list(rows[start : start + _MANY]) for start in range(0, len(rows), _MANY))


def _total(data: bytes) -> int:
    """The sum of the numbers, one of each column."""
    total = 0
    while data:
        number, data = _varint(data)
        total += number
    return total


def _varint(data: bytes) -> tuple[int, bytes]:
    """The number that SQLite wrote at the beginning, and what follows it."""
    value = 0
    for at, byte in enumerate(data[:8]):
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, data[at + 1 :]
    return value << 8 | data[8], data[9:]
