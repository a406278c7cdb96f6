"""A loaded mlx_lm model: batches of prompts in, option scores or decoded tokens out.

Heavy to import (mlx, transformers): `mlx.py` imports it at the first call.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mlx.core as mx
from mlx_lm import load
from mlx_lm.generate import BatchGenerator, PromptProcessingBatch
from mlx_lm.models.cache import make_prompt_cache
from mlx_lm.sample_utils import greedy_sampler

from pipeline.models import Grammar
from pipeline.models.adapters import Adapters, replaces_weights
from pipeline.models.chat import Chat, Prompt
from pipeline.models.grammar import Grammars
from pipeline.models.prefix import Prefixes, plan

_PREFILL_STEP = 512  # longer steps hold up the display on a Mac, whose watchdog then kills them


@dataclass(frozen=True, slots=True)
class Decoded:
    """One decoded reply. finish: "stop" or "length". seconds: this row's share of its batch."""

    text: str
    finish: str
    cached_tokens: int
    output_tokens: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Scored:
    """Log-likelihood of each option after one prompt (not normalised), and what it cost."""

    scores: tuple[float, ...]
    cached_tokens: int
    seconds: float


class Engine:
    """One model in memory. Use it on the thread that made it."""

    def __init__(
        self,
        folder: Path,
        *,
        batch: int,
        cache_bytes: int,
        prefixes: int,
        beat: Callable[[], None] = lambda: None,
    ) -> None:
        """beat: called at each step of reading or writing, to show that it goes on."""
        mx.set_cache_limit(cache_bytes)
        # Leave room for the system and the display: beyond this MLX waits instead of swapping.
        mx.set_memory_limit(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * 3 // 4)
        self._folder = folder
        self._model, self._tokenizer = load(str(folder))[:2]
        self._adapters = Adapters(self._model)
        self._batch = batch
        self._beat = beat
        self._keep = prefixes
        self._prefixes: dict[Path | None, Prefixes] = {}
        self._grammars = Grammars(self._tokenizer)
        self.chat = Chat(self._tokenizer)

    def wear(self, adapter: Path | None) -> None:
        """Work with the adapter in this folder from here on, with None as the model is.

        The weights stay in memory, except after an adapter that replaces them. What was computed
        with another adapter is kept for when that one is worn again. Raises ModelFault for one that
        does not fit.
        """
        worn = self._adapters.on
        if adapter != worn and worn is not None and replaces_weights(worn):
            # dropped first: there may be no room for both
            del self._model, self._adapters
            self._prefixes.clear()
            gc.collect()
            mx.clear_cache()
            self._model = load(str(self._folder))[0]
            self._adapters = Adapters(self._model)
        self._adapters.wear(adapter)

    def write(
        self,
        prompts: Sequence[Prompt],
        *,
        max_tokens: int,
        grammar: Grammar | None,
        seeds: Sequence[int] | None,
        temperature: float,
    ) -> list[Decoded]:
        """Decode every prompt, in batches of like length; results in the order given."""
        done: dict[int, Decoded] = {}
        for batch in self._batches(prompts):
            started = time.perf_counter()
            rows = [prompts[index].tokens for index in batch]
            stems = [prompts[index].stem for index in batch]
            lengths = plan(rows, stems)
            caches, computed = self._shared(rows, lengths, stems)
            samplers = [
                _sampler(seeds[index], temperature) if temperature > 0 and seeds else greedy_sampler
                for index in batch
            ]
            processors = [
                [self._grammars.processor(grammar)] if grammar is not None else [] for _ in batch
            ]
            outputs = self._decode(rows, lengths, caches, max_tokens, samplers, processors)
            share = (time.perf_counter() - started) / len(batch)
            for place, index in enumerate(batch):
                tokens, finish = outputs[place]
                text = self._tokenizer.decode(tokens, skip_special_tokens=True)
                cached = lengths[place] - computed[place]
                done[index] = Decoded(text, finish, cached, len(tokens), share)
            mx.clear_cache()
        return [done[index] for index in range(len(prompts))]

    def score(
        self, prompts: Sequence[Prompt], options: Sequence[Sequence[Sequence[int]]]
    ) -> list[Scored]:
        """Log-likelihood of each option (as tokens) after each prompt; results in order.

        Where the first tokens of a prompt's options differ, these alone are scored.
        """
        done: dict[int, Scored] = {}
        for batch in self._batches(prompts):
            started = time.perf_counter()
            rows = [prompts[index].tokens for index in batch]
            stems = [prompts[index].stem for index in batch]
            lengths = plan(rows, stems)
            caches, computed = self._shared(rows, lengths, stems)
            fed = self._feed(rows, lengths, caches)
            first = _log_softmax(self._model(_last(rows), cache=fed.prompt_cache)[:, -1, :])
            mx.eval(first)
            self._beat()
            scores: list[tuple[float, ...]] = []
            for place, index in enumerate(batch):
                heads = [option[0] for option in options[index]]
                if len(set(heads)) == len(heads):
                    chosen: Any = first[place][mx.array(heads)].tolist()
                    scores.append(tuple(chosen))
                else:
                    cache = fed.extract_cache(place)
                    scores.append(self._whole(cache, first[place], options[index]))
            share = (time.perf_counter() - started) / len(batch)
            for place, index in enumerate(batch):
                cached = lengths[place] - computed[place]
                done[index] = Scored(scores[place], cached, share)
            mx.clear_cache()
        return [done[index] for index in range(len(prompts))]

    @property
    def batch(self) -> int:
        """Requests computed together."""
        return self._batch

    def halve(self) -> bool:
        """Compute half as many together from here on; False when it is one already.

        What is kept for reuse is given back either way.
        """
        self._prefixes.clear()
        gc.collect()
        mx.clear_cache()
        smaller = self._batch > 1
        self._batch = max(1, self._batch // 2)
        return smaller

    @property
    def device(self) -> str:
        """What computes: "Metal" or "CPU"."""
        return "Metal" if mx.default_device() == mx.Device(mx.gpu) else "CPU"

    @staticmethod
    def peak_bytes() -> int:
        """The most memory MLX has held in this process."""
        return int(mx.get_peak_memory())

    def close(self) -> None:
        """Drop the weights and every cache."""
        del self._model, self._adapters, self._prefixes
        gc.collect()
        mx.clear_cache()

    # -------------------------------------------------------------- batches

    def _batches(self, prompts: Sequence[Prompt]) -> list[list[int]]:
        """Indices, longest first and at most a batch each: neighbours need little padding."""
        order = sorted(range(len(prompts)), key=lambda index: -len(prompts[index].tokens))
        return [order[at : at + self._batch] for at in range(0, len(order), self._batch)]

    def _shared(
        self, rows: Sequence[tuple[int, ...]], lengths: Sequence[int], stems: Sequence[int]
    ) -> tuple[list[list[Any]], list[int]]:
        """A cache per row (shared ones are the same object), and tokens computed now per row."""
        caches, computed = [], []
        on = self._adapters.on
        kept = self._prefixes.setdefault(on, Prefixes(self._model, self._keep))
        for row, length, stem in zip(rows, lengths, stems, strict=True):
            if length:
                cache, new = kept.get(row[:length], stem)
                self._beat()
            else:
                cache, new = make_prompt_cache(self._model), 0
            caches.append(cache)
            computed.append(new)
        return caches, computed

    def _feed(
        self,
        rows: Sequence[tuple[int, ...]],
        lengths: Sequence[int],
        caches: list[list[Any]],
    ) -> Any:
        """A batch fed with all but the last token of each row.

        The last token goes alone, for only its logits are wanted: those of a whole batch of
        prompts would take gigabytes.
        """
        fed = PromptProcessingBatch(
            self._model,
            uids=list(range(len(rows))),
            caches=caches,
            prefill_step_size=_PREFILL_STEP,
        )
        fed.prompt([list(row[n:-1]) for row, n in zip(rows, lengths, strict=True)])
        return fed

    def _whole(
        self, cache: list[Any], first: mx.array, options: Sequence[Sequence[int]]
    ) -> tuple[float, ...]:
        """Summed log-likelihood of each option, all its tokens, after a prompt's cache."""
        scores: list[float] = []
        for at in range(0, len(options), self._batch):
            part = options[at : at + self._batch]
            width = max(len(option) for option in part)
            inputs = mx.array([[*o[:-1], *[0] * (width - len(o))] for o in part])
            # Padding comes after what is scored, so causal attention never sees it.
            merged = [layer.merge([layer] * len(part)) for layer in cache]
            logprobs = _log_softmax(self._model(inputs, cache=merged))
            for row, option in enumerate(part):
                total = first[option[0]]
                if len(option) > 1:
                    steps = mx.arange(len(option) - 1)
                    total = total + logprobs[row, steps, mx.array(list(option[1:]))].sum()
                value: Any = total.item()
                scores.append(value)
        return tuple(scores)

    def _decode(
        self,
        rows: Sequence[tuple[int, ...]],
        lengths: Sequence[int],
        caches: list[list[Any]],
        max_tokens: int,
        samplers: list[Callable[[mx.array], mx.array]],
        processors: list[list[Any]],
    ) -> list[tuple[list[int], str]]:
        """Tokens (without the end token) and finish of every row."""
        generator: Any = BatchGenerator(
            self._model,
            stop_tokens=[[token] for token in self._tokenizer.eos_token_ids],
            completion_batch_size=len(rows),
            prefill_batch_size=len(rows),
            prefill_step_size=_PREFILL_STEP,
        )
        try:
            uids = generator.insert(
                [list(row[n:]) for row, n in zip(rows, lengths, strict=True)],
                max_tokens=[max_tokens] * len(rows),
                caches=caches,
                all_tokens=[list(row[:n]) for row, n in zip(rows, lengths, strict=True)],
                samplers=samplers,
                logits_processors=processors,
            )
            outputs: dict[int, list[int]] = {uid: [] for uid in uids}
            finishes: dict[int, str] = {}
            while len(finishes) < len(uids):
                _, responses = generator.next()  # one step, of reading or of writing
                self._beat()
                for response in responses:
                    if response.finish_reason != "stop":
                        outputs[response.uid].append(response.token)
                    if response.finish_reason is not None:
                        finishes[response.uid] = response.finish_reason
        finally:
            generator.close()
        return [(outputs[uid], finishes[uid]) for uid in uids]


def _last(rows: Sequence[tuple[int, ...]]) -> mx.array:
    return mx.array([[row[-1]] for row in rows])


def _log_softmax(logits: mx.array) -> mx.array:
    logits = logits.astype(mx.float32)
    return logits - mx.logsumexp(logits, axis=-1, keepdims=True)


def _sampler(seed: int, temperature: float) -> Callable[[mx.array], mx.array]:
    """Draws with a key of its own: what other rows or earlier calls draw makes no difference."""
    key = mx.random.key(seed)

    def draw(logprobs: mx.array) -> mx.array:
        nonlocal key
        key, now = mx.random.split(key)
        return mx.random.categorical(logprobs / temperature, key=now)

    return draw
