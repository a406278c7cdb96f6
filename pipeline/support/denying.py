"""A claim denies what its messages deny, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pipeline.support.material import FRAME, matches, once
from pipeline.support.saying import UNNAMED, Clause, Saying, clauses


def denied_otherwise(claim: str, said: Iterable[Saying]) -> list[str]:
    evidence = [clause for one in said for clause in one.clauses]
    reasons: list[str] = []
    for clause in clauses(claim):
        affirmed = (clause.stems | clause.keys) - clause.denied - FRAME
        if clause.denied & (clause.stems | clause.keys):
            reasons += _wrongly_denied(clause, evidence)
        elif not clause.let_go:
            reasons += _wrongly_affirmed(affirmed, clause.keys, evidence)
    return once(reasons)


def _wrongly_denied(clause: Clause, evidence: Sequence[Clause]) -> list[str]:
    denied = (clause.denied & (clause.stems | clause.keys)) - FRAME
    if not denied:
        return []
    negative = frozenset().union(
        *(other.denied for other in evidence), *(other.stems for other in evidence if other.let_go)
    )
    if UNNAMED in negative or any(matches(token, negative) for token in denied):
        return []
    return [f"denies “{_first(denied)}”, which the messages do not"]


def _wrongly_affirmed(
    affirmed: frozenset[str], named: frozenset[str], evidence: Sequence[Clause]
) -> list[str]:
    reasons = []
    for token in sorted(affirmed):
        places = [
            clause for clause in evidence if token in clause.stems | clause.keys | clause.denied
        ]
        if not places or any(token not in clause.denied for clause in places):
            continue
        shared = max(len(clause.stems & affirmed) for clause in places)
        # "by header, not by path": the clause is there for nothing but to deny
        contrasted = any(clause.stems and clause.stems <= clause.denied for clause in places)
        if token in named or shared >= 2 or contrasted or len(affirmed) == 1:
            reasons.append(f"affirms “{token}”, which the messages deny")
    return reasons


def _first(tokens: Iterable[str]) -> str:
    return min(tokens)
