"""Prompts into a model's key-value caches: in bounded passes, shared beginnings once."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import mlx.core as mx
from mlx_lm.generate import PromptProcessingBatch
from mlx_lm.models.cache import KVCache, make_prompt_cache

from pipeline.models.prefix import Prefixes

# Tokens of one pass, all rows together. Longer ones hold up the display on a Mac, whose watchdog
# then kills them, and where attention is not fused its scores grow with the square.
STEP = 512
# Of the machine's memory: the key-values of the rows that are computed together, and of beginnings.
_ROWS_SHARE, _BEGINNINGS_SHARE = 16, 32


def physical_bytes() -> int:
    """The machine's memory."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


class Reader:
    """Reads for one loaded model. beat: called at each pass."""

    def __init__(self, model: Any, beat: Callable[[], None]) -> None:
        self._model = model
        self._beat = beat
        self._prefixes = Prefixes(
            physical_bytes() // _BEGINNINGS_SHARE, fresh=self.fresh, read=self._begin
        )

    def forward(self, tokens: mx.array, cache: list[Any]) -> mx.array:
        """One pass of the model over tokens [B, T]: logits [B, T, V], not yet evaluated."""
        self._beat()
        logits: mx.array = self._model(tokens, cache=cache)
        return logits

    def fresh(self) -> list[Any]:
        """An empty cache."""
        made: list[Any] = make_prompt_cache(self._model)
        return made

    def clear(self) -> None:
        """Forget every beginning."""
        self._prefixes.clear()

    @cached_property
    def room(self) -> int:
        """How many tokens all rows of a batch may hold together, padded to the longest."""
        cache = self.fresh()
        self.forward(mx.array([[0]]), cache)
        mx.eval([layer.state for layer in cache])
        # a cache with windows or states of fixed size takes less in the end, never more
        held = [layer for layer in cache if getattr(layer, "keys", None) is not None]
        per_token: int = sum(layer.nbytes // layer.keys.shape[2] for layer in held)
        return physical_bytes() // _ROWS_SHARE // max(1, per_token)

    def shared(
        self,
        rows: Sequence[tuple[int, ...]],
        lengths: Sequence[int],
        stems: Sequence[int],
        worn: Path | None,
    ) -> tuple[list[list[Any]], list[int]]:
        """A cache per row with its first `length` tokens (shared ones are the same object), and
        the tokens computed now per row.
        """
        caches, computed = [], []
        for row, length, stem in zip(rows, lengths, stems, strict=True):
            begun, new = (
                self._prefixes.get(row[:length], stem, worn) if length else (self.fresh(), 0)
            )
            caches.append(begun)
            computed.append(new)
        return caches, computed

    def feed(
        self,
        rows: Sequence[tuple[int, ...]],
        lengths: Sequence[int],
        caches: list[list[Any]],
        **more: Any,
    ) -> Any:
        """A batch fed with all but the last token of each row. more: what decoding it needs.

        The last token goes alone, for only its logits are wanted: those of a whole batch of
        prompts would take gigabytes.
        """
        fed = PromptProcessingBatch(
            self.forward,
            caches=caches,
            prefill_step_size=max(1, STEP // len(rows)),
            **{"uids": list(range(len(rows))), **more},
        )
        fed.prompt([list(row[n:-1]) for row, n in zip(rows, lengths, strict=True)])
        return fed

    def _begin(self, tokens: tuple[int, ...], cache: list[Any]) -> None:
        for start in range(0, len(tokens), STEP):
            self.forward(mx.array([tokens[start : start + STEP]]), cache)
            mx.eval([layer.state for layer in cache])
        for layer in cache:
            if type(layer) is KVCache:  # has room for up to 255 tokens more, and is kept all night
                keys, values = layer.state[:2]
                layer.keys = mx.contiguous(keys[..., : layer.offset, :])
                layer.values = mx.contiguous(values[..., : layer.offset, :])
        mx.eval([layer.state for layer in cache])
