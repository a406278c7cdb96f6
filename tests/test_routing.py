"""Which topic a piece belongs to: what the likelihoods must hold whatever the vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from pipeline import assemble
from pipeline.desk import Desk
from pipeline.likeness import Piece, Spread, Topics, Vocabulary, share
from pipeline.models import Ask, Choice
from pipeline.records import Assignment, Bucket, Chunk
from pipeline.routing import Router, chosen
from pipeline.stages import cluster
from pipeline.store import Store
from tests.doubles import CannedModel
from tests.support_night import CONVERSATIONS, NIGHT, make_vault, run_night, write_session
from tests.support_store import chunk, fill

_DIMENSIONS = 32


def around(topics: int, each: int, *, seed: int = 0) -> tuple[list[Piece], list[int]]:
    """Pieces drawn around well-parted centres; of each topic in turn."""
    random = np.random.default_rng(seed)
    centres = np.eye(_DIMENSIONS)[:topics]
    drawn = [
        (centres[topic] + random.normal(0, 0.05, _DIMENSIONS), topic)
        for _ in range(each)
        for topic in range(topics)
    ]
    return [Piece(unit(v), ()) for v, _ in drawn], [topic for _, topic in drawn]


def unit(vector: NDArray[np.float64]) -> NDArray[np.float32]:
    found: NDArray[np.float32] = (vector / np.linalg.norm(vector)).astype(np.float32)
    return found


def test_a_piece_leans_to_its_own_topic_and_a_new_one_to_none() -> None:
    """Near a known centre the topic is likelier than not; far from all, none of them is."""
    pieces, topics = around(6, 8)
    known = Topics(pieces, topics, 6)
    fresh, wanted = around(6, 1, seed=1)
    for piece, topic in zip(fresh, wanted, strict=True):
        leanings = known.leanings(piece)
        assert leanings.argmax() == topic
        assert leanings[topic] > 0
    stranger = Piece(unit(np.eye(_DIMENSIONS)[20]), ())
    assert known.leanings(stranger).max() < 0


def test_a_topic_founded_now_takes_its_like() -> None:
    """The second piece of a topic that nobody knew before finds the first."""
    pieces, topics = around(6, 8)
    known = Topics(pieces, topics, 6)
    number = known.found()
    stranger = np.eye(_DIMENSIONS)[20]
    known.add(number, Piece(unit(stranger), ("lamp",)))
    like = stranger + 0.05 * np.eye(_DIMENSIONS)[21]
    assert known.leanings(Piece(unit(like), ("lamp",))).argmax() == number == 6


def test_one_topic_alone_is_enough_to_begin_with() -> None:
    """A store with one piece gives finite odds, higher for its like than for the unlike."""
    axes = np.eye(_DIMENSIONS)
    known = Topics([Piece(unit(axes[0]), ("lamp",))], [0], 1)
    like = float(known.leanings(Piece(unit(axes[0] + 0.1 * axes[1]), ("lamp",)))[0])
    unlike = float(known.leanings(Piece(unit(axes[5]), ("ship",)))[0])
    assert np.isfinite([like, unlike]).all()
    assert like > unlike


def test_the_order_of_the_topics_is_of_no_account() -> None:
    """Odds follow the topics, whatever their numbers."""
    pieces, topics = around(5, 8)
    one = Topics(pieces, topics, 5).leanings(pieces[0])
    other = Topics(pieces, [4 - topic for topic in topics], 5).leanings(pieces[0])
    assert one == pytest.approx(other[::-1], abs=1e-2)


def test_a_wide_store_is_not_split_and_a_narrow_one_not_lumped() -> None:
    """What counts as near is learnt from the store: the same distance is near in a wide one."""
    axes = np.eye(_DIMENSIONS)
    held = []
    for noise in (0.02, 0.3):
        random = np.random.default_rng(3)
        rows = [axes[t] + random.normal(0, noise, _DIMENSIONS) for _ in range(9) for t in range(6)]
        vectors = np.array([unit(row) for row in rows])
        spread = Spread(vectors, [n % 6 for n in range(len(rows))])
        at = spread.coordinates(unit(axes[0] + 0.9 * axes[20])[None])[0]
        first = spread.coordinates(vectors[::6]).sum(axis=0)[None]
        held.append(float(spread.odds(at, first, np.array([9.0], dtype=np.float32))[0]))
    assert held[0] < held[1]


@given(st.lists(st.tuples(st.integers(0, 4), st.sets(st.sampled_from("abcdefgh"))), max_size=30))
def test_words_taken_back_leave_no_trace(said: list[tuple[int, set[str]]]) -> None:
    """What was told to a topic and taken back counts as if it had never been said."""
    plain, other = Vocabulary(), Vocabulary()
    for topic, words in said:
        plain.add(topic, words)
        other.add(topic, words)
        other.add(4 - topic, "abcdefgh")
        other.add(4 - topic, "abcdefgh", -1.0)
    for vocabulary in (plain, other):
        vocabulary.add(0, "abcdefgh")
    assert plain.odds("ab", 5) == pytest.approx(other.odds("ab", 5), abs=1e-4)


def test_a_word_of_one_topic_speaks_for_it_and_an_unknown_one_for_none() -> None:
    """A word said of one topic alone leans there; one that was never said leans nowhere."""
    vocabulary = Vocabulary()
    vocabulary.add(0, ["lamp", "oil"])
    vocabulary.add(1, ["ship", "oil"])
    lamp, ship = vocabulary.odds(["lamp"], 2)
    assert lamp > 0 > ship
    assert list(vocabulary.odds(["never"], 2)) == [0, 0]


@given(st.floats(-1e6, 1e6))
def test_a_share_is_a_probability(leaning: float) -> None:
    """Whatever the odds, between 0 and 1, and a half where they are even."""
    assert 0 < share(leaning) < 1
    assert share(0.0) == 0.5


def test_in_a_young_wiki_the_model_is_asked(home: Path) -> None:
    """With one topic known, another one's words in the same project are not filed there unasked."""
    config = make_vault()
    harbor, lantern = CONVERSATIONS[1], CONVERSATIONS[2]
    write_session(home, *harbor)
    run_night(config)
    write_session(home, *lantern)
    night = run_night(config, at=NIGHT + timedelta(days=1))
    asked = [one.ask for one in night.model.asked if one.purpose == "cluster/route"]
    assert asked and all("Harbor project" in ask.prompt for ask in asked)
    store = Store(config.store_path)
    names = {bucket.name for bucket in store.buckets.all()}
    store.close()
    assert names == {"Harbor project", "Lantern project"}


