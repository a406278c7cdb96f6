"""Whether it pays to compute together: measured on the work itself, then settled for the run.

On most machines it does. On some, with requests of some lengths, one by one was faster. What is
computed is the same either way.

Reading is tried in pairs, one row alone and then those that would have been read with it, so that
like is compared with like. Writing is tried a token at a time: the run's first reply goes on alone
for a while before others join it.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

READING, WRITING = "reading", "writing"
_TRIES = {READING: 4, WRITING: 12}  # each way
_LEAST = 3  # fewer rows are not worth a trial
_SHORT = 16  # nor are rows of fewer tokens

_LOG = logging.getLogger(__name__)


@dataclass(slots=True)
class _Measured:
    tries: int = 0
    tokens: int = 0
    seconds: float = 0.0

    def add(self, tokens: int, seconds: float) -> None:
        if self.tries:  # the first is not counted: a GPU compiles its kernels in it
            self.tokens += tokens
            self.seconds += seconds
        self.tries += 1

    @property
    def speed(self) -> float:
        """Tokens a second."""
        return self.tokens / max(self.seconds, 1e-9)


@dataclass(slots=True)
class _Kind:
    alone: _Measured = field(default_factory=_Measured)
    together: _Measured = field(default_factory=_Measured)
    trying: bool = False
    settled: bool = False

    @property
    def alone_pays(self) -> bool:
        return self.settled and self.alone.speed > self.together.speed


class Pace:
    """Of each kind of work how fast it went, and so how many rows are computed together."""

    def __init__(self) -> None:
        self._kinds = {READING: _Kind(), WRITING: _Kind()}

    def rows(self, kind: str, most: int, tokens: int) -> int:
        """How many to take of `most` that may be computed together: all, or 1 where that is faster
        or has yet to be tried. tokens: of each of them.
        """
        found = self._kinds[kind]
        if found.settled:
            return min(1, most) if found.alone_pays else most
        ahead = found.together.tries if kind == READING else _TRIES[kind] - 1
        alone = found.alone.tries <= ahead
        found.trying = most >= (_LEAST if alone else 2) and tokens >= _SHORT
        return 1 if alone and found.trying else most

    def took(self, kind: str, rows: int, tokens: int, seconds: float) -> None:
        """`rows` together took this long for `tokens` of them all, padding not counted."""
        found = self._kinds[kind]
        if found.settled or not found.trying:
            return
        (found.alone if rows == 1 else found.together).add(tokens, seconds)
        if min(found.alone.tries, found.together.tries) >= _TRIES[kind]:
            found.settled = True
            _LOG.info(
                "%s: %.0f tokens a second together, %.0f one by one: %s from here on",
                kind,
                found.together.speed,
                found.alone.speed,
                "one by one" if found.alone_pays else "together",
            )
