"""A rule of redaction: what it looks for, and which of its matches are secrets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from re import Match, Pattern
from typing import Any, NamedTuple, cast

_MARK_OPENS = "[REDACTED:"
_LONGEST_MARK = 40
SHORTEST_WORD = 15
_MARK = re.compile(r"\[REDACTED:[a-z0-9-]{1,29}\]")
# Every byte but a blank as one and the same, so that a run of them is found without splitting.
_SHAPE = bytes(byte if chr(byte).isspace() and byte < 128 else ord("x") for byte in range(256))
_RUN = b"x" * SHORTEST_WORD
_RAREST_FIRST = "zqxjkvbwygpfmculdrhsnioate"  # in lower case; what is not among them is rarer yet

Span = tuple[int, int, str]  # start, end, kind


class Rule(NamedTuple):
    """`pattern` matches; its group "secret", or all of it, goes if `judge` agrees.

    hints: the pattern can match only a text with one of these in it, compared in lower case; with
    none, it is always tried. anchored: a match begins at a hint. word: it has no blank in it, and
    so many characters at least; 0 where it may have blanks. rest: how a secret goes on that is
    longer than `pattern` looks.
    """

    kind: str
    hints: tuple[str, ...]
    pattern: Pattern[str]
    judge: Callable[[Match[str]], bool] = bool  # a match always is
    anchored: bool = False
    word: int = 0
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
        if self.word and not self.pattern.search(text.long_words):
            return ()
        return self.pattern.finditer(text.plain)

    def _from_hints(self, text: Text) -> Iterator[Match[str]]:
        hint = any_of(self.hints)
        at = 0
        while begins := hint.search(text.lower, at):
            at = begins.start() + 1
            if found := self.pattern.match(text.plain, begins.start()):
                yield found
                # a word has no end in sight, so nothing in it is tried again; what a name
                # announces is short, and may hold another name
                at = max(at, found.end()) if self.word else at


def later(source: str, flags: int = 0) -> Pattern[str]:
    """The regular expression, compiled when it is first asked for.

    Most are never tried, since hardly a text has their hints; and to compile all of them takes
    longer than a hook may.
    """
    return cast(Pattern[str], _Later(source, flags))


class _Later:
    def __init__(self, source: str, flags: int) -> None:
        self._source = source
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(self._source, self._flags)
        # found here from now on, as quickly as on the pattern itself
        for each in ("search", "match", "finditer", "groupindex"):
            setattr(self, each, getattr(compiled, each))
        return getattr(compiled, name)


class Table:
    """Rules in their order, and all their hints: hardly a text has any of them."""

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self.rules = rules
        self._always = [n for n, rule in enumerate(rules) if not rule.hints]
        self._anywhere = [
            (hint, n) for n, rule in enumerate(rules) if not rule.word for hint in rule.hints
        ]
        self._in_words = [
            (hint, rule.word, n) for n, rule in enumerate(rules) if rule.word for hint in rule.hints
        ]
        hints = [hint for hint, _ in self._anywhere]
        self._any_anywhere = somewhere(tuple(hint for hint in hints if hint.isascii()))
        self._any_foreign = somewhere(tuple(hint for hint in hints if not hint.isascii()))
        # signs stand in words of every sort, and would hide that nothing else does
        self._signs = [each for each in self._in_words if len(each[0]) == 1]
        self._any_in_words = somewhere(
            tuple(hint for hint, _, _ in self._in_words if len(hint) > 1)
        )

    def candidates(self, text: Text) -> list[int]:
        """Numbers of the rules that can match the text, in order."""
        found = self._always.copy()
        lower, words = text.lower, text.long_words_lower
        # one search for all hints comes first: most texts have none
        if self._any_anywhere.search(lower) or (
            not lower.isascii() and self._any_foreign.search(lower)
        ):
            found += [n for hint, n in self._anywhere if hint in lower]
        if words:
            hints = self._in_words if self._any_in_words.search(words) else self._signs
            longest = text.longest
            found += [n for hint, length, n in hints if length <= longest and hint in words]
        return sorted({*found}) if found else found

    def finds(self, text: Text) -> bool:
        """Whether any rule would take something out of the text."""
        found = self.candidates(text)
        return bool(found) and any(
            next(self.rules[number].spans(text), None) is not None for number in found
        )


class Text:
    """A text in the forms that rules look for their hints in.

    lower: in lower case, every character where it is in `plain`. long_words: its long words alone,
    a small part of any text, and a key is in no other. longest: characters of the longest of them.
    """

    def __init__(self, plain: str) -> None:
        self.plain = plain
        self.lower = _lower(plain)
        words = _long_words(plain)
        self.longest = max(map(len, words)) if words else 0
        self.long_words = " ".join(words)
        self.long_words_lower = self.long_words.lower()


def _long_words(plain: str) -> list[str]:
    # most texts have none, and to split them takes five times as long as to see that
    if _RUN not in plain.encode("utf-8", "surrogatepass").translate(_SHAPE):
        return []
    return [word for word in plain.split() if len(word) >= SHORTEST_WORD]


def _lower(plain: str) -> str:
    lower = plain.lower()
    if len(lower) == len(plain):
        return lower
    return "".join(char.lower() if len(char.lower()) == 1 else char for char in plain)


def mark(kind: str) -> str:
    """What stands in a secret's place."""
    return f"{_MARK_OPENS}{kind}]"


def has_mark(text: str) -> bool:
    """Whether something in it was redacted."""
    return _MARK.search(text) is not None


@cache
def any_of(words: tuple[str, ...]) -> Pattern[str]:
    """Matches where one of these words begins; nothing if there are none.

    A tree of their characters: at each place of a text, one step rules most of them out.
    """

    def tree(ends: tuple[str, ...]) -> str:
        if "" in ends:  # any longer word begins where this one does
            return ""
        branches = [
            re.escape(first) + tree(tuple(end[1:] for end in ends if end[0] == first))
            for first in sorted({end[0] for end in ends})
        ]
        return branches[0] if len(branches) == 1 else f"(?:{'|'.join(branches)})"

    return re.compile(tree(words) if words else r"(?!)")


@cache
def somewhere(words: tuple[str, ...]) -> Pattern[str]:
    """Matches in a text that holds one of these words, though not where it begins.

    It looks for a character of each word that is rare, or is looked for anyway: so it stops at few
    places of a text, where `any_of` stops at every other.
    """
    ends: dict[str, list[str]] = {}
    for word in sorted(words, key=lambda word: min(map(_RAREST_FIRST.find, word)), reverse=True):
        sign = next((char for char in word if char in ends), min(word, key=_RAREST_FIRST.find))
        before, _, after = word.partition(sign)
        behind = f"(?<={re.escape(word)})" if before else ""
        ends.setdefault(sign, []).append(re.escape(after) + behind)
    found = [f"{re.escape(sign)}(?:{'|'.join(sorted(rest))})" for sign, rest in ends.items()]
    return re.compile("|".join(sorted(found)) if words else r"(?!)")


def _inside_mark(text: str, at: int) -> bool:
    # the opening may itself be cut
    begins = text.rfind(_MARK_OPENS, max(0, at - _LONGEST_MARK), at + len(_MARK_OPENS) - 1)
    found = _MARK.match(text, begins) if begins >= 0 else None
    return found is not None and found.end() > at
