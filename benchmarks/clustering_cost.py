"""What finding a topic costs beside 1,000 topics with 10,000 chunks, but for the models.

    python benchmarks/clustering_cost.py [--write]

Every topic has words of its own, half of each chunk's, and none has an article yet; vectors are
hashed words, and the model takes the first topic it is shown. CPU seconds of this process without
the embedder's, and the most memory it had. --write: the line in docs/quality.md.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from benchmarks.night_models import HashedWords
from benchmarks.night_world import BUILT, home_config, invented
from pipeline import assemble
from pipeline.desk import Desk
from pipeline.history import History
from pipeline.identity import chunk_id, message_id
from pipeline.models import Account, Ask, Choice, Reply
from pipeline.records import Assignment, Bucket, Chunk, Conversation, Message, Role
from pipeline.resources import folder
from pipeline.routing import Router
from pipeline.store.conversations import FileState
from pipeline.vault import Vault

DOCS = Path(__file__).parents[1] / "docs"
BEGIN, END = "<!-- clustering cost -->", "<!-- /clustering cost -->"
TOPICS, CHUNKS = 1000, 10_000
_TALK = 10  # chunks of one conversation
_ROUTED = 50
_OWN, _COMMON = 6, 400  # words of a topic, and of all


class _First:
    """Keeps the Model protocol: always the first option."""

    name = "first"

    def opened(self, _account: Account) -> _First:
        """Itself."""
        return self

    def choose(self, asks: Sequence[Ask], **_options: Any) -> list[Choice]:
        """The first option of each."""
        return [Choice(ask.options, (1.0, *([0.0] * (len(ask.options) - 1)))) for ask in asks]

    def write(self, asks: Sequence[Ask], **_options: Any) -> list[Reply]:
        """A name of its own."""
        return [Reply(ask.prompt.split("\n")[-1][:60], "stop", 0, 0, 0, 0.0) for ask in asks]

    def count(self, text: str) -> int:
        """Words."""
        return len(text.split())

    def close(self) -> None:
        """Nothing to give back."""


def main() -> None:
    """Print the line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        embedder = HashedWords()
        desk = _built(Path(place), embedder)
        news = list(_filed(desk, CHUNKS, _ROUTED))
        _seconds(lambda: Router(desk), embedder)  # vectors are kept from then on
        before = _peak()
        opened, router = _seconds(lambda: Router(desk), embedder)
        routed, _ = _seconds(lambda: [router.route(chunk) for chunk in news], embedder)
        compared, _ = _seconds(router.twins, embedder)
        desk.store.close()
    per = routed / _ROUTED
    told = (
        f"{TOPICS:,} topics with {CHUNKS:,} chunks: {opened:.1f} s to read them, "
        f"{per * 1000:.1f} ms a chunk, {compared:.1f} s to compare all topics; "
        f"{_peak():.0f} MB, {before:.0f} of them before"
    )
    sys.stdout.write(told + "\n")
    if given.write:
        page = DOCS / "quality.md"
        text = page.read_text("utf-8")
        before_it, after_it = text.partition(BEGIN)[0], text.partition(END)[2]
        page.write_text(f"{before_it}{BEGIN}\n{told}.\n{END}{after_it}", "utf-8")


def _seconds(work: Any, embedder: HashedWords) -> tuple[float, Any]:
    """CPU seconds of it without the embedder's, and what it gives."""
    began, other = time.process_time(), embedder.seconds
    found = work()
    return time.process_time() - began - (embedder.seconds - other), found


def _peak() -> float:
    """The most memory this process ever had, in MB."""
    unit = 1e6 if sys.platform == "darwin" else 1e3
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def _built(home: Path, embedder: HashedWords) -> Desk:
    """A store in which every topic has its chunks."""
    config = home_config(home)
    history, vault = History(config.vault), Vault(config.vault)
    history.init()
    seeded = vault.seed(folder("vault_meta"))
    history.commit([p.relative_to(config.vault).as_posix() for p in seeded], "init", at=BUILT)
    desk = assemble.desk(
        config,
        models=assemble.Models(_First().opened, embedder),
        say=lambda _event: None,
        now=lambda: BUILT,
    )
    with desk.store.together():
        for number in range(TOPICS):
            desk.store.buckets.found(Bucket(_name(number), description=_said(number, 0)), BUILT)
        for number, chunk in enumerate(_filed(desk, 0, CHUNKS)):
            filed = Assignment(chunk.id, _name(number % TOPICS), 1.0)
            desk.store.buckets.assign(chunk.id, [filed])
    return desk


def _filed(desk: Desk, first: int, count: int) -> Iterator[Chunk]:
    """So many chunks more, the conversations they stand in saved."""
    for start in range(first, first + count, _TALK):
        conv = f"{start:08x}"
        at = BUILT + timedelta(minutes=start)
        said = [_said(n % TOPICS, n) for n in range(start, start + _TALK)]
        messages = [
            Message(message_id("pi", at, Role.USER, text, ""), conv, n, Role.USER, at, text)
            for n, text in enumerate(said)
        ]
        desk.store.conversations.save(
            Conversation(conv, "pi", conv, conv, "", at, at),
            messages,
            FileState(Path(f"/sessions/{conv}.jsonl"), "pi", 1, 1, 1, conv),
            archived_at=at,
        )
        chunks = [
            Chunk(chunk_id([one.message_id]), conv, n, n, n, one.text[:60], keep=True)
            for n, one in enumerate(messages)
        ]
        desk.store.chunks.replace_tail(conv, chunks)
        yield from chunks


def _name(topic: int) -> str:
    return f"{invented(7000 + topic).title()} {topic}"


def _said(topic: int, number: int) -> str:
    drawn = random.Random(f"{topic} {number}")
    own = [invented(20_000 + topic * _OWN + drawn.randrange(_OWN)) for _ in range(8)]
    return " ".join(own + [invented(drawn.randrange(_COMMON)) for _ in range(8)])


if __name__ == "__main__":
    main()
