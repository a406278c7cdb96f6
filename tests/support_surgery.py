"""Drafts applied to small pages: citations, sentences and addresses in few words."""

from __future__ import annotations

from pipeline.markdown import parse
from pipeline.records import (
    Citation,
    CitedSentence,
    Draft,
    Edit,
    SentenceRef,
)
from pipeline.vault import apply

TODAY = "2026-11-30"


def cite(first: int, conv: str = "1a2b3c4d") -> Citation:
    return Citation(conv, first, first, "2026-11-28", "pi", "talk")


def said(text: str, *citations: Citation) -> CitedSentence:
    return CitedSentence(text, citations or (cite(0),))


def draft(*edits: Edit, title: str = "Kiwi Store") -> Draft:
    return Draft("Kiwi Store", title, "", "kiwi", (), edits)


def applied(before: str | None, *edits: Edit, title: str = "Kiwi Store", most: int = 3) -> str:
    return apply(before, draft(*edits, title=title), today=TODAY, paragraph_sentences=most)


def ref(text: str, sentence: str) -> SentenceRef:
    for block in parse(text).blocks:
        for index, found in enumerate(block.sentences):
            if found.text == sentence:
                return SentenceRef(block.index, index)
    raise AssertionError(sentence)


def note(label: int, first: int, conv: str = "1a2b3c4d") -> str:
    return f"[^{label}]: `conv:{conv}` (2026-11-28, pi, message {first + 1}) — talk\n"
