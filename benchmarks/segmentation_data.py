"""Public dialogues with known topics, their vectors, and how a cut is scored.

Windows are half the mean length of the reference's segments, two turns at least; F1 is that of one
dialogue, 0 where neither has a boundary. Score = F1/2 + (1 - Pk)/4 + (1 - WindowDiff)/4.
"""

from __future__ import annotations

import hashlib
import json
import random
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from nltk.metrics.segmentation import pk, windowdiff  # type: ignore[import-untyped]
from numpy.typing import NDArray

from pipeline.models import Embedder
from pipeline.segmentation import Turn

DATA = Path(__file__).parents[2] / "shared" / "data" / "dialseg"
TEST = {
    "dialseg711": "defdts_dialseg711_test",
    "superdialseg": "defdts_superseg_test",
    "tiage": "defdts_tiage_test",
}
TUNE = {"superdialseg": "defdts_superseg_validation", "tiage": "defdts_tiage_train"}
METRICS = ("pk", "wd", "f1", "score")
_CACHE = Path(tempfile.gettempdir()) / "nightly-memory-benchmarks"
_RESAMPLES = 1000


@dataclass(frozen=True, slots=True)
class Dialogue:
    """Turns, and the turns before which another topic begins."""

    turns: tuple[Turn, ...]
    boundaries: frozenset[int]


Figures = tuple[float, float, float, float]  # METRICS


def dialogues(name: str) -> list[Dialogue]:
    """A set of DATA."""
    return [_dialogue(json.loads(row)["dialogue"]) for row in _lines(name)]


def _lines(name: str) -> list[str]:
    return (DATA / f"{name}.jsonl").read_text("utf-8").splitlines()


def _dialogue(text: str) -> Dialogue:
    turns: list[Turn] = []
    boundaries = set()
    for part in (some.strip() for some in text.split("[NEWLINE]")):
        speaker, _, said = part.partition(":")
        if part == "[BOUNDARY]":
            boundaries.add(len(turns))
        elif speaker in ("user", "agent"):
            turns.append(Turn(speaker == "user", len(said.split()), said.strip()))
        elif turns:  # a line break within a turn
            last = turns.pop()
            turns.append(Turn(last.by_user, last.tokens, f"{last.text} {part}"))
    return Dialogue(tuple(turns), frozenset(boundaries))


def joined(
    some: Sequence[Dialogue], count: int, seed: int, pieces: tuple[int, int], *, led: bool
) -> list[Dialogue]:
    """Dialogues made of pieces of others, a topic a piece: as many segments as `pieces` says.

    led: a piece begins with the user and ends with the assistant; else the two change names where
    the same one would speak twice.
    """
    chance = random.Random(seed)
    made: list[Dialogue] = []
    while len(made) < count:
        turns: list[Turn] = []
        boundaries = set()
        for _ in range(chance.randint(3, 7)):
            piece = _piece(chance, some, pieces, led)
            if turns and not led and turns[-1].by_user == piece[0].by_user:
                piece = [Turn(not turn.by_user, turn.tokens, turn.text) for turn in piece]
            if turns:
                boundaries.add(len(turns))
            turns += piece
        made.append(Dialogue(tuple(turns), frozenset(boundaries)))
    return made


def _piece(
    chance: random.Random, some: Sequence[Dialogue], pieces: tuple[int, int], led: bool
) -> list[Turn]:
    while True:
        dialogue = chance.choice(some)
        size = len(dialogue.turns)
        cuts = [0, *sorted(b for b in dialogue.boundaries if b < size), size]
        wide = chance.randint(*pieces)
        start = chance.randrange(max(1, len(cuts) - wide))
        piece = list(dialogue.turns[cuts[start] : cuts[min(start + wide, len(cuts) - 1)]])
        if len(piece) > 1 and (not led or (piece[0].by_user and not piece[-1].by_user)):
            return piece


# ------------------------------------------------------------------ vectors


class Remembered:
    """An embedder whose vectors of whole sets are kept in the folder for temporary files."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, NDArray[np.float32]] = {}

    @property
    def name(self) -> str:
        """Of the embedder it asks."""
        return self._embedder.name

    def read(self, some: Sequence[Dialogue]) -> None:
        """Know every turn of these."""
        texts = [turn.text for dialogue in some for turn in dialogue.turns]
        digest = hashlib.sha256("\n".join([self.name, *texts]).encode()).hexdigest()[:16]
        path = _CACHE / f"{digest}.npy"
        if not path.is_file():
            _CACHE.mkdir(exist_ok=True)
            np.save(path, self._embedder.embed(texts))
        self._known |= zip(texts, np.load(path), strict=True)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The kept vectors, shape (n, dimensions); asks for what is not kept."""
        for text in texts:
            if text not in self._known:
                self._known[text] = self._embedder.embed([text])[0]
        return np.array([self._known[text] for text in texts])


# ------------------------------------------------------------------ scoring


def figures(dialogue: Dialogue, cut: Sequence[int]) -> Figures:
    """Pk, WindowDiff, F1 and Score of one dialogue. cut: the turns before which a topic begins."""
    size = len(dialogue.turns)
    window = min(size, max(2, round(size / (len(dialogue.boundaries) + 1) / 2)))
    reference, proposed = _marks(dialogue.boundaries, size), _marks(cut, size)
    found = len(dialogue.boundaries.intersection(cut))
    f1 = 2 * found / (len(dialogue.boundaries) + len(cut)) if found else 0.0
    missed = float(pk(reference, proposed, window))
    differ = float(windowdiff(reference, proposed, window))
    return missed, differ, f1, f1 / 2 + (1 - missed) / 4 + (1 - differ) / 4


def _marks(boundaries: frozenset[int] | Sequence[int], size: int) -> str:
    return "".join("1" if turn + 1 in boundaries else "0" for turn in range(size))


def scored(some: Sequence[Dialogue], cut: Callable[[Dialogue], Sequence[int]]) -> list[Figures]:
    """The figures of each dialogue."""
    return [figures(dialogue, cut(dialogue)) for dialogue in some]


def mean(rows: Sequence[Figures]) -> Figures:
    """Of each figure the mean over dialogues."""
    found = np.array(rows).mean(axis=0)
    return (float(found[0]), float(found[1]), float(found[2]), float(found[3]))


def interval(rows: Sequence[Figures]) -> tuple[float, float]:
    """The bootstrap's 95 % interval of the Score, over dialogues."""
    return bootstrapped([score for *_, score in rows])


def bootstrapped(values: Sequence[float]) -> tuple[float, float]:
    """The bootstrap's 95 % interval of a mean."""
    drawn = np.array(values)
    picks = np.random.default_rng(0).integers(len(drawn), size=(_RESAMPLES, len(drawn)))
    low, high = np.percentile(drawn[picks].mean(axis=1), [2.5, 97.5])
    return float(low), float(high)
