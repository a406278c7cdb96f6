"""LoRA adapters on one loaded model, put on and taken off without loading the model again.

mlx_lm puts an adapter on by wrapping layers, and takes off only one kind of wrapper. Here the
layers that were replaced are kept by name and put back, whatever wrapped them. An adapter of the
type "full" is no wrapper but other weights: after it the model is loaded again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mlx.utils import tree_unflatten
from mlx_lm.tuner.utils import load_adapters

from pipeline.errors import ModelFault

_Layers = list[tuple[str, Any]]


class Adapters:
    """What one model wears: nothing, or the adapter of one folder."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._bare: _Layers = []  # the layers under the adapter that is on
        self._worn: dict[Path, tuple[_Layers, _Layers]] = {}
        self.on: Path | None = None

    def wear(self, folder: Path | None) -> None:
        """Put on the adapter in `folder`, None for the model as it is.

        Raises ModelFault for an adapter that does not fit; the model is then as it is.
        """
        if folder == self.on:
            return
        self._put(self._bare)
        self._bare, self.on = [], None
        if folder is None:
            return
        if folder in self._worn:
            self._bare, wrapped = self._worn[folder]
            self._put(wrapped)
        else:
            self._load(folder)
        self.on = folder

    def _load(self, folder: Path) -> None:
        before = dict(self._model.named_modules())
        try:
            load_adapters(self._model, str(folder))
        except Exception as fault:  # whatever is in a file of the user's
            self._put(self._replaced(before)[0])
            raise ModelFault(
                f"The adapter in {folder} does not fit the model: {fault}.",
                mend="Train it on this model, or take it out of `[adapters]`.",
            ) from fault
        self._model.eval()  # wrapped layers would drop values at random, as in training
        self._bare, wrapped = self._replaced(before)
        self._worn[folder] = (self._bare, wrapped)

    def _replaced(self, before: dict[str, Any]) -> tuple[_Layers, _Layers]:
        """The layers that are others than before, as they were and as they are."""
        now = dict(self._model.named_modules())
        names = [name for name, layer in before.items() if now.get(name) is not layer]
        # what stands inside a replaced layer goes and comes with it
        outer = [n for n in names if not any(n.startswith(f"{other}.") for other in names)]
        return [(n, before[n]) for n in outer], [(n, now[n]) for n in outer]

    def _put(self, layers: _Layers) -> None:
        if layers:
            self._model.update_modules(tree_unflatten(layers))


def replaces_weights(folder: Path) -> bool:
    """Whether the adapter holds weights in the place of the model's own."""
    try:
        settings = json.loads((folder / "adapter_config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False  # said when it is put on
    return isinstance(settings, dict) and settings.get("fine_tune_type") == "full"
