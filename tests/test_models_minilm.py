"""The embedder that runs here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pipeline.errors import ModelFault
from pipeline.models.minilm import MiniLM

pytestmark = pytest.mark.model

TEXTS = [
    "That is a happy person",
    "That is a happy dog",
    "That is a very happy person",
    "Today is a sunny day",
]


def test_similarities_are_those_its_makers_publish(minilm: MiniLM) -> None:
    """The cosine of the first sentence with each, as published with the model's documentation."""
    vectors = minilm.embed(TEXTS)
    assert vectors @ vectors[0] == pytest.approx([1.0, 0.695, 0.943, 0.257], abs=1e-3)


def test_vectors_have_length_one_and_the_stated_shape(minilm: MiniLM) -> None:
    """384 dimensions, 32-bit; also for an empty text, half a character and none at all."""
    vectors = minilm.embed([*TEXTS, "", "\ud83d"])
    assert vectors.shape == (6, 384)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(6), abs=1e-5)
    assert minilm.embed([]).shape == (0, 384)


def test_a_vector_does_not_depend_on_its_batch(minilm: MiniLM) -> None:
    """Padding beside longer texts changes nothing but rounding."""
    texts = [*TEXTS, "a much longer text about gardens " * 30]
    together = minilm.embed(texts)
    alone = np.concatenate([minilm.embed([text]) for text in texts])
    assert np.abs(together - alone).max() < 1e-5


def test_text_after_the_first_256_tokens_is_left_out(minilm: MiniLM) -> None:
    """As the model was trained: 254 words and the two tokens around them."""
    words = "garden " * 254
    full, longer = minilm.embed([words, f"{words} the stock exchange"])
    assert longer == pytest.approx(full, abs=1e-5)


def test_a_missing_folder_is_a_model_fault(tmp_path: Path) -> None:
    """It names the folder and the command."""
    with pytest.raises(ModelFault, match=str(tmp_path)) as caught:
        MiniLM("minilm", tmp_path).embed(["x"])
    assert "memory model fetch minilm" in caught.value.mend
