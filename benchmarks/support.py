"""How well the rules tell supported claims from damaged ones, on the labelled set.

    python benchmarks/support.py [--quick] [--json FILE]

Each pair of fixtures/support is judged as the pipeline does: find the evidence among all messages
of the conversation, then check the claim against it. Beside it stand the trivial rows: letting
everything pass, and word overlap alone. Flat JSON: precision, recall, recall_<kind of fault>.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from pipeline.config import load_policy
from pipeline.records import Message, Role
from pipeline.support import check, evidence
from pipeline.text import content_words

FIXTURES = Path(__file__).parents[1] / "fixtures" / "support"
TRUE = "true"
QUICK = 60

Pair = tuple[str, str, list[Message]]
Judge = Callable[[str, Sequence[Message]], bool]


def pairs() -> list[Pair]:
    """Kind, claim and conversation of every labelled pair."""
    conversations = {}
    for line in (FIXTURES / "conversations.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        conversations[row["id"]] = [
            Message(
                message_id=f"{row['id']}-{position}",
                conv="00000000",
                position=position,
                role=Role(said["role"]),
                at=datetime.fromisoformat(said["at"]),
                text=said["text"],
            )
            for position, said in enumerate(row["messages"])
        ]
    rows = map(json.loads, (FIXTURES / "pairs.jsonl").read_text("utf-8").splitlines())
    return [(row["kind"], row["claim"], conversations[row["conversation"]]) for row in rows]


def by_rules(threshold: float) -> Judge:
    """The pipeline's own way."""

    def judge(claim: str, messages: Sequence[Message]) -> bool:
        found = set(evidence(claim, messages))
        cited = [message for message in messages if message.position in found]
        return check(claim, cited, threshold=threshold).supported

    return judge


def by_overlap(threshold: float) -> Judge:
    """Words alone."""

    def judge(claim: str, messages: Sequence[Message]) -> bool:
        said = {word for message in messages for word in content_words(message.text)}
        mine = content_words(claim)
        return sum(word in said for word in mine) >= threshold * len(mine)

    return judge


def figures(judge: Judge, labelled: Sequence[Pair]) -> dict[str, float]:
    """precision and recall of what passes; recall_<kind>: share of a kind of fault refused."""
    total: Counter[str] = Counter()
    passed: Counter[str] = Counter()
    for kind, claim, messages in labelled:
        total[kind] += 1
        passed[kind] += judge(claim, messages)
    found = {
        "precision": passed[TRUE] / max(1, passed.total()),
        "recall": passed[TRUE] / max(1, total[TRUE]),
    }
    for kind in sorted(set(total) - {TRUE}):
        found[f"recall_{kind}"] = 1 - passed[kind] / total[kind]
    return found


def main() -> None:
    """Print the table and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--quick", action="store_true", help=f"the first {QUICK} pairs only")
    parser.add_argument("--json", type=Path, help="write the figures here")
    asked = parser.parse_args()
    labelled = pairs()[: QUICK if asked.quick else None]
    threshold = load_policy().gate.support
    rows = {
        "rules": figures(by_rules(threshold), labelled),
        "word overlap": figures(by_overlap(threshold), labelled),
        "let all pass": figures(lambda _claim, _messages: True, labelled),
    }
    lines = [f"{len(labelled)} pairs, threshold {threshold}", ""]
    lines.append(f"{'':20}" + "".join(f"{name:>14}" for name in rows))
    for key in rows["rules"]:
        lines.append(f"{key:20}" + "".join(f"{row[key]:14.3f}" for row in rows.values()))
    sys.stdout.write("\n".join(lines) + "\n")
    if asked.json:
        asked.json.write_text(json.dumps(rows["rules"], indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
