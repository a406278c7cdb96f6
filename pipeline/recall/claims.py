"""Claims: single statements that were taken from conversations."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Sequence

from pipeline.recall.postings import Index, postings
from pipeline.recall.ranking import shortness
from pipeline.recall.sizes import lengths
from pipeline.recall.terms import Term

_LENGTH = 0.3
_CLOSE = 400
_FTS = "claims_fts"


def rank(
    store: sqlite3.Connection,
    wanted: Sequence[Term],
    where: str = "",
    values: tuple[object, ...] = (),
) -> dict[int, float]:
    """The claims that match, by rowid; dropped ones too."""
    found = postings(Index(store, _FTS, "claims", where, values), wanted)
    sums: defaultdict[int, float] = defaultdict(float)
    for one in found:
        for row in one.rows:
            sums[row] += one.rarity
    close = sorted(sums, key=sums.__getitem__, reverse=True)[:_CLOSE]
    words, average = lengths(store, _FTS, close)
    best = sum(one.rarity for one in found) or 1.0
    return {row: sums[row] / best * shortness(words.get(row, 0), average, _LENGTH) for row in close}
