"""The two models of benchmarks/night.py: quick, canned, and accounted for."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.models import Account, Ask, Choice, Reply
from pipeline.records import Call

_SURE = 0.9
_DIMENSIONS = 384
_ANSWERS = {
    "chunk/keep": "keep",
    "synthesize/relation": "unrelated",
    "wikify/repeat": "different",
    "wikify/split": "part",
    "wikify/merge": "different",
}


class HashedWords:
    """Keeps the Embedder protocol: hashed words. seconds: its CPU; texts: how many it was given."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.texts = 0

    @property
    def name(self) -> str:
        """A name no real model has."""
        return "hashed-words"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors; texts that share words are near."""
        began = time.process_time()
        # any two texts have something in common, as with real embedders
        vectors = np.full((len(texts), _DIMENSIONS), 0.25, dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for word in text.casefold().split():
                digest = hashlib.sha256(word.strip(".,").encode()).digest()
                row[int.from_bytes(digest[:4], "little") % _DIMENSIONS] += 1.0
            row /= np.linalg.norm(row)
        self.texts += len(texts)
        self.seconds += time.process_time() - began
        return vectors


class Canned:
    """Keeps the Model protocol: finds the news, changes nothing else. Tokens are words."""

    def __init__(self, news: Sequence[str]) -> None:
        self._news = news
        self._account: Account = lambda _call: None

    def opened(self, account: Account) -> Canned:
        """Itself, with its calls accounted."""
        self._account = account
        return self

    @property
    def name(self) -> str:
        """A name no real model has."""
        return "canned"

    def choose(self, asks: Sequence[Ask], *, stage: str, purpose: str) -> list[Choice]:
        """The option that goes on as usual."""
        choices = []
        for ask in asks:
            answer = ask.options[0]
            if purpose in _ANSWERS:
                answer = _ANSWERS[purpose]
            elif purpose == "cluster/route":
                name = " ".join(self._news[0].split()[1:3])
                shown = ask.prompt.partition("Piece:")[0].splitlines()
                answer = next(row[0] for row in shown if f": {name}" in row)
            rest = (1.0 - _SURE) / max(1, len(ask.options) - 1)
            shares = tuple(_SURE if option == answer else rest for option in ask.options)
            self._record(stage, purpose, ask, 0)
            choices.append(Choice(ask.options, shares))
        return choices

    def write(
        self, asks: Sequence[Ask], *, stage: str, purpose: str, **_options: Any
    ) -> list[Reply]:
        """The news as claims; anything else is not asked."""
        replies = []
        for ask in asks:
            text = f"Work on {' '.join(self._news[0].split()[1:3])}"
            if purpose == "synthesize/claims":
                found = [n for n in self._news if n in ask.prompt]
                text = json.dumps({"claims": [f"fact: {n}" for n in found]})
            size = self.count(text)
            self._record(stage, purpose, ask, size)
            replies.append(Reply(text, "stop", self.count(ask.prompt), 0, size, 0.0))
        return replies

    def count(self, text: str) -> int:
        """Words, as a stand-in for tokens."""
        return len(text.split())

    def close(self) -> None:
        """Nothing to give back."""

    def _record(self, stage: str, purpose: str, ask: Ask, output: int) -> None:
        self._account(Call(stage, purpose, self.count(ask.prompt), 0, output, 0.0, "stop"))
