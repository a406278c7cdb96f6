"""An optimal segmentation by dynamic programming.

Every gap has log-odds that the topic changes there: the weighted sum of its cues. The best cut is
that with the most log-odds, less the scatter of each run's vectors around their mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.models import Embedder
from pipeline.policy import ChunkPolicy, CutPolicy
from pipeline.segmentation.cues import CUES, Floats, about, cues, saying
from pipeline.segmentation.turns import Turn, excerpt, word_vectors

_STRETCH = 1000  # turns cut together: bounds memory, and what "the whole conversation" is
_TOO_SHORT = 1000.0  # what a missing turn costs: more than anything, and yet possible
_STRONG = 80  # percentile of a conversation's log-odds that its own bar hangs on


def segments(
    turns: Sequence[Turn], embedder: Embedder | None, policy: ChunkPolicy
) -> list[tuple[int, int]]:
    """Cut into runs (first, last), both included, that cover every turn once, in order.

    A run has min_messages..max_messages turns and at most window_tokens, except that a single
    turn larger than the window stands alone, and that where no other cut keeps to those two bounds
    a run may be shorter.
    """
    runs: list[tuple[int, int]] = []
    start = 0
    while start < len(turns):
        stretch = turns[start : start + _STRETCH]
        cut = best(weighed(stretch, embedder, policy), policy)
        if start + len(stretch) < len(turns) and len(cut) > 1:
            cut.pop()  # where that run ends is seen only with what follows
        runs += [(start + first, start + last) for first, last in cut]
        start = runs[-1][1] + 1
    return runs


@dataclass(frozen=True, slots=True)
class Weighed:
    """odds: per gap. meant: a unit row per turn, which counts by `says`. tokens: per turn."""

    odds: Floats
    meant: Floats
    says: Floats
    tokens: tuple[int, ...]


def weighed(turns: Sequence[Turn], embedder: Embedder | None, policy: ChunkPolicy) -> Weighed:
    """What is known of the turns once they were read; the cut follows from it."""
    texts = [excerpt(turn.text) for turn in turns]
    vectors = embedder.embed(texts) if embedder else word_vectors(texts)
    says = saying(turns)
    return Weighed(
        log_odds(cues(turns, vectors), policy.cuts),
        about(vectors.astype(np.float64), says),
        says,
        tuple(turn.tokens for turn in turns),
    )


def log_odds(found: Floats, weights: CutPolicy) -> Floats:
    """Of the cues of every gap, shape (gaps, CUES), its log-odds against the conversation's bar."""
    if not len(found):
        return np.zeros(0)
    odds: Floats = found @ np.array([getattr(weights, name) for name in CUES])
    # a conversation in which everything is a little unlike has no more topics than another
    return odds + weights.base - weights.own_bar * float(np.percentile(odds, _STRONG))


def best(found: Weighed, policy: ChunkPolicy) -> list[tuple[int, int]]:
    """The runs (first, last) of the cut with the highest value."""
    count = len(found.tokens)
    says = found.says / found.says.mean()
    rows = found.meant * says[:, None]
    sums = np.vstack([np.zeros((1, rows.shape[1])), np.cumsum(rows, axis=0)])
    weight = np.concatenate([[0.0], np.cumsum(says)])
    size = np.concatenate([[0], np.cumsum(found.tokens)])
    before = np.concatenate([[0.0], found.odds])
    shortest = min(policy.min_messages, count)
    highest = np.full(count + 1, -np.inf)
    highest[0] = 0.0
    previous = np.zeros(count + 1, dtype=int)
    for end in range(1, count + 1):
        starts = np.arange(max(0, end - policy.max_messages), end)
        whole = sums[end] - sums[starts]
        held = weight[end] - weight[starts]
        scatter = held - (whole * whole).sum(axis=1) / held
        missing = np.maximum(0, shortest - (end - starts))
        cost = policy.cuts.cohesion * scatter + _TOO_SHORT * missing
        value = highest[starts] + before[starts] - cost
        value[(size[end] - size[starts] > policy.window_tokens) & (starts < end - 1)] = -np.inf
        chosen = int(value.argmax())
        highest[end], previous[end] = value[chosen], starts[chosen]
    runs: list[tuple[int, int]] = []
    end = count
    while end > 0:
        runs.append((int(previous[end]), end - 1))
        end = int(previous[end])
    return runs[::-1]
