"""Log-likelihoods of fixed replies after a prompt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mlx.core as mx

Forward = Callable[[mx.array, list[Any]], mx.array]


def log_softmax(logits: mx.array) -> mx.array:
    """In 32 bits, over the last axis."""
    logits = logits.astype(mx.float32)
    return logits - mx.logsumexp(logits, axis=-1, keepdims=True)


def by_first(first: mx.array, options: Sequence[Sequence[int]]) -> tuple[float, ...] | None:
    """Log-likelihood [V] of each option's first token; None where two begin alike."""
    heads = [option[0] for option in options]
    if len(set(heads)) < len(heads):
        return None
    scores: Any = first[mx.array(heads)].tolist()
    return tuple(scores)


def by_all(
    forward: Forward,
    cache: list[Any],
    first: mx.array,
    options: Sequence[Sequence[int]],
    together: int,
) -> tuple[float, ...]:
    """Summed log-likelihood of each option, all its tokens, after a prompt's cache.

    first: log-likelihoods [V] of the first token. together: options computed at once.
    """
    scores: list[float] = []
    for at in range(0, len(options), together):
        part = options[at : at + together]
        width = max(len(option) for option in part)
        inputs = mx.array([[*o[:-1], *[0] * (width - len(o))] for o in part])
        # Padding comes after what is scored, so causal attention never sees it.
        merged = [layer.merge([layer] * len(part)) for layer in cache]
        logprobs = log_softmax(forward(inputs, merged))
        for row, option in enumerate(part):
            total = first[option[0]]
            if len(option) > 1:
                steps = mx.arange(len(option) - 1)
                total = total + logprobs[row, steps, mx.array(list(option[1:]))].sum()
            value: Any = total.item()
            scores.append(value)
    return tuple(scores)
