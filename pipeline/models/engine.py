"""A loaded mlx_lm model: batches of prompts in, option scores or decoded tokens out.

Heavy to import (mlx, transformers): `mlx.py` imports it at the first call.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mlx.core as mx
from mlx_lm import load
from mlx_lm.generate import StopSequences
from mlx_lm.sample_utils import greedy_sampler
from mlx_lm.utils import maybe_set_recommended_wired_limit

from pipeline.models import Grammar
from pipeline.models.adapters import Adapters, replaces_weights
from pipeline.models.batches import Need, in_order, joining
from pipeline.models.chat import Chat, Prompt
from pipeline.models.grammar import Grammars
from pipeline.models.pace import READING, WRITING, Pace
from pipeline.models.prefix import plan
from pipeline.models.reading import Reader, physical_bytes
from pipeline.models.scoring import by_all, by_first, log_softmax

_REFILL = 4  # new rows join once this part of the places is free, not for each one


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


@dataclass(frozen=True, slots=True)
class _Asked:
    """The prompts of one call, and of each how many tokens it takes from a shared cache."""

    rows: list[tuple[int, ...]]
    stems: list[int]
    lengths: list[int]
    needs: list[Need]


@dataclass(slots=True)
class _Row:
    """What one row has come to so far."""

    tokens: list[int] = field(default_factory=list)
    finish: str = ""
    cached: int = 0
    seconds: float = 0.0


class Engine:
    """One model in memory. Use it on the thread that made it."""

    def __init__(
        self,
        folder: Path,
        *,
        batch: int,
        cache_bytes: int,
        beat: Callable[[], None] = lambda: None,
    ) -> None:
        """beat: called at each pass of reading or writing, to show that it goes on."""
        mx.set_cache_limit(cache_bytes)
        # Leave room for the system and the display: beyond this MLX waits instead of swapping.
        mx.set_memory_limit(physical_bytes() * 3 // 4)
        self._folder = folder
        self._model, self._tokenizer = load(str(folder))[:2]
        self._adapters = Adapters(self._model)
        self._batch = batch
        self._beat = beat
        self._reader = Reader(self._model, beat)
        self._pace = Pace()
        self._stops = StopSequences([[token] for token in self._tokenizer.eos_token_ids])
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
            del self._model, self._adapters, self._reader
            gc.collect()
            mx.clear_cache()
            self._model = load(str(self._folder))[0]
            self._adapters = Adapters(self._model)
            self._reader = Reader(self._model, self._beat)
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
        """Decode every prompt; results in the order given. As replies end, others are begun.

        What a prompt opens its reply with is part of the text and not decoded.
        """
        asked = _asked(prompts, max_tokens)
        samplers = [
            _sampler(seeds[index], temperature) if temperature > 0 and seeds else greedy_sampler
            for index in range(len(prompts))
        ]
        openings = [prompt.tokens[len(prompt.tokens) - prompt.opening :] for prompt in prompts]
        processors = [
            [self._grammars.processor(grammar, opening)] if grammar is not None else []
            for opening in openings
        ]
        found = [_Row() for _ in prompts]
        waiting = in_order(asked.needs)
        going: Any = None
        with _wired():
            while waiting or going is not None:
                most = self._pace.rows(WRITING, self._batch, max_tokens)
                uids = [] if going is None else list(going.uids)
                ready = not uids or most - len(uids) >= max(1, most // _REFILL)
                while ready and (joined := self._joining(waiting, asked, most, uids)):
                    del waiting[: len(joined)]
                    fed = self._read(
                        joined,
                        asked,
                        found,
                        uids=list(joined),
                        max_tokens=[max_tokens] * len(joined),
                        samplers=[samplers[index] for index in joined],
                        logits_processors=[processors[index] for index in joined],
                        stop_sequences=[self._stops] * len(joined),
                    )
                    begun = fed.generate([[asked.rows[index][-1]] for index in joined])
                    uids += joined
                    if going is None:
                        going = begun
                    else:
                        going.extend(begun)
                self._step(going, found)
                if not len(going):
                    going = None
        mx.clear_cache()
        return [
            Decoded(
                self._tokenizer.decode([*opening, *row.tokens], skip_special_tokens=True),
                row.finish,
                row.cached,
                len(row.tokens),
                row.seconds,
            )
            for opening, row in zip(openings, found, strict=True)
        ]

    def score(
        self, prompts: Sequence[Prompt], options: Sequence[Sequence[Sequence[int]]]
    ) -> list[Scored]:
        """Log-likelihood of each option (as tokens) after each prompt; results in order.

        Where the first tokens of a prompt's options differ, these alone are scored.
        """
        asked = _asked(prompts, max(len(option) for given in options for option in given))
        found = [_Row() for _ in prompts]
        scores: dict[int, tuple[float, ...]] = {}
        waiting = in_order(asked.needs)
        with _wired():
            while waiting:
                joined = self._joining(waiting, asked, self._batch, [])
                del waiting[: len(joined)]
                fed = self._read(joined, asked, found)
                started = time.perf_counter()
                last = mx.array([[asked.rows[index][-1]] for index in joined])
                first = log_softmax(self._reader.forward(last, fed.prompt_cache)[:, -1, :])
                mx.eval(first)
                for place, index in enumerate(joined):
                    simple = by_first(first[place], options[index])
                    scores[index] = simple or by_all(
                        self._reader.forward,
                        fed.extract_cache(place),
                        first[place],
                        options[index],
                        max(1, min(self._batch, self._reader.room // asked.needs[index].held)),
                    )
                _share(found, joined, time.perf_counter() - started)
                mx.clear_cache()
        return [Scored(scores[index], row.cached, row.seconds) for index, row in enumerate(found)]

    def opening(self, grammar: Grammar) -> tuple[int, ...]:
        """What every reply under the grammar begins with. Raise ModelFault if it is not valid."""
        return self._grammars.opening(grammar)

    @property
    def batch(self) -> int:
        """Requests computed together."""
        return self._batch

    def halve(self) -> bool:
        """Compute half as many together from here on; False when it is one already.

        What is kept for reuse is given back either way.
        """
        self._reader.clear()
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
        del self._model, self._adapters, self._reader
        gc.collect()
        mx.clear_cache()

    # -------------------------------------------------------------- batches

    def _joining(
        self, waiting: list[int], asked: _Asked, most: int, going: Sequence[int]
    ) -> list[int]:
        """Those waiting that are read together now, to go on beside those going, `most` in all."""
        count = joining(
            [asked.needs[index] for index in waiting[:most]],
            [asked.needs[index] for index in going],
            rows=most,
            room=self._reader.room,
        )
        shortest = min((asked.needs[index].read for index in waiting[:count]), default=0)
        return waiting[: self._pace.rows(READING, count, shortest)]

    def _read(
        self, joined: Sequence[int], asked: _Asked, found: Sequence[_Row], **more: Any
    ) -> Any:
        """A batch fed with all but the last token of each row."""
        started = time.perf_counter()
        rows = [asked.rows[index] for index in joined]
        lengths = [asked.lengths[index] for index in joined]
        stems = [asked.stems[index] for index in joined]
        caches, computed = self._reader.shared(rows, lengths, stems, self._adapters.on)
        begun = time.perf_counter()
        fed = self._reader.feed(rows, lengths, caches, **more)
        ended = time.perf_counter()
        tokens = sum(asked.needs[index].read - 1 for index in joined)
        self._pace.took(READING, len(joined), tokens, ended - begun)
        for index, length, new in zip(joined, lengths, computed, strict=True):
            found[index].cached = length - new
        _share(found, joined, ended - started)
        return fed

    def _step(self, going: Any, found: Sequence[_Row]) -> None:
        """One token more of each row that goes on."""
        rows = list(going.uids)
        started = time.perf_counter()
        for response in going.next():
            row = found[response.uid]
            if response.finish_reason != "stop":
                row.tokens.append(response.token)
            row.finish = response.finish_reason or ""
        elapsed = time.perf_counter() - started
        self._pace.took(WRITING, len(rows), len(rows), elapsed)
        _share(found, rows, elapsed)


def _asked(prompts: Sequence[Prompt], reply: int) -> _Asked:
    """reply: the most tokens that are held after a prompt."""
    rows = [prompt.tokens for prompt in prompts]
    stems = [prompt.stem for prompt in prompts]
    lengths = plan(rows, stems)
    needs = [Need(len(row) - n, len(row) + reply) for row, n in zip(rows, lengths, strict=True)]
    return _Asked(rows, stems, lengths, needs)


def _share(found: Sequence[_Row], rows: Sequence[int], seconds: float) -> None:
    for index in rows:
        found[index].seconds += seconds / len(rows)


@contextmanager
def _wired() -> Iterator[None]:
    """Weights and caches may stay in a Mac's memory while the block runs, as mlx_lm lets them."""
    before = maybe_set_recommended_wired_limit()
    try:
        yield
    finally:
        if before is not None:
            mx.synchronize()
            mx.set_wired_limit(before)


def _sampler(seed: int, temperature: float) -> Callable[[mx.array], mx.array]:
    """Draws with a key of its own: what other rows or earlier calls draw makes no difference."""
    key = mx.random.key(seed)

    def draw(logprobs: mx.array) -> mx.array:
        nonlocal key
        key, now = mx.random.split(key)
        # Noise of its own for each token. MLX's own draw runs along their sum, where the last bit,
        # which does depend on the other rows, decides between tokens that are next to each other.
        noise = mx.random.gumbel(logprobs.shape, key=now)
        return mx.argmax(logprobs / temperature + noise, axis=-1)

    return draw
