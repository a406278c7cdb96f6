"""What a whole night costs in time and tokens, beside another way to do the same work.

    python benchmarks/pipeline_cost.py [--models NAME …] [--only PART …] [--quick] [--json FILE]
                                       [--write]

It is not called pipeline.py: `import pipeline` would find it in the place of the package, from
every benchmark that is run as a script.

night   a night with real models over a bounded, seeded choice of the sample transcripts: how much
        of it is the language model's, by its own accounting and with its loading; where the rest
        goes; tokens by stage. Small models state little that can be folded, so no figure for each
        claim is drawn from it.
nights  thirty nights of the simulated world, whose model answers as a good one would, in the
        tokens of a real tokenizer, beside the reference of pipeline_reference.py. Needs no model
        but its tokenizer, and gives the same figures on every machine.
samples the same beside the reference for the sample transcripts, whole, one a night, with a model
        that quotes them (pipeline_quoting.py).
giant   a conversation of 400,000 tokens, and a message of 200,000, with the real models for some
        minutes each (--minutes), and the peaks of memory of the run's and of the model's process.

--write puts the tables into docs/performance.md and the figures into docs/performance.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import pipeline_giant as giant
from benchmarks import pipeline_samples as samples
from benchmarks.nights_model import WorldModel
from benchmarks.nights_run import House
from benchmarks.nights_world import World, make
from benchmarks.pipeline_counting import Counting
from benchmarks.pipeline_quoting import QuotingModel
from benchmarks.pipeline_reference import AT_ONCE, PARTS, PARTS_AT_ONCE, asked
from benchmarks.pipeline_run import Ran, home_config, night, tokenizer
from pipeline.assemble import Models
from pipeline.config import Config, load_config
from pipeline.store.runs import Cost

DOCS = Path(__file__).parents[1] / "docs"
FIGURES = DOCS / "performance" / "pipeline.json"
BEGIN, END = "<!-- pipeline: written by benchmarks/pipeline_cost.py -->", "<!-- pipeline: end -->"
_MODELS = ("smollm2-135m",)
_NIGHT, _NIGHTS, _SAMPLES, _GIANT = "night", "nights", "samples", "giant"
_PARTS = (_NIGHT, _NIGHTS, _SAMPLES, _GIANT)
_DECODE, _DECODE_AT_ONCE = "decode", "decode, rewrites at once"
_SHORT = "in short"
_READ_BY_OTHERS = ("model_time_share", "decode_tokens_per_1000", "prefill_tokens_per_1000")
_AGES = (10, 20, 30)  # nights after which the two ways are compared

Figures = dict[str, float]


def main() -> None:
    """Print the tables and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--models", nargs="+", default=list(_MODELS))
    parser.add_argument("--only", nargs="+", choices=_PARTS)
    parser.add_argument("--conversations", type=int, default=4, help="of the night")
    parser.add_argument("--tokens", type=int, default=1000, help="of each of them at most")
    parser.add_argument("--minutes", type=float, default=10.0, help="for each giant")
    parser.add_argument("--quick", action="store_true", help="two short conversations, no giant")
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    parser.add_argument("--write", action="store_true", help="into docs/performance.md")
    parser.add_argument("--one", nargs=2, metavar=("KIND", "HOME"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        _one(given.one[0], Path(given.one[1]), given.models[0])
        return
    only = given.only or (_PARTS[:-1] if given.quick else _PARTS)
    number, most = (2, 300) if given.quick else (given.conversations, given.tokens)
    found: Figures = {}
    if _NIGHT in only:
        for model in given.models:
            found |= _show(_night(model, number, most))
        first = given.models[0]
        found |= {name: found[f"{first}: {name}"] for name in _READ_BY_OTHERS}
    if _NIGHTS in only:
        found |= _show(_nights(given.models[0]))
    if _SAMPLES in only:
        found |= _show(_quoted(given.models[0]))
    if _GIANT in only:
        found |= _show(_giants(given.models[0], given.minutes))
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n")
    if given.write:
        _write(found)


def _show(figures: Figures) -> Figures:
    for name, value in figures.items():
        sys.stdout.write(f"{name:<56} {value:>12,.3f}\n")
    sys.stdout.flush()
    return figures


# ------------------------------------------------------------------ a night with real models


def _night(model: str, number: int, most: int) -> Figures:
    count = tokenizer(load_config(), model)
    sample = samples.chosen(number, most, count)
    told = sum(count(text) for said in sample.conversations for _, text in said)
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        ran = night(home_config(home, model, samples.write(home, sample)))
    if ran.status not in ("done", "partial"):
        raise SystemExit(f"the night was {ran.status}: {ran.results.as_json()}")
    return {f"{model}: {name}": value for name, value in _night_figures(ran, told).items()}


def _night_figures(ran: Ran, told: int) -> Figures:
    waited = ran.clock.waited
    asking = {"accounted": ran.computed, "loading": waited["loading"]}
    costs = {**_costs(ran.costs)}
    return {
        "conversations": ran.results.counts["conversations"],
        "messages": ran.results.counts["messages"],
        "transcript tokens": told,
        "chunks": ran.results.counts["chunks"],
        "claims proposed": ran.results.counts["claims"],
        "claims kept": ran.results.counts["claims"] - ran.results.counts["unsupported"],
        "claims folded": ran.claims,
        "run, s": ran.wall,
        "model: computing, s": asking["accounted"],
        "model: loading, s": asking["loading"],
        "model: between the processes, s": ran.model_time - sum(asking.values()),
        "embedder: loading, s": waited["loading the embedder"],
        "embedder: computing, s": waited["embed"],
        **{f"rest of {stage}, s": spent for stage, spent in ran.clock.own.items()},
        "model_time_share": (sum(asking.values()) + ran.embedding) / ran.wall,
        "model_time_share without the embedder": sum(asking.values()) / ran.wall,
        "decode_tokens_per_1000": 1000 * costs["decode"] / told,
        "prefill_tokens_per_1000": 1000 * costs["read"] / told,
        "prompt tokens per 1000, kept beginnings too": 1000 * costs["prompt"] / told,
        **{f"{n} per 1000": 1000 * v / told for n, v in costs.items() if ": " in n},
        "claims cut at the cap": sum(cost.cut for cost in ran.costs),
    }


def _costs(costs: Sequence[Cost]) -> Counter[str]:
    """Tokens in all and by stage. read: of the prompts, what did not come from a kept beginning."""
    found: Counter[str] = Counter()
    for cost in costs:
        for of in ("", f"{cost.stage}: "):
            found[f"{of}decode"] += cost.output_tokens
            found[f"{of}read"] += cost.prompt_tokens - cost.cached_tokens
            found[f"{of}prompt"] += cost.prompt_tokens
    return found


# ------------------------------------------------------------------ thirty nights, counted


@dataclass(slots=True)
class _Ways:
    """Decode tokens so far of both ways."""

    ours: int
    reference: Counter[str]
    claims: int
    told: int


def _nights(model: str) -> Figures:
    world = make(nights=_AGES[-1])
    counting = Counting(WorldModel(world), model)
    ours, claims = 0, 0
    ways = [_Ways(0, Counter(), 0, 0)]
    with tempfile.TemporaryDirectory() as place:
        house = House(Path(place), world, Models(counting.opened, None))
        for day in range(1, world.nights + 1):
            house.write(range(1, day + 1))
            ran = house.night(day)
            ours += int(ran.spent["output_tokens"])
            claims += len(ran.claims)
            if day in _AGES:
                told = _told(world, day, counting)
                ways.append(_Ways(ours, _reference(house.config, counting), claims, told))
    found = _figures(_NIGHTS, ways[-1])
    for before, after, first, age in zip(ways, ways[1:], (0, *_AGES), _AGES, strict=False):
        gained = after.reference[_DECODE] - before.reference[_DECODE]
        found[f"nights: reference ÷ ours, nights {first + 1} to {age}"] = gained / (
            after.ours - before.ours
        )
    return found


def _told(world: World, nights: int, counting: Counting) -> int:
    """Tokens of all that was said until then."""
    seen = [max((talk.shown(day) for day in range(1, nights + 1)), key=len) for talk in world.talks]
    return sum(counting.count(line.text) for lines in seen for line in lines)


def _quoted(model: str) -> Figures:
    """A night for each sample transcript, whole."""
    sample = samples.chosen(sys.maxsize, sys.maxsize, tokenizer(load_config(), model))
    counting = Counting(QuotingModel(sample.conversations), model)
    models = Models(counting.opened, None)
    ours, claims = 0, 0
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        config = home_config(home, model, samples.write(home, sample))
        for number in range(len(sample.conversations)):
            ran = night(config, models, at=samples.night_of(number))
            if ran.status != "done":
                raise SystemExit(f"a night was {ran.status}: {ran.results.as_json()}")
            ours += sum(cost.output_tokens for cost in ran.costs)
            claims += ran.claims
        told = sum(counting.count(text) for said in sample.conversations for _, text in said)
        return _figures(_SAMPLES, _Ways(ours, _reference(config, counting), claims, told))


def _reference(config: Config, counting: Counting) -> Counter[str]:
    """Decode tokens by part, and in all as the reference works and with rewriting at once."""
    found: Counter[str] = Counter()
    for one in asked(config, counting.count):
        found[one.part] += counting.count(one.reply)
    found[_DECODE] = sum(found[part] for part in PARTS)
    found[_DECODE_AT_ONCE] = sum(found[part] for part in PARTS_AT_ONCE)
    return found


def _figures(name: str, last: _Ways) -> Figures:
    return {
        f"{name}: claims folded": last.claims,
        f"{name}: transcript tokens": last.told,
        f"{name}: decode tokens per claim": last.ours / last.claims,
        f"{name}: decode tokens per 1000": 1000 * last.ours / last.told,
        **{f"{name}: reference, {part}, decode tokens": last.reference[part] for part in PARTS},
        f"{name}: reference, {AT_ONCE}, decode tokens": last.reference[AT_ONCE],
        f"{name}: reference, decode tokens per claim": last.reference[_DECODE] / last.claims,
        f"{name}: reference, decode tokens per 1000": 1000 * last.reference[_DECODE] / last.told,
        f"{name}: reference ÷ ours": last.reference[_DECODE] / last.ours,
        f"{name}: reference with one rewriting a night ÷ ours": (
            last.reference[_DECODE_AT_ONCE] / last.ours
        ),
    }


# ------------------------------------------------------------------ giants


def _giants(model: str, minutes: float) -> Figures:
    found: Figures = {}
    for kind in (giant.CONVERSATION, giant.MESSAGE):
        with tempfile.TemporaryDirectory() as place:
            seen = giant.watch(giant.command(__file__, kind, Path(place), model), minutes)
        told = json.loads(seen.said)
        found |= {
            f"giant {kind}: tokens": told["tokens"],
            f"giant {kind}: peak of the run, MB": seen.run_mb,
            f"giant {kind}: peak of the model, MB": seen.model_mb,
            f"giant {kind}: seconds": seen.seconds,
            f"giant {kind}: ended by itself": float(seen.ended),
            f"giant {kind}: chunks": told["chunks"],
            f"giant {kind}: model calls": told["calls"],
        }
    return found


def _one(kind: str, home: Path, model: str) -> None:
    """A night over one giant, in this very process."""
    size = giant.write(kind, home)
    roots = {"claude-code": [str(home / ".claude" / "projects")]}
    ran = night(home_config(home, model, roots))
    calls = sum(cost.calls for cost in ran.costs)
    told = {"tokens": size, "chunks": ran.results.counts["chunks"], "calls": calls}
    sys.stdout.write(f"{json.dumps(told)}\n")


# ------------------------------------------------------------------ the document


def _write(found: Mapping[str, float]) -> None:
    """The figures beside those of parts that were not run, and the tables made of them all."""
    before: Figures = json.loads(FIGURES.read_text()) if FIGURES.is_file() else {}
    known = {**before, **found}
    FIGURES.write_text(json.dumps(known, indent=1) + "\n")
    page = DOCS / "performance.md"
    text = page.read_text(encoding="utf-8")
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    tables = "\n".join(_tables(known))
    page.write_text(f"{head}{BEGIN}\n\n{tables}\n{END}{tail}", encoding="utf-8")


def _tables(known: Mapping[str, float]) -> Iterator[str]:
    groups: dict[str, list[tuple[str, float]]] = {}
    for name, value in known.items():
        groups.setdefault(_group(name), []).append((name, value))
    for group, rows in sorted(groups.items(), key=lambda pair: pair[0] != _SHORT):
        yield f"| {group} | |\n|---|---|"
        for name, value in rows:
            yield f"| {name.removeprefix(f'{group}: ')} | {_shown(value)} |"
        yield ""


def _group(name: str) -> str:
    return name.partition(": ")[0] if ": " in name else _SHORT


def _shown(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.2f}"


if __name__ == "__main__":
    main()
