"""The doubles keep the protocols and fail loudly."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.models import Ask, Embedder, Model, Reply
from pipeline.records import Call
from tests.doubles import CannedModel, HashEmbedder

ASK = Ask("system", "two words", options=("yes", "no"))


def test_canned_answers_come_in_order_and_are_recorded() -> None:
    """Choices, texts and whole replies; each ask can be looked at afterwards."""
    calls: list[Call] = []
    cut = Reply("cut", "length", 1, 0, 5, 0.0)
    canned = CannedModel(choose=["no"], write=["hello there", cut], account=calls.append)
    model: Model = canned
    (choice,) = model.choose([ASK], stage="s", purpose="pick")
    assert choice.best == "no"
    assert sum(choice.probabilities) == pytest.approx(1)
    replies = model.write([ASK, ASK], stage="s", purpose="say", max_tokens=5, seeds=[1, 2])
    assert [reply.text for reply in replies] == ["hello there", "cut"]
    assert [reply.finish for reply in replies] == ["stop", "length"]
    assert [(asked.call, asked.purpose, asked.seed) for asked in canned.asked] == [
        ("choose", "pick", None),
        ("write", "say", 1),
        ("write", "say", 2),
    ]
    assert [call.output_tokens for call in calls] == [0, 2, 5]
    assert canned.left == 0


def test_a_function_may_answer() -> None:
    """It sees the purpose and the ask."""
    model = CannedModel(write=lambda purpose, ask: f"{purpose}: {ask.prompt}")
    (reply,) = model.write([ASK], stage="s", purpose="say", max_tokens=5)
    assert reply.text == "say: two words"


def test_an_unasked_prompt_fails_the_test() -> None:
    """Beyond the queue, of the other kind, or with an option that is not offered."""
    model = CannedModel(choose=["maybe"])
    with pytest.raises(AssertionError, match="say"):
        model.write([ASK], stage="s", purpose="say", max_tokens=5)
    with pytest.raises(AssertionError, match="maybe"):
        model.choose([ASK], stage="s", purpose="pick")
    with pytest.raises(AssertionError, match="pick"):
        model.choose([ASK], stage="s", purpose="pick")


def test_shared_words_make_texts_near() -> None:
    """Unit vectors, the same every time."""
    embedder: Embedder = HashEmbedder()
    vectors = embedder.embed(["bake the bread", "the bread", "fix a bicycle", ""])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(4))
    assert vectors[0] @ vectors[1] > 0.8 > 0.2 > vectors[0] @ vectors[2]
    assert np.array_equal(
        vectors, HashEmbedder().embed(["bake the bread", "the bread", "fix a bicycle", ""])
    )
