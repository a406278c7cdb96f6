"""What a search never gives: forgotten conversations, and topics to ignore.

`withholding` keeps the same from pages. Most libraries hide nothing, and then nothing is loaded for
it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipeline.recall.library import Library

_TOPICS, _BUCKETS = "Meta/Topics_to_Ignore.md", "Meta/Buckets.md"


class Hiding:
    """What must not be told, as of the moment it is made. The library's index is fresh."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._judged: dict[str, bool] = {}

    @cached_property
    def convs(self) -> frozenset[str]:
        """Conversations that are being forgotten; what is left of them is on its way out."""
        return frozenset(conv for (conv,) in self._rows("SELECT conv FROM forgetting"))

    def forgotten(self, convs: Iterable[str]) -> frozenset[str]:
        """Those of these conversations that the user had forgotten, or is having forgotten."""
        named = frozenset(convs)
        if not named or not self._any_forgotten:
            return named & self.convs
        from pipeline.store.forgetting import Forgetting

        assert self._library.store is not None
        return Forgetting(self._library.store).convs(named) | (named & self.convs)

    def names(self, names: Iterable[str]) -> bool:
        """Whether one of these is the name of a topic to ignore."""
        if not self._ignored:
            return False
        from pipeline.recall.naming import key

        return not self._keys.isdisjoint(map(key, names))

    def title(self, title: str) -> bool:
        """Whether a conversation is called after a topic to ignore, whatever else it speaks of."""
        return bool(self._ignored) and (self.names([title]) or self._speaks(title))

    def message(self, conv: str, position: int, text: str) -> bool:
        """Whether a message belongs to what is hidden."""
        if conv in self.convs:
            return True
        if not self._ignored:
            return False
        chunks = self._rows(
            "SELECT id FROM chunks WHERE conv = ? AND first <= ? AND last >= ?",
            (conv, position, position),
        )
        return self._speaks(text) or any(self.chunk(chunk) for (chunk,) in chunks)

    def chunk(self, chunk: str) -> bool:
        """Whether a chunk is of a topic to ignore."""
        if not self._ignored:
            return False
        if chunk not in self._judged:
            self._judged[chunk] = self._is_hidden(chunk)
        return self._judged[chunk]

    # ------------------------------------------------------------------ inside

    def _is_hidden(self, chunk: str) -> bool:
        buckets = self._rows("SELECT bucket FROM chunk_buckets WHERE chunk_id = ?", (chunk,))
        if self.names(name for (name,) in buckets):
            return True
        row = self._rows("SELECT conv, first, last, label, keep FROM chunks WHERE id = ?", (chunk,))
        if not row or not self._topics:
            return False
        conv, first, last, label, keep = row[0]
        # dropped perhaps for that very reason, in other words than the topic's
        if not keep:
            return True
        said = self._rows(
            "SELECT text FROM messages WHERE conv = ? AND position BETWEEN ? AND ?",
            (conv, first, last),
        )
        return self._speaks(" ".join([label, *(text for (text,) in said)]))

    def _speaks(self, text: str) -> bool:
        """Whether all that a listed topic is about is said in a text."""
        if not self._topics:
            return False
        from pipeline.text import content_words

        said = set(content_words(text))
        wanted = (set(content_words(topic)) for topic in self._topics)
        return any(words and words <= said for words in wanted)

    @cached_property
    def _any_forgotten(self) -> bool:
        return bool(self._rows("SELECT 1 FROM forgotten LIMIT 1"))

    @cached_property
    def _topics(self) -> list[str]:
        return self._library.sections.listed_in(_TOPICS, listed)

    @cached_property
    def _ignored(self) -> list[str]:
        aside = self._library.sections.listed_in(_BUCKETS, set_aside)
        return [*self._topics, *aside, *stored_aside(self._library.store)]

    @cached_property
    def _keys(self) -> frozenset[str]:
        from pipeline.recall.naming import key

        return frozenset(map(key, self._ignored))

    def _rows(self, query: str, values: Sequence[object] = ()) -> list[sqlite3.Row]:
        store = self._library.store
        return [] if store is None else store.execute(query, values).fetchall()


def listed(text: str) -> list[str]:
    """The topics that the page of topics to ignore lists."""
    from pipeline.ignored_topics import ignored_topics

    return ignored_topics(text)


def stored_aside(store: sqlite3.Connection | None) -> list[str]:
    """Names and articles of the topics the store has as set aside, those merged into them too."""
    if store is None:
        return []
    if store.execute("SELECT 1 FROM buckets WHERE state = 'ignored'").fetchone() is None:
        return []  # nearly always, and in a twentieth of the time
    rows = store.execute(
        """WITH RECURSIVE aside (name) AS (
               SELECT name FROM buckets WHERE state = 'ignored'
               UNION SELECT b.name FROM buckets AS b JOIN aside ON b.merged_into = aside.name
           ) SELECT name, article FROM buckets WHERE name IN (SELECT name FROM aside)"""
    )
    return [name for row in rows for name in row if name]


def set_aside(text: str) -> list[str]:
    """Names and articles of the topics that Buckets.md sets aside, those merged into them too."""
    if "ignore" not in text.casefold():  # it may be long, and few set anything aside
        return []
    from pipeline.buckets_page import read_buckets
    from pipeline.records import BucketState

    rows = read_buckets(text).rows
    aside = {row.name for row in rows if row.state is BucketState.IGNORED}
    while more := {row.name for row in rows if row.merged_into in aside} - aside:
        aside |= more
    return [name for row in rows if row.name in aside for name in (row.name, row.article) if name]
