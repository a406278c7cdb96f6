"""What the segmentation knows of a message, and vectors of its words for want of an embedder."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from pipeline.text import content_words

EXCERPT = 2000  # characters of a message that are read for what it is about
_DIMENSIONS = 512
WORD_VECTORS = f"words {_DIMENSIONS}"  # the name of `word_vectors`, as an embedder's


@dataclass(frozen=True, slots=True)
class Turn:
    """A message: who says it, its size in tokens, its text, and when it was said, if known."""

    by_user: bool
    tokens: int
    text: str
    at: datetime | None = None


def excerpt(text: str) -> str:
    """The beginning of a text: a message may be a whole log, and no more of it is embedded."""
    return text[:EXCERPT]


def word_vectors(texts: Sequence[str]) -> NDArray[np.float32]:
    """Unit vectors of hashed content words, shape (n, 512); for when there is no embedder."""
    vectors = np.zeros((len(texts), _DIMENSIONS), dtype=np.float32)
    for row, text in enumerate(texts):
        for word in content_words(text):
            vectors[row, zlib.crc32(word.encode()) % _DIMENSIONS] += 1.0
        if not vectors[row].any():
            vectors[row, 0] = 1.0
    unit: NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit
