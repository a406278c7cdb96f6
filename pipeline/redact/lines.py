"""A text as it reads with its broken lines joined, for secrets that are split over lines."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from re import Match

from pipeline.redact.rules import Span, Text, mark

# A string continued in the next line, in code or in a shell; or just the end of a line.
_JOINT = re.compile(
    r"""(?<=[^\s"'`\\])
    (?:(?P<quote>["'`])[ \t]{0,8}[+.&]?[ \t]{0,8}\\?\r?\n
        [ \t]{0,40}[+.&]?[ \t]{0,8}[rbfu]?(?P=quote)
      |\\\r?\n[ \t]{0,8}
      |(?P<plain>\r?\n[ \t]{0,16}))
    (?=[^\s"'`\\])""",
    re.VERBOSE,
)
_LONGEST_END = 24  # characters from such a quote to the end of its line, at most
_BEHIND_A_QUOTE = " \t+.&\\\r"
_QUOTES = ('"', "'", "`")
_ENDS_A_PIECE = frozenset({*_QUOTES, *_BEHIND_A_QUOTE})
_FULL_LINE = 60  # nothing that wraps lines does so sooner
_BEFORE = re.compile(r"[A-Za-z0-9_+/=.~-]{4,12}\Z")
_AFTER = re.compile(r"(?P<piece>[A-Za-z0-9_+/.~-]{1,512}={0,2}|={1,2})(?![\w:=(\[{])")
_WORDY = re.compile(r"[A-Za-z]?[a-z]*[.]?|[A-Z]+[.]?|\d{1,3}[.]?|[^A-Za-z0-9=]*")


class Lines:
    """A text, and the line breaks that were left out of it: where each stood, what it was."""

    def __init__(self, text: str, joints: Iterable[tuple[int, str]] = ()) -> None:
        self.text = Text(text)
        self.joints = list(joints)

    @classmethod
    def joined(cls, text: str) -> Lines:
        """The text without the breaks that a secret may go on over."""
        parts: list[str] = []
        joints: list[tuple[int, str]] = []
        done = length = 0
        for joint in _joints(text):
            parts.append(text[done : joint.start()])
            length += len(parts[-1])
            joints.append((length, joint[0]))
            done = joint.end()
        return cls("".join((*parts, text[done:])), joints)

    def take_out(self, spans: Iterable[Span], taken: dict[str, str]) -> Counter[str]:
        """Put a mark in the place of each span, breaks within it included; how many of a kind.

        What stood there goes into `taken`, with its kind.
        """
        counts: Counter[str] = Counter()
        text, parts = self.text.plain, [""]
        joints: list[tuple[int, str]] = []
        done = length = 0
        for start, end, kind in spans:
            kept, put = text[done:start], mark(kind)
            joints += self._shifted(done, start, length - done)
            parts += (kept, put)
            length += len(kept) + len(put)
            done = end
            counts[kind] += 1
            taken.setdefault(text[start:end], kind)
        if counts:
            self.joints = [*joints, *self._shifted(done, len(text), length - done)]
            self.text = Text("".join((*parts, text[done:])))
        return counts

    def broken(self) -> str:
        """The text with the breaks that are left where they were."""
        text = self.text.plain
        at = [0, *(at for at, _ in self.joints), len(text)]
        pieces = [text[start:end] for start, end in pairwise(at)]
        breaks = [*(joint for _, joint in self.joints), ""]
        return "".join(part for pair in zip(pieces, breaks, strict=True) for part in pair)

    def _shifted(self, start: int, end: int, by: int) -> list[tuple[int, str]]:
        """The breaks from start to end, edges included."""
        first = bisect_left(self.joints, (start,))
        last = bisect_right(self.joints, end, key=lambda joint: joint[0])
        return [(at + by, joint) for at, joint in self.joints[first:last]]


def may_join(text: str) -> bool:
    """Whether a line of the text may go on in the next."""
    return "\n" in text and next(_joints(text), None) is not None


def _joints(text: str) -> Iterator[Match[str]]:
    """Where a line may go on in the next, in order."""
    begins = 0
    for line in text.split("\n")[:-1]:
        if line and (line[-1] in _ENDS_A_PIECE or len(line) >= _FULL_LINE):
            found = (_JOINT.match(text, begins + at) for at in _places(line))
            joint = next(filter(None, found), None)
            if joint and (joint["plain"] is None or _goes_on(joint)):
                yield joint
        begins += len(line) + 1


def _places(line: str) -> list[int]:
    """The only places of a line at which a joint can begin.

    At a quote or a backslash at its end; and behind a full line that ends in the middle of
    something that no word is.
    """
    places = []
    plain = len(line) - line.endswith("\r")
    if line[-1] in _ENDS_A_PIECE:
        piece = line[-_LONGEST_END:].rstrip(_BEHIND_A_QUOTE)
        if piece.endswith(_QUOTES):
            places.append(max(0, len(line) - _LONGEST_END) + len(piece) - 1)
        if line[plain - 1 : plain] == "\\":
            places.append(plain - 1)
    if plain >= _FULL_LINE:
        before = _BEFORE.search(line, plain - 12, plain)
        if before and not _WORDY.fullmatch(before[0]):
            places.append(plain)
    return places


def _goes_on(joint: Match[str]) -> bool:
    """Whether the next line begins in the middle of something that no word is."""
    after = _AFTER.match(joint.string, joint.end())
    return after is not None and not _WORDY.fullmatch(after["piece"])
