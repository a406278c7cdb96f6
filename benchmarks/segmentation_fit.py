"""[chunk.cuts] of policy.toml, learnt from the dialogues marked for tuning.

The weights are a logistic regression over the gaps of both sets and of dialogues joined from pieces
of them, each set counting the same. base, own_bar and cohesion are those of a grid with the highest
Score, in the mean over the sets.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from benchmarks.segmentation_data import (
    TUNE,
    Dialogue,
    Remembered,
    dialogues,
    figures,
    joined,
    mean,
)
from pipeline.policy import ChunkPolicy
from pipeline.segmentation.cues import CUES, Floats, cues
from pipeline.segmentation.cutting import Weighed, best, log_odds, weighed

_COUNTS = 5000.0  # gaps a set counts for, beside a ridge of _RIDGE
_RIDGE = 3.0
_GIVEN = "pause"  # the dialogues have no times
_BASES = (-3.0, -2.8, -2.7, -2.6, -2.5, -2.4, -2.2)
_BARS = (0.4, 0.5, 0.6)
_COHESIONS = (0.5, 0.75, 1.0)
_TRIED = 120  # dialogues of a set


def fit(embedder: Remembered, policy: ChunkPolicy) -> str:
    """The lines of the table."""
    sets = _sets(embedder)
    found = {name: [_cues(one, embedder) for one in held] for name, held in sets.items()}
    learnt = policy.cuts.model_copy(update=_weights(sets, found))
    read = {
        name: [weighed(one.turns, embedder, policy) for one in held[:_TRIED]]
        for name, held in sets.items()
    }
    tried = {}
    for base, bar, cohesion in itertools.product(_BASES, _BARS, _COHESIONS):
        cuts = learnt.model_copy(update={"base": base, "own_bar": bar, "cohesion": cohesion})
        whole = policy.model_copy(update={"cuts": cuts})
        tried[base, bar, cohesion] = _score(sets, found, read, whole)
    base, bar, cohesion = max(tried, key=lambda some: tried[some])
    lines = [f"{name} = {getattr(learnt, name):.2f}" for name in CUES]
    ends = [f"base = {base}", f"own_bar = {bar}", f"cohesion = {cohesion}"]
    return "\n".join([*lines, *ends, f"# mean Score {tried[base, bar, cohesion]:.4f}"])


def _sets(embedder: Remembered) -> dict[str, list[Dialogue]]:
    sets = {name: dialogues(file) for name, file in TUNE.items()}
    for held in sets.values():
        embedder.read(held)
    asked, chatted = sets["superdialseg"], sets["tiage"]
    sets["joined, short"] = joined(asked, 300, 1, (1, 2), led=True)
    sets["joined, long"] = joined(asked, 200, 5, (2, 4), led=True)
    sets["joined, chat"] = joined(chatted, 300, 2, (1, 2), led=False)
    return sets


def _cues(dialogue: Dialogue, embedder: Remembered) -> Floats:
    return cues(dialogue.turns, embedder.embed([turn.text for turn in dialogue.turns]))


def _weights(sets: dict[str, list[Dialogue]], found: dict[str, list[Floats]]) -> dict[str, float]:
    rows, labels, counts = [], [], []
    for name, held in sets.items():
        for dialogue, gaps in zip(held, found[name], strict=True):
            rows.append(gaps)
            labels += [gap + 1 in dialogue.boundaries for gap in range(len(gaps))]
            # a long dialogue says no more than a short one
            counts += [_COUNTS / len(held) / len(gaps)] * len(gaps)
    matrix = np.vstack(rows)
    spread = matrix.std(axis=0)
    used = spread > 0
    scaled = np.column_stack([(matrix / np.where(used, spread, 1.0)), np.ones(len(matrix))])
    weights = _logistic(scaled, np.array(labels, dtype=float), np.array(counts))
    return {
        cue: round(float(weight / deviation), 2)
        for cue, weight, deviation in zip(CUES, weights, spread, strict=False)
        if cue != _GIVEN
    }


def _logistic(rows: Floats, labels: Floats, counts: Floats) -> Floats:
    weights = np.zeros(rows.shape[1])
    ridge = np.full(rows.shape[1], _RIDGE)
    ridge[-1] = 1e-9
    for _ in range(30):
        likely = 1 / (1 + np.exp(-rows @ weights))
        slope = rows.T @ (counts * (likely - labels)) + ridge * weights
        bend = (rows * (counts * likely * (1 - likely))[:, None]).T @ rows + np.diag(ridge)
        weights = weights - np.linalg.solve(bend, slope)
    return weights


def _score(
    sets: dict[str, list[Dialogue]],
    found: dict[str, list[Floats]],
    read: dict[str, list[Weighed]],
    policy: ChunkPolicy,
) -> float:
    return float(np.mean([_of(sets[name], found[name], read[name], policy) for name in sets]))


def _of(
    held: Sequence[Dialogue],
    found: Sequence[Floats],
    read: Sequence[Weighed],
    policy: ChunkPolicy,
) -> float:
    rows = []
    for dialogue, gaps, known in zip(held, found, read, strict=False):
        runs = best(replace(known, odds=log_odds(gaps, policy.cuts)), policy)
        rows.append(figures(dialogue, [first for first, _ in runs if first]))
    return mean(rows)[3]
