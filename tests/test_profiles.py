"""How like the topics a piece of talk is: topics whose profile stands as it was cost nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from pipeline import assemble
from pipeline.desk import Desk
from pipeline.models import Embedder
from pipeline.profiles import Profiles
from pipeline.records import Assignment, Bucket, Chunk
from tests.doubles import CannedModel, HashEmbedder
from tests.support_night import NIGHT, make_vault
from tests.support_store import chunk, fill


class Counting:
    """The hashing embedder under a name, with a list of all it was given."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.given: list[str] = []
        self._words = HashEmbedder()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.given += texts
        return self._words.embed(texts)


def desk_with(embedder: Embedder | None) -> Iterator[Desk]:
    desk = assemble.desk(
        make_vault(),
        models=assemble.Models(lambda account: CannedModel(), embedder),
        say=lambda event: None,
        now=lambda: NIGHT,
    )
    yield desk
    desk.store.close()


@pytest.fixture
def desk() -> Iterator[Desk]:
    yield from desk_with(Counting("one"))


def given(desk: Desk) -> list[str]:
    assert isinstance(desk.embedder, Counting)
    given, desk.embedder.given = desk.embedder.given, []
    return given


def told(desk: Desk, text: str, label: str = "") -> Chunk:
    """A chunk of one conversation in which this is said."""
    conv = hashlib.sha256(text.encode()).hexdigest()[:8]
    fill(desk.store, conv, [text])
    made = replace(chunk(desk.store, conv, 0, 0), label=label)
    desk.store.chunks.replace_tail(conv, [made])
    return made


def leanings(desk: Desk, said: Chunk) -> list[float]:
    profiles = Profiles(desk)
    return list(profiles.leanings(profiles.piece(said)))


def test_a_topic_is_embedded_once_for_all_nights(desk: Desk) -> None:
    """P6: another night embeds neither the topics nor the chunk again, only what changed."""
    for name in ("Lantern", "Harbor", "Beacon"):
        desk.store.buckets.save(Bucket(name), NIGHT)
    said = told(desk, "the lantern dashboard")
    first = leanings(desk, said)
    assert len(given(desk)) == 4
    assert leanings(desk, said) == pytest.approx(first)
    assert given(desk) == []
    desk.store.buckets.save(Bucket("Harbor", description="the port"), NIGHT)
    leanings(desk, said)
    assert given(desk) == ["Harbor. the port"]


def test_what_came_tonight_counts_at_once(desk: Desk) -> None:
    """A topic just proposed can be chosen for the next chunk, and by what this one says."""
    profiles = Profiles(desk)
    profiles.add(Bucket("Lantern"))
    piece = profiles.piece(told(desk, "the retention job", "retention job"))
    before = profiles.leanings(piece)
    profiles.assign("Lantern", piece)
    assert profiles.leanings(piece)[0] > before[0]


def test_chunks_speak_for_their_topic(desk: Desk) -> None:
    """What was filed under a topic makes its like likelier there, vectors kept or not."""
    for name in ("Lantern", "Harbor"):
        desk.store.buckets.save(Bucket(name), NIGHT)
    asked = told(desk, "the retention job of the sessions ran", "retention job")
    lantern, harbor = leanings(desk, asked)
    assert lantern == pytest.approx(harbor, abs=0.5)
    filed = told(desk, "the retention job of the sessions stopped", "retention job")
    desk.store.buckets.assign(filed.id, [Assignment(filed.id, "Lantern", 1.0)])
    lantern, harbor = leanings(desk, asked)
    assert lantern > harbor + 1


def test_another_embedder_makes_its_own_vectors() -> None:
    """Vectors of two models are never compared, nor those of words with either."""
    for embedder in (Counting("one"), Counting("two"), None):
        for desk in desk_with(embedder):
            desk.store.buckets.save(Bucket("Lantern"), NIGHT)
            assert len(leanings(desk, told(desk, "lantern"))) == 1
            if embedder is not None:
                assert embedder.given == ["Lantern. ", ". USER: lantern"]


def test_the_lead_of_an_article_is_in_its_profile(desk: Desk) -> None:
    """What an article is about is known by what it says, also once the user has edited it."""
    page = desk.config.vault / "articles" / "Lantern.md"
    page.write_text("# Lantern\n\nA place for sessions.\n\n## Workers\n\nx\n", encoding="utf-8")
    desk.store.buckets.save(Bucket("Lantern", article="Lantern"), NIGHT)
    Profiles(desk)
    assert given(desk) == ["Lantern. . A place for sessions.. Workers"]
    page.write_text("# Lantern\n\nA lamp.\n", encoding="utf-8")
    Profiles(desk)
    assert given(desk) == ["Lantern. . A lamp."]
