"""How alike two sentences are in what they say."""

from __future__ import annotations

from collections import Counter

from pipeline.text.naming import identifiers, proper_nouns
from pipeline.text.negating import negations
from pipeline.text.numerals import numbers
from pipeline.text.wording import content_words

# One number, name or "not" apart is another statement, however long the sentence around it.
_DISAGREEMENT = 0.85


def similarity(a: str, b: str) -> float:
    """Likeness from 0 to 1: shared content words, whatever their order.

    Texts that disagree on a number, a name or a negation stay below 0.9.
    """
    left, right = Counter(content_words(a)), Counter(content_words(b))
    total = left.total() + right.total()
    if not total:
        return 1.0 if numbers(a) == numbers(b) and a.strip() == b.strip() else 0.0
    score = 2 * (left & right).total() / total
    # most pairs share no word at all, and to look for their numbers and names takes long
    return score if not score or _agree(a, b) else score * _DISAGREEMENT


def _agree(a: str, b: str) -> bool:
    return (
        numbers(a) == numbers(b)
        and _names(a) == _names(b)
        and len(negations(a)) == len(negations(b))
    )


def _names(text: str) -> set[str]:
    return {name.casefold() for name in identifiers(text) | proper_nouns(text)}
