"""Which topic a text belongs to, or a new one: ours beside trivial ways, on streams of texts.

    python benchmarks/clustering.py [--quick] [--tune] [--model NAME --sample N] [--write]

Half of the topics are known by ten texts each (drawn by the seed, three seeds); texts of all topics
then arrive in the order of the seed, and each is filed at once. What is measured is the pipeline's
own likelihoods under its own numbers, the same for both sets: estimated anew every two hundred
texts from what was filed, by themselves, right or wrong. Without a model a text goes to the
likeliest topic if it is likelier there than not, else it founds one. How the figures are made up is
told in clustering_data.py.

--tune: streams of the texts marked for tuning. --model: asks this model where the pipeline would,
over the first N texts of each stream (--sample), beside ours without over the same. --quick: the
first 400 texts, one seed. --write: the table into docs/quality.md, figures and curve beside it.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from benchmarks.clustering_data import (
    DATA,
    KNOWN_TEXTS,
    SETS,
    Filed,
    Remembered,
    Stream,
    Vectors,
    intervals,
    measured,
    stream,
)
from pipeline.assemble import real_models
from pipeline.config import Config
from pipeline.likeness import Piece, Topics, share
from pipeline.models import Model
from pipeline.policy import load_policy
from pipeline.profiles import FIRST, NEWEST
from pipeline.prompts import Prompts
from pipeline.records import Bucket, Call
from pipeline.resources import folder
from pipeline.routing import ask, chosen
from pipeline.text import content_words

DOCS = Path(__file__).parents[1] / "docs"
BEGIN, END = "<!-- clustering -->", "<!-- /clustering -->"
POLICY = load_policy().cluster
NIGHT = 200  # texts after which the likelihoods are estimated anew
CARRIED = 0.45  # cosine of centred vectors: what did best on tuning streams of BANKING77
SEEDS = (0, 1, 2)
QUICK = 400
FIGURES = ("known", "new F1", "B³ P", "B³ R", "B³ F", "V", "buckets", "of two or more", "topics")

File = Callable[[Stream, dict[str, Vectors]], list[str]]


@dataclass
class Asking:
    """A model that is asked near the line, and what it took."""

    model: Model
    prompts: Prompts = field(default_factory=lambda: Prompts(folder("prompts")))
    calls: list[Call] = field(default_factory=list)

    def choose(self, text: str, names: Sequence[str]) -> str:
        """One of the names, "" for none of them."""
        topics = [Bucket(name) for name in names]
        choice = ask(topics, text, f"USER: {text}", self.model, self.prompts)
        found = chosen(choice, topics, POLICY)
        return found[0][0].name if found else ""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--tune", action="store_true")
    parser.add_argument("--model")
    parser.add_argument("--sample", type=int, default=100)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    if not DATA.exists():
        sys.exit(f"skipped: there is no {DATA}")
    if given.model:
        rows = with_model(given.model, given.sample)
    else:
        rows = without_model(tune=given.tune, quick=given.quick)
    table = "\n".join(lines(rows))
    sys.stdout.write(table + "\n")
    if given.write:
        write(rows, given.model or "")


def without_model(*, tune: bool, quick: bool) -> dict[str, dict[str, dict[str, object]]]:
    """Row → set → figures, means of the seeds."""
    embedder = real_models(Config()).embedder
    if embedder is None:
        sys.exit("skipped: no embedder is installed; run `memory model fetch minilm`")
    words, meaning = Remembered(None), Remembered(embedder)
    ways: dict[str, tuple[Remembered, File, int]] = {
        "random": (words, at_random, len(SEEDS)),
        "nearest, fixed threshold": (meaning, nearest, len(SEEDS)),
        "ours, MiniLM": (meaning, ours, len(SEEDS)),
        "ours, words alone (one draw)": (words, ours, 1),
        "ours, MiniLM, nothing known (one draw)": (meaning, from_nothing, 1),
    }
    rows: dict[str, dict[str, dict[str, object]]] = {way: {} for way in ways}
    for name in SETS:
        known = {remembered: remembered.vectors(name) for remembered in (words, meaning)}
        streams = [stream(name, seed, tune=tune) for seed in SEEDS[: 1 if quick else None]]
        if quick:
            streams = [replace(told, arriving=told.arriving[:QUICK]) for told in streams]
        for way, (remembered, file, draws) in ways.items():
            filed = [file(told, known[remembered]) for told in streams[:draws]]
            runs = [measured(told, f) for told, f in zip(streams, filed, strict=False)]
            rows[way][name] = {
                **averaged(runs),
                "growth": growth([topic for _, topic in streams[0].arriving], filed[0]),
            }
            sys.stderr.write(f"{name} {way} {rows[way][name]['B³ F']}\n")
    return rows


def with_model(model: str, sample: int) -> dict[str, dict[str, dict[str, object]]]:
    """Row → set → figures of the beginning of one stream, without and with a model."""
    models = real_models(Config(model=model))
    remembered = Remembered(models.embedder)
    rows: dict[str, dict[str, dict[str, object]]] = {
        f"ours, first {sample}": {},
        f"ours with {model}, first {sample}": {},
    }
    for name in SETS:
        told = stream(name, SEEDS[0], tune=False)
        told = replace(told, arriving=told.arriving[:sample])
        vectors = remembered.vectors(name)
        calls: list[Call] = []
        asking = Asking(models.model(calls.append))
        plain, asked = rows.values()
        plain[name] = averaged([measured(told, ours(told, vectors))])
        asked[name] = averaged([measured(told, ours(told, vectors, asking=asking))])
        tokens = sum(asking.model.count(text) for text, _ in told.arriving) / 1000
        asked[name] |= {
            "asked": len(calls) / sample,
            "prefill": sum(c.prompt_tokens - c.cached_tokens for c in calls) / tokens,
            "decode": sum(c.output_tokens for c in calls) / tokens,
        }
        asking.model.close()
    return rows


# ------------------------------------------------------------------ ways to file


def ours(told: Stream, vectors: dict[str, Vectors], asking: Asking | None = None) -> list[str]:
    """The pipeline's likelihoods; near the line the model, if there is one."""
    names = list(dict.fromkeys(topic for _, topic in told.known))
    number = {name: n for n, name in enumerate(names)}
    pieces = [piece(text, vectors) for text, _ in told.known]
    held = [number[topic] for _, topic in told.known]
    topics: Topics | None = None
    articles = set(held)
    for count, (text, _) in enumerate(told.arriving):
        if pieces and (topics is None or count % NIGHT == 0):
            joined(topics, held, articles)
            topics = estimated(pieces, held, len(names))
        arrived = piece(text, vectors)
        place = likeliest(text, arrived, topics, names, asking) if topics else -1
        if place < 0:
            place = topics.found() if topics else 0
            # out of the way of the sets' own names
            names.append(f"new: {text}" if f"new: {text}" not in names else f"new: {text} {count}")
        if topics:
            topics.add(place, arrived)
        pieces.append(arrived)
        held.append(place)
    joined(topics, held, articles)
    return [names[place] for place in held[len(told.known) :]]


