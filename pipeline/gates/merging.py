"""Whether one sentence says no more than another, so that the other can stand for both."""

from __future__ import annotations

from collections import Counter
from difflib import SequenceMatcher

from pipeline.text import (
    content_words,
    fold,
    identifiers,
    is_negative,
    numbers,
    proper_nouns,
    words,
)
from pipeline.text.lists import word_set

# They make a statement narrower, less sure, past or turned round: in both sentences or in none.
_TURNS = word_set(
    """
    by than instead if unless only except until till when
    may might can could should would must will was were had did maybe perhaps
    """
)
# They give it another direction, time or amount: what a repeat has of them, the other has too.
_GUIDES = word_set(
    """
    before after while during from to into onto over under above below up down on off out through
    between more most less least all any each every few some same both again always often
    """
)
_SAID_AGAIN = 0.8  # share of a repeat's content words that the other sentence has, at least


def says_more(repeat: str, kept: str) -> list[str]:
    """What `repeat` says beyond `kept`, in words a user understands; none when it is a repeat.

    A word left out may be a turn of phrase, up to a point; a number, a name or another word in the
    same place is another statement, as likely the opposite as the same.
    """
    reasons = [f"“{name}”" for name in _values(repeat) if not _stands(name, kept)]
    if _negations(repeat) != _negations(kept):
        reasons.append("another denial")
    reasons += [f"“{word}” in one of them alone" for word in _turned(repeat, kept)]
    if _is_swapped(repeat, kept):
        reasons.append("the same in another order")
    said, there = content_words(repeat), content_words(kept)
    # a lone character ends a run of a script without spaces, which in the other may go on
    only = {word for word in set(said) - set(there) if len(word) > 1 or word not in kept}
    other = set(there) - set(said)
    if said and sum(word not in only for word in said) < _SAID_AGAIN * len(said):
        reasons.append("too many words of its own")
    for move, a, b, c, d in SequenceMatcher(None, said, there, autojunk=False).get_opcodes():
        if move == "replace" and only & set(said[a:b]) and other & set(there[c:d]):
            reasons.append(f"“{' '.join(said[a:b])}” for “{' '.join(there[c:d])}”")
    return list(dict.fromkeys(reasons))


def _values(text: str) -> list[str]:
    """Numbers, identifiers and names; a capital that opens the sentence may make a name as well."""
    opening = [word for word in words(text)[:1] if word[0].isupper() and content_words(word)]
    return sorted({*numbers(text), *identifiers(text), *proper_nouns(text), *opening})


def _stands(value: str, text: str) -> bool:
    if value in numbers(text) or value in identifiers(text):
        return True
    spoken = {fold(word) for word in words(text)}
    parts = words(value)
    return not any(char.isdigit() for char in value) and all(fold(part) in spoken for part in parts)


def _turned(repeat: str, kept: str) -> list[str]:
    said, there = (Counter(word.casefold() for word in words(text)) for text in (repeat, kept))
    turns = [word for word in sorted(_TURNS) if said[word] != there[word]]
    return turns + [word for word in sorted(_GUIDES) if said[word] > there[word]]


def _is_swapped(repeat: str, kept: str) -> bool:
    """Whether who and what may have changed places: "A calls B" and "B calls A"."""
    said, there = ([fold(word) for word in words(text)] for text in (repeat, kept))
    if sorted(said) == sorted(there):
        # "every night" may go from the end to the front
        return not any(said == there[at:] + there[:at] for at in range(len(there) + 1))
    names = {
        fold(word)
        for text in (repeat, kept)
        for name in numbers(text) | identifiers(text) | proper_nouns(text)
        for word in words(name)
    }
    rest = iter([word for word in there if word in names])
    return not all(word in rest for word in said if word in names and word in there)


def _negations(text: str) -> int:
    return sum(is_negative(word) for word in words(text))
