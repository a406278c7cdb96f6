"""TextTiling, the usual rival: as nltk has it, and over whole turns, tuned where ours is.

Over turns: the likeness of the blocks of turns before and after each gap; a gap is as deep as its
likeness lies below the peaks on both sides; a boundary stands where a gap is deeper than the mean
by so many deviations. `tuned` finds width and cutoff on the sets marked for tuning.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from nltk.tokenize.texttiling import TextTilingTokenizer  # type: ignore[import-untyped]
from numpy.typing import NDArray

from benchmarks.segmentation_data import TUNE, Dialogue, Remembered, dialogues, mean, scored
from pipeline.models import Embedder
from pipeline.segmentation import word_vectors
from pipeline.text import content_words

_WIDTHS = (1, 2, 3, 4)
_CUTOFFS = (-0.5, 0.0, 0.25, 0.5, 0.75, 1.0, 1.5)
_TRIED = 300  # dialogues of a set

Vectors = Callable[[Sequence[str]], NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class Tiling:
    """width: turns of a block. cutoff: deviations above the mean depth."""

    width: int
    cutoff: float


WORDS = Tiling(2, 0.0)
MEANING = Tiling(2, 0.25)


def over_turns(vectors: Vectors, tiling: Tiling) -> Callable[[Dialogue], list[int]]:
    """A way to cut. vectors: a unit row a turn."""

    def cut(dialogue: Dialogue) -> list[int]:
        rows = vectors([turn.text for turn in dialogue.turns])
        depths = _depths(_likeness(rows, tiling.width))
        if not len(depths):
            return []
        bar = depths.mean() + tiling.cutoff * depths.std()
        return [gap + 1 for gap, depth in enumerate(depths) if depth > bar]

    return cut


def meaning(embedder: Embedder) -> Vectors:
    """The embedder's vectors."""
    return lambda texts: embedder.embed(list(texts))


def tuned(embedder: Remembered) -> str:
    """The best width and cutoff of both, by the mean Score over the sets for tuning."""
    whole = [dialogues(file) for file in TUNE.values()]
    for held in whole:
        embedder.read(held)
    sets = [held[:: max(1, len(held) // _TRIED)] for held in whole]
    lines = []
    for name, vectors in (("WORDS", word_vectors), ("MEANING", meaning(embedder))):
        tried = {
            (width, cutoff): float(
                np.mean(
                    [
                        mean(scored(held, over_turns(vectors, Tiling(width, cutoff))))[3]
                        for held in sets
                    ]
                )
            )
            for width, cutoff in itertools.product(_WIDTHS, _CUTOFFS)
        }
        width, cutoff = max(tried, key=lambda some: tried[some])
        lines.append(f"{name} = Tiling({width}, {cutoff})  # {tried[width, cutoff]:.4f}")
    return "\n".join(lines)


def _likeness(rows: NDArray[np.float32], width: int) -> NDArray[np.float64]:
    """Of the blocks before and after each gap, by the cosine of their sums."""
    sums = np.vstack([np.zeros((1, rows.shape[1])), np.cumsum(rows, axis=0, dtype=np.float64)])
    count = len(rows)
    gaps = np.arange(1, count)
    before = sums[gaps] - sums[np.maximum(gaps - width, 0)]
    after = sums[np.minimum(gaps + width, count)] - sums[gaps]
    length = np.linalg.norm(before, axis=1) * np.linalg.norm(after, axis=1)
    likeness: NDArray[np.float64] = (before * after).sum(axis=1) / np.maximum(length, 1e-9)
    return likeness


def _depths(likeness: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far each lies below the peaks reached by climbing to the left and to the right of it."""
    return np.array(
        [
            _peak(likeness[gap::-1]) + _peak(likeness[gap:]) - 2 * likeness[gap]
            for gap in range(len(likeness))
        ]
    )


def _peak(onward: NDArray[np.float64]) -> float:
    highest = float(onward[0])
    for value in onward[1:]:
        if value < highest:
            break
        highest = float(value)
    return highest


def by_nltk(dialogue: Dialogue) -> list[int]:
    """The turns before which a tile of nltk's begins, with our stop words."""
    said = [turn.text for turn in dialogue.turns]
    common = sorted({word for text in said for word in text.casefold().split()})
    stops = [word for word in common if not content_words(word)]
    tiler = TextTilingTokenizer(w=20, k=3, stopwords=stops, smoothing_width=2)
    try:
        tiles = tiler.tokenize("\n\n".join(["", *said, ""]))
    except (ValueError, IndexError):  # it takes no text that is short, or that repeats nothing
        return []
    boundaries, turns = [], 0
    for tile in tiles[:-1]:
        turns += sum(bool(part.strip()) for part in tile.split("\n\n"))
        if 0 < turns < len(said):
            boundaries.append(turns)
    return sorted(set(boundaries))
