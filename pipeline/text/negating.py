"""Negations of a text, and how far each of them reaches."""

from __future__ import annotations

from dataclasses import dataclass

import regex

from pipeline.late import late
from pipeline.text.spaceless import denial
from pipeline.text.tongues import TONGUES, spelt
from pipeline.text.wording import is_negative

_RUN = r"\p{Han}\p{Hiragana}\p{Katakana}ー々〆"
_LETTER = rf"[\p{{L}}\p{{M}}\p{{N}}--{_RUN}]"
_TOKEN = late(rf"(?P<run>[{_RUN}]+)|{_LETTER}+(?:['’_-]{_LETTER}+)*", regex.V1)
_LOOKALIKES = late(
    r"(?i)\bnot (?:only|just|necessarily)\b|\bno (?:problem|worries|doubt)\b|"
    + spelt("not_negations")
)
_AFTER = frozenset().union(*(tongue.negations for tongue in TONGUES if tongue.denies == "after"))

_ENGLISH = late(
    r"no|not|never|none|nothing|nobody|neither|nor|nowhere|cannot|cant|without|unable|\w+n't"
)


@dataclass(frozen=True, slots=True)
class Negation:
    """text[start:end] negates. reach: "words" a few after it, what is "after" it, its "clause"."""

    start: int
    end: int
    reach: str


def negations(text: str) -> tuple[Negation, ...]:
    """Every negation of `text`, in order; what only looks like one is none."""
    plain = _LOOKALIKES.sub(lambda match: " " * len(match.group()), text)
    found = []
    for match in _TOKEN.finditer(plain):
        word = match.group()
        if match.group("run"):
            here = denial(word)
            if here:
                start = match.start() + here[0]
                found.append(Negation(start, start + 1, here[1]))
        elif is_negative(word):
            found.append(Negation(match.start(), match.end(), _reach(word.casefold())))
    return tuple(found)


def _reach(word: str) -> str:
    if word in _AFTER or word[1:] in _AFTER:
        return "after"
    return "words" if _ENGLISH.fullmatch(word.replace("’", "'")) else "clause"