def joined(topics: Topics | None, held: list[int], articles: set[int]) -> None:
    """The end of a night: what has no article yet is joined to its like; what two texts speak of
    gets one.
    """
    if topics is None:
        return
    movable = set(held) - articles
    for gone, into in topics.twins(sorted(set(held[-NIGHT:])), movable, ()):
        held[:] = [into if place == gone else place for place in held]
    articles |= {place for place, texts in Counter(held).items() if texts > 1}


def likeliest(
    text: str, arrived: Piece, topics: Topics, names: Sequence[str], asking: Asking | None
) -> int:
    """Number of the topic the text goes to, -1 for a new one."""
    leanings = topics.leanings(arrived)
    best = int(leanings.argmax())
    if asking is None or share(leanings[best]) >= POLICY.accept:
        return best if leanings[best] >= 0 else -1
    shown = [int(n) for n in np.argsort(-leanings)[: POLICY.candidates]]
    shown = [n for n in shown if share(leanings[n]) >= POLICY.reject]
    answer = asking.choose(text, [names[n].removeprefix("new: ") for n in shown]) if shown else ""
    return next((n for n in shown if names[n].removeprefix("new: ") == answer), -1)


def estimated(pieces: Sequence[Piece], held: Sequence[int], count: int) -> Topics:
    """From the pieces of each topic that a night would read of it."""
    own: dict[int, list[int]] = {}
    for place, topic in enumerate(held):
        own.setdefault(topic, []).append(place)
    read = sorted({p for places in own.values() for p in places[:FIRST] + places[-NEWEST:]})
    return Topics([pieces[p] for p in read], [held[p] for p in read], count)


def piece(text: str, vectors: dict[str, Vectors]) -> Piece:
    """A text that is its own label."""
    return Piece(vectors[text], tuple(content_words(text)))


def from_nothing(told: Stream, vectors: dict[str, Vectors]) -> list[str]:
    """Ours in a store in which nothing was filed before."""
    return ours(replace(told, known=()), vectors)


