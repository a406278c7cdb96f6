"""A rule of redaction: what it looks for, and which of its matches are secrets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from re import Match, Pattern

_MARK_OPENS = "[REDACTED:"
_LONGEST_MARK = 40
SHORTEST_WORD = 15
_MARK = re.compile(r"\[REDACTED:[a-z0-9-]{1,29}\]")

Span = tuple[int, int, str]  # start, end, kind


@dataclass(frozen=True, slots=True)
class Rule:
    """`pattern` matches; its group "secret", or all of it, goes if `judge` agrees.

    hints: the pattern can match only a text with one of these in it, compared in lower case; with
    none, it is always tried. anchored: a match begins at a hint. one_word: it has no blank in it,
    and is `SHORTEST_WORD` long at least. rest: how a secret goes on that is longer than `pattern`
    looks.
    """

    kind: str
    hints: tuple[str, ...]
    pattern: Pattern[str]
    judge: Callable[[Match[str]], bool] = bool  # a match always is
    anchored: bool = False
    one_word: bool = False
    rest: Pattern[str] | None = None

    def spans(self, text: Text) -> Iterator[Span]:
        """Where secrets of this kind stand; what is redacted already is none."""
        group = "secret" if "secret" in self.pattern.groupindex else 0
        done = 0
        for match in self._matches(text):
            start, end = match.span(group)
            cuts_a_mark = _inside_mark(text.plain, start) or _inside_mark(text.plain, end)
            nothing_left = not _MARK.sub("", match[group]).strip(" \t;,")
            if start >= done and not cuts_a_mark and not nothing_left and self.judge(match):
                done = (
                    rest.end() if self.rest and (rest := self.rest.match(text.plain, end)) else end
                )
                yield start, done, self.kind

    def _matches(self, text: Text) -> Iterable[Match[str]]:
        if self.anchored:
            return self._from_hints(text)
        if self.one_word and not self.pattern.search(text.long_words):
            return ()
        return self.pattern.finditer(text.plain)

    def _from_hints(self, text: Text) -> Iterator[Match[str]]:
        past = 0
        for at in sorted(place for hint in self.hints for place in _places(hint, text.lower)):
            found = self.pattern.match(text.plain, at) if at >= past else None
            if found:
                yield found
                # a word has no end in sight, so nothing in it is tried again; what a name
                # announces is short, and may hold another name
                past = found.end() if self.one_word else at + 1


class Table:
    """Rules in their order, and all their hints: hardly a text has any of them."""

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self.rules = rules
        self._always = [n for n, rule in enumerate(rules) if not rule.hints]
        self._anywhere = [
            (hint, n) for n, rule in enumerate(rules) if not rule.one_word for hint in rule.hints
        ]
        self._in_words = [
            (hint, n) for n, rule in enumerate(rules) if rule.one_word for hint in rule.hints
        ]

    def candidates(self, text: Text) -> list[int]:
        """Numbers of the rules that can match the text, in order."""
        lower, words = text.lower, text.long_words_lower
        found = {n for hint, n in self._anywhere if hint in lower}
        if words:
            found |= {n for hint, n in self._in_words if hint in words}
        return sorted(found.union(self._always))


class Text:
    """A text in the forms that rules look for their hints in."""

    def __init__(self, plain: str) -> None:
        self.plain = plain

    @cached_property
    def lower(self) -> str:
        """In lower case, every character where it is in `plain`."""
        lower = self.plain.lower()
        if len(lower) == len(self.plain):
            return lower
        return "".join(char.lower() if len(char.lower()) == 1 else char for char in self.plain)

    @cached_property
    def long_words(self) -> str:
        """Its long words alone: a small part of any text, and a key is in no other."""
        return " ".join(word for word in self.plain.split() if len(word) >= SHORTEST_WORD)

    @cached_property
    def long_words_lower(self) -> str:
        """The same in lower case."""
        return self.long_words.lower()


def mark(kind: str) -> str:
    """What stands in a secret's place."""
    return f"{_MARK_OPENS}{kind}]"


def has_mark(text: str) -> bool:
    """Whether something in it was redacted."""
    return _MARK.search(text) is not None


def _places(hint: str, lower: str) -> Iterator[int]:
    at = lower.find(hint)
    while at >= 0:
        yield at
        at = lower.find(hint, at + 1)


def _inside_mark(text: str, at: int) -> bool:
    # the opening may itself be cut
    begins = text.rfind(_MARK_OPENS, max(0, at - _LONGEST_MARK), at + len(_MARK_OPENS) - 1)
    found = _MARK.match(text, begins) if begins >= 0 else None
    return found is not None and found.end() > at
