"""How much likelier the words of a label are in one topic than in all of them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

_SMOOTH = 20.0  # words of the common vocabulary that every topic is taken to hold besides its own
_LEAST = 0.5  # times that every word is taken to have been said, somewhere
_ROOM = 64


class Vocabulary:
    """Counts of words in numbered topics."""

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}
        self._said = np.zeros((_ROOM, _ROOM), dtype=np.float32)  # (word, topic)
        self._everywhere = np.zeros(_ROOM, dtype=np.float32)  # (word,)
        self._sizes = np.zeros(_ROOM, dtype=np.float32)  # (topic,)

    def add(self, topic: int, words: Iterable[str], times: float = 1.0) -> None:
        """These words were said of the topic; -1 times: as if they had not been."""
        distinct = set(words)
        rows = [self._rows.setdefault(word, len(self._rows)) for word in distinct]
        self._make_room(len(self._rows), topic + 1)
        self._said[rows, topic] += times
        self._everywhere[rows] += times
        self._sizes[topic] += times * len(distinct)

    def join(self, topic: int, into: int) -> None:
        """What was said of the one topic was said of the other."""
        self._said[:, into] += self._said[:, topic]
        self._sizes[into] += self._sizes[topic]
        self._said[:, topic], self._sizes[topic] = 0, 0

    def odds(self, words: Iterable[str], topics: int) -> NDArray[np.float32]:
        """Log of how much likelier the words are in each of the first topics, shape (topics,).

        Words that were never said anywhere say nothing.
        """
        self._make_room(len(self._rows), topics)
        rows = [self._rows[word] for word in set(words) if word in self._rows]
        common = (self._everywhere[rows] + _LEAST)[:, None]
        common = common / (self._sizes.sum() + _LEAST * len(self._rows))
        own = self._said[rows, :topics] + _SMOOTH * common
        found: NDArray[np.float32] = np.log(own / (self._sizes[:topics] + _SMOOTH) / common).sum(0)
        return found

    def _make_room(self, words: int, topics: int) -> None:
        height, width = self._said.shape
        if words > height or topics > width:
            more = (max(height, 2 * words) - height, max(width, 2 * topics) - width)
            self._said = np.pad(self._said, ((0, more[0]), (0, more[1])))
            self._everywhere = np.pad(self._everywhere, (0, more[0]))
            self._sizes = np.pad(self._sizes, (0, more[1]))
