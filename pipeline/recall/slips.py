"""Words that stand nowhere, taken for the word they are nearly spelled like."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from pipeline.recall.library import Library
from pipeline.recall.postings import Index
from pipeline.recall.terms import Term

_LEAST = 4  # letters of a word that may be a slip
_ALIKE = 0.74  # share of the letters that must be right
_MOST = 50_000  # words of the articles that are compared


def mended(library: Library, wanted: Sequence[Term]) -> list[Term]:
    """The terms, those that are in no article, claim or message by what was probably meant.

    Only words of articles are put in their place: what is said once in passing is no spelling.
    """
    if not any(_may_be_slip(library, term) for term in wanted):
        return list(wanted)
    vocabulary = _vocabulary(library.sections.connection)
    return [_nearest(term, vocabulary) if _may_be_slip(library, term) else term for term in wanted]


def _may_be_slip(library: Library, term: Term) -> bool:
    if len(term.word) < _LEAST or any(map(str.isdigit, term.word)):
        return False
    indexes = [Index(library.sections.connection, "sections_fts", "sections", spaced=True)]
    if library.store is not None:
        indexes += [Index(library.store, f"{table}_fts", table) for table in ("claims", "messages")]
    return not any(index.rows(term, 1) for index in indexes)


def _vocabulary(connection: sqlite3.Connection) -> list[str]:
    """Stems of the words of articles, those that stand in most first."""
    connection.execute(
        "CREATE VIRTUAL TABLE IF NOT EXISTS temp.words USING fts5vocab(main, sections_fts, row)"
    )
    rows = connection.execute(
        "SELECT term FROM temp.words WHERE length(term) >= ? ORDER BY doc DESC LIMIT ?",
        (_LEAST - 1, _MOST),
    )
    return [row[0] for row in rows]


def _nearest(term: Term, vocabulary: Sequence[str]) -> Term:
    # only a search for what is spelled nowhere pays for loading it
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    # the index knows stems alone: an ending less is no fault of the spelling
    forms = dict.fromkeys((term.word.casefold(), *_shortened(term.word.casefold())))
    best, score = "", _ALIKE
    for form in forms:
        found = process.extractOne(
            form, vocabulary, scorer=OSA.normalized_similarity, score_cutoff=score
        )
        if found is not None and (not best or found[1] > score):
            best, score = found[0], found[1]
    if not best:
        return term
    # as a beginning: FTS5 would take the stem of a stem for another word
    return Term(f'"{best}" *', word=best)


def _shortened(word: str) -> list[str]:
    endings = ("ation", "ing", "ion", "ies", "ed", "es", "er", "s", "e", "y")
    return [
        word.removesuffix(ending)
        for ending in endings
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST
    ]
