"""The Embedder that runs here. Light to import; the first call loads the weights."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import ModelFault
from pipeline.models import blas

if TYPE_CHECKING:
    from pipeline.models.encoder import Encoder


class MiniLM:
    """all-MiniLM-L6-v2: 384 dimensions, reads the first 256 tokens of a text."""

    def __init__(self, name: str, folder: Path) -> None:
        self._name = name
        self._folder = folder
        self._encoder: Encoder | None = None

    @property
    def name(self) -> str:
        """The alias it was asked for by."""
        return self._name

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, shape (len(texts), 384). Raise ModelFault if it cannot be loaded."""
        return self._loaded().embed(texts)

    def _loaded(self) -> Encoder:
        if self._encoder is None:
            blas.load()
            # Imported here: brings in mlx, which a run with nothing to do never needs.
            from pipeline.models.encoder import Encoder  # noqa: PLC0415

            try:
                self._encoder = Encoder(self._folder)
            except (OSError, ValueError, KeyError, RuntimeError) as fault:
                raise ModelFault(
                    f"The embedder in {self._folder} cannot be loaded: {fault}.",
                    mend=f"Run `memory model fetch {self._name}`.",
                ) from fault
        return self._encoder
