"""What of a very long message a claim is judged against: the places that speak of the same.

A message may be a whole log or a book. To hold every claim against all of it would take longer than
to ask the model for the claims.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from pipeline.records import Message
from pipeline.text import content_words, sentences, words

_WHOLE = 8000  # characters: so much is judged as it is
_PLACE = 600  # characters of one place, where sentences are no longer
_PLACES = 10


@dataclass(frozen=True, slots=True)
class _Indexed:
    """The places of a text, in order, and where each word stands (numbers of places)."""

    places: tuple[str, ...]
    where: dict[str, list[int]]


def about(claim: str, messages: Sequence[Message]) -> list[Message]:
    """The messages, each long one cut down to what in it has most to do with the claim."""
    return [
        message if len(message.text) <= _WHOLE else message._replace(text=_cut(claim, message.text))
        for message in messages
    ]


def _cut(claim: str, text: str) -> str:
    """The places with most of the claim's words, rare ones first, in the order of the text."""
    found = _indexed(text)
    weights = [0.0] * len(found.places)
    for word in sorted(_marks(claim)):
        where = found.where.get(word, [])
        for number in where:
            weights[number] += math.log(1 + len(found.places) / len(where))
    best = sorted(range(len(weights)), key=lambda number: (-weights[number], number))[:_PLACES]
    return "\n".join(found.places[number] for number in sorted(best))


@lru_cache(maxsize=8)
def _indexed(text: str) -> _Indexed:
    places = tuple(_places(text))
    where: dict[str, list[int]] = {}
    for number, place in enumerate(places):
        for word in _marks(place):
            where.setdefault(word, []).append(number)
    return _Indexed(places, where)


def _places(text: str) -> Iterator[str]:
    """The text in runs of whole sentences; a sentence that is longer still is cut."""
    current = ""
    for paragraph in text.splitlines():
        for start, end in sentences(paragraph):
            sentence = paragraph[start:end]
            if current and len(current) + len(sentence) >= _PLACE:
                yield current
                current = ""
            current = f"{current} {sentence}" if current else sentence
            while len(current) > _PLACE:
                cut = current.rfind(" ", _PLACE // 2, _PLACE)
                cut = cut if cut > 0 else _PLACE
                yield current[:cut]
                current = current[cut:].lstrip()
        current += "\n" if current else ""
    if current:
        yield current


def _marks(text: str) -> set[str]:
    """By what a place is found: its content words, and its words as written, numbers too."""
    return {*content_words(text), *(word.casefold() for word in words(text))}
