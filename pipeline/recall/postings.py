"""Which rows of a full-text index hold each term, without reading what is said everywhere.

Ranking costs far more than finding, and a word that stands everywhere ranks nothing: rows are taken
by what is rare in the query, and what is common is only looked up among them.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pipeline.recall.ranking import rarity
from pipeline.recall.sizes import total
from pipeline.recall.terms import Term

MOST = 500  # rows a rare term may have
_ALL = 2500  # rows of all rare terms together
_IN_HALF = 0.7  # the rarity of what half of all rows hold; beside rarer words it tells nothing
_NEWEST = 200  # rows that are looked at where no term is rare


@dataclass(frozen=True, slots=True)
class Index:
    """A full-text index and the table it is about.

    fts: the index's name. table: of the rows, with their text in the column `text`. where: a
    condition on the row `r` that it must keep, "" for none, and its values. spaced: the index is
    of text as `terms.spaced` makes it, so that what has no spaces is found in it. Good for as long
    as nothing is written.
    """

    connection: sqlite3.Connection
    fts: str
    table: str
    where: str = ""
    values: tuple[Any, ...] = ()
    spaced: bool = False
    _probed: dict[Term, tuple[list[int], int | None]] = field(default_factory=dict, repr=False)

    def first(self, term: Term, most: int) -> list[int]:
        """The oldest rows with a term, at most so many."""
        if self._is_read(term):
            return self._containing(term.needle, most, "")
        return self.matching(term.expression, most)

    def probed(self, term: Term) -> tuple[list[int], int | None]:
        """The rows with a term; where there are more than MOST, none, and the next one after.

        Asked for once: the index is one of a moment.
        """
        if term not in self._probed:
            self._probed[term] = self._asked(term)
        return self._probed[term]

    def _asked(self, term: Term) -> tuple[list[int], int | None]:
        if self._is_read(term):
            rows = self._containing(term.needle, MOST + 1, "")
            return ([], rows[MOST]) if len(rows) > MOST else (rows, None)
        query, values = self._matching(term.expression)
        found = self.connection.execute(f"{query} LIMIT 1 OFFSET ?", (*values, MOST)).fetchone()
        # asked first, for to read the rows of a common word takes longer than to pass over them
        return ([], found[0]) if found else (self.matching(term.expression, MOST), None)

    def newest(self, term: Term, most: int) -> list[int]:
        """The newest rows with a term, at most so many, the newest first."""
        if self._is_read(term):
            return self._containing(term.needle, most, "DESC")
        return self.matching(term.expression, most, newest=True)

    def matching(self, expression: str, most: int, *, newest: bool = False) -> list[int]:
        """Rows that match an expression of FTS5, at most so many, in the order of the index.

        newest: the newest first, which takes half as long again.
        """
        query, values = self._matching(expression)
        order = "ORDER BY f.rowid DESC" if newest else ""
        return self._rows(f"{query} {order} LIMIT ?", (*values, most))

    def _matching(self, expression: str) -> tuple[str, tuple[Any, ...]]:
        joined = f"JOIN {self.table} AS r ON r.rowid = f.rowid" if self.where else ""
        where = f"AND {self.where}" if self.where else ""
        query = (
            f"SELECT f.rowid AS row FROM {self.fts} AS f {joined} WHERE {self.fts} MATCH ? {where}"
        )
        return query, (expression, *self.values)

    def _is_read(self, term: Term) -> bool:
        return bool(term.needle) and not self.spaced

    def _containing(self, needle: str, most: int, order: str) -> list[int]:
        """Without words to go by every row is looked at."""
        return self._rows(
            f"""SELECT r.rowid AS row FROM {self.table} AS r WHERE instr(r.text, ?) > 0
                {f"AND {self.where}" if self.where else ""} ORDER BY r.rowid {order} LIMIT ?""",
            (needle, *self.values, most),
        )

    def _rows(self, query: str, values: Sequence[Any]) -> list[int]:
        # as one value: to step through them from here takes longer than to find them
        found = self.connection.execute(f"SELECT json_group_array(row) FROM ({query})", values)
        rows: list[int] = json.loads(found.fetchone()[0])
        return rows


@dataclass(frozen=True, slots=True)
class Posting:
    """A term, what it is worth, and rows that hold it."""

    term: Term
    rarity: float
    rows: Sequence[int]


def postings(index: Index, wanted: Sequence[Term]) -> list[Posting]:
    """Each term that is in the index at all, the rarest first.

    Of a term that more than MOST rows hold, only those rows that hold a rarer one as well.
    """
    count = total(index.connection, index.fts)
    probed = [(term, *index.probed(term)) for term in wanted]
    rare: list[Posting] = []
    common: list[tuple[Term, float]] = []
    taken = 0
    for term, rows, after in sorted(probed, key=lambda one: (one[2] is not None, len(one[1]))):
        if after is not None:
            # As dense as up to there, from the very first row on: a word that came up yesterday is
            # not common for that.
            holding = min(count, count * (MOST + 1) / max(after, MOST + 1))
            common.append((term, rarity(count, holding)))
            continue
        worth = rarity(count, len(rows))
        if taken + len(rows) <= _ALL:
            taken += len(rows)
            rare.append(Posting(term, worth, rows))
        else:
            common.append((term, worth))
    if not common:
        return rare
    anchors = [one.term for one in rare if one.rows and not one.term.needle]
    if anchors:
        among = " OR ".join(f"({term.expression})" for term in anchors)
        found = [
            Posting(term, worth, index.matching(f"({term.expression}) AND ({among})", MOST))
            for term, worth in common
            if not term.needle and worth > _IN_HALF
        ]
        return rare + found
    return rare + _of_common(index, common)


def _of_common(index: Index, common: Sequence[tuple[Term, float]]) -> list[Posting]:
    """The newest rows that hold all of them; where these are few, the newest of each too."""
    words = [(term, worth) for term, worth in common if not term.needle]
    together = " AND ".join(f"({term.expression})" for term, _ in words)
    both = index.matching(together, _NEWEST, newest=True) if len(words) > 1 else []
    few = len(both) < _NEWEST // 10
    return [
        Posting(term, worth, list({*both, *index.newest(term, _NEWEST)}) if few else both)
        for term, worth in common
    ]
