"""A user's own regular expressions: which are safe to run over every text there is.

A search by backtracking may take longer than the night for a text of a few kilobytes. So a
pattern must be one of a form whose time grows with the text alone: `checked` says why it is not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,28}")
_TRIES = 10_000  # ways to try one place of a text
_COUNT = re.compile(r"\{(\d*)(,?)(\d*)\}")
_GROUP = re.compile(r"\(\?(?:P<\w+>|[aiLmsu]*(?:-[ims]+)?:|[aiLmsu]+\)|<?[=!]|>|P=\w+\)|\(\w+\))")
_CLASS = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)


def checked(name: str, pattern: str) -> None:
    """Raise ValueError, which says why, when either cannot be used.

    name: what is counted and written as `[REDACTED:name]`.
    """
    if not NAME.fullmatch(name):
        raise ValueError(
            f"the name {name!r} must be at most 29 small letters, digits and hyphens, such as "
            "`staff-number`"
        )
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"{name} is no regular expression: {error}") from error
    try:
        whole = _Reader(pattern).read()
    except _Refused as refused:
        raise ValueError(f"{name}: {refused}") from refused
    if not whole.shortest:
        raise ValueError(f"{name} matches where there is nothing, so it would match everywhere")
    if whole.tries > _TRIES:
        raise ValueError(
            f"{name} can be tried in {whole.tries} ways at every place of a text, which is too "
            "slow; use fewer or shorter repetitions"
        )


class _Refused(Exception):
    """What is wrong with a pattern."""


@dataclass(frozen=True, slots=True)
class _Part:
    """shortest: characters it matches at least. tries: in how many ways. endless: has no limit."""

    shortest: int
    tries: int = 1
    endless: bool = False


class _Reader:
    """Reads a pattern that `re` takes, from left to right."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0

    def read(self) -> _Part:
        """Alternatives, as far as they go."""
        parts = [self._sequence()]
        while self.pattern.startswith("|", self.at):
            self.at += 1
            parts.append(self._sequence())
        return _Part(
            shortest=min(part.shortest for part in parts),
            tries=sum(part.tries for part in parts),
            endless=any(part.endless for part in parts),
        )

    def _sequence(self) -> _Part:
        shortest, tries, endless = 0, 1, ""
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            began = self.at
            part = self._repeated(self._atom())
            if endless:
                raise _Refused(
                    f"`{endless}` has no upper limit and something follows it; give it one, such "
                    "as {1,100} in the place of +"
                )
            if part.endless:
                endless = self.pattern[began : self.at]
            shortest += part.shortest
            tries *= part.tries
        return _Part(shortest, tries, bool(endless))

    def _atom(self) -> _Part:
        pattern, at = self.pattern, self.at
        if pattern[at] == "[" and (found := _CLASS.match(pattern, at)):
            self.at = found.end()
            return _Part(1)
        if pattern[at] == "\\":
            self.at += 2
            return _Part(0 if pattern[at + 1] in "AbBZ" else 1)
        if pattern[at] == "(":
            return self._group()
        self.at += 1
        return _Part(0 if pattern[at] in "^$" else 1)

    def _group(self) -> _Part:
        opens = _GROUP.match(self.pattern, self.at)
        if opens is None and self.pattern.startswith("(?", self.at):
            raise _Refused(f"`{self.pattern[self.at : self.at + 4]}…` cannot be used here")
        kind = opens[0] if opens else "("
        self.at += len(kind)
        if kind.endswith(")"):
            return _Part(0)  # flags, or what a group found again
        inner = self.read()
        self.at += 1
        return _Part(0, inner.tries, inner.endless) if kind[-1] in "=!" else inner

    def _repeated(self, part: _Part) -> _Part:
        least, most = 1, 1
        began = self.at
        count = _COUNT.match(self.pattern, self.at)
        if count and any(count.groups()):
            least = int(count[1] or 0)
            most = int(count[3]) if count[3] else -1 if count[2] else least
            self.at = count.end()
        elif self.at < len(self.pattern) and self.pattern[self.at] in "*+?":
            least = int(self.pattern[self.at] == "+")
            most = 1 if self.pattern[self.at] == "?" else -1
            self.at += 1
        else:
            return part
        if self.at < len(self.pattern) and self.pattern[self.at] in "?+":
            self.at += 1  # lazy or possessive: the same in the worst case
        if most != 1 and (part.tries > 1 or part.endless):
            raise _Refused(
                f"a repetition is repeated by `{self.pattern[began : self.at]}`, which may take "
                "for ever; write it without the inner or the outer one"
            )
        tries = part.tries + most - least if most >= 0 else part.tries
        return _Part(part.shortest * least, tries, part.endless or most < 0)
