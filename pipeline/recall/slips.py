"""Words that stand nowhere, taken for the word they are nearly spelled like."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pipeline.recall.library import Library
from pipeline.recall.postings import Index
from pipeline.recall.terms import Term, terms

_LEAST = 4  # letters of a word that may be a slip
_ALIKE = 0.74  # share of the letters that must be right


def mended(library: Library, sections: Index, wanted: Sequence[Term]) -> list[Term]:
    """The terms, those that are in no article, claim or message by what was probably meant.

    Only words that name articles and sections are put in their place: what is said once in passing
    is no spelling.
    """
    found: list[Term] = []
    for term in wanted:
        slip = _may_be_slip(library, sections, term)
        found += _nearest(term, library.sections.words()) if slip else [term]
    return found


def _may_be_slip(library: Library, sections: Index, term: Term) -> bool:
    if len(term.word) < _LEAST or any(map(str.isdigit, term.word)):
        return False
    if sections.probed(term) != ([], None):
        return False
    store = library.store
    return store is None or not any(
        Index(store, f"{table}_fts", table).first(term, 1) for table in ("claims", "messages")
    )


def _nearest(term: Term, vocabulary: Iterable[str]) -> list[Term]:
    """The term for the nearest word, or this one."""
    # only a search for what is spelled nowhere pays for loading it
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    found = process.extractOne(
        term.word.casefold(), vocabulary, scorer=OSA.normalized_similarity, score_cutoff=_ALIKE
    )
    return terms(found[0])[:1] if found is not None else [term]
