"""The same secret once more, where nothing about the place tells.

A key is named once with its name and then pasted bare into a command. What was taken out of one
text of a conversation is remembered while the conversation is read, and taken out of its other
texts too: only what is long and drawn, so that the same characters cannot be anything else.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from math import log2

from pipeline.redact.judging import is_lifelike, is_machine_made
from pipeline.redact.rules import has_mark, mark

_SHORTEST = 12  # characters
_BITS = 3.2  # a character; what is typed over and over has fewer
# A password may be the name of a thing, which is spoken of all day.
_NAME = re.compile(r"(?:[A-Za-z]+\d{0,2}|\d{1,4})(?:[-_./:@](?:[A-Za-z]+\d{0,2}|\d{1,4}))*")


class Remembered:
    """The secrets of one conversation. It lives as long as the reading, and is written nowhere."""

    def __init__(self) -> None:
        self._kinds: dict[str, str] = {}

    def __bool__(self) -> bool:
        return bool(self._kinds)

    def learn(self, taken: Mapping[str, str]) -> None:
        """Keep in mind those of `taken` (secret → kind) that are themselves wherever they stand."""
        self._kinds.update((value, kind) for value, kind in taken.items() if _is_itself(value))

    def take_out(self, text: str) -> tuple[str, Counter[str]]:
        """The text with a mark in the place of each, and how many of a kind."""
        counts: Counter[str] = Counter()
        # the longest first: one may be the beginning of another
        for value in sorted(self._kinds, key=len, reverse=True):
            if times := text.count(value):
                kind = self._kinds[value]
                text = text.replace(value, mark(kind))
                counts[kind] += times
        return text, counts


def _is_itself(value: str) -> bool:
    if len(value) < _SHORTEST or has_mark(value) or re.search(r"\s", value):
        return False
    if _NAME.fullmatch(value) or not (is_machine_made(value) and is_lifelike(value)):
        return False
    shares = [count / len(value) for count in Counter(value).values()]
    return -sum(share * log2(share) for share in shares) >= _BITS
