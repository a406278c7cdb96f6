"""Where a conversation changes its topic: an optimal segmentation by dynamic programming.

Every turn is a unit vector. The cost of a segment is the scatter of its vectors around their mean,
after the conversation's own mean was taken out; each boundary costs a penalty, more before an
assistant's turn, since users open topics.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.policy import ChunkPolicy
from pipeline.text import content_words

_DIMENSIONS = 512
WORD_VECTORS = f"words {_DIMENSIONS}"  # the name of `word_vectors`, as an embedder's


@dataclass(frozen=True, slots=True)
class Turn:
    """What the segmentation knows of a message: who opens with it and its size in tokens."""

    by_user: bool
    tokens: int


def word_vectors(texts: Sequence[str]) -> NDArray[np.float32]:
    """Unit vectors of hashed content words, shape (n, 512); for when there is no embedder."""
    vectors = np.zeros((len(texts), _DIMENSIONS), dtype=np.float32)
    for row, text in enumerate(texts):
        for word in content_words(text):
            vectors[row, zlib.crc32(word.encode()) % _DIMENSIONS] += 1.0
        if not vectors[row].any():
            vectors[row, 0] = 1.0
    unit: NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit


def segments(
    vectors: NDArray[np.float32], turns: Sequence[Turn], policy: ChunkPolicy
) -> list[tuple[int, int]]:
    """Cut into runs (first, last), both included, that cover every turn once, in order.

    A run has min_messages..max_messages turns and at most window_tokens, except that a single
    turn larger than the window stands alone and a conversation shorter than the minimum is one run.
    """
    count = len(turns)
    if count == 0:
        return []
    centred = vectors - vectors.mean(axis=0)
    norms = np.linalg.norm(centred, axis=1, keepdims=True)
    centred = centred / np.where(norms > 1e-6, norms, 1.0)
    sums = np.vstack([np.zeros((1, centred.shape[1])), np.cumsum(centred, axis=0)])
    squares = np.concatenate([[0.0], np.cumsum((centred**2).sum(axis=1))])
    tokens = np.concatenate([[0], np.cumsum([turn.tokens for turn in turns])])

    # any two halves of centred vectors look n/(n-1) better apart, however alike they are
    penalty = policy.penalty * (1.0 + 2.0 / count)
    best = np.full(count + 1, np.inf)
    best[0] = 0.0
    previous = np.zeros(count + 1, dtype=int)
    for end in range(1, count + 1):
        for start in range(end - 1, max(-1, end - policy.max_messages - 1), -1):
            size = end - start
            if size > 1 and tokens[end] - tokens[start] > policy.window_tokens:
                break
            total = sums[end] - sums[start]
            cost = best[start] + (squares[end] - squares[start]) - float(total @ total) / size
            if start > 0:
                cost += penalty
                if not turns[start].by_user:
                    cost += policy.assistant_penalty
            # too short costs more than any scatter, yet stays possible where nothing else fits
            cost += count * 2.0 * max(0, min(policy.min_messages, count) - size)
            if cost < best[end]:
                best[end], previous[end] = cost, start
    runs: list[tuple[int, int]] = []
    end = count
    while end > 0:
        runs.append((int(previous[end]), end - 1))
        end = int(previous[end])
    return runs[::-1]
