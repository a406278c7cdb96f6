"""The draft is carried out: what it says comes stands there, and rests on what it names alone.

A chunk is folded once. News that the page lacks although the draft tells it would be lost for ever.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from pipeline.gates.comparing import Cited, Place, Write, place, shown
from pipeline.gates.departing import sentence_at
from pipeline.markdown import Page
from pipeline.prose import flat
from pipeline.records import (
    AddCitation,
    AppendHistory,
    AppendSentences,
    Citation,
    CitedSentence,
    MergeRepeat,
    SentenceRef,
    Supersede,
)
from pipeline.text import sentences


@dataclass(slots=True)
class _Told:
    """promised: sentences that must stand there and what each cites. given: all that may be new."""

    page: Page
    promised: list[tuple[str, frozenset[Place]]] = field(default_factory=list)
    given: dict[str, set[Place]] = field(default_factory=dict)

    def write(self, sentence: CitedSentence) -> None:
        self._promise(flat(sentence.text), sentence.citations)

    def cite(self, ref: SentenceRef, citation: Citation) -> None:
        self._promise(self.text(ref), (citation,))

    def merge(self, kept: SentenceRef, places: frozenset[Place]) -> None:
        for piece in _pieces(self.text(kept)):
            self.given.setdefault(piece, set()).update(places)

    def text(self, ref: SentenceRef) -> str:
        sentence = sentence_at(self.page, ref)
        return sentence.text if sentence else ""

    def _promise(self, text: str, citations: tuple[Citation, ...]) -> None:
        places = frozenset(map(place, citations))
        for piece in _pieces(text):
            self.promised.append((piece, places))
            self.given.setdefault(piece, set()).update(places)


def _pieces(text: str) -> list[str]:
    """A sentence given may read as two, and stands as one under History but as two elsewhere."""
    return [text[start:end] for start, end in sentences(text)]


def _by_piece(cited: tuple[Cited, ...]) -> list[tuple[str, Cited]]:
    return [(piece, sentence) for sentence in cited for piece in _pieces(sentence.text)]


def as_told(write: Write) -> list[str]:
    """Each sentence and citation the draft gives is there; no sentence cites more than that."""
    pages = write.pages
    told = _told(write)
    had: dict[str, set[Place]] = {}
    notes: dict[str, set[str]] = {}
    for text, sentence in _by_piece(pages.old):
        had.setdefault(text, set()).update(sentence.places)
        notes.setdefault(text, set()).update(sentence.notes)
    now = _by_piece(pages.new)
    reasons = [
        f"“{shown(text)}” is to be written, but would not stand there with its sources"
        for text, places in told.promised
        if not any(text == there and places <= s.places for there, s in now)
    ]
    for text, sentence in now:
        known = had.get(text, set()) | told.given.get(text, set())
        reasons += [
            f"“{shown(text)}” would cite {conv}, which no edit says"
            for conv, _, _ in sorted(sentence.places - known)
        ]
        reasons += [
            f"“{shown(text)}” would get the user's footnote [^{label}]"
            for label in sorted(sentence.notes - notes.get(text, set()))
        ]
    return list(dict.fromkeys(reasons))


def _told(write: Write) -> _Told:
    told = _Told(write.pages.before)
    merged: list[MergeRepeat] = []
    for edit in write.draft.edits:
        match edit:
            case AddCitation(at=ref, citation=citation):
                told.cite(ref, citation)
            case AppendSentences(sentences=added):
                for sentence in added:
                    told.write(sentence)
            case Supersede(sentence=sentence) | AppendHistory(sentence=sentence):
                told.write(sentence)
            case MergeRepeat():
                merged.append(edit)
    for edit in merged:
        text = told.text(edit.repeat)
        own = {p for s in _called(text, write.pages.old) for p in s.places}
        given = {p for piece in _pieces(text) for p in told.given.get(piece, ())}
        told.merge(edit.at, frozenset(own | given))
    return told


def _called(text: str, cited: tuple[Cited, ...]) -> Iterator[Cited]:
    return (sentence for sentence in cited if sentence.text == text)
