"""How well the rules tell supported claims from damaged ones, on the labelled set.

    python benchmarks/support.py [--quick] [--model NAME] [--json FILE]

Each pair of fixtures/support is judged as the pipeline does: find the evidence among all messages
of the conversation, then check the claim against it. A claim that is let through is a positive:
precision is the share of true claims among those let through, recall the share of true claims let
through; of each kind of damage the share refused is printed. Balanced accuracy is the mean of
recall and of the share of damaged claims refused. All with Wilson 95 % intervals.

The batches differ in what they can show. "tuned" was there while the rules were written.
"held-out" and then "fresh" were written without a look at the rules and measured at once
(fixtures/support/first.json, printed as "first measured"): those figures are the honest ones.
The rules were mended after each.

--model: also asks the model "is it said there?" of what the rules let through.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pipeline.assemble import real_models
from pipeline.config import Config
from pipeline.policy import load_policy
from pipeline.prompts import Prompts
from pipeline.records import Message, Role
from pipeline.resources import folder
from pipeline.support import check, evidence
from pipeline.synthesis.entailment import entailed
from pipeline.text import content_words

FIXTURES = Path(__file__).parents[1] / "fixtures" / "support"
TRUE = "true"
QUICK = 60
_Z = 1.96


@dataclass(frozen=True, slots=True)
class Pair:
    """A claim about a conversation. kind: "true", or how it was damaged."""

    batch: str
    language: str
    kind: str
    claim: str
    messages: tuple[Message, ...]


Judge = Callable[[Sequence[Pair]], list[bool]]


@dataclass(frozen=True, slots=True)
class Share:
    """`right` of `count`, with its Wilson 95 % interval."""

    right: int
    count: int

    @property
    def value(self) -> float:
        """The share; 1.0 of nothing."""
        return self.right / self.count if self.count else 1.0

    def interval(self) -> tuple[float, float]:
        """Low and high end."""
        n, p = self.count, self.value
        if not n:
            return 0.0, 1.0
        middle = (p + _Z * _Z / (2 * n)) / (1 + _Z * _Z / n)
        half = _Z / (1 + _Z * _Z / n) * math.sqrt(p * (1 - p) / n + _Z * _Z / (4 * n * n))
        return middle - half, middle + half

    def row(self) -> dict[str, float]:
        """For JSON."""
        low, high = self.interval()
        return {"right": self.right, "count": self.count, "share": self.value,
                "low": low, "high": high}  # fmt: skip

    def __str__(self) -> str:
        low, high = self.interval()
        return f"{self.value:.3f} [{low:.2f}, {high:.2f}]"


def pairs(fixtures: Path = FIXTURES) -> list[Pair]:
    """Every labelled pair."""
    conversations = {row["id"]: row for row in _rows(fixtures / "conversations.jsonl")}
    return [
        Pair(
            row.get("batch", "tuned"),
            row.get("language", "en"),
            row["kind"],
            row["claim"],
            _messages(conversations[row["conversation"]]),
        )
        for row in _rows(fixtures / "pairs.jsonl")
    ]


def _rows(path: Path) -> Iterator[dict[str, str]]:
    return map(json.loads, path.read_text("utf-8").splitlines())


def _messages(row: dict[str, list[dict[str, str]]] | dict[str, str]) -> tuple[Message, ...]:
    told = row["messages"]
    assert isinstance(told, list)
    return tuple(
        Message(
            message_id=f"{row['id']}-{position}",
            conv="00000000",
            position=position,
            role=Role(said["role"]),
            at=datetime.fromisoformat(said["at"]),
            text=said["text"],
        )
        for position, said in enumerate(told)
    )


def by_rules(threshold: float) -> Judge:
    """The pipeline's own way."""

    def judge(labelled: Sequence[Pair]) -> list[bool]:
        return [check(pair.claim, cited(pair), threshold=threshold).supported for pair in labelled]

    return judge


def cited(pair: Pair) -> list[Message]:
    """The messages the claim is found to rest on."""
    found = set(evidence(pair.claim, pair.messages))
    return [message for message in pair.messages if message.position in found]


def by_model(name: str, threshold: float) -> Judge:
    """The rules, then the model on what they let through."""
    rules = by_rules(threshold)

    def judge(labelled: Sequence[Pair]) -> list[bool]:
        passed = rules(labelled)
        left = [pair for pair, passes in zip(labelled, passed, strict=True) if passes]
        model = real_models(Config(model=name)).model(lambda _call: None)
        said = iter(
            entailed(
                [(pair.claim, cited(pair)) for pair in left],
                model=model,
                prompts=Prompts(folder("prompts")),
            )
        )
        model.close()
        return [passes and next(said) for passes in passed]

    return judge


def by_overlap(threshold: float) -> Judge:
    """Words alone."""

    def one(pair: Pair) -> bool:
        said = {word for message in pair.messages for word in content_words(message.text)}
        mine = content_words(pair.claim)
        return sum(word in said for word in mine) >= threshold * len(mine)

    return lambda labelled: [one(pair) for pair in labelled]


def let_all_pass(labelled: Sequence[Pair]) -> list[bool]:
    """No check at all."""
    return [True] * len(labelled)


