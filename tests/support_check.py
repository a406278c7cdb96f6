"""A model for the tests of `memory model check` that are not about what it writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipeline.models import Ask, Reply
from pipeline.models.mlx import MlxModel


class Hasty:
    """All of the model's own, but what it writes when the check asks: that costs no computing."""

    def __init__(self, model: MlxModel) -> None:
        self._model = model

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def write(self, asks: Sequence[Ask], *, stage: str, **more: Any) -> list[Reply]:
        """Good JSON, the same for all; of a stage, what the model writes."""
        if stage == "check":
            return [Reply('{"word": "grey"}', "stop", 9, 0, 9, 0.1) for _ in asks]
        return self._model.write(asks, stage=stage, **more)
