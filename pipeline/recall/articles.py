"""Sections of articles: what stands in them, under which heading, in an article called what."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Collection, Sequence

from pipeline.recall.library import Library
from pipeline.recall.postings import Index, postings
from pipeline.recall.ranking import Weights, ranked, shortness
from pipeline.recall.sizes import lengths
from pipeline.recall.terms import Term

_WEIGHTS = Weights(beside={}, length=0.3, saturation=1.2, group=0.6)
_NAMED, _HEADED = 3.0, 1.5  # beside 1 for a word of the text
_CLOSE = 400  # sections that are ranked
_MOST = 10_000  # sections in which it is looked where in them a term stands
_FTS = "sections_fts"


def rank(library: Library, wanted: Sequence[Term], called: Collection[str]) -> dict[int, float]:
    """The sections that match, by row of the index. The index is fresh.

    called: stems of articles of which it is known that they are meant.
    """
    connection = library.sections.connection
    index = Index(connection, _FTS, "sections", spaced=True)
    found = postings(index, wanted)
    sums: defaultdict[int, float] = defaultdict(float)
    for one in found:
        for row in one.rows:
            sums[row] += one.rarity
    close = sorted(sums, key=sums.__getitem__, reverse=True)[:_CLOSE]
    places = library.sections.places(close)
    words, average = lengths(connection, _FTS, places)
    matches = []
    for one in found:
        named = set(index.rows(one.term, _MOST, column="names"))
        headed = set(index.rows(one.term, _MOST, column="heading"))
        # seldom is it somewhere else than in the text alone
        only = named | headed
        said = set(index.rows(one.term, _MOST, column="body")) if only else set(one.rows)
        counts: dict[int, float] = {}
        for row in one.rows:
            if row not in places:
                continue
            value = 0.0
            if row in said:
                value = shortness(words.get(row, 0), average, _WEIGHTS.length)
            if row in named:
                value += _NAMED
            counts[row] = value + (_HEADED if row in headed else 0)
        matches.append((one.rarity, counts))
    sizes: defaultdict[str, float] = defaultdict(float)
    for row, (path, _) in places.items():
        sizes[path] += words.get(row, 0)
    units = ranked(matches, places, sizes, _WEIGHTS)
    return units | {row: 1.0 + units.get(row, 0.0) for row in _leads(library, called)}


def redirected(library: Library, wanted: Sequence[Term]) -> set[str]:
    """Stems of the articles of the topics, merged ones too, in whose names all the words stand."""
    words = [term.word.casefold() for term in wanted if term.word]
    if library.store is None or not words or len(words) < len(wanted):
        return set()
    called = "lower(name || ' ' || aliases)"
    rows = library.store.execute(
        f"""SELECT name, article, merged_into, aliases FROM buckets
            WHERE {" AND ".join(f"instr({called}, ?) > 0" for _ in words)}""",
        words,
    ).fetchall()
    found = set()
    for name, article, into, aliases in rows:
        said = {w for n in (name, *json.loads(aliases)) for w in n.casefold().split()}
        if said.issuperset(words):
            found.add(_followed(library.store, article, into))
    return found - {""}


def _followed(store: sqlite3.Connection, article: str, into: str) -> str:
    passed = set()
    while into and into not in passed:
        passed.add(into)
        row = store.execute(
            "SELECT article, merged_into FROM buckets WHERE name = ?", (into,)
        ).fetchone()
        if row is None:
            break
        article, into = row
    return article


def _leads(library: Library, stems: Collection[str]) -> list[int]:
    return [
        row[0]
        for stem in sorted(stems)
        for row in library.sections.connection.execute(
            """SELECT id FROM sections JOIN files USING (path)
               WHERE stem = ? ORDER BY ordinal LIMIT 1""",
            (stem,),
        )
    ]
