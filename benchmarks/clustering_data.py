"""Short texts with topics, as a stream beside topics that are known; how well they were filed."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pipeline.models import Embedder
from pipeline.segmentation import WORD_VECTORS, word_vectors

DATA = Path(__file__).parents[2] / "shared" / "data" / "clustering"
CACHE = (
    Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "nightly-memory" / "benchmarks"
)
SETS = ("BANKING77", "CLINC150")
KNOWN_TEXTS = 10  # of each known topic, filed before the stream begins
_TUNE_TEXTS = {"BANKING77": 40, "CLINC150": 30}  # of each topic in a stream to tune on, as in test
_RESAMPLED = 200
_BATCH = 512

Vectors = NDArray[np.float32]
Text = tuple[str, str]  # (text, topic)


@dataclass(frozen=True, slots=True)
class Stream:
    """known: texts filed before, of half the topics. arriving: of all topics, in order."""

    known: tuple[Text, ...]
    arriving: tuple[Text, ...]

    @property
    def topics(self) -> set[str]:
        """Those that are known before."""
        return {topic for _, topic in self.known}


@dataclass(frozen=True, slots=True)
class Filed:
    """How one stream was filed. items: per text (precision, recall) of B-cubed."""

    figures: dict[str, float]
    items: NDArray[np.float64]
    new: NDArray[np.bool_]  # per text: (is of a new topic, was filed as one)


def stream(name: str, seed: int, *, tune: bool) -> Stream:
    """Half of the topics known by train texts; the rest of train (tune) or test arrives, shuffled.

    Every text of CLINC150 that is out of scope is a topic of its own.
    """
    train, test, strays = _read(name, tune=tune)
    drawn = random.Random(seed)
    topics = sorted({topic for _, topic in train})
    drawn.shuffle(topics)
    drawn.shuffle(train)
    by_topic: dict[str, list[Text]] = defaultdict(list)
    for text in train:
        by_topic[text[1]].append(text)
    known = [t for topic in topics[: len(topics) // 2] for t in by_topic[topic][:KNOWN_TEXTS]]
    if tune:
        end = KNOWN_TEXTS + _TUNE_TEXTS[name]
        test = [t for topic in topics for t in by_topic[topic][KNOWN_TEXTS:end]]
    arriving = test + [(text, f"out of scope {n}") for n, text in enumerate(strays)]
    drawn.shuffle(known)
    drawn.shuffle(arriving)
    return Stream(tuple(known), tuple(arriving))


def _read(name: str, *, tune: bool) -> tuple[list[Text], list[Text], list[str]]:
    """Train texts, test texts, texts out of scope."""
    if name == "BANKING77":
        found = []
        for file in ("train.csv", "test.csv"):
            with (DATA / file).open(encoding="utf-8", newline="") as rows:
                found.append([(row["text"], row["category"]) for row in csv.DictReader(rows)])
        return found[0], found[1], []
    told = json.loads((DATA / "data_full.json").read_text("utf-8"))
    pairs = {part: [(text, topic) for text, topic in rows] for part, rows in told.items()}
    strays = pairs["oos_train"] + pairs["oos_val"] if tune else pairs["oos_test"]
    return pairs["train"], pairs["test"], [text for text, _ in strays]


class Remembered:
    """Vectors of the texts of a set by an embedder, None for words; kept on disk."""

    def __init__(self, embedder: Embedder | None) -> None:
        self._embedder = embedder
        self.name = embedder.name if embedder else WORD_VECTORS

    def vectors(self, name: str) -> dict[str, Vectors]:
        """By text, of the whole set of this name: shape (dimensions,) each."""
        pairs = [_read(name, tune=tune) for tune in (True, False)]
        texts = sorted(
            {text for train, test, strays in pairs for text in [*strays, *dict(train + test)]}
        )
        if self._embedder is None:
            return dict(zip(texts, word_vectors(texts), strict=True))
        digest = hashlib.sha256("\n".join([self.name, *texts]).encode()).hexdigest()
        kept = CACHE / f"{digest[:16]}.npy"
        if not kept.exists():
            batches = (texts[at : at + _BATCH] for at in range(0, len(texts), _BATCH))
            made = np.concatenate([self._embedder.embed(batch) for batch in batches])
            CACHE.mkdir(parents=True, exist_ok=True)
            np.save(kept, made)
        return dict(zip(texts, np.load(kept), strict=True))


def measured(told: Stream, filed: Sequence[str]) -> Filed:
    """How texts were filed under names; those of `told.topics` are the known ones.

    B-cubed: per text, of those filed with it the share of its topic (precision), and of its topic
    the share filed with it (recall); means, and F of the means. V: twice h·c ÷ (h + c), where h is
    1 − H(topic | filed) ÷ H(topic) and c is 1 − H(filed | topic) ÷ H(filed). Known: share of texts
    of known topics filed there. New-topic F1: of being filed outside of the known topics.
    """
    true = [topic for _, topic in told.arriving]
    both, of_topic, of_name = Counter(zip(true, filed, strict=True)), Counter(true), Counter(filed)
    items = np.array(
        [
            (both[t, f] / of_name[f], both[t, f] / of_topic[t])
            for t, f in zip(true, filed, strict=True)
        ]
    )
    known = told.topics
    new = np.array([(t not in known, f not in known) for t, f in zip(true, filed, strict=True)])
    right = [t == f for t, f in zip(true, filed, strict=True) if t in known]
    joint, topics, names = (_entropy(c) for c in (both, of_topic, of_name))
    homogeneous = 1 - (joint - names) / topics
    complete = 1 - (joint - topics) / names if names else 1.0
    precision, recall = items.mean(axis=0)
    figures = {
        "known": sum(right) / len(right),
        "new F1": _f1(new),
        "B³ P": float(precision),
        "B³ R": float(recall),
        "B³ F": _b_cubed(items),
        "V": 2 * homogeneous * complete / (homogeneous + complete),
        "buckets": float(len(of_name)),
        "of two or more": float(sum(size > 1 for size in of_name.values())),
        "topics": float(len(of_topic)),
    }
    return Filed(figures, items, new)


def intervals(runs: Sequence[Filed]) -> dict[str, tuple[float, float]]:
    """Bootstrap 95 % intervals of B³ F and new-topic F1, over the texts of all runs."""
    items = np.concatenate([run.items for run in runs])
    new = np.concatenate([run.new for run in runs])
    drawn = np.random.default_rng(0)
    found: dict[str, list[float]] = {"B³ F": [], "new F1": []}
    for _ in range(_RESAMPLED):
        rows = drawn.integers(0, len(items), len(items))
        found["B³ F"].append(_b_cubed(items[rows]))
        found["new F1"].append(_f1(new[rows]))
    return {
        key: (float(np.quantile(v, 0.025)), float(np.quantile(v, 0.975)))
        for key, v in found.items()
    }


def _b_cubed(items: NDArray[np.float64]) -> float:
    precision, recall = items.mean(axis=0)
    return float(2 * precision * recall / (precision + recall))


def _f1(new: NDArray[np.bool_]) -> float:
    return float(2 * (new[:, 0] & new[:, 1]).sum() / max(new.sum(), 1))


def _entropy(counts: Counter[object] | Counter[str] | Counter[tuple[str, str]]) -> float:
    total = counts.total()
    return -sum(count / total * log(count / total) for count in counts.values())
