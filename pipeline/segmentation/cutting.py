"""An optimal segmentation by dynamic programming.

Every gap has log-odds that the topic changes there: the weighted sum of its cues. The best cut is
that with the most log-odds, less the scatter of each run's vectors around their mean.
"""

from __future__ import annotations

from collections.abc import Sequence

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
        found = _cut(stretch, embedder, policy)
        if start + len(stretch) < len(turns) and len(found) > 1:
            found.pop()  # where that run ends is seen only with what follows
        runs += [(start + first, start + last) for first, last in found]
        start = runs[-1][1] + 1
    return runs


def _cut(
    turns: Sequence[Turn], embedder: Embedder | None, policy: ChunkPolicy
) -> list[tuple[int, int]]:
    texts = [excerpt(turn.text) for turn in turns]
    vectors = embedder.embed(texts) if embedder else word_vectors(texts)
    says = saying(turns)
    odds = log_odds(cues(turns, vectors), policy.cuts)
    meant = about(vectors.astype(np.float64), says)
    return _best(odds, meant, says, [turn.tokens for turn in turns], policy)


def log_odds(found: Floats, weights: CutPolicy) -> Floats:
    """Of the cues of every gap, shape (gaps, CUES), its log-odds against the conversation's bar."""
    if not len(found):
        return np.zeros(0)
    odds: Floats = found @ np.array([getattr(weights, name) for name in CUES])
    # a conversation in which everything is a little unlike has no more topics than another
    return odds + weights.base - weights.own_bar * float(np.percentile(odds, _STRONG))


def _best(
    odds: Floats,
    meant: Floats,
    says: Floats,
    tokens: Sequence[int],
    policy: ChunkPolicy,
) -> list[tuple[int, int]]:
    """odds: per gap. meant: a unit row per turn, counted by `says`. tokens: per turn."""
    count = len(tokens)
    says = says / says.mean()
    sums = np.vstack([np.zeros((1, meant.shape[1])), np.cumsum(meant * says[:, None], axis=0)])
    weight = np.concatenate([[0.0], np.cumsum(says)])
    size = np.concatenate([[0], np.cumsum(tokens)])
    before = np.concatenate([[0.0], odds])
    shortest = min(policy.min_messages, count)
    best = np.full(count + 1, -np.inf)
    best[0] = 0.0
    previous = np.zeros(count + 1, dtype=int)
    for end in range(1, count + 1):
        starts = np.arange(max(0, end - policy.max_messages), end)
        whole = sums[end] - sums[starts]
        held = weight[end] - weight[starts]
        scatter = held - (whole * whole).sum(axis=1) / held
        missing = np.maximum(0, shortest - (end - starts))
        value = (
            best[starts] + before[starts] - policy.cuts.cohesion * scatter - _TOO_SHORT * missing
        )
        value[(size[end] - size[starts] > policy.window_tokens) & (starts < end - 1)] = -np.inf
        chosen = int(value.argmax())
        best[end], previous[end] = value[chosen], starts[chosen]
    runs: list[tuple[int, int]] = []
    end = count
    while end > 0:
        runs.append((int(previous[end]), end - 1))
        end = int(previous[end])
    return runs[::-1]
