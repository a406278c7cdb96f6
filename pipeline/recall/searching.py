"""One search over the sections of articles, claims, messages and observations."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from pipeline.recall.library import Library

PLACES = ("articles", "claims", "conversations", "observations")


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


MARKS = ("«", "»")


def search(lib: Library, query: str, filters: Filters, limit: int) -> list[Hit]:
    """The best hits, best first, each thing once. Any string is a query."""
    raise NotImplementedError
