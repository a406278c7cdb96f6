"""A scripted model whose calls are accounted in the tokens of a real tokenizer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.pipeline_run import tokenizer
from pipeline import assemble
from pipeline.config import load_config
from pipeline.models import Account, Ask, Choice, Grammar, Model, Reply
from pipeline.records import Call


class Counting:
    """Gives what `answers` does. Keeps the Model protocol.

    What a grammar lets every reply begin with is not decoded by the engine, and not counted here.
    """

    def __init__(self, answers: Model, model: str) -> None:
        # Imported here: mlx must not be loaded before the embedder has chosen its BLAS.
        from mlx_lm.utils import load_tokenizer  # noqa: PLC0415

        from pipeline.models.grammar import Grammars  # noqa: PLC0415

        config = load_config()
        self._answers = answers
        self._tokens = tokenizer(config, model)
        self._wrapper: Any = load_tokenizer(assemble.place(model, config))  # type: ignore[no-untyped-call]
        self._grammars = Grammars(self._wrapper)
        self._account: Account | None = None

    @property
    def name(self) -> str:
        """That of the scripted model."""
        return self._answers.name

    def opened(self, account: Account) -> Model:
        """Itself, with its calls accounted from here on."""
        self._account = account
        return self

    def count(self, text: str) -> int:
        """Tokens."""
        return self._tokens(text)

    def close(self) -> None:
        """Nothing to give back."""

    def choose(self, asks: Sequence[Ask], *, stage: str, purpose: str) -> list[Choice]:
        """The scripted ones."""
        for ask in asks:
            self._record(Call(stage, purpose, self.count(ask.prompt), 0, 0, 0.0, "stop"))
        return self._answers.choose(asks, stage=stage, purpose=purpose)

    def write(
        self, asks: Sequence[Ask], *, stage: str, purpose: str, **options: Any
    ) -> list[Reply]:
        """The scripted ones."""
        replies = self._answers.write(asks, stage=stage, purpose=purpose, **options)
        for ask, reply in zip(asks, replies, strict=True):
            size = self.count(reply.text) - self._given(reply.text, options.get("grammar"))
            self._record(Call(stage, purpose, self.count(ask.prompt), 0, size, 0.0, reply.finish))
        return replies

    def _given(self, text: str, grammar: Grammar | None) -> int:
        """Tokens of the text that the grammar gave away."""
        opening = self._grammars.opening(grammar) if grammar is not None else ()
        return len(opening) if text.startswith(self._wrapper.decode(opening)) else 0

    def _record(self, call: Call) -> None:
        if self._account is not None:
            self._account(call)