# ------------------------------------------------------------------ with a store


@pytest.fixture
def asked() -> list[str]:
    """The prompts by which the model was asked where a piece belongs."""
    return []


@pytest.fixture
def desk(asked: list[str]) -> Iterator[Desk]:
    """Twelve topics that have nothing in common, and a model that takes the first it is shown."""

    def first(_purpose: str, ask: Ask) -> str:
        asked.append(ask.prompt)
        return ask.options[0]

    desk = assemble.desk(
        make_vault(),
        models=assemble.Models(lambda account: CannedModel(first, lambda *_: "Novelty"), None),
        say=lambda event: None,
        now=lambda: NIGHT,
    )
    for number in range(12):
        desk.store.buckets.save(Bucket(f"Topic{number} word{number} thing{number}"), NIGHT)
    yield desk
    desk.store.close()


def told(desk: Desk, conv: str, said: Sequence[str], project: str = "") -> list[Chunk]:
    """The chunks of a conversation, one a message."""
    fill(desk.store, conv, said)
    made = [
        replace(chunk(desk.store, conv, n, n, ordinal=n), label=text, project=project)
        for n, text in enumerate(said)
    ]
    desk.store.chunks.replace_tail(conv, made)
    return made


def file_under(desk: Desk, filed: Chunk, number: int) -> str:
    name = f"Topic{number} word{number} thing{number}"
    desk.store.buckets.assign(filed.id, [Assignment(filed.id, name, 1.0)])
    return name


def test_the_topic_of_the_neighbour_is_asked_about(desk: Desk, asked: list[str]) -> None:
    """However unlike what is said now: the conversation was about it a moment ago."""
    before, now = told(desk, "aaaaaaaa", ["kettle whistles loudly", "do it again tomorrow"])
    other = told(desk, "bbbbbbbb", ["do it again on friday"])[0]
    name = file_under(desk, before, 7)
    Router(desk).route(other)
    assert not any(name in prompt for prompt in asked)
    routed = Router(desk).route(now)
    assert name in asked[-1]
    assert [one.bucket for one in routed.assignments] == [name]


def test_topics_of_the_project_come_before_others(desk: Desk, asked: list[str]) -> None:
    """Of two topics as like as the other the one of the same project is shown first."""
    for conv, project, number in (("aaaaaaaa", "/one", 3), ("bbbbbbbb", "/two", 5)):
        file_under(desk, told(desk, conv, ["kettle whistles loudly"], project)[0], number)
    shown = []
    for conv, project in (("cccccccc", "/one"), ("dddddddd", "/two")):
        (piece,) = told(desk, conv, ["kettle whistles softly"], project)
        shown.append(Router(desk).route(piece).assignments[0].bucket)
    assert shown == ["Topic3 word3 thing3", "Topic5 word5 thing5"]


def test_a_piece_may_belong_to_several_topics(desk: Desk) -> None:
    """The best, and each that clears the bar by itself; none where "none of these" is as likely."""
    topics, policy = [Bucket("A"), Bucket("B"), Bucket("C"), Bucket("D")], desk.policy.cluster
    letters = ("A", "B", "C", "D", "none of these")
    several = chosen(Choice(letters, (0.30, 0.02, 0.34, 0.31, 0.03)), topics, policy)
    assert [bucket.name for bucket, _ in several] == ["C", "D", "A"]
    one = chosen(Choice(letters, (0.29, 0.02, 0.60, 0.05, 0.04)), topics, policy)
    assert [bucket.name for bucket, _ in one] == ["C"]
    assert chosen(Choice(letters, (0.05, 0.05, 0.45, 0.05, 0.40)), topics, policy) == []


def test_a_piece_of_two_topics_waits_in_both(desk: Desk) -> None:
    """Both are told of it, and whichever gets an article folds it."""

    def both(_purpose: str, ask: Ask) -> Choice:
        rest = len(ask.options) - 2
        return Choice(ask.options, (0.5, 0.45, *([0.05 / rest] * rest)))

    for conv, number in (("aaaaaaaa", 3), ("bbbbbbbb", 5)):
        file_under(desk, told(desk, conv, ["kettle whistles loudly"])[0], number)
    (piece,) = told(desk, "cccccccc", ["kettle whistles softly"])
    (routed,) = cluster.work([piece], replace(desk, model=CannedModel(both)))
    cluster.keep(routed, desk)
    for number in (3, 5):
        placed = desk.store.buckets.placed(f"Topic{number} word{number} thing{number}")
        assert piece.id in {one.chunk.id for one in placed}
    assert desk.store.chunks.to_cluster() == []
