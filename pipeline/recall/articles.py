"""Sections of articles: what stands in them, under which heading, in an article called what."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence

from pipeline.recall.library import Library
from pipeline.recall.postings import MOST, Index, postings
from pipeline.recall.ranking import Weights, ranked, rarity, shortness, summed
from pipeline.recall.sizes import lengths
from pipeline.recall.terms import Term

_WEIGHTS = Weights(beside={}, length=0.3, saturation=1.2, group=0.6)
_NAMED, _HEADED = 3.0, 1.5  # beside 1 for a word of the text
_CLOSE = 100  # sections that are ranked
_MOST = 10_000  # sections in which it is looked where in them a term stands
_FTS = "sections_fts"


def sections(library: Library) -> Index:
    """The full-text index of the sections, for one search. The library's is fresh."""
    return Index(library.sections.connection, _FTS, "sections", spaced=True)


def rank(
    library: Library,
    index: Index,
    wanted: Sequence[Term],
    called: Collection[str],
    then: Callable[[str], bool] | None = None,
) -> dict[int, float]:
    """The sections that match, by row of the index.

    index: as `sections` gives it. called: stems of articles of which it is known that they are
    meant. then: as in `messages`, of ISO days.
    """
    connection = library.sections.connection
    found = [(one, _above(connection, one.term)) for one in postings(index, wanted)]
    sums = summed((one.rarity, one.rows) for one, _ in found)
    for one, above in found:
        # what is called so is found however common the word
        held = frozenset(one.rows) if above else ()
        for row, worth in above.items():
            if row in held:
                sums[row] += one.rarity * worth
            elif len(above) <= MOST:
                sums[row] = sums.get(row, 0.0) + one.rarity * (1 + worth)
    close = sorted(sorted(sums), key=sums.__getitem__, reverse=True)[:_CLOSE]
    places = library.sections.places(close)
    words, average = lengths(connection, _FTS, places)
    short = {row: shortness(words.get(row, 0), average, _WEIGHTS.length) for row in places}
    matches = []
    for one, above in found:
        said = places.keys() & one.rows
        named = places.keys() & above.keys()
        if named:  # seldom is it somewhere else than in the text alone
            at = f"({one.term.expression})"
            both = index.matching(f"body : {at} AND {{names heading}} : {at}", _MOST)
            said -= named.difference(both)
        counts = {row: above[row] for row in named}
        for row in said:
            counts[row] = counts.get(row, 0.0) + short[row]
        matches.append((one.rarity, counts))
    if then:
        dated = {row: 1.0 for row, day in library.sections.days(close).items() if then(day)}
        matches.append((rarity(len(places), len(dated)), dated))
    sizes: defaultdict[str, float] = defaultdict(float)
    for row, (path, _) in places.items():
        sizes[path] += words.get(row, 0)
    units = ranked(matches, places, sizes, _WEIGHTS)
    return units | {row: 1.0 + units.get(row, 0.0) for row in _leads(library, called)}


def _above(connection: sqlite3.Connection, term: Term) -> dict[int, float]:
    """What the term counts in the sections in whose names or headings it stands."""
    heads, at = Index(connection, "heads_fts", "sections"), f"({term.expression})"
    found = dict.fromkeys(heads.matching(at, _MOST), _NAMED)
    headed = heads.matching(f"heading : {at}", _MOST) if found else []
    named = {*heads.matching(f"names : {at}", _MOST)} if headed else ()
    for row in headed:
        found[row] = _HEADED + (_NAMED if row in named else 0.0)
    return found


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
