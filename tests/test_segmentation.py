"""Segments cover every turn once, in order, and fall where the topic changes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.policy import load_policy
from pipeline.segmentation import Turn, segments
from pipeline.segmentation.cues import CUES, cues
from tests.doubles import HashEmbedder

POLICY = load_policy().chunk
BEGUN = datetime(2024, 3, 1, 9, 0, tzinfo=UTC)
WORDS = st.lists(
    st.sampled_from(["tomato", "soil", "parser", "thanks", "another", "?", "it", "雨", "مطر"]),
    max_size=9,
)
TURNS = st.lists(
    st.builds(
        lambda user, tokens, said: Turn(user, tokens, " ".join(said)),
        st.booleans(),
        st.integers(1, 3 * POLICY.window_tokens),
        WORDS,
    ),
    min_size=1,
    max_size=90,
)


def talk(texts: list[str], minutes: int = 1) -> list[Turn]:
    """User and assistant by turns, `minutes` apart."""
    return [
        Turn(place % 2 == 0, 10, text, BEGUN + timedelta(minutes=minutes * place))
        for place, text in enumerate(texts)
    ]


def at(turns: list[Turn], gap: int) -> dict[str, float]:
    """The cues of one gap by name."""
    vectors = HashEmbedder().embed([turn.text for turn in turns])
    return dict(zip(CUES, cues(turns, vectors)[gap], strict=True))


@settings(max_examples=60)
@given(TURNS, st.booleans())
def test_every_turn_is_in_exactly_one_segment(turns: list[Turn], meant: bool) -> None:
    """Whatever is said: contiguous, complete, none too long, none over the window."""
    cut = segments(turns, HashEmbedder() if meant else None, POLICY)
    covered = [position for first, last in cut for position in range(first, last + 1)]
    assert covered == list(range(len(turns)))
    for first, last in cut:
        size = last - first + 1
        assert size <= POLICY.max_messages
        tokens = sum(turn.tokens for turn in turns[first : last + 1])
        assert size == 1 or tokens <= POLICY.window_tokens


def test_no_turns_no_segments() -> None:
    """An empty tail of a conversation is no chunk."""
    assert segments([], None, POLICY) == []


GARDEN = ["The tomato seedlings need warm soil.", "Warm soil helps the tomato seedlings grow."] * 2
COMPILER = ["The parser rejects nested generics.", "Nested generics do confuse the parser."] * 2


def test_two_topics_are_two_segments() -> None:
    """Four turns about one thing, then four about another, are cut between them."""
    turns = talk(GARDEN + COMPILER)
    assert segments(turns, None, POLICY) == [(0, 3), (4, 7)]
    assert segments(turns, HashEmbedder(), POLICY) == [(0, 3), (4, 7)]


def test_one_topic_is_one_segment() -> None:
    """A conversation that stays with its matter is not cut."""
    assert segments(talk(COMPILER + COMPILER[:2]), None, POLICY) == [(0, 5)]


def test_a_topic_of_another_language_is_a_topic() -> None:
    """The cues that hold in any language find the change without a word of English."""
    turns = talk(
        ["番茄幼苗需要温暖的土壤", "温暖的土壤有利于番茄幼苗生长"] * 2
        + ["解析器拒绝嵌套泛型", "嵌套泛型让解析器混乱"] * 2
    )
    assert segments(turns, None, POLICY) == [(0, 3), (4, 7)]


def test_a_night_between_two_messages_parts_them() -> None:
    """The same words, cut where the user came back twelve hours later."""
    close = talk(COMPILER + COMPILER)
    assert segments(close, None, POLICY) == [(0, 7)]
    later = [
        Turn(t.by_user, t.tokens, t.text, t.at and t.at + timedelta(hours=12 * (place > 3)))
        for place, t in enumerate(close)
    ]
    assert segments(later, None, POLICY) == [(0, 3), (4, 7)]


def test_who_leads_is_seen_from_the_conversation() -> None:
    """A terse user and a long-winded assistant: the user leads. Two alike: neither does."""
    led = talk(["fix the parser", "I looked at the parser and mended three of its rules. " * 4] * 3)
    assert at(led, 1)["user_leads"] == 0.5
    assert at(led, 0)["user_leads"] == -0.5
    assert at(talk(["the parser is slow"] * 6), 1)["user_leads"] == 0


def test_a_question_of_who_leads_is_no_sign() -> None:
    """Between equals a question may open a topic; who leads opens topics without asking, too."""
    answer = "I looked at the parser and mended three of its rules. " * 4
    assert at(talk(["is it slow?", answer] * 3), 1)["asks"] == 0
    assert at(talk(["is the parser slow?", "is the lexer slow?"] * 3), 1)["asks"] == 1


def test_what_was_asked_is_still_open() -> None:
    """A turn that ends in a question, in any script, is not done with."""
    for question in ("Shall I go on?", "続けますか？", "هل أكمل؟", "**Shall I?**"):
        assert at(talk([question, "yes"]), 0)["pending"] == 1
    assert at(talk(["Is it? I think so.", "yes"]), 0)["pending"] == 0


def test_many_messages_of_any_size() -> None:
    """Twenty thousand messages, one of them a megabyte, are cut like few."""
    texts = ["The tomato seedlings need warm soil.", "Nested generics confuse the parser."]
    turns = [Turn(place % 2 == 0, 8, texts[place // 8 % 2]) for place in range(20_000)]
    turns[501] = Turn(False, 200_000, "noise " * 170_000)
    cut = segments(turns, HashEmbedder(64), POLICY)
    assert [first for first, _ in cut] == [0, *[last + 1 for _, last in cut[:-1]]]
    assert cut[-1][1] == len(turns) - 1
    assert (501, 501) in cut
    assert max(last - first + 1 for first, last in cut) <= POLICY.max_messages


def test_the_cues_of_few_turns_are_finite() -> None:
    """Nothing is divided by nothing: empty messages, one side only, a single pair."""
    for turns in (talk([""]), talk(["", ""]), [Turn(False, 1, "a"), Turn(False, 1, "")]):
        vectors = HashEmbedder().embed([turn.text for turn in turns])
        found = cues(turns, vectors)
        assert found.shape == (len(turns) - 1, len(CUES))
        assert np.isfinite(found).all()
