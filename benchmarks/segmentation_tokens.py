"""What the whole stage costs in tokens: its cut, keep or drop, and labels, over transcripts.

The stage and its prompts are the real ones, the cut by words alone, since the embedder reads no
token of the model's and takes long; tokens are those of a real model's tokenizer in its chat
template, of which the beginnings that requests share are read once, by the model layer's own plan.
Every answer is the dearest right one: each piece is kept, and its label is made of its own words.
No weights are read, so the figures are the same on every machine; `real` has the model itself
answer.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path
from typing import Any

from mlx_lm.tokenizer_utils import load

from benchmarks import pipeline_samples
from benchmarks.pipeline_run import NIGHT, home_config, tokenizer
from benchmarks.segmentation_data import TUNE, dialogues
from benchmarks.sessions import write_session
from pipeline import assemble
from pipeline.assemble import Models
from pipeline.config import load_config
from pipeline.desk import Desk
from pipeline.models import Account, Ask, Choice, Model, Reply
from pipeline.models.calibration import CONTENT_FREE
from pipeline.models.chat import Chat
from pipeline.models.prefix import Prefixes, plan
from pipeline.records import Call
from pipeline.stages import chunk, ingest

_START = datetime(2026, 11, 20, 9, 0, tzinfo=UTC)
_LONG = 2000  # tokens of a conversation
_CHATS = 30  # dialogues of each set
_MOST = 10_000  # tokens of a session, so that none outweighs the rest
_LABEL = 8  # words of a right label, which has four to ten
_ALL = 1000  # sessions: more than there are

Said = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens of one kind of transcript. prompt: with the kept beginnings, read: without them."""

    conversations: int
    messages: int
    transcript: int
    chunks: int
    decoded: int
    read: int
    prompt: int

    def figures(self) -> dict[str, float]:
        """What the goals are about, by name."""
        return {
            "decoded per chunk": self.decoded / self.chunks,
            "read per token": self.read / self.transcript,
            "prompt per token": self.prompt / self.transcript,
            "decoded per 1000": 1000 * self.decoded / self.transcript,
            "read per 1000": 1000 * self.read / self.transcript,
        }


def kinds(model: str) -> dict[str, list[Said]]:
    """Transcripts by kind."""
    count = tokenizer(load_config(), model)
    samples = pipeline_samples.chosen(_ALL, _MOST, count).conversations
    long = [said for said in samples if sum(count(text) for _, text in said) >= _LONG]
    chats = [
        [("user" if turn.by_user else "assistant", turn.text) for turn in dialogue.turns]
        for file in TUNE.values()
        for dialogue in dialogues(file)[:_CHATS]
    ]
    return {
        f"sessions of {_LONG:,} tokens and more": long,
        "shorter sessions": [said for said in samples if said not in long],
        "chats of short messages": chats,
    }


def counted(model: str) -> dict[str, Spent]:
    """What each kind costs with right answers."""
    place = assemble.place(model, load_config())
    found = kinds(model)
    return {
        kind: _spent(said, lambda account: _Counted(place, account), model)
        for kind, said in found.items()
    }


def real(model: str, number: int, most: int) -> dict[str, Spent]:
    """The same with the model's own answers, over so many conversations cut to so many tokens."""
    count = tokenizer(load_config(), model)
    found = {}
    for kind, said in kinds(model).items():
        some = [_cut(one, most, count) for one in said[:number]]
        real_ones = assemble.real_models(load_config(model=model))
        found[f"{kind}, {model}"] = _spent(some, real_ones.model, model)
    return found


def _cut(said: Said, most: int, count: Callable[[str], int]) -> Said:
    sizes = accumulate(count(text) for _, text in said)
    return [one for one, size in zip(said, sizes, strict=True) if size <= most] or said[:1]


