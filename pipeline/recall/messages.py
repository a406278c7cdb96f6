"""Messages of conversations: what was said in one of them, and around it."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Mapping, Sequence

from pipeline.recall.postings import Index, postings
from pipeline.recall.ranking import Weights, likely, ranked, shortness
from pipeline.recall.sizes import lengths, slices
from pipeline.recall.terms import Term

# by leave-one-conversation-out on LoCoMo: benchmarks/recall.py
WEIGHTS = Weights(
    beside={1: 0.7, 2: 0.3, -1: 0.4, -2: 0.2},
    length=0.2,
    saturation=1.0,
    group=1.2,
)
_CLOSE = 500  # messages that are ranked with what stands beside them
_FTS = "messages_fts"


def rank(
    store: sqlite3.Connection,
    wanted: Sequence[Term],
    where: str = "",
    values: tuple[object, ...] = (),
    weights: Weights = WEIGHTS,
) -> dict[int, float]:
    """The messages that match, by rowid."""
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


def _places(store: sqlite3.Connection, rows: Sequence[int]) -> dict[int, tuple[str, int]]:
    return {
        row: (conv, position)
        for some in slices(rows)
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
    sizes: dict[str, float] = {}
    for some in slices(list(looked)):
        among = ", ".join("?" * len(some))
        for conv, count in store.execute(
            f"SELECT conv, count(*) FROM messages WHERE conv IN ({among}) GROUP BY conv", some
        ):
            sizes[conv] = count * sum(looked[conv]) / len(looked[conv])
    return sizes
