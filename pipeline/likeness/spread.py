"""How vectors lie within topics and between them, and what follows for a single one.

A topic's vectors are taken as drawn around its centre, the centres around the mean of all
(probabilistic linear discriminant analysis). Both scatters are shrunk towards a round one, the more
the fewer vectors there are, so that a new store begins with plain distances.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]

_DIRECTIONS = 100  # in which topics differ most; the others are noise
_FEW = 2 * _DIRECTIONS  # with fewer vectors their directions are chance
# a scatter of so many vectors counts half of the most that one may count beside the round one:
# chunks are filed by what is estimated here, and would bear out whatever it was
_ROUND, _MOST = 50.0, 0.4
_CENTRE = 20.0  # likewise the mean of all, beside the origin
# until pairs of one topic have been seen: the share of the scatter that lies within topics
_WITHIN, _WITHIN_WEIGHT = 0.6, 30.0


class Spread:
    """Estimated once from vectors with their topics; turns vectors into coordinates."""

    def __init__(self, vectors: Vectors, topics: Sequence[int]) -> None:
        """vectors: unit length, shape (n, dimensions); n may be 0. topics: of each."""
        count, dimensions = vectors.shape
        mean = vectors.mean(axis=0) if count else np.zeros(dimensions, dtype=np.float32)
        self._centre = mean * (count / (count + _CENTRE))
        centred = self._centred(vectors)
        within, freedom = _within(centred, topics)
        total = centred.T @ centred / max(count, 1)
        round_ = np.eye(dimensions, dtype=np.float32) / dimensions
        share = (within.trace() + _WITHIN_WEIGHT * _WITHIN) / (freedom + _WITHIN_WEIGHT)
        known = _MOST * count / (count + _ROUND)
        within = known * within / max(freedom, 1) + (1 - known) * share * round_
        total = known * total + (1 - known) * round_
        values, axes = np.linalg.eigh(within)
        whiten = axes / np.sqrt(np.maximum(values, 1e-6))
        values, axes = np.linalg.eigh(whiten.T @ total @ whiten)
        kept = _DIRECTIONS if count >= _FEW else dimensions
        ratio = np.maximum(values[::-1][:kept] - 1, 1e-3)
        self._axes = (whiten @ axes[:, ::-1][:, :kept]).astype(np.float32)
        self._ratio = ratio.astype(np.float32)  # scatter of the centres, in that of one topic
        # round scatters say the same in every direction: as much as the best ones would
        self._scale = min(1.0, _DIRECTIONS / len(ratio))

    @property
    def directions(self) -> int:
        """How many coordinates a vector has."""
        return len(self._ratio)

    def coordinates(self, vectors: Vectors) -> Vectors:
        """Of unit vectors, shape (n, dimensions): shape (n, directions)."""
        found: Vectors = self._centred(vectors) @ self._axes
        return found

    def odds(
        self, at: Vectors, sums: Vectors, counts: NDArray[np.float32], of: float = 1.0
    ) -> Vectors:
        """Log of how much likelier `at` is as more of each topic than as a topic of its own.

        at: coordinates of one vector, or the sum of those of so many, (directions,). sums, counts:
        of the coordinates in each topic, (n, directions) and (n,).
        """
        joined = self._evidence(sums + at, counts + of)
        apart = self._evidence(sums, counts) + self._evidence(at[None], np.full(1, of))
        odds: Vectors = ((joined - apart) * self._scale).astype(np.float32)
        return odds

    def _evidence(self, sums: Vectors, counts: NDArray[Any]) -> NDArray[Any]:
        """Log-likelihood of topics of so many vectors each, but for what any sorting has."""
        known = counts[:, None] * self._ratio + 1
        found: NDArray[Any] = 0.5 * (sums * sums * (self._ratio / known) - np.log(known)).sum(1)
        return found

    def _centred(self, vectors: Vectors) -> Vectors:
        centred = vectors - self._centre
        length = np.linalg.norm(centred, axis=1, keepdims=True)
        found: Vectors = centred / np.maximum(length, 1e-6)
        return found


def _within(vectors: Vectors, topics: Sequence[int]) -> tuple[Vectors, int]:
    """The summed scatter of vectors around the centres of their topics, and of how many it is."""
    number = {topic: place for place, topic in enumerate(dict.fromkeys(topics))}
    place = np.array([number[topic] for topic in topics], dtype=int)
    sums = np.zeros((len(number), vectors.shape[1]), dtype=np.float32)
    np.add.at(sums, place, vectors)
    off = (
        vectors - (sums / np.maximum(np.bincount(place, minlength=len(number)), 1)[:, None])[place]
    )
    return off.T @ off, len(vectors) - len(number)
