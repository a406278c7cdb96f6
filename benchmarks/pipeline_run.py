"""One night over real transcripts with the real models, and where its time went."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from pipeline import assemble, orchestrator
from pipeline.assemble import Models
from pipeline.config import Config, load_config
from pipeline.control import Control
from pipeline.history import History
from pipeline.models import Account, Ask, Choice, Embedder, Model, Reply
from pipeline.records import Event
from pipeline.resources import folder
from pipeline.results import RunResults
from pipeline.store.runs import Cost
from pipeline.vault import Vault

NIGHT = datetime(2026, 11, 30, 3, 0, tzinfo=UTC)
_MINUTES = 240.0
_T = TypeVar("_T")


def tokenizer(config: Config, name: str) -> Callable[[str], int]:
    """Counts tokens as the model of this name does, without loading it."""
    found = Tokenizer.from_file(str(assemble.place(name, config) / "tokenizer.json"))
    found.no_truncation()
    return lambda text: len(found.encode(text, add_special_tokens=False).ids)


@dataclass(slots=True)
class Clock:
    """Seconds by what was waited for, and by stage; of a stage those without the models too."""

    waited: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    stages: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    own: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    _last: float = field(default_factory=time.perf_counter)
    _waited: float = 0.0

    def waiting(self, what: str, compute: Callable[[], _T]) -> _T:
        """The result, the time it took entered."""
        began = time.perf_counter()
        try:
            return compute()
        finally:
            self.waited[what] += time.perf_counter() - began

    def heard(self, event: Event) -> None:
        """What passed since the last event belongs to the stage of this one."""
        now, waited = time.perf_counter(), sum(self.waited.values())
        self.stages[event.stage] += now - self._last
        self.own[event.stage] += now - self._last - (waited - self._waited)
        self._last, self._waited = now, waited


class TimedModel:
    """A model whose calls are timed from outside, with all that lies between the two processes."""

    def __init__(self, model: Model, clock: Clock) -> None:
        self._model = model
        self._clock = clock
        self._loaded = False

    @property
    def name(self) -> str:
        """The model's own."""
        return self._model.name

    def choose(self, asks: Sequence[Ask], *, stage: str, purpose: str) -> list[Choice]:
        """The model's own."""
        self._load()
        return self._clock.waiting(
            "choose", lambda: self._model.choose(asks, stage=stage, purpose=purpose)
        )

    def write(self, asks: Sequence[Ask], **options: Any) -> list[Reply]:
        """The model's own."""
        self._load()
        return self._clock.waiting("write", lambda: self._model.write(asks, **options))

    def count(self, text: str) -> int:
        """The model's own."""
        self._load()
        return self._clock.waiting("count", lambda: self._model.count(text))

    def close(self) -> None:
        """The model's own."""
        self._model.close()

    def _load(self) -> None:
        if not self._loaded:
            self._loaded = True
            self._clock.waiting("loading", lambda: self._model.count(""))


class TimedEmbedder:
    """An embedder that is timed; its loading is entered by itself."""

    def __init__(self, embedder: Embedder, clock: Clock) -> None:
        self._embedder = embedder
        self._clock = clock
        self._loaded = False

    @property
    def name(self) -> str:
        """The embedder's own."""
        return self._embedder.name

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The embedder's own."""
        if not self._loaded:
            self._loaded = True
            self._clock.waiting("loading the embedder", lambda: self._embedder.embed([""]))
        return self._clock.waiting("embed", lambda: self._embedder.embed(texts))


@dataclass(frozen=True, slots=True)
class Ran:
    """What a night did and how long it took. computed: seconds the model accounts for."""

    status: str
    results: RunResults
    costs: tuple[Cost, ...]
    wall: float
    clock: Clock
    computed: float
    claims: int

    @property
    def model_time(self) -> float:
        """Seconds the run waited for its language model, loading included."""
        return sum(self.clock.waited[what] for what in ("loading", "choose", "write", "count"))

    @property
    def embedding(self) -> float:
        """Seconds it waited for the embedder, loading included."""
        return self.clock.waited["embed"] + self.clock.waited["loading the embedder"]


def home_config(home: Path, model: str, roots: dict[str, list[str]]) -> Config:
    """A vault, a store and sources under a home folder."""
    config = load_config(
        vault=home / "vault",
        cache_dir=home / "cache",
        data_dir=home / "data",
        models_dir=load_config().models_dir,
        timezone="UTC",
        since_days="all",
        model=model,
        sources={"enabled": list(roots), "roots": roots},
    )
    history = History(config.vault)
    history.init()
    seeded = Vault(config.vault).seed(folder("vault_meta"))
    pages = [path.relative_to(config.vault).as_posix() for path in seeded]
    history.commit(pages, "init", at=NIGHT)
    return config


def night(config: Config, models: Models | None = None, *, at: datetime = NIGHT) -> Ran:
    """One run with the models given, or those the config names, and the clock standing still."""
    clock = Clock()
    real = models or assemble.real_models(config)

    def model(account: Account) -> Model:
        return TimedModel(real.model(account), clock)

    embedder = TimedEmbedder(real.embedder, clock) if real.embedder else None
    began = time.perf_counter()
    desk = assemble.desk(config, models=Models(model, embedder), say=clock.heard, now=lambda: at)
    try:
        status = orchestrator.run(desk, Control(_MINUTES))
        wall = time.perf_counter() - began
        return Ran(
            status,
            desk.results,
            tuple(desk.store.runs.costs(desk.run)),
            wall,
            clock,
            desk.store.runs.spent(desk.run)["seconds"],
            sum(change.claims for change, _ in desk.store.ledger.changes(run=desk.run)),
        )
    finally:
        desk.store.close()
