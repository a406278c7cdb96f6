"""Whether the gate stops damage and lets good writes through, on the corpus of gate_corpus.

    python benchmarks/gate.py [--json FILE]

The corpus is made from fixtures/vaults: legitimate writes by the pipeline's own surgery from true
news, damage by mutators over those writes, by drafts that lie, and by hand. A damaging write counts
as accepted if it is neither refused nor held, and as missed too if it had to be refused and was
only held; a legitimate one counts as refused if it is refused or held. Exit code 1 if any damage is
accepted or missed, or more than 2 % of legitimate writes are refused.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.gate_corpus.addressed import addressed
from benchmarks.gate_corpus.amounts import amounts
from benchmarks.gate_corpus.cases import Case, Expected
from benchmarks.gate_corpus.claimed import claimed, lied_about
from benchmarks.gate_corpus.creations import creations
from benchmarks.gate_corpus.hostile import hostile
from benchmarks.gate_corpus.legitimate import legitimate
from benchmarks.gate_corpus.textual import textual
from pipeline.gates import DOUBTS, GATES, Write
from pipeline.policy import GatePolicy, load_policy

MOST_REFUSED = 0.02  # of the legitimate writes
_CONFIDENCE = 0.95


@dataclass(frozen=True)
class Outcome:
    """A case and the names of the gates that had something against it."""

    case: Case
    refused_by: tuple[str, ...]
    doubted_by: tuple[str, ...]
    reasons: tuple[str, ...]

    @property
    def stopped(self) -> bool:
        """Whether it would not simply be written."""
        return bool(self.refused_by or self.doubted_by)

    @property
    def wrong(self) -> bool:
        """Whether the gate did not do what the case expects."""
        match self.case.expected:
            case Expected.PASS:
                return self.stopped
            case Expected.REFUSED:
                return not self.refused_by
        return not self.stopped


def damaging() -> Iterator[Case]:
    """Every damaging write of the corpus."""
    for make in (textual, claimed, lied_about, hostile, addressed, amounts, creations):
        yield from make()


def outcome(case: Case, policy: GatePolicy) -> Outcome:
    """What each gate says to one case."""
    write = Write(case.before, case.after, case.draft, policy, case.context)
    refused = {gate.__name__: gate(write) for gate in GATES}
    doubts = {gate.__name__: gate(write) for gate in DOUBTS}
    return Outcome(
        case,
        tuple(name for name, reasons in refused.items() if reasons),
        tuple(name for name, reasons in doubts.items() if reasons),
        tuple(reason for found in (refused, doubts) for rs in found.values() for reason in rs),
    )


def outcomes() -> list[Outcome]:
    """The whole corpus judged, legitimate writes first."""
    policy = load_policy().gate
    return [outcome(case, policy) for case in (*legitimate(), *damaging())]


def highest_share(count: int, of: int) -> float:
    """The Clopper-Pearson upper bound: the largest share under which `count` or fewer of `of`
    would still be seen in 5 % of samples."""
    low, high = count / of, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if _at_most(count, of, middle) > 1 - _CONFIDENCE:
            low = middle
        else:
            high = middle
    return high


def _at_most(count: int, of: int, share: float) -> float:
    """The probability of `count` or fewer among `of`, each with this probability."""
    if count >= of:
        return 1.0
    term = (1 - share) ** of
    total = term
    for k in range(count):
        term *= (of - k) / (k + 1) * share / (1 - share)
        total += term
    return total


def figures(judged: Sequence[Outcome]) -> dict[str, object]:
    """What goes to the JSON: totals, shares, bounds, and a row per kind."""
    good = [one for one in judged if one.case.expected is Expected.PASS]
    bad = [one for one in judged if one.case.expected is not Expected.PASS]
    accepted = sum(not one.stopped for one in bad)
    missed = sum(one.wrong for one in bad)
    refused = sum(one.wrong for one in good)
    return {
        "damaging": len(bad),
        "damaging_accepted": accepted,
        "damaging_held_that_had_to_be_refused": missed - accepted,
        "damaging_accepted_at_most": highest_share(accepted, len(bad)),
        "legitimate": len(good),
        "legitimate_refused": refused,
        "legitimate_refused_share": refused / len(good),
        "legitimate_refused_at_most": highest_share(refused, len(good)),
        "reached": not missed and refused <= MOST_REFUSED * len(good),
        "kinds": {
            f"{sort}: {kind}": _row([one for one in some if one.case.kind == kind])
            for sort, some in (("legitimate", good), ("damaging", bad))
            for kind in dict.fromkeys(one.case.kind for one in some)
        },
    }


def _row(some: Sequence[Outcome]) -> dict[str, object]:
    said = Counter(name for one in some for name in (*one.refused_by, *one.doubted_by))
    return {
        "count": len(some),
        "stopped": sum(one.stopped for one in some),
        "wrong": sum(one.wrong for one in some),
        "said_so": dict(said.most_common()),
    }


def table(judged: Sequence[Outcome]) -> str:
    """The rows per kind and the totals, the last lines."""
    lines = []
    for title, passing in (("legitimate", True), ("damaging", False)):
        some = [one for one in judged if (one.case.expected is Expected.PASS) is passing]
        lines += ["", f"{title:62}{'count':>6}{'stopped':>8}{'wrong':>6}  said so by"]
        for kind in dict.fromkeys(one.case.kind for one in some):
            row = [one for one in some if one.case.kind == kind]
            said = Counter(name for one in row for name in (*one.refused_by, *one.doubted_by))
            by = ", ".join(f"{name} {count}" for name, count in said.most_common(4))
            stopped, wrong = sum(one.stopped for one in row), sum(one.wrong for one in row)
            lines.append(f"{kind:62}{len(row):6}{stopped:8}{wrong:6}  {by}")
    lines.append("")
    for one in judged:
        if one.wrong:
            lines.append(f"WRONG {one.case.kind} | {one.case.name} | {'; '.join(one.reasons)}")
    return "\n".join([*lines, *totals(judged)]).lstrip("\n")


def totals(judged: Sequence[Outcome]) -> list[str]:
    """Three lines: what was accepted, what was refused, and the 95 % upper bounds."""
    found = figures(judged)
    return [
        f"damaging accepted:   {found['damaging_accepted']} of {found['damaging']}"
        f" (95 % upper bound {found['damaging_accepted_at_most']:.2%}),"
        f" held that had to be refused: {found['damaging_held_that_had_to_be_refused']}",
        f"legitimate refused:  {found['legitimate_refused']} of {found['legitimate']}"
        f" = {found['legitimate_refused_share']:.2%}"
        f" (95 % upper bound {found['legitimate_refused_at_most']:.2%})",
        f"goal (none, at most {MOST_REFUSED:.0%}): {'reached' if found['reached'] else 'MISSED'}",
    ]


def main() -> None:
    """Print the table, write the figures, and exit with 1 if the goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--json", type=Path, help="write the figures here")
    asked = parser.parse_args()
    judged = outcomes()
    sys.stdout.write(table(judged) + "\n")
    found = figures(judged)
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n", "utf-8")
    sys.exit(0 if found["reached"] else 1)


if __name__ == "__main__":
    main()
