"""One search over the sections of articles, claims, messages and observations."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import date
from itertools import islice

from pipeline.errors import ConfigFault, StoreFault
from pipeline.recall import articles, claims, messages
from pipeline.recall.finding import PLACES, Finding, Found, told_by
from pipeline.recall.library import Library
from pipeline.recall.marking import MARKS, Marker, Span, best_line, snippet
from pipeline.recall.slips import mended
from pipeline.recall.terms import Term, terms
from pipeline.redact import redact
from pipeline.sqlite import is_busy

__all__ = ["MARKS", "PLACES", "Filters", "Hit", "search"]

# an article has been judged, a claim has been checked, a message is what somebody said
_WORTH = {"articles": 1.2, "claims": 1.0, "conversations": 0.85, "observations": 0.85}
_NEWER = 0.1  # of the score, for what was said today; half of it a season ago
_SEASON_DAYS = 90.0
_SPARE = 2  # times as many candidates as hits, for what is told twice or must not be told
_LEAST = 20  # candidates of a place at least


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
            return _search(lib, wanted, filters, limit)
        except (sqlite3.DatabaseError, json.JSONDecodeError) as error:
            if again or (isinstance(error, sqlite3.Error) and is_busy(error)):
                raise StoreFault(
                    f"the search failed: {error}",
                    mend="`memory doctor` says what is wrong with the store",
                ) from error
            # whichever of the two is damaged, the index can be made anew
            lib.sections.drop(damaged=True)
    raise AssertionError("unreachable")


def _search(lib: Library, wanted: Sequence[Term], filters: Filters, limit: int) -> list[Hit]:
    called = articles.redirected(lib, wanted)
    wanted = wanted if called else mended(lib, wanted)
    finding = Finding(lib, filters.places, filters.project, filters.since, filters.until)
    # of a filter the rows of articles know nothing: more are looked at
    most = max(_LEAST, _SPARE * limit)
    scored = [
        (_score(one, scores[one.row], lib), one)
        for scores, found in _found(lib, wanted, called, filters, finding, most)
        for one in found
    ]
    scored.sort(key=lambda pair: pair[0], reverse=True)
    with closing(Marker(wanted)) as marker:
        best = islice(_each_once(scored, marker, limit), limit)
        return [_hit(lib, finding, score, one, spans, marker) for score, one, spans in best]


def _found(
    lib: Library,
    wanted: Sequence[Term],
    called: Collection[str],
    filters: Filters,
    finding: Finding,
    most: int,
) -> Iterator[tuple[Mapping[int, float], Iterable[Found]]]:
    """Of each place that is asked for the scores, and what the best rows hold."""
    if "articles" in filters.places:
        scores: Mapping[int, float] = articles.rank(lib, wanted, called)
        filtered = filters.project or filters.since or filters.until
        yield scores, finding.sections(told_by(scores, len(scores) if filtered else most))
    if lib.store is None:
        return
    if "claims" in filters.places:
        scores = claims.rank(lib.store, wanted, *finding.of_claims())
        yield scores, finding.claims(told_by(scores, most))
    if {"conversations", "observations"} & set(filters.places):
        scores = messages.rank(lib.store, wanted, *finding.of_messages())
        yield scores, finding.messages(told_by(scores, most))


def _score(found: Found, score: float, lib: Library) -> float:
    score *= _WORTH[found.place]
    if not found.day:
        return score
    age = (lib.now().date() - date.fromisoformat(found.day)).days
    return score * (1 + _NEWER * math.exp2(-max(0, age) / _SEASON_DAYS))


def _each_once(
    scored: Sequence[tuple[float, Found]], marker: Marker, limit: int
) -> Iterator[tuple[float, Found, list[list[Span]]]]:
    """Without what something better says already, or rests on; with what matches in its lines.

    limit: how many are wanted; so many are looked through together.
    """
    said: set[str] = set()
    cited: set[tuple[str, int]] = set()
    for start in range(0, len(scored), limit):
        some = scored[start : start + limit]
        spans = iter(marker.spans([line for _, one in some for line in one.lines]))
        for score, one in some:
            own = list(islice(spans, len(one.lines)))
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
    told = "\n".join((one.title, *one.lines))
    clean = redact(told, **lib.redaction).text
    title, *lines = clean.split("\n")
    anchor = one.anchor and redact(one.anchor, **lib.redaction).text
    if clean != told:
        spans = marker.spans(lines)
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
