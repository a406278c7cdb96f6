"""Messages of conversations: what was said in one of them, and around it."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from pipeline.recall.postings import Index, postings
from pipeline.recall.ranking import Weights, likely, ranked, rarity, shortness
from pipeline.recall.sizes import average, words_in
from pipeline.recall.terms import Term

# by leave-one-conversation-out on LoCoMo: benchmarks/recall.py
WEIGHTS = Weights(
    beside={1: 0.7, 2: 0.3, -1: 0.4, -2: 0.2},
    length=0.2,
    saturation=1.0,
    group=1.2,
)
# messages that are ranked with what stands beside them, and how many where these are too few
CLOSE, WIDE = 100, 2500
_FTS = "messages_fts"
_ROWS = """SELECT m.rowid, m.conv, m.position, m.at, d.sz FROM messages AS m
           LEFT JOIN messages_fts_docsize AS d ON d.id = m.rowid
           WHERE m.rowid IN (SELECT value FROM json_each(?))"""


def rank(
    store: sqlite3.Connection,
    wanted: Sequence[Term],
    where: str = "",
    values: tuple[object, ...] = (),
    weights: Weights = WEIGHTS,
    then: Callable[[str], bool] | None = None,
    most: int = CLOSE,
) -> dict[int, float]:
    """The messages that match, by rowid, those among `most` with what stands beside them.

    then: whether a time, as the store writes it, is one that the query names. That counts as a word
    does that stands in all that was said then, but alone finds nothing.
    """
    found = postings(Index(store, _FTS, "messages", where, values), wanted)
    close = likely(((one.rarity, one.rows) for one in found), weights.beside, most)
    told = store.execute(_ROWS, (json.dumps(close),)).fetchall()
    places = {row: (conv, position) for row, conv, position, _, _ in told}
    words = {row: words_in(sizes or b"") for row, _, _, _, sizes in told}
    usual = average(store, _FTS)
    worth = {row: shortness(words[row], usual, weights.length) for row in places}
    held = {id(one.rows): {row: worth[row] for row in one.rows if row in worth} for one in found}
    matches = [(one.rarity, held[id(one.rows)]) for one in found]
    if then:
        said = {row: 1.0 for row, _, _, at, _ in told if then(at)}
        matches.append((rarity(len(places), len(said)), said))
    scores = ranked(matches, places, _sizes(store, places, words), weights)
    if not then:
        return scores
    # by its number also what stands at the edge of another conversation was looked at
    spoken = [places[row] for one in found for row in one.rows if row in places]
    heard = {(conv, at + by) for conv, at in spoken for by in (0, *weights.beside)}
    return {row: score for row, score in scores.items() if places[row] in heard}


def _sizes(
    store: sqlite3.Connection, places: Mapping[int, tuple[str, int]], words: Mapping[int, int]
) -> dict[str, float]:
    """Words of each conversation, judged by those of its messages that are looked at."""
    looked: defaultdict[str, list[int]] = defaultdict(list)
    for row, (conv, _) in places.items():
        looked[conv].append(words[row])
    # by the last of each, to count them takes longer than all the rest
    found = store.execute(
        """SELECT value, (SELECT 1 + max(position) FROM messages WHERE conv = value)
           FROM json_each(?)""",
        (json.dumps(list(looked)),),
    )
    return {conv: count * sum(looked[conv]) / len(looked[conv]) for conv, count in found}
