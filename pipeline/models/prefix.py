"""Key-value caches of prompt beginnings, kept so that a beginning is computed once."""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import mlx.core as mx
from mlx_lm.models.cache import make_prompt_cache

# Shorter beginnings cost less to compute again than to copy for every row of a batch.
_WORTH = 32
_STEP = 512  # tokens a forward pass; longer ones hold up the GPU's other work


def common(sequences: Sequence[tuple[int, ...]]) -> int:
    """How many tokens all sequences begin with in common."""
    first, last = min(sequences), max(sequences)
    for index, (left, right) in enumerate(zip(first, last, strict=False)):
        if left != right:
            return index
    return min(len(first), len(last))


class Prefixes:
    """The most recently used beginnings of one loaded model, at most `keep` of them."""

    def __init__(self, model: Any, keep: int) -> None:
        self._model = model
        self._keep = keep
        self._caches: OrderedDict[tuple[int, ...], list[Any]] = OrderedDict()

    def get(self, tokens: tuple[int, ...], stem: int) -> tuple[list[Any], int]:
        """A cache that holds `tokens`, and how many of them had to be computed now.

        The first `stem` tokens are kept as a beginning of their own: later batches share these
        when they do not share the rest. The cache is shared too: merge it into a batch or copy it,
        never feed it.
        """
        computed = self._add(tokens[:stem]) if _WORTH <= stem < len(tokens) else 0
        computed += self._add(tokens)
        return self._caches[tokens], computed

    def clear(self) -> None:
        """Forget all of them."""
        self._caches.clear()

    def _add(self, tokens: tuple[int, ...]) -> int:
        """See to it that `tokens` are the most recent beginning; return how many were computed."""
        known = max((key for key in self._caches if tokens[: len(key)] == key), key=len, default=())
        if known == tokens:
            self._caches.move_to_end(tokens)
            return 0
        cache = copy.deepcopy(self._caches[known]) if known else make_prompt_cache(self._model)
        rest = tokens[len(known) :]
        for start in range(0, len(rest), _STEP):
            self._model(mx.array([rest[start : start + _STEP]]), cache=cache)
            mx.eval([layer.state for layer in cache])
        self._caches[tokens] = cache
        while len(self._caches) > self._keep:
            self._caches.popitem(last=False)
        return len(rest)


def plan(rows: Sequence[tuple[int, ...]], stems: Sequence[int]) -> list[int]:
    """How many tokens of each row to take from a shared cache; 0 where it would not pay.

    Rows with the same stem share it, and more where all of them go on alike. At least one token of
    each row is left to feed.
    """
    groups: dict[tuple[int, ...], list[int]] = {}
    for index, (row, stem) in enumerate(zip(rows, stems, strict=True)):
        groups.setdefault(row[:stem], []).append(index)
    lengths = [0] * len(rows)
    for stem_tokens, members in groups.items():
        length = len(stem_tokens)
        if len(members) > 1:
            shared = common([rows[index] for index in members])
            length = shared if shared >= length + _WORTH else length
        length = min(length, min(len(rows[index]) for index in members) - 1)
        for index in members:
            lengths[index] = length if length >= _WORTH else 0
    return lengths
