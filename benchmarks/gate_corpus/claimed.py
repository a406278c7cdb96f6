"""Drafts that say what no message bears out: the text is written faithfully, but it is false."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from benchmarks.gate_corpus.cases import (
    Case,
    Expected,
    draft_of,
    edits_of,
    night,
    ref,
    title_of,
    told,
    with_edits,
)
from benchmarks.gate_corpus.legitimate import pages
from benchmarks.gate_corpus.vaults import News, Vault
from pipeline.records import AddCitation, AppendHistory, AppendSentences, Citation, CitedSentence

_REFUSED = Expected.REFUSED


def claimed() -> Iterator[Case]:
    """All of them."""
    yield from _wrong_news()
    yield from _lies()
    yield from _foreign_evidence()
    yield from _decoration()
    yield from _misdated()
    yield from _parroted()


def _wrong_news() -> Iterator[Case]:
    """Each piece of news with one thing in it swapped; the evidence stands as it is."""
    for vault, stem, before in pages():
        for news in vault.news_of(stem):
            for sort, text in news.wrong:
                wrong = replace(news, text=text)
                if news.kind == "same":
                    wrong = replace(wrong, kind="add", section="Background")
                kind = f"unsupported: {sort} swapped"
                yield told(vault, stem, before, [wrong]).case(kind, text, _REFUSED)


def _lies() -> Iterator[Case]:
    for vault, stem, before in pages():
        for lie in vault.lies:
            if lie.article == stem:
                news = replace(lie, kind="add", section="Background")
                made = told(vault, stem, before, [news])
                yield made.case(f"unsupported: {_SORTS[lie.kind]}", lie.text, _REFUSED)


_SORTS = {
    "will": "the assistant's idea told as the user's will",
    "asked": "a question told as a fact",
    "left behind": "what was left behind told as current",
    "joined": "invented",
    "swapped": "values swapped",
}


def _foreign_evidence() -> Iterator[Case]:
    """True news with the citation of other news, and citations added to other sentences."""
    for vault, stem, before in pages():
        news = [one for one in vault.news_of(stem) if one.cites]
        added = [one for one in news if one.kind == "add"]
        for one, other in pairwise(added):
            if one.cites == other.cites:
                continue
            swapped = [replace(one, cites=other.cites), replace(other, cites=one.cites)]
            made = told(vault, stem, before, swapped)
            yield made.case("citations swapped between claims", one.text, _REFUSED)
        same = next(one for one in news if one.kind == "same")
        at = ref(before, same.of)
        for one in added[:2]:
            if one.cites == same.cites:
                continue
            made = night(vault, stem, before, [AddCitation(at, vault.citation(*one.cites))], [])
            kind = "a citation moved to a sentence it does not support"
            yield made.case(kind, f"{one.cites} on “{same.of}”", _REFUSED)
        for conv, position in (("deadbeef", 0), (vault.citation(*same.cites).conv, 77)):
            citation = Citation(conv, position, position, "2026-09-09", "pi", "Never said")
            sentence = CitedSentence(added[0].text, (citation,))
            made = night(vault, stem, before, [AppendSentences("Background", (sentence,))], [])
            kind = "a conversation that is not there cited"
            yield made.case(kind, f"{conv} message {position + 1}", _REFUSED)
            made = night(vault, stem, before, [AddCitation(at, citation)], [])
            yield made.case(kind, f"{conv} message {position + 1} added", _REFUSED)


def _decoration() -> Iterator[Case]:
    """A second citation, of something else, beside the one that supports the sentence."""
    for vault, stem, before in pages():
        for one in [n for n in vault.news_of(stem) if n.kind == "add"][:2]:
            other = _of_another_vault(vault, stem)
            sentence = CitedSentence(one.text, (vault.citation(*one.cites), other))
            made = night(
                vault, stem, before, [AppendSentences(one.section, (sentence,))], [one.text]
            )
            kind = "a citation for show beside one that supports"
            yield made.case(kind, one.text, Expected.STOPPED)


def _of_another_vault(vault: Vault, stem: str) -> Citation:
    """What was said about another article."""
    other = next(n for n in vault.news if n.article != stem and n.kind == "add")
    return vault.citation(*other.cites)


def _misdated() -> Iterator[Case]:
    """The right messages under a date on which they were not said."""
    for vault, stem, before in pages():
        one = next(n for n in vault.news_of(stem) if n.kind == "add")
        citation = replace(vault.citation(*one.cites), date="2019-01-01")
        sentence = CitedSentence(one.text, (citation,))
        made = night(vault, stem, before, [AppendSentences(one.section, (sentence,))], [one.text])
        yield made.case("a citation under another date", one.text, Expected.STOPPED)
        citation = vault.citation(*one.cites)
        edit = AppendHistory(CitedSentence(one.text, (citation,)), "1999-12-31")
        made = night(vault, stem, before, [edit], [one.text])
        yield made.case("a History line under another date", one.text, Expected.STOPPED)


def _parroted() -> Iterator[Case]:
    """Sentences of the prompts' own examples, on true evidence."""
    every = list(pages())
    for number, text in enumerate(_EXAMPLES):
        vault, stem, before = every[number % len(every)]
        one = next(n for n in vault.news_of(stem) if n.kind == "add")
        made = told(vault, stem, before, [replace(one, text=text)])
        yield made.case("parroted example text", text, _REFUSED)


_EXAMPLES = (
    "The PART of PROJECT holds AMOUNT entries.",
    "The user takes TOOL for the PART of PROJECT, because REASON.",
    "The PART is in PATH, and all TESTS pass.",
    "The user likes SHORT better than LONG.",
    "COMMAND stops with ERROR, because CAUSE.",
    "Example Subject is described in Other Subject.",
    "Earlier state.",
)


def lying(vault: Vault, stem: str, before: str, innocent: News, written: News) -> Case:
    """The page tells `written`, the draft says `innocent`."""
    made = told(vault, stem, before, [written])
    draft = draft_of(
        stem, title_of(before, stem), before, edits_of(innocent, vault, before), [innocent.text]
    )
    lied = replace(made, draft=draft)
    return replace(lied, draft=with_edits(lied, draft.edits)).case(
        "the page tells other news than the draft", written.text, _REFUSED
    )


def lied_about() -> Iterator[Case]:
    """One piece of true news on the page, another in the draft."""
    for vault, stem, before in pages():
        added = [one for one in vault.news_of(stem) if one.kind == "add"]
        for innocent, written in pairwise(added):
            yield lying(vault, stem, before, innocent, written)
