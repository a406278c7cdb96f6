"""Turns by their meaning, as MiniLM has it, and fused with a ranking by words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks.recall_locomo import Dialogue, Place, conv
from pipeline.assemble import place
from pipeline.config import load_config
from pipeline.models.minilm import MiniLM

_AT_ONCE = 32
# how much a rank by meaning counts beside one by words, and what is added to each rank
FUSIONS = ((1.0, 60), (0.5, 60), (0.25, 60), (0.5, 20), (0.25, 10))


def encoder() -> MiniLM:
    """The embedder that was fetched."""
    return MiniLM("minilm", place("minilm", load_config()))


def by_meaning(dialogue: Dialogue, model: MiniLM) -> list[list[Place]]:
    """Of each question all turns, the nearest first."""
    told = [
        ((conv(number), position), text)
        for number, (_, said) in enumerate(dialogue.sessions)
        for position, text in enumerate(said)
    ]
    known = np.concatenate(list(_embedded([text for _, text in told], model)))
    asked = np.concatenate(list(_embedded([one.text for one in dialogue.questions], model)))
    return [[told[row][0] for row in order] for order in np.argsort(-(asked @ known.T), axis=1)]


def fused(
    words: Sequence[Place], meaning: Sequence[Place], weight: float, added: int
) -> list[Place]:
    """Reciprocal rank fusion of the two."""
    scores: defaultdict[Place, float] = defaultdict(float)
    for share, ranking in ((1.0, words), (weight, meaning)):
        for rank, where in enumerate(ranking):
            scores[where] += share / (added + rank)
    return sorted(scores, key=scores.__getitem__, reverse=True)


def _embedded(texts: Sequence[str], model: MiniLM) -> Iterator[np.ndarray]:
    return (model.embed(texts[at : at + _AT_ONCE]) for at in range(0, len(texts), _AT_ONCE))
