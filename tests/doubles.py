"""Doubles for the one border that is not real in most tests: what a model answers."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from pipeline.models import Account, Ask, Choice, Grammar, Reply
from pipeline.records import Call

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Asked:
    """One ask as the double saw it."""

    call: str  # "choose" or "write"
    stage: str
    purpose: str
    ask: Ask
    seed: int | None = None


class CannedModel:
    """Keeps the Model protocol; answers from queues or functions, records every ask.

    choose: options to pick, in order, or a function (purpose, ask) → option; may also answer with
        a Choice. write: texts or Replies, in order, or a function (purpose, ask) → text or Reply.
    An ask beyond the queue, or of a kind not given at all, fails the test.
    """

    def __init__(
        self,
        choose: Sequence[str | Choice] | Callable[[str, Ask], str | Choice] = (),
        write: Sequence[str | Reply] | Callable[[str, Ask], str | Reply] = (),
        *,
        name: str = "canned",
        account: Account | None = None,
    ) -> None:
        self._choose = choose if callable(choose) else list(choose)
        self._write = write if callable(write) else list(write)
        self._name = name
        self._account = account
        self.asked: list[Asked] = []

    @property
    def name(self) -> str:
        """The name it was given."""
        return self._name

    @property
    def left(self) -> int:
        """Canned answers not asked for yet."""
        queues = [queue for queue in (self._choose, self._write) if not callable(queue)]
        return sum(len(queue) for queue in queues)

    def choose(self, asks: Sequence[Ask], *, stage: str, purpose: str) -> list[Choice]:
        """The canned option of each ask, at probability 0.9 (or the canned Choice)."""
        choices = []
        for ask in asks:
            self.asked.append(Asked("choose", stage, purpose, ask))
            answer = self._next(self._choose, "choose", purpose, ask)
            if isinstance(answer, Choice):
                choice = answer
            elif answer in ask.options:
                rest = 0.1 / max(1, len(ask.options) - 1)
                top = 0.9 if len(ask.options) > 1 else 1.0
                shares = tuple(top if option == answer else rest for option in ask.options)
                choice = Choice(ask.options, shares)
            else:
                raise AssertionError(f"{purpose}: {answer!r} is none of the options {ask.options}")
            self._record(stage, purpose, ask, 0, "stop")
            choices.append(choice)
        return choices

    def write(
        self,
        asks: Sequence[Ask],
        *,
        stage: str,
        purpose: str,
        max_tokens: int,
        grammar: Grammar | None = None,
        seeds: Sequence[int] | None = None,
        temperature: float = 0.0,
    ) -> list[Reply]:
        """The canned text of each ask; a text counts as ended by itself ("stop")."""
        replies = []
        for index, ask in enumerate(asks):
            seed = None if seeds is None else seeds[index]
            self.asked.append(Asked("write", stage, purpose, ask, seed))
            answer = self._next(self._write, "write", purpose, ask)
            if isinstance(answer, Reply):
                reply = answer
            else:
                reply = Reply(answer, "stop", self.count(ask.prompt), 0, self.count(answer), 0.0)
            self._record(stage, purpose, ask, reply.output_tokens, reply.finish, bool(seed))
            replies.append(reply)
        return replies

    def count(self, text: str) -> int:
        """Words, as a stand-in for tokens."""
        return len(text.split())

    def close(self) -> None:
        """Nothing to give back."""

    def _next(
        self, source: list[_T] | Callable[[str, Ask], _T], call: str, purpose: str, ask: Ask
    ) -> _T:
        if callable(source):
            return source(purpose, ask)
        if not source:
            raise AssertionError(f"an unasked-for {call}({purpose}): {ask.prompt[:300]!r}")
        return source.pop(0)

    def _record(
        self, stage: str, purpose: str, ask: Ask, output: int, finish: str, retry: bool = False
    ) -> None:
        if self._account is not None:
            size = self.count(ask.prompt)
            self._account(Call(stage, purpose, size, 0, output, 0.0, finish, retry))


class HashEmbedder:
    """Keeps the Embedder protocol: texts that share words are near, the same on every machine."""

    def __init__(self, dimensions: int = 256) -> None:
        self._dimensions = dimensions

    @property
    def name(self) -> str:
        """A name no real model has."""
        return "word-hash"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors; a text without words gets the first axis."""
        vectors = np.zeros((len(texts), self._dimensions), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for word in re.findall(r"\w+", text.casefold()):
                digest = hashlib.sha256(word.encode()).digest()
                row[int.from_bytes(digest[:4], "little") % self._dimensions] += 1.0
            if not row.any():
                row[0] = 1.0
            row /= np.linalg.norm(row)
        return vectors
