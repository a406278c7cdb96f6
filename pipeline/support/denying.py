"""A claim denies what its messages deny, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import regex

from pipeline.late import late
from pipeline.support.material import FRAME, matches, once
from pipeline.support.saying import UNNAMED, Clause, Saying, clauses, keys
from pipeline.support.turning import turns
from pipeline.text import negations

_NOT = late(r"\W*(?:not|no|nicht|kein\w*|و?ليست?|ו?לא)\s", regex.IGNORECASE)
# What stands before these holds, what follows is gone.
_CONTRAST = late(r"(?<=\S\s)(?:instead of|rather than|in place of)\s", regex.IGNORECASE)


def denied_otherwise(claim: str, said: Iterable[Saying]) -> list[str]:
    """What the claim denies that the messages affirm, and the other way round."""
    every = list(said)
    evidence = [clause for one in every for clause in one.clauses]
    reasons: list[str] = []
    for clause in clauses(claim):
        if clause.negated:
            reasons += _wrongly_denied(clause, every)
        elif clause.let_go:
            for turn in turns(clause.text):
                reasons += _wrongly_affirmed(turn.new - FRAME, clause.keys, evidence)
        else:
            affirmed = (clause.stems | clause.keys) - clause.denied - FRAME
            reasons += _wrongly_affirmed(affirmed, clause.keys, evidence)
            reasons += _contrasted(affirmed, every)
    return once(reasons)


def _wrongly_denied(clause: Clause, said: Sequence[Saying]) -> list[str]:
    """Judged by the clause that says most of what is denied; by the last sentence of equals.

    What is denied in a claim may be told as let go ("dropped", "failed") in the messages.
    """
    whole = (clause.stems | clause.keys) - FRAME
    denied = (clause.denied & (clause.stems | clause.keys)) - FRAME or whole
    if not denied or any(UNNAMED in other.denied for one in said for other in one.clauses):
        return []
    best, told_negative = 0, False
    for one in said:
        shared, negative = max(
            (_told(clause, other, denied, whole) for other in one.clauses), default=(0, False)
        )
        if shared and shared >= best:
            best, told_negative = shared, negative
    return [] if told_negative else [f"denies “{_first(denied)}”, which the messages do not"]


def _told(
    clause: Clause, other: Clause, denied: frozenset[str], whole: frozenset[str]
) -> tuple[int, bool]:
    """How much of the claim's clause `other` tells, and whether it denies it."""
    there = other.stems | other.keys | other.denied
    if not any(matches(token, there) for token in denied):
        return 0, False
    contrast = _CONTRAST.search(other.text)
    if contrast and not negations(other.text):
        # "every 5 minutes instead of every 10": only what stands on one side is gone
        kept = frozenset(keys(other.text[: contrast.start()]))
        gone = not denied & kept
        negative = gone and any(matches(token, other.denied) for token in denied)
        return sum(matches(token, there) for token in whole), negative
    negative = any(matches(token, other.denied) for token in denied)
    return (
        sum(matches(token, there) for token in whole),
        negative or (other.let_go and not clause.let_go and not turns(other.text)),
    )


def _wrongly_affirmed(
    affirmed: frozenset[str], named: frozenset[str], evidence: Sequence[Clause]
) -> list[str]:
    reasons = []
    for token in sorted(affirmed):
        places = [
            clause for clause in evidence if token in clause.stems | clause.keys | clause.denied
        ]
        denying = [clause for clause in places if _denies(clause, token, token in named)]
        affirming = [clause for clause in places if clause not in denying]
        shared = max((len(clause.stems & affirmed) for clause in denying), default=0)
        if not denying or (
            affirming and shared < 2 + max(len(c.stems & affirmed) for c in affirming)
        ):
            continue
        # "by header, not by path": the clause is there for nothing but to deny
        contrasted = any(clause.stems and clause.stems <= clause.denied for clause in denying)
        if token in named or shared >= 2 or contrasted or len(affirmed) == 1:
            reasons.append(f"affirms “{token}”, which the messages deny")
    return reasons


def _denies(clause: Clause, token: str, is_name: bool) -> bool:
    return token in clause.denied or (is_name and token in clause.dropped)


def _contrasted(affirmed: frozenset[str], said: Sequence[Saying]) -> list[str]:
    """ "It lies in the vault, not on the server": told of the thing that the claim tells it of."""
    reasons = []
    for one in said:
        denials = [
            clause
            for clause in one.clauses
            if clause.stems and clause.stems <= clause.denied and _NOT.match(clause.text)
        ]
        others = frozenset().union(*(c.stems | c.keys for c in one.clauses if c not in denials))
        for clause in denials:
            tokens = (clause.stems | clause.keys) & affirmed - others
            rest = affirmed - tokens
            if tokens and rest and any(matches(token, others) for token in rest):
                reasons.append(f"affirms “{_first(tokens)}”, which the messages deny")
    return reasons


def _first(tokens: Iterable[str]) -> str:
    return min(tokens)
