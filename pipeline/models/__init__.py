"""What the pipeline asks of a model: two calls, and unit vectors from an embedder.

`choose` scores a fixed set of options with one forward pass and decodes nothing; `write` decodes
under a grammar. A backend is one file in this package; only files here import mlx.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pipeline.records import Call


@dataclass(frozen=True, slots=True)
class Grammar:
    """What a reply may look like. `kind` is "json" (a JSON schema), "regex" or "lark"."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Ask:
    """One request: a system turn, example turns, the user's turn.

    examples: (user, assistant) pairs shown before the prompt.
    options: for `choose`, the answers to score; distinct, not empty.
    Asks of one batch that share system and examples share one prefix cache.
    """

    system: str
    prompt: str
    examples: tuple[tuple[str, str], ...] = ()
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Choice:
    """A probability per option (same order, sums to 1), label bias already taken out."""

    options: tuple[str, ...]
    probabilities: tuple[float, ...]

    @property
    def best(self) -> str:
        """The most likely option; the first of equals."""
        return self.options[self.probabilities.index(max(self.probabilities))]

    @property
    def margin(self) -> float:
        """Distance in probability between the best option and the next; 1.0 if there is one."""
        ranked = sorted(self.probabilities, reverse=True)
        return ranked[0] - ranked[1] if len(ranked) > 1 else 1.0


@dataclass(frozen=True, slots=True)
class Reply:
    """Text and what it cost. finish: "stop" (ended by itself) or "length" (cut at the cap).

    prompt_tokens counts what was fed including cached_tokens; seconds is this reply's share of its
    batch.
    """

    text: str
    finish: str
    prompt_tokens: int
    cached_tokens: int
    output_tokens: int
    seconds: float


Account = Callable[[Call], None]


class Model(Protocol):
    """A language model. Faults are ModelFault; nothing is loaded before the first call."""

    @property
    def name(self) -> str:
        """The alias or folder it was asked for by."""

    def choose(self, asks: Sequence[Ask], *, stage: str, purpose: str) -> list[Choice]:
        """Score each ask's options with one forward pass; one Choice per ask, in order."""

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
        """Decode one Reply per ask, in order. Greedy when temperature is 0; one seed per ask else.

        A seed is the number of the try, 0 for the first: another one is accounted as a retry. Text
        is the same alone, batched and reordered.
        """

    def count(self, text: str) -> int:
        """Tokens in `text` by the model's own tokenizer."""

    def close(self) -> None:
        """Give the memory back; a later call loads again."""


class Embedder(Protocol):
    """Unit vectors for texts."""

    @property
    def name(self) -> str:
        """The alias it was asked for by."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Shape (len(texts), dimensions), each row of length 1."""
