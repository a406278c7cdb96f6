"""Segments cover every turn once, in order, and fall where the topic changes."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pipeline.policy import load_policy
from pipeline.segmentation import Turn, segments, word_vectors

POLICY = load_policy().chunk
TURNS = st.lists(
    st.tuples(st.booleans(), st.integers(1, 3 * POLICY.window_tokens)), min_size=1, max_size=90
)


@given(TURNS, st.integers(0, 2**32 - 1))
def test_every_turn_is_in_exactly_one_segment(turns: list[tuple[bool, int]], seed: int) -> None:
    """Whatever the vectors: contiguous, complete, none too long, none over the window."""
    vectors = np.random.default_rng(seed).normal(size=(len(turns), 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    cut = segments(vectors, [Turn(user, tokens) for user, tokens in turns], POLICY)
    covered = [position for first, last in cut for position in range(first, last + 1)]
    assert covered == list(range(len(turns)))
    for first, last in cut:
        size = last - first + 1
        assert size <= POLICY.max_messages
        assert size == 1 or sum(t for _, t in turns[first : last + 1]) <= POLICY.window_tokens


def test_no_turns_no_segments() -> None:
    """An empty tail of a conversation is no chunk."""
    assert segments(np.zeros((0, 4), dtype=np.float32), [], POLICY) == []


def test_two_topics_are_two_segments() -> None:
    """Four turns about one thing, then four about another, are cut between them."""
    garden = ["tomato seedlings need warm soil", "warm soil helps tomato seedlings"] * 2
    compiler = ["the parser rejects nested generics", "nested generics confuse the parser"] * 2
    turns = [Turn(position % 2 == 0, 10) for position in range(8)]
    assert segments(word_vectors(garden + compiler), turns, POLICY) == [(0, 3), (4, 7)]


def test_one_topic_is_one_segment() -> None:
    """A conversation that stays with its matter is not cut."""
    texts = ["the parser rejects nested generics", "nested generics confuse the parser"] * 3
    turns = [Turn(position % 2 == 0, 10) for position in range(6)]
    assert segments(word_vectors(texts), turns, POLICY) == [(0, 5)]
