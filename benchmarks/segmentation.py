"""Where topics change: ours beside trivial ways and TextTiling, on public dialogues, and its cost.

    python benchmarks/segmentation.py [--only cut|models|tokens …] [--models NAME …] [--sample N]
                                      [--quick] [--write] [--json FILE]
    python benchmarks/segmentation.py --fit

What is measured is the pipeline's own code under its own policy, one for all sets. Intervals are
the bootstrap's 95 %, over dialogues.

cut     every dialogue of the test sets. "random" knows how many boundaries there are. nltk's
        TextTiling gets our stop words; the one over turns is tuned on the sets marked for it.
models  these models asked at the places of which ours is unsure, over N dialogues spread over each
        set, beside ours over the same.
tokens  the whole stage over sample transcripts, in the tokens of the first of the models; and with
        its own answers over a few of them.

--fit: learn [chunk.cuts] of policy.toml and the rivals' settings again, from the sets marked for
tuning alone, and print them. --write: tables into docs/quality.md, figures into
docs/quality/segmentation.json. --quick: every 20th dialogue, and no model's own answers.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from benchmarks import segmentation_tiling as tiling
from benchmarks import segmentation_tokens as tokens
from benchmarks.segmentation_asking import Asking
from benchmarks.segmentation_data import (
    DATA,
    METRICS,
    TEST,
    Dialogue,
    Figures,
    Remembered,
    bootstrapped,
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
from pipeline.segmentation import segments, word_vectors

DOCS = Path(__file__).parents[1] / "docs"
FIGURES = DOCS / "quality" / "segmentation.json"
CUT, MODELS, TOKENS = PARTS = ("cut", "models", "tokens")
POLICY = load_policy().chunk
EVENLY = 4  # turns: the mean segment of the sets for tuning
OURS, BY_WORDS = "ours, MiniLM", "ours, words alone"
QUICK = 20
REAL = (2, 300)  # of each kind of transcript so many, of so many tokens at most

Cut = Callable[[Dialogue], list[int]]
Sets = Mapping[str, list[Dialogue]]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--models", nargs="+", default=["smollm2-135m"])
    parser.add_argument("--sample", type=int, default=20, help="dialogues of a set they are asked")
    parser.add_argument("--quick", action="store_true", help=f"every {QUICK}th dialogue only")
    parser.add_argument("--fit", action="store_true", help="learn weights and settings again")
    parser.add_argument("--write", action="store_true", help="into docs/quality.md")
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    asked = parser.parse_args()
    if not DATA.is_dir():
        sys.exit(f"The dialogues are not here: {DATA} (public, never part of this repository)")
    found = real_models(Config()).embedder
    embedder = Remembered(found) if found else None
    if embedder is None and (asked.fit or MODELS in asked.only):
        sys.exit("This goes by the embedder: run `memory model fetch minilm`.")
    if asked.fit and embedder:
        print(fit(embedder, POLICY))
        print(tiling.tuned(embedder))
        return
    sets = {name: dialogues(file)[:: QUICK if asked.quick else 1] for name, file in TEST.items()}
    if embedder and (CUT in asked.only or MODELS in asked.only):
        for name, file in TEST.items():
            embedder.read(sets[name] if asked.quick else dialogues(file))
    figures: dict[str, float] = {}
    for part in asked.only:
        if part == CUT:
            rows = {name: _scored(sets, cut) for name, cut in _cuts(embedder).items()}
            lines, new = table(rows), as_json(rows)
        elif part == MODELS and embedder:
            some = {name: _spread(held, asked.sample) for name, held in sets.items()}
            lines, new = _asked(some, asked.models, embedder)
        else:
            lines, new = _spent(asked.models[0], real=not asked.quick)
        print("\n".join(lines), flush=True)
        figures |= new
        if asked.write:
            write(DOCS / "quality.md", part, lines)
            _save(FIGURES, _others(part) | new)
    if asked.json:
        _save(asked.json, figures)


def _spread(held: list[Dialogue], number: int) -> list[Dialogue]:
    return held[:: max(1, len(held) // number)][:number]


def _scored(sets: Sets, cut: Cut) -> dict[str, list[Figures]]:
    return {name: scored(held, cut) for name, held in sets.items()}


# ------------------------------------------------------------------ ways to cut


def _cuts(embedder: Embedder | None) -> dict[str, Cut]:
    chance = random.Random(0)
    found: dict[str, Cut] = {
        "no cut": lambda _dialogue: [],
        "random": lambda dialogue: _random(dialogue, chance),
        "even": lambda dialogue: list(range(EVENLY, len(dialogue.turns), EVENLY)),
        "nltk TextTiling": tiling.by_nltk,
        "TextTiling over turns, words, tuned": tiling.over_turns(word_vectors, tiling.WORDS),
        BY_WORDS: _ours(None),
    }
    if embedder:
        found["TextTiling over turns, MiniLM, tuned"] = tiling.over_turns(
            tiling.meaning(embedder), tiling.MEANING
        )
        found[f"**{OURS}**"] = _ours(embedder)
    return found


def _random(dialogue: Dialogue, chance: random.Random) -> list[int]:
    places = range(1, len(dialogue.turns))
    return sorted(chance.sample(places, min(len(places), len(dialogue.boundaries))))


def _ours(embedder: Embedder | None) -> Cut:
    return lambda dialogue: [
        first for first, _ in segments(dialogue.turns, embedder, POLICY) if first
    ]


# ------------------------------------------------------------------ what is told


def table(rows: Mapping[str, Mapping[str, list[Figures]]]) -> list[str]:
    """Pk / WindowDiff / F1 / Score and the interval of the Score, a column a set."""
    names = list(TEST)
    lines = [
        "| Pk / WindowDiff / F1 / **Score** [95 %] | " + " | ".join(names)
        + " | tokens per 1,000 of transcript: decoded, read |",
        "|---" * (len(names) + 2) + "|",
    ]  # fmt: skip
    for name, held in rows.items():
        lines.append(f"| {name} | " + " | ".join(_cell(held[each]) for each in names) + " | 0, 0 |")
    return lines


def _asked(
    some: Sets, models: Sequence[str], embedder: Embedder
) -> tuple[list[str], dict[str, float]]:
    """Ours over a sample, and the same with each model asked; and what that changes."""
    ours = _scored(some, _ours(embedder))
    lines, figures = table({OURS: ours}), as_json({f"{OURS}, sample": ours})
    for model in models:
        asking = Asking(model, embedder, POLICY)
        rows = _scored(some, asking.cut)
        asking.close()
        cells = [f"{_cell(rows[each])}; {_difference(rows[each], ours[each])}" for each in TEST]
        decoded, read = asking.cost()
        lines.append(
            f"| and {model} where unsure | " + " | ".join(cells) + f" | {decoded:.0f}, {read:.0f} |"
        )
        figures |= as_json({f"{OURS}, sample, {model}": rows})
        figures |= {f"{model}: decoded per 1000": decoded, f"{model}: read per 1000": read}
    return lines, {f"{MODELS}: {name}": round(value, 4) for name, value in figures.items()}


def _spent(model: str, *, real: bool) -> tuple[list[str], dict[str, float]]:
    """What the whole stage costs, by kind of transcript."""
    rows = tokens.counted(model)
    if real:
        rows |= tokens.real(model, *REAL)
    lines = [
        "| transcripts | conversations | messages | tokens | chunks | decoded per chunk | read, of "
        "the transcript | with kept beginnings | decoded, read per 1,000 |",
        "|---" * 9 + "|",
    ]
    figures: dict[str, float] = {}
    for kind, spent in rows.items():
        of = spent.figures()
        lines.append(
            f"| {kind} | {spent.conversations} | {spent.messages:,} | {spent.transcript:,} | "
            f"{spent.chunks} | {of['decoded per chunk']:.1f} | {of['read per token']:.2f} | "
            f"{of['prompt per token']:.2f} | {of['decoded per 1000']:.0f}, "
            f"{of['read per 1000']:,.0f} |"
        )
        figures |= {f"{TOKENS}: {kind}: {name}": round(value, 4) for name, value in of.items()}
    return lines, figures


def _cell(rows: Sequence[Figures]) -> str:
    low, high = interval(rows)
    missed, differ, f1, score = (_short(figure) for figure in mean(rows))
    return f"{missed}/{differ}/{f1}/**{score}** [{_short(low)}, {_short(high)}]"


def _difference(rows: Sequence[Figures], others: Sequence[Figures]) -> str:
    """Of the Scores, dialogue by dialogue."""
    gained = [one[3] - other[3] for one, other in zip(rows, others, strict=True)]
    low, high = bootstrapped(gained)
    return f"{sum(gained) / len(gained):+.3f} [{low:+.3f}, {high:+.3f}]"


def _short(figure: float) -> str:
    return f"{figure:.3f}".lstrip("0")


def as_json(rows: Mapping[str, Mapping[str, list[Figures]]]) -> dict[str, float]:
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


def write(page: Path, part: str, lines: Sequence[str]) -> None:
    """Put the table of a part between its marks."""
    begin, end = f"<!-- segmentation: {part} -->", f"<!-- /segmentation: {part} -->"
    before, _, rest = page.read_text("utf-8").partition(begin)
    _, _, after = rest.partition(end)
    page.write_text(f"{before}{begin}\n" + "\n".join(lines) + f"\n{end}{after}", "utf-8")


def _others(part: str) -> dict[str, float]:
    """The figures written before, of the other parts."""
    known: dict[str, float] = json.loads(FIGURES.read_text("utf-8")) if FIGURES.is_file() else {}
    parts = {key: next((p for p in PARTS if key.startswith(f"{p}: ")), CUT) for key in known}
    return {key: value for key, value in known.items() if parts[key] != part}


def _save(path: Path, figures: Mapping[str, float]) -> None:
    path.write_text(json.dumps(figures, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
