"""When a run stops: by a signal, by its budgets of time and tokens, a stage by its own time.

Only at a safe point: at once while nothing is being written, else after the write.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Stopped(BaseException):
    """A signal or the end of a budget; not an Exception, so that no job can swallow it.

    asked: by a signal. Otherwise the budget is spent, which is no fault.
    """

    def __init__(self, reason: str, *, asked: bool = False) -> None:
        super().__init__(reason)
        self.asked = asked


class StageOver(BaseException):
    """The stage has had its time; the stages after it go on."""


class Control:
    """Tells the loop when to stop. `max_tokens`: what the model may write; 0 sets no limit."""

    def __init__(self, max_minutes: float, max_tokens: int = 0) -> None:
        self._deadline = time.monotonic() + max_minutes * 60
        self._stage_deadline = float("inf")
        self._max_tokens = max_tokens
        self._busy = False
        self._asked = ""
        self.spent: Callable[[], float] = lambda: 0.0

    def heed(self) -> None:
        """Raise Stopped if a signal came while something was being written."""
        if self._asked:
            raise Stopped(self._asked, asked=True)

    def check(self) -> None:
        """Raise Stopped or StageOver if it is time to."""
        self.heed()
        now = time.monotonic()
        if now > self._deadline:
            raise Stopped("the time budget is spent")
        if self._max_tokens and self.spent() >= self._max_tokens:
            raise Stopped("the token budget is spent")
        if now > self._stage_deadline:
            raise StageOver

    @contextmanager
    def stage(self, minutes: float) -> Iterator[None]:
        """Give the block so much time: `check` raises StageOver after it."""
        self._stage_deadline = time.monotonic() + minutes * 60
        try:
            yield
        finally:
            self._stage_deadline = float("inf")

    @contextmanager
    def write(self) -> Iterator[None]:
        """A write that a signal must not cut in two; `heed` it afterwards."""
        self._busy = True
        try:
            yield
        finally:
            self._busy = False

    @contextmanager
    def step(self) -> Iterator[None]:
        """One of many writes: a signal that came during it is heeded before the next."""
        with self.write():
            yield
        self.heed()

    def conclude(self) -> None:
        """From here on a signal is only noted: what is left is to say how the run went."""
        self._busy = True

    @contextmanager
    def signals(self) -> Iterator[None]:
        """Take SIGTERM, SIGINT and SIGHUP for the length of the block, those ignored excepted.

        A run under nohup, or in the background of a script, is meant to outlive its terminal.
        """
        before = {
            number: signal.signal(number, self._on_signal)
            for number in SIGNALS
            if signal.getsignal(number) is not signal.SIG_IGN
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        # a second one is not raised: it would cut short what the first one is clearing up
        first, self._asked = not self._asked, f"stopped by {signal.Signals(number).name}"
        if first and not self._busy:
            raise Stopped(self._asked, asked=True)