def shares(
    labelled: Sequence[Pair], passed: Sequence[bool], by: Callable[[Pair], tuple[str, ...]]
) -> dict[tuple[str, ...], Share]:
    """Of each group the share judged rightly: true claims let through, damaged ones refused."""
    right: dict[tuple[str, ...], int] = defaultdict(int)
    count: dict[tuple[str, ...], int] = defaultdict(int)
    for pair, passes in zip(labelled, passed, strict=True):
        count[by(pair)] += 1
        right[by(pair)] += passes == (pair.kind == TRUE)
    return {group: Share(right[group], count[group]) for group in sorted(count)}


def summary(labelled: Sequence[Pair], passed: Sequence[bool]) -> dict[str, Share | float]:
    """precision, recall, refused and balanced of one group of pairs."""
    whether = shares(labelled, passed, lambda pair: (str(pair.kind == TRUE),))
    recall = whether.get(("True",), Share(0, 0))
    refused = whether.get(("False",), Share(0, 0))
    through = Share(recall.right, recall.right + refused.count - refused.right)
    return {
        "precision": through,
        "recall": recall,
        "refused": refused,
        "balanced": (recall.value + refused.value) / 2,
    }


def _groups(
    labelled: Sequence[Pair], passed: Sequence[bool]
) -> Iterator[tuple[tuple[str, str], list[Pair], list[bool]]]:
    for key in sorted({(pair.batch, pair.language) for pair in labelled}):
        chosen = [
            (pair, passes)
            for pair, passes in zip(labelled, passed, strict=True)
            if (pair.batch, pair.language) == key
        ]
        yield key, [pair for pair, _ in chosen], [passes for _, passes in chosen]


def table(name: str, labelled: Sequence[Pair], passed: Sequence[bool]) -> Iterator[str]:
    """Lines of one judge: a row per batch and language."""
    for (batch, language), own, judged in _groups(labelled, passed):
        found = summary(own, judged)
        balanced = found.pop("balanced")
        yield (
            f"{name:15}{batch:10}{language:4}{len(own):5}"
            + "".join(f"  {share!s:20}" for share in found.values())
            + f"  {balanced:.3f}"
        )


def kinds(labelled: Sequence[Pair], passed: Sequence[bool]) -> Iterator[str]:
    """Lines of the rules: a row per kind, a column per batch and language."""
    groups = list(_groups(labelled, passed))
    yield f"{'kind':12}" + "".join(f"{batch + ' ' + lang:>26}" for (batch, lang), _, _ in groups)
    told = [shares(own, judged, lambda pair: (pair.kind,)) for _, own, judged in groups]
    for kind in sorted({kind for by_kind in told for (kind,) in by_kind}):
        cells = (by_kind.get((kind,)) for by_kind in told)
        shown = (f"{share.count:4} {share}" if share else "" for share in cells)
        yield f"{kind:12}" + "".join(f"{cell:>26}" for cell in shown)


def first_measured(fixtures: Path = FIXTURES) -> Iterator[str]:
    """Lines of what each later batch measured before any rule was mended after it."""
    for key, row in json.loads((fixtures / "first.json").read_text("utf-8")).items():
        batch, language = key.split("/")
        recall, refused = Share(*row["recall"]), Share(*row["refused"])
        through = Share(recall.right, recall.right + refused.count - refused.right)
        balanced = (recall.value + refused.value) / 2
        yield (
            f"{'first measured':15}{batch:10}{language:4}{row['pairs']:5}"
            + "".join(f"  {share!s:20}" for share in (through, recall, refused))
            + f"  {balanced:.3f}"
        )


def as_json(rows: Iterable[tuple[str, Sequence[Pair], Sequence[bool]]]) -> dict[str, object]:
    """judge → "batch/language" → figures, and the share of each kind."""
    found: dict[str, object] = {}
    for name, labelled, passed in rows:
        found[name] = {
            f"{batch}/{language}": {
                **{
                    key: share.row() if isinstance(share, Share) else share
                    for key, share in summary(own, judged).items()
                },
                "kinds": {
                    kind: share.row()
                    for (kind,), share in shares(own, judged, lambda p: (p.kind,)).items()
                },
            }
            for (batch, language), own, judged in _groups(labelled, passed)
        }
    return found


def main() -> None:
    """Print the tables and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--quick", action="store_true", help=f"every {QUICK // 6}th pair only")
    parser.add_argument("--model", help="ask this model too of what the rules let through")
    parser.add_argument("--batch", help="this batch alone")
    parser.add_argument("--json", type=Path, help="write the figures here")
    asked = parser.parse_args()
    labelled = [pair for pair in pairs() if asked.batch in (None, pair.batch)]
    labelled = labelled[:: QUICK // 6] if asked.quick else labelled
    threshold = load_policy().gate.support
    judges: dict[str, Judge] = {"rules": by_rules(threshold)}
    if asked.model:
        judges["rules + model"] = by_model(asked.model, threshold)
    judges |= {"word overlap": by_overlap(threshold), "let all pass": let_all_pass}
    rows = [(name, labelled, judge(labelled)) for name, judge in judges.items()]
    head = "".join(f"  {column:20}" for column in ("precision", "recall", "refused"))
    lines = [f"{len(labelled)} pairs, threshold {threshold}", ""]
    lines.append(f"{'judge':15}{'batch':10}{'':4}{'pairs':>5}{head}  balanced")
    for row in rows:
        lines += table(*row)
    lines += first_measured()
    lines += ["", "rules, by kind: pairs, share judged rightly", *kinds(*rows[0][1:])]
    sys.stdout.write("\n".join(lines) + "\n")
    if asked.json:
        asked.json.write_text(json.dumps(as_json(rows), indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
