"""What two statements are to each other: a matter of the pair alone, never of which came first.

Code decides what it can see: that both are one statement, or that they are not on one matter. The
rest is asked, always with the older evidence first, so that the answer is the same whichever of the
two was folded first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

from pipeline.desk import Desk
from pipeline.text import (
    content_words,
    identifiers,
    is_negative,
    numbers,
    proper_nouns,
    similarity,
    words,
)

STAGE = "synthesize"
RELATION = "synthesize/relation"
SAME, UPDATES, CONTRADICTS = "same", "updates", "contradicts"
_SHARED_WORDS = 3  # content words two sentences must share to be on one matter
_ONE_MATTER, _ONE_STATEMENT = 0.5, 0.75  # overlaps from which on they are
_ONE_PLACE = 0.6  # share of the longer sentence that is alike around the one place they differ in
_DAY = len("2026-11-29")


def is_later(at: str, than: str) -> bool:
    """Whether one ISO time is known to be after another; a date alone is no time of its day."""
    if not at or not than:
        return False
    shortest = min(len(at), len(than))
    return at[:_DAY] > than[:_DAY] if shortest <= _DAY else at > than


# ------------------------------------------------------------------ what code sees of a pair


def is_repeat(a: str, b: str, duplicate: float) -> bool:
    """Whether two sentences say one thing in nearly the same words, none of them exchanged."""
    return similarity(a, b) >= duplicate and not _exchanges(a, b)


def says_no_more(new: str, old: str) -> bool:
    """Whether a sentence on the matter of another has no word or value that the other lacks."""
    return (
        _overlap(new, old) >= _ONE_STATEMENT
        and _matter(new) <= _matter(old)
        and not _fresh_values(new, old)
        and _denials(new) == _denials(old)
    )


def on_one_matter(a: str, b: str) -> bool:
    """Whether enough words agree for it to be worth asking what the two are to each other.

    Small models call any two sentences about one project an update of each other.
    """
    return _overlap(a, b) >= _ONE_MATTER


def same_values(a: str, b: str) -> bool:
    """Whether neither gives a number, identifier or name that the other does not give."""
    return not _fresh_values(a, b) and not _fresh_values(b, a)


def can_update(a: str, b: str) -> bool:
    """Whether one can be a newer state of the other: a value differs, or one place does.

    The one place stands for what no list knows as a value: a name where all nouns have capitals or
    no word has, a number in words, "enabled" or "not".
    """
    if not same_values(a, b):
        return True
    return _differ_in_one_place(a, b) and (_exchanges(a, b) or _denials(a) != _denials(b))


def _overlap(a: str, b: str) -> float:
    """Share of the words of either that are words of both (0..1), numbers aside."""
    left, right = _matter(a), _matter(b)
    shared = len(left & right)
    return shared / len(left | right) if shared >= _SHARED_WORDS else 0.0


def _matter(text: str) -> frozenset[str]:
    """The content words of a sentence without the numbers in it."""
    return frozenset(word for word in content_words(text) if not any(c.isdigit() for c in word))


def _fresh_values(new: str, old: str) -> frozenset[str]:
    """Values of one sentence that the other does not give.

    A name that opens the other sentence is not seen as one there, but it stands there.
    """
    there = {word.casefold() for word in words(old)}
    names = (identifiers(new) | proper_nouns(new)) - identifiers(old) - proper_nouns(old)
    unseen = {name for name in names if not {w.casefold() for w in words(name)} <= there}
    return frozenset(unseen) | (numbers(new) - numbers(old))


def _denials(text: str) -> int:
    return sum(is_negative(word) for word in words(text))


def _exchanges(a: str, b: str) -> bool:
    """Whether each has a content word that the other lacks: another wording, or another value."""
    left, right = Counter(content_words(a)), Counter(content_words(b))
    return bool(left - right) and bool(right - left)


def _differ_in_one_place(a: str, b: str) -> bool:
    """Whether most of the longer is alike before and after one place, in characters."""
    left, right = " ".join(a.casefold().split()), " ".join(b.casefold().split())
    before = _alike(left, right)
    after = _alike(left[before:][::-1], right[before:][::-1])
    return before + after >= _ONE_PLACE * max(len(left), len(right))


def _alike(a: str, b: str) -> int:
    """Characters that both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))


# ------------------------------------------------------------------ what is measured and asked


class Likeness:
    """How alike texts are, by words and by vectors; each text is embedded once."""

    def __init__(self, texts: Iterable[str], desk: Desk) -> None:
        self._vectors: dict[str, NDArray[np.float32]] = {}
        # two sentences may be near in meaning and differ in the one number that matters
        self._cap = desk.policy.synthesize.duplicate - 0.01
        known = list(dict.fromkeys(texts))
        if desk.embedder is not None and len(known) > 1:
            self._vectors = dict(zip(known, desk.embedder.embed(known), strict=True))

    def of(self, a: str, b: str) -> float:
        """From 0 to 1, the larger of both; vectors alone never make a duplicate."""
        by_words = similarity(a, b)
        if not self._vectors:
            return by_words
        by_vectors = float(np.clip(self._vectors[a] @ self._vectors[b], 0.0, 1.0))
        return max(by_words, min(by_vectors, self._cap))


class Relations:
    """What the model says of pairs, each asked once. rules: what the owner wants heeded, or ""."""

    def __init__(self, desk: Desk, rules: str) -> None:
        self._desk = desk
        self._rules = rules
        self._known: dict[tuple[str, str], str] = {}

    def of(self, pairs: Sequence[tuple[str, str]]) -> list[str]:
        """same, updates, contradicts or unrelated for each (older, newer), "" when not sure enough.

        All pairs not asked before go to the model in one batch.
        """
        fresh = [pair for pair in dict.fromkeys(pairs) if pair not in self._known]
        if fresh:
            prompts, least = self._desk.prompts, self._desk.policy.synthesize.relation_margin
            options = prompts.get(RELATION).options
            choices = self._desk.model.choose(
                [
                    prompts.ask(
                        RELATION, {"old": old, "new": new, "rules": self._rules}, options=options
                    )
                    for old, new in fresh
                ],
                stage=STAGE,
                purpose=RELATION,
            )
            for pair, choice in zip(fresh, choices, strict=True):
                self._known[pair] = choice.best if choice.margin >= least else ""
        return [self._known[pair] for pair in pairs]
