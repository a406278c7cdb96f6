"""The topics of a store as likelihoods: what is known of each, and what a new piece says to it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.likeness.spread import Spread, Vectors
from pipeline.likeness.vocabulary import Vocabulary

# the scatter is estimated from the first pieces of each topic that has at least so many, and
# from the newest of those
_SETTLED, _FIRST, _SAMPLE = 4, 10, 1500
_ASKED = 300  # newest pieces that the line is calibrated with
# Log odds where a piece is as likely of the topic as not, and over how many they turn: from tune
# data. A store of its own kind moves the line by at most _FAR, against the weight of this.
_LINE, _WIDTH, _FAR, _WORTH = 8.0, 4.0, 8.0, 200.0


@dataclass(frozen=True, slots=True)
class Piece:
    """A text as a unit vector, with the content words of its label."""

    vector: Vectors
    words: tuple[str, ...]


class Topics:
    """Topics by number, in the order in which they were told of."""

    def __init__(self, pieces: Sequence[Piece], topics: Sequence[int], count: int) -> None:
        """pieces: what is known, oldest first, at least one. topics: of each, below `count`."""
        held = np.array([piece.vector for piece in pieces], dtype=np.float32)
        settled = _settled(topics)
        self._spread = Spread(held[settled], [topics[n] for n in settled])
        self._sums = np.zeros((max(count, 1), self._spread.directions), dtype=np.float32)
        self._counts = np.zeros(max(count, 1), dtype=np.float32)
        self._vocabulary = Vocabulary()
        self._count = count
        at = self._spread.coordinates(held)
        for piece, topic, place in zip(pieces, topics, at, strict=True):
            self._add(topic, place, piece.words)
        self._line = _LINE
        self._calibrate(list(zip(pieces, topics, at, strict=True))[-_ASKED:])

    def found(self) -> int:
        """Make room for one more topic: its number."""
        self._count += 1
        if self._count > len(self._counts):
            self._sums = np.pad(self._sums, ((0, self._count), (0, 0)))
            self._counts = np.pad(self._counts, (0, self._count))
        return self._count - 1

    def add(self, topic: int, piece: Piece) -> None:
        """The piece belongs to this topic."""
        self._add(topic, self._spread.coordinates(piece.vector[None])[0], piece.words)

    def leanings(self, piece: Piece) -> Vectors:
        """Log odds that the piece belongs to each topic rather than to none of them, (count,)."""
        odds = self._odds(self._spread.coordinates(piece.vector[None])[0], piece.words)
        leanings: Vectors = (odds - self._line) / _WIDTH
        return leanings

    def _add(self, topic: int, at: Vectors, words: Sequence[str], times: float = 1.0) -> None:
        self._sums[topic] += times * at
        self._counts[topic] += times
        self._vocabulary.add(topic, words, times)

    def _odds(self, at: Vectors, words: Sequence[str]) -> Vectors:
        count = self._count
        found: Vectors = self._spread.odds(at, self._sums[:count], self._counts[:count])
        return found + self._vocabulary.odds(words, count)

    def _calibrate(self, known: Sequence[tuple[Piece, int, Vectors]]) -> None:
        """Learn from pieces whose topic is known, each as if it came now, where the line lies.

        Each is asked twice: with the rest of its topic there, and as if its topic was not known.
        """
        odds, right = [], []
        for piece, topic, at in known:
            if self._counts[topic] < _SETTLED:
                continue
            self._add(topic, at, piece.words, -1.0)
            found = self._odds(at, piece.words)
            self._add(topic, at, piece.words)
            best = int(found.argmax())
            odds.append(float(found[best]))
            right.append(best == topic)
            if self._count > 1:
                odds.append(float(np.delete(found, topic).max()))
                right.append(False)
        if odds:
            self._line = _line(np.array(odds), np.array(right, dtype=float))


def share(leaning: float) -> float:
    """Log odds as a probability."""
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, float(leaning)))))


def _settled(topics: Sequence[int]) -> list[int]:
    """Places of the pieces to learn from: the first ones of each topic that has some.

    Not all: a topic that took what is not its own would be taken for a wide one, and take more.
    """
    sizes = Counter(topics)
    held: Counter[int] = Counter()
    found = []
    for place, topic in enumerate(topics):
        held[topic] += 1
        if sizes[topic] >= _SETTLED and held[topic] <= _FIRST:
            found.append(place)
    return found[-_SAMPLE:]


def _line(odds: NDArray[np.float64], right: NDArray[np.float64]) -> float:
    """Where the odds are as often right as wrong, held near the tuned line: the likeliest."""
    lines = np.linspace(_LINE - _FAR, _LINE + _FAR, 33)
    turns = (odds[None] - lines[:, None]) / _WIDTH
    told = np.where(right > 0, -np.logaddexp(0, -turns), -np.logaddexp(0, turns)).sum(axis=1)
    # asked of many pieces it would follow its own decisions, further away each night
    told *= min(1.0, _ASKED / len(odds))
    return float(lines[(told - _WORTH * ((lines - _LINE) / _FAR) ** 2).argmax()])
