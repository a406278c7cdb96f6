"""The Model that runs here, through mlx_lm. Light to import; the first call loads everything."""

from __future__ import annotations

import logging
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pipeline.errors import ModelFault, OutOfMemory, PromptTooLong
from pipeline.models import Account, Ask, Choice, Grammar, Reply, blas
from pipeline.models.calibration import CONTENT_FREE, Calibration, Held, Lean, key_of, stamp
from pipeline.records import Call

if TYPE_CHECKING:
    from pipeline.models.chat import Prompt
    from pipeline.models.engine import Engine


# How mlx says that memory ran out, or that macOS ended a computation that held up the display.
_EXHAUSTED = re.compile(
    r"malloc|allocat|insufficient memory|out of memory|impacting ?interactivity|gpu timeout",
    re.IGNORECASE,
)
_LOG = logging.getLogger(__name__)
_T = TypeVar("_T")


class MlxModel:
    """A model folder in MLX format.

    adapters: by stage, the folder of the LoRA adapter its calls are made with, loaded at the first
    of them; a stage without one has the model as it is. max_prompt_tokens: a longer prompt is
    refused, never cut. batch: rows computed together.
    cache_bytes: freed buffers MLX may keep for reuse. beat: called at each step of the work.
    calibration: where it is kept what the model leans to, in memory if not said. Use on one thread.
    """

    def __init__(
        self,
        name: str,
        folder: Path,
        *,
        account: Account,
        adapters: Mapping[str, Path] | None = None,
        max_prompt_tokens: int = 6000,
        batch: int = 8,
        cache_bytes: int = 512 * 2**20,
        beat: Callable[[], None] = lambda: None,
        calibration: Calibration | None = None,
    ) -> None:
        self._name = name
        self._folder = folder
        self._account = account
        self._adapters = adapters or {}
        self._max_prompt_tokens = max_prompt_tokens
        self._batch = batch
        self._cache_bytes = cache_bytes
        self._beat = beat
        self._engine: Engine | None = None
        self._calibration: Calibration = Held() if calibration is None else calibration
        self._stamps: dict[Path, str] = {}
        self.blas: str | None = None

    @property
    def name(self) -> str:
        """The alias or folder it was asked for by."""
        return self._name

    @property
    def adapters(self) -> Mapping[str, Path]:
        """The folders of the adapters, by the stage that wears each."""
        return self._adapters

    def choose(self, asks: Sequence[Ask], *, stage: str, purpose: str) -> list[Choice]:
        """Score each ask's options; the lean of the model towards an option is taken out.

        Raise ModelFault if the model cannot be loaded or a prompt is too long.
        """
        if not asks:
            return []
        for ask in asks:
            if not ask.options or len(set(ask.options)) < len(ask.options):
                raise ValueError(f"{purpose}: options must be distinct and not empty")
        engine = self._worn(stage)
        keys = [self._key(ask, stage) for ask in asks]
        leans: dict[str, Lean] = {}
        wanted: dict[str, Ask] = {}
        for key, ask in zip(keys, asks, strict=True):
            if key not in leans and key not in wanted:
                lean = self._calibration.get(key)
                if lean is not None and len(lean) == len(ask.options):
                    leans[key] = lean
                else:
                    wanted[key] = ask
        neutral = [replace(ask, prompt=CONTENT_FREE) for ask in wanted.values()]
        batch = [*asks, *neutral]
        prompts = self._encode(engine, batch, purpose)
        options = [[engine.chat.option_tokens(ask, o) for o in ask.options] for ask in batch]
        scored = self._computed(engine, purpose, lambda: engine.score(prompts, options))
        for prompt, row in zip(prompts, scored, strict=True):
            total = len(prompt.tokens)
            self._account(Call(stage, purpose, total, row.cached_tokens, 0, row.seconds, "stop"))
        for key, row in zip(wanted, scored[len(asks) :], strict=True):
            leans[key] = row.scores
            if all(map(math.isfinite, row.scores)):  # broken weights give NaN
                self._calibration.put(key, row.scores)
        return [
            Choice(ask.options, _normalised(row.scores, leans[key]))
            for key, ask, row in zip(keys, asks, scored[: len(asks)], strict=True)
        ]

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
        """Decode a reply to each ask. Raise ModelFault as `choose` does, or for a bad grammar."""
        if not asks:
            return []
        if temperature > 0 and (seeds is None or len(seeds) != len(asks)):
            raise ValueError(f"{purpose}: a temperature needs one seed per ask")
        engine = self._worn(stage)
        opening = () if grammar is None else engine.opening(grammar)
        prompts = self._encode(engine, asks, purpose, opening)
        decoded = self._computed(
            engine,
            purpose,
            lambda: engine.write(
                prompts,
                max_tokens=max_tokens,
                grammar=grammar,
                seeds=seeds,
                temperature=temperature,
            ),
        )
        replies = []
        for number, (prompt, row) in enumerate(zip(prompts, decoded, strict=True)):
            total = len(prompt.tokens)
            spent = (total, row.cached_tokens, row.output_tokens, row.seconds)
            again = seeds is not None and seeds[number] > 0
            self._account(Call(stage, purpose, *spent, row.finish, again))
            replies.append(Reply(row.text, row.finish, *spent))
        return replies

    def count(self, text: str) -> int:
        """Tokens in `text` by the model's own tokenizer."""
        return len(self._loaded().chat.text_tokens(text))

    @property
    def engine(self) -> Engine:
        """The loaded model, for `memory model check`. Raise ModelFault if it cannot be loaded."""
        return self._loaded()

    def close(self) -> None:
        """Give the memory back; a later call loads again."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    def _worn(self, stage: str) -> Engine:
        """The engine with the stage's adapter on."""
        engine, adapter = self._loaded(), self._adapters.get(stage)
        if adapter is not None and adapter not in self._stamps:
            self._stamps[adapter] = stamp(adapter)
        engine.wear(adapter)
        return engine

    def _key(self, ask: Ask, stage: str) -> str:
        """The calibration's key of an ask; the stage's adapter has been worn."""
        adapter = self._adapters.get(stage)
        worn = self._stamps[adapter] if adapter is not None else ""
        return key_of(self._stamps[self._folder], worn, ask)

    def _loaded(self) -> Engine:
        if self._engine is None:
            if not (self._folder / "config.json").is_file():
                raise ModelFault(
                    f"There is no model in {self._folder}.",
                    mend=f"Run `memory model fetch {self._name}`, or set `model` to one that "
                    "`memory model list` shows as fetched.",
                )
            # Files on this disk are all there is: nothing may ask the network.
            os.environ["HF_HUB_OFFLINE"] = "1"
            self.blas = blas.load()
            # before the weights are read: a folder changed meanwhile is another one ever after
            self._stamps = {self._folder: stamp(self._folder)}
            # Imported here: takes seconds, and a run with nothing to do needs no model.
            from pipeline.models.engine import Engine  # noqa: PLC0415

            try:
                self._engine = Engine(
                    self._folder,
                    batch=self._batch,
                    cache_bytes=self._cache_bytes,
                    beat=self._beat,
                )
            except (OSError, ValueError, KeyError, RuntimeError, TypeError) as fault:
                raise ModelFault(
                    f"The model in {self._folder} cannot be loaded: {fault}.",
                    mend=f"Run `memory model check {self._name}`.",
                ) from fault
        return self._engine

    def _computed(self, engine: Engine, purpose: str, compute: Callable[[], _T]) -> _T:
        """The result; where memory runs out, again in batches half as large, down to one by one.

        The smaller batch stays for the rest of the run. Turns what mlx and mlx_lm raise into a
        ModelFault, into OutOfMemory when even one request alone is too much.
        """
        while True:
            try:
                return compute()
            except (RuntimeError, ValueError, MemoryError) as fault:
                if not (isinstance(fault, MemoryError) or _EXHAUSTED.search(str(fault))):
                    raise ModelFault(
                        f"The model {self._name} failed on {purpose}: {fault}.",
                        mend=f"Run `memory model check {self._name}`; a smaller model may do.",
                    ) from fault
                said = str(fault)
            # out of the handler, whose traceback holds the very buffers that are to be freed
            if not engine.halve():
                raise OutOfMemory(
                    f"The model {self._name} ran out of memory on {purpose}: {said}.",
                    mend="Lower `max_prompt_tokens`, or use a smaller model.",
                )
            _LOG.warning(
                "out of memory on %s: from here on %d requests at a time", purpose, engine.batch
            )

    def _encode(
        self, engine: Engine, asks: Sequence[Ask], purpose: str, opening: tuple[int, ...] = ()
    ) -> list[Prompt]:
        """opening: what the replies begin with."""
        prompts = [engine.chat.encode(ask).opened(opening) for ask in asks]
        for prompt in prompts:
            if len(prompt.tokens) > self._max_prompt_tokens:
                raise PromptTooLong(
                    f"A prompt for {purpose} has {len(prompt.tokens)} tokens, more than the "
                    f"{self._max_prompt_tokens} allowed.",
                    mend="Raise the limit on prompt tokens, or use a model that can read more.",
                )
        return prompts


def _normalised(scores: Sequence[float], bias: Sequence[float]) -> tuple[float, ...]:
    """Probabilities from log scores with the log scores of the content-free prompt taken off."""
    corrected = [score - lean for score, lean in zip(scores, bias, strict=True)]
    top = max(corrected)
    weights = [math.exp(value - top) for value in corrected]
    return tuple(weight / sum(weights) for weight in weights)