def nearest(told: Stream, vectors: dict[str, Vectors]) -> list[str]:
    """The nearest centre by the cosine of centred vectors, if it is near enough."""
    mean = np.mean([vectors[text] for text, _ in told.known], axis=0)
    sums: dict[str, Vectors] = {}
    for text, topic in told.known:
        sums[topic] = sums.get(topic, 0) + _unit(vectors[text] - mean)
    filed = []
    for text, _ in told.arriving:
        vector = _unit(vectors[text] - mean)
        centres = np.array(list(sums.values()))
        like = centres @ vector / np.linalg.norm(centres, axis=1)
        best = int(like.argmax())
        name = list(sums)[best] if like[best] >= CARRIED else f"new {len(sums)}"
        sums[name] = sums.get(name, 0) + vector
        filed.append(name)
    return filed


def at_random(told: Stream, _vectors: dict[str, Vectors]) -> list[str]:
    """A known topic or as many new ones, whatever the text."""
    drawn = random.Random(0)
    known = sorted(told.topics)
    names = known + [f"new {n}" for n in range(len(known))]
    return [drawn.choice(names) for _ in told.arriving]


def _unit(vector: Vectors) -> Vectors:
    unit: Vectors = vector / np.linalg.norm(vector)
    return unit


# ------------------------------------------------------------------ what is told


def averaged(runs: Sequence[Filed]) -> dict[str, object]:
    """Means of the seeds, and intervals over all texts."""
    figures: dict[str, object] = {
        key: float(np.mean([run.figures[key] for run in runs])) for key in FIGURES
    }
    return {**figures, "intervals": intervals(runs)}


def growth(topics: Sequence[str], filed: Sequence[str]) -> list[list[int]]:
    """Every so many texts: how many came, topics of two or more among them, and buckets of such."""
    return [
        [end, _pairs(topics[:end]), _pairs(filed[:end])]
        for end in range(NIGHT, len(topics) + 1, NIGHT)
    ]


def _pairs(names: Sequence[str]) -> int:
    return int((np.unique(names, return_counts=True)[1] > 1).sum())


def lines(rows: dict[str, dict[str, dict[str, object]]]) -> list[str]:
    """The Markdown table."""
    cost = any("prefill" in figures for sets in rows.values() for figures in sets.values())
    more = ["asked", "prefill", "decode"] if cost else []
    found = [
        "| | set | " + " | ".join([*FIGURES, *more]) + " |",
        "|---|---|" + "---|" * (len(FIGURES) + len(more)),
    ]
    for way, sets in rows.items():
        for name, figures in sets.items():
            cells = [_cell(key, figures) for key in (*FIGURES, *more)]
            found.append(f"| {way} | {name} | " + " | ".join(cells) + " |")
    return found


def _cell(key: str, figures: dict[str, object]) -> str:
    value = figures.get(key, 0.0)
    assert isinstance(value, float)
    told = f"{value:.0f}" if key in (*FIGURES[-3:], "prefill", "decode") else f"{value:.3f}"
    ranges = figures["intervals"]
    assert isinstance(ranges, dict)
    if key in ranges:
        low, high = ranges[key]
        told += f" [{low:.2f}, {high:.2f}]"
    return told


def write(rows: dict[str, dict[str, dict[str, object]]], model: str) -> None:
    """Figures into docs/quality/clustering.json, tables into docs/quality.md, and the curve."""
    kept = DOCS / "quality" / "clustering.json"
    told = json.loads(kept.read_text("utf-8")) if kept.exists() else {}
    told[model or "without a model"] = rows
    kept.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", "utf-8")
    tables = [line for of in told.values() for line in ["", *lines(of)]]
    page = DOCS / "quality.md"
    text = page.read_text("utf-8")
    before, after = text.partition(BEGIN)[0], text.partition(END)[2]
    page.write_text("\n".join([f"{before}{BEGIN}", *tables, "", f"{END}{after}"]), "utf-8")
    if not model:
        draw(rows, DOCS / "quality" / "clustering.png")


def draw(rows: dict[str, dict[str, dict[str, object]]], path: Path) -> None:
    """Buckets of two or more texts beside topics of two or more, as the stream goes on."""
    figure = Figure(figsize=(11, 4), layout="constrained")
    panels = figure.subplots(1, len(SETS))
    for panel, name in zip(panels, SETS, strict=True):
        for way, sets in rows.items():
            if way == "random":
                continue
            points = np.array(sets[name]["growth"])
            panel.plot(points[:, 0], points[:, 2], label=way)
        panel.plot(points[:, 0], points[:, 1], label="topics, in truth", color="black", linewidth=3)
        panel.set_title(f"{name}: {KNOWN_TEXTS} texts of half the topics known", fontsize=9)
        panel.set_xlabel("texts arrived", fontsize=8)
        panel.set_ylabel("buckets with two or more of them", fontsize=8)
        panel.set_ylim(bottom=0)
        panel.legend(fontsize=7)
    figure.savefig(path, dpi=90)


if __name__ == "__main__":
    main()
