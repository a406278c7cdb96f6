"""The topics of a store as likelihoods: what is known of each, and what a new piece says to it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.likeness.spread import Spread, Vectors
from pipeline.likeness.vocabulary import Vocabulary

# the scatter is estimated from the first pieces of each topic that has at least so many, and
# from the newest of those
_SETTLED, _FIRST, _SAMPLE = 4, 10, 1500
_SEVERAL = 5  # with fewer such topics what is theirs alone would pass for how topics differ
_ASKED = 300  # newest pieces that the line is calibrated with
# Log odds where a piece is as likely of the topic as not, and over how many they turn: from tune
# data. A store of its own kind moves the line by at most _FAR, against the weight of this.
_LINE, _WIDTH, _FAR, _WORTH = 8.0, 4.0, 8.0, 200.0
# The more pieces a topic has the more often it is spoken of, beside one of _USUAL: without that,
# what was founded twice grows on both sides. More than _ENOUGH say no more: the largest would take
# whatever comes. From tune data.
_USUAL, _ENOUGH = 8.0, 12.0
# Pieces of one topic say much the same: beside another topic they count as so many at most.
_WITNESSES = 4.0


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
        """Log odds that the piece belongs to each topic rather than to none of them, (count,).

        Of a topic that was joined to another: none at all.
        """
        odds = self._odds(self._spread.coordinates(piece.vector[None])[0], piece.words)
        return self._leaning(odds, self._counts[: self._count])

    def twins(
        self, grown: Iterable[int], movable: Collection[int], closed: Collection[int]
    ) -> list[tuple[int, int]]:
        """Join topics that are likelier one than two, the surest first: (topic, the other one).

        grown: those that got pieces since they were last compared. movable: those that may go into
        another; of two such the one with fewer pieces goes, of equals the later one. closed: those
        that take nothing in.
        """
        free = np.zeros(self._count, dtype=bool)
        free[list(movable)] = True
        found = []
        sure = {topic: self._twin(topic, free)[1] for topic in grown}
        for topic in sorted(sure, key=lambda topic: -sure[topic]):
            other, leaning = self._twin(topic, free)  # others have been joined since
            if leaning < 0 or other in closed or topic in closed:
                continue
            gone, into = sorted(
                (topic, other), key=lambda one: (free[one], -self._counts[one], one), reverse=True
            )
            self._join(gone, into)
            found.append((gone, into))
        return found

    def _twin(self, topic: int, free: NDArray[np.bool_]) -> tuple[int, float]:
        """The topic that may be one with this one, at the likeliest, and the log odds of that."""
        counts = self._counts[: self._count]
        weight = np.minimum(1, _WITNESSES / np.maximum(counts, 1))
        sums, held = self._sums[: self._count] * weight[:, None], counts * weight
        odds = self._spread.odds(sums[topic], sums, held, float(held[topic]))
        if free[topic]:
            taking = np.where(free, np.maximum(counts, counts[topic]), counts)
        else:
            taking = np.where(free, counts[topic], 0)
        leanings = self._leaning(odds, np.where(counts > 0, taking, 0) * (counts[topic] > 0))
        leanings[topic] = -np.inf
        best = int(leanings.argmax())
        return best, float(leanings[best])

    def _join(self, topic: int, into: int) -> None:
        self._sums[into] += self._sums[topic]
        self._counts[into] += self._counts[topic]
        self._sums[topic], self._counts[topic] = 0, 0
        self._vocabulary.join(topic, into)

    def _leaning(self, odds: Vectors, counts: NDArray[np.float32]) -> Vectors:
        with np.errstate(divide="ignore"):
            leaning: Vectors = (odds - self._line) / _WIDTH + np.log(
                np.minimum(counts, _ENOUGH) / _USUAL
            )
        return leaning

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
    several = len({topics[place] for place in found}) >= _SEVERAL
    return found[-_SAMPLE:] if several else []


def _line(odds: NDArray[np.float64], right: NDArray[np.float64]) -> float:
    """Where the odds are as often right as wrong, held near the tuned line: the likeliest."""
    lines = np.linspace(_LINE - _FAR, _LINE + _FAR, 33)
    turns = (odds[None] - lines[:, None]) / _WIDTH
    told = np.where(right > 0, -np.logaddexp(0, -turns), -np.logaddexp(0, turns)).sum(axis=1)
    # asked of many pieces it would follow its own decisions, further away each night
    told *= min(1.0, _ASKED / len(odds))
    return float(lines[(told - _WORTH * ((lines - _LINE) / _FAR) ** 2).argmax()])
