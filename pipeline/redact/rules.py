"""A rule of redaction: what it looks for, and which of its matches are secrets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from re import Match, Pattern

_MARK_OPENS = "[REDACTED:"
_LONGEST_MARK = 40
_MARK = re.compile(r"\[REDACTED:[a-z0-9-]{1,29}\]")

Span = tuple[int, int, str]  # start, end, kind


@dataclass(frozen=True, slots=True)
class Rule:
    """`pattern` matches; its group "secret", or all of it, goes if `judge` agrees.

    hints: the pattern can match only a text with one of these in it, compared in lower case; with
    none, it is always tried.
    """

    kind: str
    hints: tuple[str, ...]
    pattern: Pattern[str]
    judge: Callable[[Match[str]], bool] = bool  # a match always is

    def spans(self, text: str) -> Iterator[Span]:
        """Where secrets of this kind stand; what is redacted already is none."""
        group = "secret" if "secret" in self.pattern.groupindex else 0
        for match in self.pattern.finditer(text):
            start, end = match.span(group)
            cuts_a_mark = _inside_mark(text, start) or _inside_mark(text, end)
            nothing_left = not _MARK.sub("", match[group]).strip(" \t;,")
            if not cuts_a_mark and not nothing_left and self.judge(match):
                yield start, end, self.kind


def mark(kind: str) -> str:
    """What stands in a secret's place."""
    return f"{_MARK_OPENS}{kind}]"


def has_mark(text: str) -> bool:
    """Whether something in it was redacted."""
    return _MARK.search(text) is not None


def _inside_mark(text: str, at: int) -> bool:
    begins = text.rfind(_MARK_OPENS, max(0, at - _LONGEST_MARK), at)
    found = _MARK.match(text, begins) if begins >= 0 else None
    return found is not None and found.end() > at
