"""Claims: single statements that were taken from conversations."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence

from pipeline.recall.postings import Index, postings
from pipeline.recall.ranking import rarity, shortness, summed
from pipeline.recall.sizes import lengths
from pipeline.recall.terms import Term

_LENGTH = 0.3
_CLOSE, _WIDE = 100, 400  # claims that are ranked, out of so many: those refused stand among them
_FTS = "claims_fts"
_KEPT = """SELECT rowid FROM claims
           WHERE dropped_reason = '' AND rowid IN (SELECT value FROM json_each(?))"""
_TIMES = """SELECT k.rowid, m.at FROM claims AS k JOIN chunks AS p ON p.id = k.chunk_id
            JOIN messages AS m ON m.conv = p.conv
            AND m.position = (SELECT max(value) FROM json_each(k.messages))
            WHERE k.rowid IN (SELECT value FROM json_each(?))"""


def rank(
    store: sqlite3.Connection,
    wanted: Sequence[Term],
    where: str = "",
    values: tuple[object, ...] = (),
    then: Callable[[str], bool] | None = None,
) -> dict[int, float]:
    """The claims that match, by rowid. then: as in `messages`."""
    found = postings(Index(store, _FTS, "claims", where, values), wanted)
    sums = summed((one.rarity, one.rows) for one in found)
    likely = sorted(sums, key=sums.__getitem__, reverse=True)[:_WIDE]
    close: list[int] = []
    for start in range(0, len(likely), _CLOSE):  # the first are enough where few were refused
        some = likely[start : start + _CLOSE]
        kept = {row for (row,) in store.execute(_KEPT, (json.dumps(some),))}
        close += [row for row in some if row in kept][: _CLOSE - len(close)]
        if len(close) == _CLOSE:
            break
    words, average = lengths(store, _FTS, close)
    best = sum(one.rarity for one in found) or 1.0
    if then:
        said = [row for row, at in store.execute(_TIMES, (json.dumps(close),)) if then(at)]
        worth = rarity(len(close), len(said))
        best += worth
        for row in said:
            sums[row] += worth
    return {row: sums[row] / best * shortness(words.get(row, 0), average, _LENGTH) for row in close}
