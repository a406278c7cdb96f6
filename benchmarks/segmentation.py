"""Where topics change: ours beside trivial ways and TextTiling, on public dialogues.

    python benchmarks/segmentation.py [--quick] [--model NAME --sample N] [--write] [--json FILE]
    python benchmarks/segmentation.py --fit

What is measured is the pipeline's own code under its own policy, one for all sets. "random" knows
how many boundaries there are. TextTiling gets our stop words. Intervals are the bootstrap's 95 % of
the Score, over dialogues.

--model: a row that asks this model at the places of which ours is unsure, over the first N of each
set (--sample), beside ours over the same. --fit: learn [chunk.cuts] of policy.toml again, from the
sets marked for tuning alone, and print it. --write: the table into docs/quality.md, the figures
into docs/quality/segmentation.json. --quick: every 20th dialogue.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from nltk.tokenize.texttiling import TextTilingTokenizer  # type: ignore[import-untyped]

from benchmarks.segmentation_asking import Asking
from benchmarks.segmentation_data import (
    DATA,
    METRICS,
    TEST,
    Dialogue,
    Figures,
    Remembered,
    dialogues,
    interval,
    mean,
    scored,
)
from benchmarks.segmentation_fit import fit
from pipeline.assemble import real_models
from pipeline.config import Config
from pipeline.models import Embedder
from pipeline.policy import load_policy
from pipeline.segmentation import segments
from pipeline.text import content_words

DOCS = Path(__file__).parents[1] / "docs"
BEGIN, END = "<!-- segmentation -->", "<!-- /segmentation -->"
POLICY = load_policy().chunk
EVENLY = 4  # turns: the mean segment of the sets for tuning
OURS, BY_WORDS = "ours, MiniLM", "ours, words alone"
QUICK = 20

Cut = Callable[[Dialogue], list[int]]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help=f"every {QUICK}th dialogue only")
    parser.add_argument("--model", help="a row for this model at unsure places")
    parser.add_argument(
        "--sample", type=int, default=30, help="dialogues of a set it is asked about"
    )
    parser.add_argument("--fit", action="store_true", help="learn the policy's weights again")
    parser.add_argument("--write", action="store_true", help="into docs/quality.md")
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    asked = parser.parse_args()
    if not DATA.is_dir():
        sys.exit(f"The dialogues are not here: {DATA} (public, never part of this repository)")
    found = real_models(Config()).embedder
    embedder = Remembered(found) if found else None
    if asked.fit:
        if embedder is None:
            sys.exit("The weights are learnt with the embedder: run `memory model fetch minilm`.")
        print(fit(embedder, POLICY))
        return
    sets = {name: dialogues(file)[:: QUICK if asked.quick else 1] for name, file in TEST.items()}
    if embedder:
        for name, file in TEST.items():
            embedder.read(sets[name] if asked.quick else dialogues(file))
    rows = {name: _scored(sets, cut) for name, cut in _cuts(embedder).items()}
    costs: dict[str, str] = {}
    if asked.model and embedder:
        some = {name: held[: asked.sample] for name, held in sets.items()}
        asking = Asking(asked.model, embedder, POLICY)
        rows[f"{OURS}, the first {asked.sample}"] = _scored(some, _ours(embedder))
        name = f"the same and {asked.model} where unsure"
        rows[name] = _scored(some, asking.cut)
        costs[name] = asking.cost()
    lines = list(table(rows, costs))
    print("\n".join(lines))
    figures = as_json(rows)
    if asked.write:
        write(DOCS / "quality.md", lines)
        _save(DOCS / "quality" / "segmentation.json", figures)
    if asked.json:
        _save(asked.json, figures)


def _scored(sets: dict[str, list[Dialogue]], cut: Cut) -> dict[str, list[Figures]]:
    return {name: scored(held, cut) for name, held in sets.items()}


# ------------------------------------------------------------------ ways to cut


def _cuts(embedder: Embedder | None) -> dict[str, Cut]:
    chance = random.Random(0)
    found: dict[str, Cut] = {
        "no cut": lambda _dialogue: [],
        "random": lambda dialogue: _random(dialogue, chance),
        "even": lambda dialogue: list(range(EVENLY, len(dialogue.turns), EVENLY)),
        "nltk TextTiling": _tiling,
        BY_WORDS: _ours(None),
    }
    if embedder:
        found[f"**{OURS}**"] = _ours(embedder)
    return found


def _random(dialogue: Dialogue, chance: random.Random) -> list[int]:
    places = range(1, len(dialogue.turns))
    return sorted(chance.sample(places, min(len(places), len(dialogue.boundaries))))


def _tiling(dialogue: Dialogue) -> list[int]:
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


def _ours(embedder: Embedder | None) -> Cut:
    return lambda dialogue: [
        first for first, _ in segments(dialogue.turns, embedder, POLICY) if first
    ]


# ------------------------------------------------------------------ what is told


def table(rows: dict[str, dict[str, list[Figures]]], costs: dict[str, str]) -> list[str]:
    """Pk / WindowDiff / F1 / Score and the interval of the Score, a column a set."""
    names = list(TEST)
    lines = [
        "| Pk / WindowDiff / F1 / **Score** [95 %] | " + " | ".join(names)
        + " | tokens per 1,000 of transcript: decoded, read |",
        "|---" * (len(names) + 2) + "|",
    ]  # fmt: skip
    for name, held in rows.items():
        cells = [_cell(held[each]) for each in names]
        lines.append(f"| {name} | " + " | ".join(cells) + f" | {costs.get(name, '0, 0')} |")
    return lines


def _cell(rows: Sequence[Figures]) -> str:
    low, high = interval(rows)
    missed, differ, f1, score = (f"{figure:.3f}".lstrip("0") for figure in mean(rows))
    ends = f"{low:.3f}".lstrip("0"), f"{high:.3f}".lstrip("0")
    return f"{missed}/{differ}/{f1 or '0'}/**{score}** [{ends[0]}, {ends[1]}]"


def as_json(rows: dict[str, dict[str, list[Figures]]]) -> dict[str, float]:
    """Flat: of the best row without a model the plain keys, of every row those with its name."""
    found: dict[str, float] = {}
    for name, held in rows.items():
        for each, some in held.items():
            keys = [f"{each}_{metric}" for metric in METRICS]
            figures = [round(figure, 4) for figure in mean(some)]
            found |= {f"{name.strip('*')}: {k}": v for k, v in zip(keys, figures, strict=True)}
            if name == f"**{OURS}**":
                found |= dict(zip(keys, figures, strict=True))
    return found


def write(page: Path, lines: Sequence[str]) -> None:
    """Put the table between its marks."""
    before, _, rest = page.read_text("utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n" + "\n".join(lines) + f"\n{END}{after}", "utf-8")


def _save(path: Path, figures: dict[str, float]) -> None:
    path.write_text(json.dumps(figures, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
