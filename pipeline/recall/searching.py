"""One search over the sections of articles, claims, messages and observations."""

from __future__ import annotations

import json
import math
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from heapq import heapify, heappop, heappush
from itertools import count, islice

from pipeline.errors import ConfigFault, StoreFault
from pipeline.recall import articles, claims, messages
from pipeline.recall.days import Days, days
from pipeline.recall.finding import PLACES, Finding, Found, by_score
from pipeline.recall.library import Library
from pipeline.recall.marking import MARKS, Marker, Span, best_line, snippet
from pipeline.recall.postings import Index
from pipeline.recall.slips import mended
from pipeline.recall.terms import Term, terms
from pipeline.redact import redact
from pipeline.sqlite import is_busy

__all__ = ["MARKS", "PLACES", "Filters", "Hit", "search"]

# an article has been judged, a claim has been checked, a message is what somebody said
_WORTH = {"articles": 1.2, "claims": 1.0, "conversations": 0.85, "observations": 0.85}
_NEWER = 0.1  # of the score, for what was said today; half of it a season ago
_SEASON_DAYS = 90.0
_LEAST = 10  # of each place at least so many are looked at by their day

# what it may be worth, negated; which came first; the hit once it is looked up; where from
_Waiting = tuple[float, int, Found | None, Mapping[int, float], Iterator[Found]]


@dataclass(frozen=True, slots=True)
class Filters:
    """What a hit must be. Empty fields let all pass; days are the user's own, both included.

    places: any of PLACES. project: the project's folder, one above it, or the folder's name.
    """

    places: tuple[str, ...] = ("articles", "claims", "conversations")
    project: str = ""
    since: date | None = None
    until: date | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """Something that was found.

    place: one of PLACES. title: of the article, or of the conversation. article: its stem, "" for
    what stands in none. anchor: the heading as it follows `#` in an Obsidian link, "" for the lead.
    citation: "conv:HASH#N", N counted from 1 as in footnotes, "" where nothing is cited.
    date: ISO, of what was said or last changed, "" if unknown. project: its folder, "" for none.
    snippet: plain text, the words that matched between MARKS. score: more is better.
    """

    place: str
    title: str
    article: str
    anchor: str
    citation: str
    date: str
    project: str
    snippet: str
    score: float


def search(lib: Library, query: str, filters: Filters, limit: int) -> list[Hit]:
    """The best hits, best first, each thing once. Any string is a query.

    Raises ConfigFault for a place that is none, StoreFault for a store that cannot be read.
    """
    if unknown := [place for place in filters.places if place not in PLACES]:
        raise ConfigFault(
            f"there is no place named {unknown[0]!r}", mend=f"it is one of {', '.join(PLACES)}"
        )
    wanted = terms(query)
    if limit < 1 or not wanted:
        return []
    for again in (False, True):
        lib.sections.fresh()
        try:
            with _at_one_moment(lib.store):
                return _search(lib, wanted, days(query), filters, limit)
        except (sqlite3.DatabaseError, json.JSONDecodeError) as error:
            if again or (isinstance(error, sqlite3.Error) and is_busy(error)):
                raise StoreFault(
                    f"the search failed: {error}",
                    mend="`memory doctor` says what is wrong with the store",
                ) from error
            # whichever of the two is damaged, the index can be made anew
            lib.sections.drop(damaged=True)
    raise AssertionError("unreachable")


@contextmanager
def _at_one_moment(store: sqlite3.Connection | None) -> Iterator[None]:
    """Read the store as it is now, however long it takes: a night may be writing."""
    if store is None:
        yield
        return
    store.execute("BEGIN")
    try:
        yield
    finally:
        store.rollback()


def _search(
    lib: Library, wanted: Sequence[Term], named: Days, filters: Filters, limit: int
) -> list[Hit]:
    called = articles.redirected(lib, wanted)
    sections = articles.sections(lib)
    wanted = wanted if called else mended(lib, sections, wanted)
    finding = Finding(lib, filters.places, filters.project, filters.since, filters.until)
    marker = Marker(wanted, lib.marking)
    hits: list[Hit] = []
    for most in (messages.CLOSE, messages.WIDE):
        found = _found(lib, sections, wanted, named, called, filters, finding, most)
        best = _best_first(lib, found, max(limit, _LEAST))
        hits = [
            _hit(lib, finding, score, one, spans, marker)
            for score, one, spans in islice(_each_once(best, marker, limit), limit)
        ]
        if (
            len(hits) == limit
        ):  # nearly always; else many are wanted, or the best are not to be told
            break
    return hits


