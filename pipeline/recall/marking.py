"""The piece of a text that a reader is shown, with the words that were found marked in it."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from pipeline.recall.terms import Term

MARKS = ("«", "»")
_BEGIN, _END = "\x02", "\x03"
_APART = "\ue000"  # between lines; FTS5 takes it for a word, so that no phrase reaches over it
_BETWEEN = f" {_APART} "
_OWN = str.maketrans({"\0": " ", _BEGIN: " ", _END: " ", _APART: " "})
_SHOWN = 280  # characters of a snippet, marks left out
_BEFORE = 80  # of them at most before the first word that was found
_LONGEST = 200_000  # characters of a text that is looked through

Span = tuple[int, int]


def marking() -> sqlite3.Connection:
    """What markers find words with: an index of its own, in memory."""
    made = sqlite3.connect(":memory:", isolation_level=None)
    made.execute(
        """CREATE VIRTUAL TABLE t USING fts5 (
               x, columnsize=0, tokenize='porter unicode61 remove_diacritics 2'
           )"""
    )
    return made


class Marker:
    """Finds the terms of one search in texts."""

    def __init__(self, wanted: Sequence[Term], beside: sqlite3.Connection) -> None:
        self._needles = [term.needle for term in wanted if term.needle]
        self._expression = " OR ".join(f"({t.expression})" for t in wanted if not t.needle)
        self._beside = beside

    def spans(self, texts: Sequence[Sequence[str]]) -> list[list[list[Span]]]:
        """Of each line of each text the places of the terms, in order and apart, by their stems."""
        found: list[list[list[Span]]] = [[[] for _ in lines] for lines in texts]
        if self._expression:
            # the lines of a text together, which takes half as long
            for row, marked in self._highlighted(list(map(_joined, texts))):
                found[row] = list(map(_between, marked.split(_BETWEEN)))
        if self._needles:
            for lines, places in zip(texts, found, strict=True):
                for at, line in enumerate(lines):
                    places[at] = _apart(places[at] + _needles(line[:_LONGEST], self._needles))
        return found

    def _highlighted(self, texts: Sequence[str]) -> list[tuple[int, str]]:
        self._beside.execute("BEGIN")
        try:
            self._beside.executemany("INSERT INTO t (rowid, x) VALUES (?, ?)", enumerate(texts))
            return self._beside.execute(
                "SELECT rowid, highlight(t, 0, ?, ?) FROM t WHERE t MATCH ?",
                (_BEGIN, _END, self._expression),
            ).fetchall()
        finally:
            self._beside.execute("ROLLBACK")  # nothing of it is kept


def best_line(found: Sequence[Sequence[Span]], texts: Sequence[str]) -> int:
    """The line in which most different words were found, the first of equals."""
    at = most = 0
    for number, (places, text) in enumerate(zip(found, texts, strict=True)):
        if len(places) > most:
            worth = len({text[start:end].casefold() for start, end in places})
            if worth > most:
                at, most = number, worth
    return at


def snippet(lines: Sequence[str], found: Sequence[Sequence[Span]]) -> str:
    """About the best line of these, on one line, what was found between MARKS."""
    at = best_line(found, lines)
    text, marked = "", []
    for line, places in zip(lines[at:], found[at:], strict=True):
        if text and len(text) + len(line) > _SHOWN:
            break
        begun = len(text) + 1 if text else 0
        text = f"{text} {line}" if text else line
        marked += [(begun + start, begun + end) for start, end in places]
    first = marked[0][0] if marked else 0
    start = max(0, first - _BEFORE) if len(text) > _SHOWN else 0
    if start:
        start = text.find(" ", start, first) + 1 or start
    end = start + _SHOWN
    if end < len(text):
        end = text.rfind(" ", start + _BEFORE, end) if " " in text[start + _BEFORE : end] else end
    parts, here = ["… " if start else ""], start
    for begin, stop in marked:
        if begin < start or stop > end:
            continue
        parts += [text[here:begin], MARKS[0], text[begin:stop], MARKS[1]]
        here = stop
    parts += [text[here:end], " …" if end < len(text) else ""]
    return " ".join("".join(parts).split())


def _joined(lines: Sequence[str]) -> str:
    """The lines as one text, without signs of ours but between them."""
    text = _BETWEEN.join(lines)
    usual = text.count(_APART) < max(1, len(lines)) and len(text) <= _LONGEST
    if usual and not (_BEGIN in text or _END in text or "\0" in text):
        return text
    return _BETWEEN.join([line[:_LONGEST].translate(_OWN) for line in lines])


def _needles(text: str, needles: Sequence[str]) -> list[Span]:
    found = []
    for needle in needles:
        at = text.find(needle)
        while at >= 0:
            found.append((at, at + len(needle)))
            at = text.find(needle, at + len(needle))
    return found


def _between(marked: str) -> list[Span]:
    """Places between the two signs, counted without the signs."""
    found = []
    at = signs = 0
    while (begin := marked.find(_BEGIN, at)) >= 0:
        end = marked.find(_END, begin)
        found.append((begin - signs, end - signs - 1))
        signs += 2
        at = end + 1
    return found


def _apart(found: list[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in sorted(found):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
