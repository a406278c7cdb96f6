"""How likely each of a few answers is, from the likeliest tokens a server lists at each place.

A server lists some tokens for each place of the one reply it gives. An answer is followed along
that reply up to where it parts from it; there its own token is looked for in the list.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

_MOST_TOKENS = 24


@dataclass(frozen=True, slots=True)
class Listed:
    """A token as text, and its log-probability."""

    text: str
    logprob: float


@dataclass(frozen=True, slots=True)
class Weight:
    """Log-likelihood of an option, not normalised; where it is not listed, more than it is."""

    score: float
    listed: bool


def tokens_needed(options: Sequence[str]) -> int:
    """How many tokens of a reply tell these answers apart: 1 where no two begin alike."""
    names = sorted(option.casefold() for option in options)
    alike = max((_common(a, b) for a, b in pairwise(names)), default=0)
    return min(_MOST_TOKENS, alike + 1)


def weigh(options: Sequence[str], places: Sequence[Sequence[Listed]]) -> tuple[Weight, ...] | None:
    """A weight for each option; None where no option is listed at all.

    An option whose token is not listed counts as the least likely listed one; options that cannot
    be told apart share what they have.
    """
    weights: dict[int, Weight] = {}
    names = [option.casefold() for option in options]
    along, total, following = "", 0.0, set(range(len(options)))
    least = 0.0
    for number, place in enumerate(places):
        if not following:
            break
        tokens = _by_form(place, first=number == 0)
        best = max(place, key=lambda token: token.logprob)
        least = min(token.logprob for token in place)
        step = _step(best.text, along, [names[n] for n in following], first=number == 0)
        on = {n for n in following if step and names[n].startswith(along + step)}
        shares = _shares({n: names[n][len(along) :] for n in following}, tokens)
        for n in following - on if len(on) > 1 else following:
            weights[n] = Weight(total + max(shares[n], least), math.isfinite(shares[n]))
        following = on if len(on) > 1 else set()
        along, total = along + step, total + tokens.get(step, best.logprob)
    for n in following:
        ended = names[n] == along
        weights[n] = Weight(total if ended else total + least, bool(along))
    if not any(weight.listed for weight in weights.values()):
        return None
    return tuple(weights[n] for n in range(len(options)))


def probabilities(asked: Sequence[Weight], lean: Sequence[Weight] | None) -> tuple[float, ...]:
    """What the options' weights come to, with the model's lean towards each taken out.

    lean: their weights for a content-free prompt, None where that lists none of them. What is not
    listed for the prompt itself keeps its distance from the likeliest option: its lean is not
    known, and the difference of two lists' ends would say nothing about it.
    """
    best = max(range(len(asked)), key=lambda n: (asked[n].listed, asked[n].score))
    off = [0.0] * len(asked)
    if lean is not None:
        off = [
            lean[n].score if weight.listed else lean[best].score for n, weight in enumerate(asked)
        ]
    corrected = [weight.score - less for weight, less in zip(asked, off, strict=True)]
    top = max(corrected)
    shares = [math.exp(value - top) for value in corrected]
    return tuple(share / sum(shares) for share in shares)


def _by_form(place: Sequence[Listed], *, first: bool) -> dict[str, float]:
    """The log-probability of each text a token may stand for: several tokens may for one."""
    found: dict[str, float] = {}
    for token in place:
        for form in _forms(token.text, first=first):
            found[form] = _log_sum(found.get(form, -math.inf), token.logprob)
    return found


def _shares(rests: Mapping[int, str], tokens: Mapping[str, float]) -> dict[int, float]:
    """For each option the logarithm of what the tokens that begin its rest have together."""
    found = dict.fromkeys(rests, -math.inf)
    for token, logprob in tokens.items():
        meant = [n for n, rest in rests.items() if token and rest.startswith(token)]
        for n in meant:
            found[n] = _log_sum(found[n], logprob - math.log(len(meant)))
    return found


def _step(text: str, along: str, names: Sequence[str], *, first: bool) -> str:
    """The form of the reply's token that an option goes on with, else the token as it is."""
    forms = _forms(text, first=first)
    return next((f for f in forms if any(n.startswith(along + f) for n in names)), forms[0])


def _forms(text: str, *, first: bool) -> list[str]:
    """The ways a token may be meant: as text, or as a vocabulary spells spaces and bytes."""
    spelt = text.replace("▁", " ")
    if all(sign in _BYTES for sign in text):
        spelt = bytes(_BYTES[sign] for sign in text).decode("utf-8", "ignore") or spelt
    forms = [form.lstrip() if first else form for form in (text, spelt)]
    return [form.casefold() for form in dict.fromkeys(forms) if form] or [""]


def _common(one: str, other: str) -> int:
    for place, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return place
    return min(len(one), len(other))


def _log_sum(one: float, other: float) -> float:
    high, low = max(one, other), min(one, other)
    # of two impossible ones neither may be taken from the other
    return high if low == -math.inf else high + math.log1p(math.exp(low - high))


def _byte_signs() -> dict[str, int]:
    """The signs by which byte-level vocabularies write single bytes."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(0x100) if byte not in plain]
    signs = {chr(byte): byte for byte in plain}
    return signs | {chr(0x100 + number): byte for number, byte in enumerate(others)}


_BYTES = _byte_signs()
