"""What of the cited messages may count for a claim, and when two words are the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import regex

from pipeline.records import Message, Role
from pipeline.support.dating import days_said
from pipeline.support.saying import Saying, keys, sayings
from pipeline.text import content_words
from pipeline.text.lists import word_set

# Words a claim needs to be told in the third person; no message has to say them.
FRAME = word_set(
    """
    user assistant project person team decid prefer choos agre want state report note mention
    recommend suggest plan confirm explain describ request accept opt use
    """
)
_ASSISTANT_SAYS = regex.compile(r"^\W*(?:the\s)?assistant\b", regex.IGNORECASE)
_OPEN = regex.compile(
    r"\b(?:whether|undecided|unclear|open question|(?:remains?|still|is|are) open"
    r"|not (?:yet )?(?:decided|known)|unresolved|offen|ungeklärt)\b|未定|尚未|待定",
    regex.IGNORECASE,
)
_HEDGED = regex.compile(
    r"\b(?:may|might|could|maybe|perhaps|possibl[ey]|consider\w*|suggest\w*|recommend\w*|propos\w*|advis\w*"
    r"|should|option)\b|可能|建议|かもしれ",
    regex.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Material:
    """What may count: `said` supports values and names, `around` only gives context words."""

    messages: tuple[Message, ...]
    said: tuple[Saying, ...]
    around: tuple[Saying, ...]
    days: frozenset[str]
    beside: str  # projects and touched files: known, though nobody said them

    def stems(self) -> frozenset[str]:
        return frozenset().union(
            *(one.stems for one in (*self.said, *self.around)), content_words(self.beside)
        )


def gather(claim: str, evidence: Sequence[Message], *, by_user: bool) -> Material:
    every = sayings(evidence)
    if _OPEN.search(claim):
        said = every
    elif _ASSISTANT_SAYS.match(claim):
        said = [one for one in every if one.role is Role.ASSISTANT and not one.asked]
    elif _HEDGED.search(claim):
        said = [one for one in every if one.accepted or not one.asked]
    else:
        said = [one for one in every if one.stated]
    if by_user and not _ASSISTANT_SAYS.match(claim):
        said = [one for one in said if one.role is Role.USER or one.accepted]
    around = [
        one for one in every if one.asked and one not in said and _is_answered(one, claim, said)
    ]
    beside = " ".join(
        f"{message.project} " + " ".join(f"{act.tool} {act.path}" for act in message.actions)
        for message in evidence
    )
    return Material(tuple(evidence), tuple(said), tuple(around), days_said(evidence), beside)


def _is_answered(question: Saying, claim: str, said: Sequence[Saying]) -> bool:
    """ "Which port?" – "8080.": the question gives the words if the answer gives the value."""
    values = keys(claim)
    return any(
        values & one.keys if values else shares(set(content_words(claim)), one.stems)
        for one in said
        if one.conv == question.conv and one.position - question.position in (0, 1)
    )


def matches(stem: str, stems: frozenset[str]) -> bool:
    """Whether `stem`, or a word of the same root ("deploy", "deployment"), is among `stems`."""
    if stem in stems:
        return True
    return any(_same_root(stem, other) for other in stems)


def _same_root(a: str, b: str) -> bool:
    shorter, longer = sorted((a, b), key=len)
    if len(shorter) < 4 or not shorter.isalpha() or not longer.isalpha():
        return False
    if longer.startswith(shorter) and len(shorter) >= 5:
        return True
    common = 0
    for x, y in zip(shorter, longer, strict=False):
        if x != y:
            break
        common += 1
    return common >= 5 and common >= 0.6 * len(longer)


def shares(own: set[str], stems: frozenset[str]) -> bool:
    """Whether any word of the claim is among `stems`."""
    return any(matches(stem, stems) for stem in own)


def once(reasons: Iterable[str]) -> list[str]:
    return [reason for reason in dict.fromkeys(reasons) if reason]