def _found(
    lib: Library,
    sections: Index,
    wanted: Sequence[Term],
    named: Days,
    called: Collection[str],
    filters: Filters,
    finding: Finding,
    most: int,
) -> Iterator[tuple[Mapping[int, float], Iterator[Found]]]:
    """Of each place that is asked for the scores, and what stands in the rows, the best first.

    most: messages that are looked at closely.
    """
    then = (lambda at: named.cover(finding.day(at))) if named else None
    if "articles" in filters.places:
        covers = named.cover if named else None
        scores: Mapping[int, float] = articles.rank(lib, sections, wanted, called, covers)
        yield scores, finding.sections(by_score(scores))
    if lib.store is None:
        return
    if "claims" in filters.places:
        scores = claims.rank(lib.store, wanted, *finding.of_claims(), then)
        yield scores, finding.claims(by_score(scores))
    if {"conversations", "observations"} & set(filters.places):
        scores = messages.rank(lib.store, wanted, *finding.of_messages(), then=then, most=most)
        yield scores, finding.messages(by_score(scores))


def _best_first(
    lib: Library, found: Iterable[tuple[Mapping[int, float], Iterator[Found]]], most: int
) -> Iterator[tuple[float, Found]]:
    """All of it by score. What cannot be the next yet is not looked up.

    most: of each place so many are looked up for being perhaps newer than what is worth as much.
    """
    number = count()  # of equals the first one found comes first
    waiting: list[_Waiting] = [
        (-math.inf, next(number), None, scores, ones) for scores, ones in found
    ]
    heapify(waiting)
    seen: Counter[str] = Counter()
    while waiting:
        score, _, one, scores, ones = heappop(waiting)
        if one is not None:
            yield -score, one
        elif (one := next(ones, None)) is not None:
            score = scores[one.row] * _WORTH[one.place]
            heappush(waiting, (-score * _newness(one, lib), next(number), one, scores, ones))
            # no later one of its place is worth more
            seen[one.place] += 1
            bound = score * (1 + _NEWER) if seen[one.place] < most else score
            heappush(waiting, (-bound, next(number), None, scores, ones))


def _newness(found: Found, lib: Library) -> float:
    """What its day makes of a score."""
    if not found.day:
        return 1.0
    age = (lib.now().date() - date.fromisoformat(found.day)).days
    return 1 + _NEWER * math.exp2(-max(0, age) / _SEASON_DAYS)


def _each_once(
    scored: Iterator[tuple[float, Found]], marker: Marker, limit: int
) -> Iterator[tuple[float, Found, list[list[Span]]]]:
    """Without what something better says already, or rests on; with what matches in its lines.

    limit: how many are wanted; so many are looked through together.
    """
    said: set[str] = set()
    cited: set[tuple[str, int]] = set()
    while some := list(islice(scored, limit)):
        spans = marker.spans([one.lines for _, one in some])
        for (score, one), own in zip(some, spans, strict=True):
            if one.place == "articles":
                said.update(map(_plainly, one.lines))
            elif one.place == "claims":
                if _plainly(one.lines[0]) in said:
                    continue
                said.add(_plainly(one.lines[0]))
            elif {cite[:2] for cites in one.cites for cite in cites} & cited:
                continue
            if one.place in ("articles", "claims") and one.lines:
                cited.update(
                    (conv, position)
                    for conv, first, last in one.cites[best_line(own, one.lines)]
                    for position in range(first, last + 1)
                )
            yield score, one, own


def _plainly(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".")


def _hit(
    lib: Library,
    finding: Finding,
    score: float,
    one: Found,
    spans: list[list[Span]],
    marker: Marker,
) -> Hit:
    cites = one.cites[-1] if one.cites else ()
    if one.place == "articles" and one.cites:
        cites = one.cites[best_line(spans, one.lines)]
    conv, first, _ = cites[-1] if cites else ("", 0, 0)
    title, anchor, lines = one.title, one.anchor, list(one.lines)
    told = "\n".join((title, anchor, *lines))
    if redact(told, **lib.redaction).text != told:  # seldom; each apart, for it may join lines
        title, anchor, body = (
            redact(text, **lib.redaction).text for text in (title, anchor, "\n".join(lines))
        )
        lines = body.split("\n")
        (spans,) = marker.spans([lines])
    return Hit(
        place=one.place,
        title=title,
        article=one.article,
        anchor=anchor,
        citation=f"conv:{conv}#{first + 1}" if conv else "",
        date=one.day,
        project=one.project or (finding.project_of(conv) if conv else ""),
        snippet=snippet(lines, spans),
        score=round(score, 4),
    )
