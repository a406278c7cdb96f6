"""Whether one sentence says no more than another, so that the other can stand for both."""

from __future__ import annotations

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

_SAID_AGAIN = 0.8  # share of a repeat's content words that the other sentence has, at least


def says_more(repeat: str, kept: str) -> list[str]:
    """What `repeat` says beyond `kept`, in words a user understands; none when it is a repeat.

    A word left out may be a turn of phrase, up to a point; a number, a name or another word in the
    same place is another statement, as likely the opposite as the same.
    """
    reasons = [f"“{name}”" for name in _values(repeat) if not _stands(name, kept)]
    if _negations(repeat) != _negations(kept):
        reasons.append("another denial")
    said, there = content_words(repeat), content_words(kept)
    only, other = set(said) - set(there), set(there) - set(said)
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


def _negations(text: str) -> int:
    return sum(is_negative(word) for word in words(text))
