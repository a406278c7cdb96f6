"""Messages of conversations: what was said in one of them, and around it."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from pipeline.recall.postings import Index, postings
from pipeline.recall.ranking import Weights, likely, ranked, rarity, shortness
from pipeline.recall.sizes import lengths
from pipeline.recall.terms import Term

# by leave-one-conversation-out on LoCoMo: benchmarks/recall.py
WEIGHTS = Weights(
    beside={1: 0.7, 2: 0.3, -1: 0.4, -2: 0.2},
    length=0.2,
    saturation=1.0,
    group=1.2,
)
_CLOSE = 300  # messages that are ranked with what stands beside them
_FTS = "messages_fts"


def rank(
    store: sqlite3.Connection,
    wanted: Sequence[Term],
    where: str = "",
    values: tuple[object, ...] = (),
    weights: Weights = WEIGHTS,
    then: Callable[[str], bool] | None = None,
) -> dict[int, float]:
    """The messages that match, by rowid.

    then: whether a time, as the store writes it, is one that the query names. That counts as a word
    does that stands in all that was said then.
    """
    found = postings(Index(store, _FTS, "messages", where, values), wanted)
    close = likely(((one.rarity, one.rows) for one in found), weights.beside, _CLOSE)
    places, times = _places(store, close)
    words, average = lengths(store, _FTS, close)
    worth = {row: shortness(words.get(row, 0), average, weights.length) for row in places}
    matches = [(one.rarity, {row: worth[row] for row in one.rows if row in worth}) for one in found]
    if then:
        said = {row: 1.0 for row, at in times.items() if then(at)}
        matches.append((rarity(len(places), len(said)), said))
    return ranked(matches, places, _sizes(store, places, words), weights)


def _places(
    store: sqlite3.Connection, rows: Sequence[int]
) -> tuple[dict[int, tuple[str, int]], dict[int, str]]:
    """Of these rows conversation and position, and when it was said."""
    found = store.execute(
        """SELECT rowid, conv, position, at FROM messages
           WHERE rowid IN (SELECT value FROM json_each(?))""",
        (json.dumps(rows),),
    ).fetchall()
    places = {row: (conv, position) for row, conv, position, _ in found}
    return places, {row: at for row, _, _, at in found}


def _sizes(
    store: sqlite3.Connection, places: Mapping[int, tuple[str, int]], words: Mapping[int, int]
) -> dict[str, float]:
    """Words of each conversation, judged by those of its messages that are looked at."""
    looked: defaultdict[str, list[int]] = defaultdict(list)
    for row, (conv, _) in places.items():
        looked[conv].append(words.get(row, 0))
    # by the last of each, to count them takes longer than all the rest
    found = store.execute(
        """SELECT value, (SELECT 1 + max(position) FROM messages WHERE conv = value)
           FROM json_each(?)""",
        (json.dumps(list(looked)),),
    )
    return {conv: count * sum(looked[conv]) / len(looked[conv]) for conv, count in found}