def _spent(
    said: Sequence[Said],
    opened: Callable[[Account], Model],
    name: str,
) -> Spent:
    total: Counter[str] = Counter()

    def account(call: Call) -> None:
        total["decoded"] += call.output_tokens
        total["prompt"] += call.prompt_tokens
        total["read"] += call.prompt_tokens - call.cached_tokens

    with _house(said, opened(account), name) as desk:
        jobs = chunk.pending(desk)
        texts = [
            message.text for job in jobs for message in desk.store.conversations.messages(job.conv)
        ]
        for start in range(0, len(jobs), desk.config.batch):
            for result in chunk.work(jobs[start : start + desk.config.batch], desk):
                chunk.keep(result, desk)
        transcript = sum(desk.model.count(text) for text in texts)
        chunks = desk.store.chunks.counts()["chunks"]
    return Spent(len(jobs), len(texts), transcript, chunks, **total)


@contextmanager
def _house(said: Sequence[Said], model: Model, name: str) -> Iterator[Desk]:
    """A desk that has ingested these."""
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        for number, one in enumerate(said):
            session = f"5f0c7a3e-1d2b-4c3d-8e4f-{number:012x}"
            write_session(home, "claude-code", session, _START + timedelta(hours=number), one)
        config = home_config(home, name, {"claude-code": [str(home / ".claude" / "projects")]})
        desk = assemble.desk(
            config, models=Models(lambda _: model, None), say=_unheard, now=lambda: NIGHT
        )
        try:
            for result in ingest.work(ingest.pending(desk), desk):
                ingest.keep(result, desk)
            yield desk
        finally:
            desk.model.close()
            desk.store.close()


def _unheard(_event: object) -> None:
    return


# ------------------------------------------------------------------ a model that only counts


class _Kept:
    """A beginning that takes no memory."""

    nbytes = 0


class _Counted:
    """Answers rightly, and accounts what the model of this folder would read and write for it."""

    def __init__(self, folder: Path, account: Account) -> None:
        self._chat = Chat(load(folder))
        self._account = account
        self._beginnings = Prefixes(1, fresh=lambda: [_Kept()], read=lambda *_: None)
        self._leans: set[tuple[object, ...]] = set()
        self.name = folder.name

    def choose(self, asks: Sequence[Ask], *, stage: str, purpose: str) -> list[Choice]:
        """The first option; the model's lean is measured once for each kind of request."""
        kinds_of = {(a.system, a.examples, a.options): a for a in asks}
        fresh = [
            replace(a, prompt=CONTENT_FREE) for k, a in kinds_of.items() if k not in self._leans
        ]
        self._leans.update(kinds_of)
        self._read([*asks, *fresh], [0] * (len(asks) + len(fresh)), stage, purpose)
        return [Choice(a.options, (1.0, *[0.0] * (len(a.options) - 1))) for a in asks]

    def write(
        self, asks: Sequence[Ask], *, stage: str, purpose: str, max_tokens: int, **_options: Any
    ) -> list[Reply]:
        """A label for each: the words said most often."""
        texts = [_label(ask.prompt) for ask in asks]
        sizes = [min(max_tokens, self.count(text)) for text in texts]
        self._read(asks, sizes, stage, purpose)
        return [
            Reply(text, "stop", 0, 0, size, 0.0) for text, size in zip(texts, sizes, strict=True)
        ]

    def count(self, text: str) -> int:
        """Tokens."""
        return len(self._chat.text_tokens(text))

    def close(self) -> None:
        """Nothing to give back."""

    def _read(self, asks: Sequence[Ask], decoded: Sequence[int], stage: str, purpose: str) -> None:
        prompts = [self._chat.encode(ask) for ask in asks]
        rows, stems = [p.tokens for p in prompts], [p.stem for p in prompts]
        for row, stem, kept, said in zip(rows, stems, plan(rows, stems), decoded, strict=True):
            new = self._beginnings.get(row[:kept], stem)[1] if kept else 0
            self._account(Call(stage, purpose, len(row), kept - new, said, 0.0, "stop"))


def _label(prompt: str) -> str:
    """As a right label is: of the words of the first message."""
    said = prompt.removeprefix("<chat>").removesuffix("</chat>").split()
    return " ".join(said[1 : 1 + _LABEL])
