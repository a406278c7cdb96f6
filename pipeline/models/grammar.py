"""Bind a reply to a grammar: llguidance as a logits processor for mlx_lm.

llguidance brings an MLX kernel of its own that needs Metal; the mask here is plain array
arithmetic and runs anywhere.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import mlx.core as mx
from llguidance import LLMatcher, LLTokenizer, hf
from llguidance.numpy import allocate_token_bitmask, fill_next_token_bitmask

from pipeline.errors import ModelFault
from pipeline.models import Grammar


class Grammars:
    """Compiled grammars of one tokenizer (mlx_lm's wrapper)."""

    def __init__(self, tokenizer: Any) -> None:
        self._wrapper = tokenizer
        self._vocabulary: LLTokenizer | None = None
        self._compiled: dict[Grammar, str] = {}

    def opening(self, grammar: Grammar) -> tuple[int, ...]:
        """The tokens that every reply begins with, so that none of them needs to be decoded.

        They end where the tokenizer could go on in more than one way. Raise ModelFault if the
        grammar is not valid.
        """
        return tuple(self._matcher(grammar).compute_ff_tokens())

    def processor(self, grammar: Grammar, opening: Sequence[int]) -> Processor:
        """A fresh processor for one reply, which begins with `opening`. Raise as `opening` does."""
        matcher = self._matcher(grammar)
        if not matcher.consume_tokens(list(opening)):
            raise ModelFault("The grammar does not let a reply begin so.")
        return Processor(matcher, self._known().vocab_size)

    def _matcher(self, grammar: Grammar) -> LLMatcher:
        if grammar not in self._compiled:
            self._compiled[grammar] = _compile(grammar, self._known())
        return LLMatcher(self._known(), self._compiled[grammar])

    def _known(self) -> LLTokenizer:
        if self._vocabulary is None:  # takes about a second, so only once a grammar is asked for
            self._vocabulary = hf.from_tokenizer(
                self._wrapper._tokenizer, eos_token=sorted(self._wrapper.eos_token_ids)
            )
        return self._vocabulary


def _compile(grammar: Grammar, vocabulary: LLTokenizer) -> str:
    try:
        if grammar.kind == "json":
            json.loads(grammar.text)
            # Free white space would let a small model write blank lines until its token cap.
            text = LLMatcher.grammar_from_json_schema(
                grammar.text, defaults={"whitespace_flexible": False}
            )
        elif grammar.kind == "regex":
            text = LLMatcher.grammar_from_regex(grammar.text)
        elif grammar.kind == "lark":
            text = LLMatcher.grammar_from_lark(grammar.text)
        else:
            raise ModelFault(f"There is no grammar kind {grammar.kind!r}.")
    except ValueError as fault:
        raise ModelFault(f"The {grammar.kind} grammar is not valid: {fault}.") from fault
    error = LLMatcher.validate_grammar(text, vocabulary)
    if error:
        raise ModelFault(f"The {grammar.kind} grammar is not valid: {error}.")
    return text


class Processor:
    """Masks the logits of one sequence; keeps its state, so it is never shared or used again."""

    def __init__(self, matcher: LLMatcher, size: int) -> None:
        """size: the tokens of the vocabulary."""
        self._matcher = matcher
        self._mask = allocate_token_bitmask(1, size)
        self._seen: int | None = None

    def __call__(self, tokens: mx.array, logits: mx.array) -> mx.array:
        """Logits [1, V] with what the grammar forbids set to -inf. tokens: all so far [T]."""
        mx.async_eval(logits)  # type: ignore[no-untyped-call]  # the forward pass runs while the mask is computed here
        if self._seen is not None:  # the first call sees the prompt alone
            new: Any = tokens[self._seen :].tolist()
            if len(new) != 1:
                raise ModelFault("A grammar processor was used for two sequences.")
            if not self._matcher.is_stopped():
                self._matcher.consume_token(new[0])
            if self._matcher.is_error():
                raise ModelFault(f"The grammar failed: {self._matcher.get_error()}.")
        self._seen = tokens.size
        # Once the value is complete the mask allows the end alone, also in the one step that
        # mlx_lm computes past it.
        fill_next_token_bitmask(self._matcher, self._mask, 0)
        allowed = _spread(self._mask)
        size = logits.shape[-1]
        if allowed.shape[-1] < size:  # rows that pad the vocabulary are never allowed
            padding = mx.zeros((1, size - allowed.shape[-1]), dtype=mx.bool_)
            allowed = mx.concatenate([allowed, padding], axis=-1)
        return mx.where(allowed[:, :size], logits, -mx.inf)


def _spread(mask: Any) -> mx.array:
    """Bits [1, W] of 32-bit words, least significant first, as booleans [1, 32 * W]."""
    words = mx.array(mask).view(mx.uint32)
    bits = mx.right_shift(words[..., None], mx.arange(32, dtype=mx.uint32)) & 1
    return bits.reshape(1, -1).astype(mx.bool_)
