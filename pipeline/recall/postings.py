"""Which rows of a full-text index hold each term, without reading what is said everywhere.

Ranking costs far more than finding, and a word that stands everywhere ranks nothing: rows are taken
by what is rare in the query, and what is common is only looked up among them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.recall.ranking import rarity
from pipeline.recall.sizes import total
from pipeline.recall.terms import Term

MOST = 500  # rows a rare term may have
_ALL = 2500  # rows of all rare terms together
_NEWEST = 500  # rows that are looked at where no term is rare


@dataclass(frozen=True, slots=True)
class Index:
    """A full-text index and the table it is about.

    fts: the index's name. table: of the rows, with their text in the column `text`. where: a
    condition on the row `r` that it must keep, "" for none, and its values. spaced: the index is
    of text as `terms.spaced` makes it, so that what has no spaces is found in it.
    """

    connection: sqlite3.Connection
    fts: str
    table: str
    where: str = ""
    values: tuple[Any, ...] = ()
    spaced: bool = False

    def rows(self, term: Term, most: int, among: str = "", column: str = "") -> list[int]:
        """The newest rows with a term, at most so many; among: those that match this too."""
        if term.needle and not self.spaced:
            return self._containing(term.needle, most)
        wanted = f"({term.expression})"
        if column:
            wanted = f"{column} : {wanted}"
        if among:
            # few, and in the order of the index they are found in half the time
            return self._matching(f"{wanted} AND ({among})", most, "")
        return self.newest(wanted, most)

    def newest(self, expression: str, most: int) -> list[int]:
        """The newest rows that match an expression of FTS5, at most so many."""
        return self._matching(expression, most, "ORDER BY f.rowid DESC")

    def _matching(self, expression: str, most: int, order: str) -> list[int]:
        joined = f"JOIN {self.table} AS r ON r.rowid = f.rowid" if self.where else ""
        found = self.connection.execute(
            f"""SELECT f.rowid FROM {self.fts} AS f {joined} WHERE {self.fts} MATCH ?
                {f"AND {self.where}" if self.where else ""} {order} LIMIT ?""",
            (expression, *self.values, most),
        )
        return [row[0] for row in found]

    def _containing(self, needle: str, most: int) -> list[int]:
        """Without words to go by every row is looked at."""
        found = self.connection.execute(
            f"""SELECT r.rowid FROM {self.table} AS r WHERE instr(r.text, ?) > 0
                {f"AND {self.where}" if self.where else ""} ORDER BY r.rowid DESC LIMIT ?""",
            (needle, *self.values, most),
        )
        return [row[0] for row in found]


@dataclass(frozen=True, slots=True)
class Posting:
    """A term, what it is worth, and rows that hold it."""

    term: Term
    rarity: float
    rows: tuple[int, ...]


def postings(index: Index, wanted: Sequence[Term]) -> list[Posting]:
    """Each term that is in the index at all, the rarest first.

    Of a term that more than MOST rows hold, only those rows that hold a rarer one as well.
    """
    count = total(index.connection, index.fts)
    probed = [(term, index.rows(term, MOST + 1)) for term in wanted]
    rare: list[Posting] = []
    common: list[tuple[Term, float]] = []
    taken = 0
    for term, rows in sorted(probed, key=lambda one: len(one[1])):
        if len(rows) <= MOST and taken + len(rows) <= _ALL:
            taken += len(rows)
            rare.append(Posting(term, rarity(count, len(rows)), tuple(rows)))
        else:
            common.append((term, rarity(count, _estimated(rows, count))))
    if not common:
        return rare
    anchors = [one.term for one in rare if one.rows and not one.term.needle]
    if anchors:
        among = " OR ".join(f"({term.expression})" for term in anchors)
        found = [
            Posting(term, worth, tuple(index.rows(term, MOST, among)))
            for term, worth in common
            if not term.needle
        ]
        return rare + found
    return rare + _of_common(index, common)


def _of_common(index: Index, common: Sequence[tuple[Term, float]]) -> list[Posting]:
    """The newest rows that hold all of them; where these are few, the newest of each too."""
    words = [(term, worth) for term, worth in common if not term.needle]
    together = " AND ".join(f"({term.expression})" for term, _ in words)
    both = index.newest(together, _NEWEST) if len(words) > 1 else []
    return [
        Posting(
            term,
            worth,
            tuple(both if len(both) >= _NEWEST // 10 else {*both, *index.rows(term, _NEWEST)}),
        )
        for term, worth in common
    ]


def _estimated(rows: Sequence[int], count: int) -> float:
    """How many rows hold a term of which only the newest were read: they stand this dense."""
    if len(rows) <= MOST:
        return len(rows)
    stretch = max(1, rows[0] - rows[-1])
    return min(count, count * len(rows) / max(stretch, len(rows)))
