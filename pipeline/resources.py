"""Where the data that ships with the program stands: prompts, Meta pages, the launchd template."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Literal

Kind = Literal["prompts", "vault_meta", "launchd"]


def folder(kind: Kind) -> Traversable:
    """The shipped folder of that name: inside the package when installed, beside it in a checkout.

    A wheel carries the folders under `pipeline/_data`; an editable install has no such folder, so
    an edit to a prompt in the checkout is seen by the next run.
    """
    shipped = files("pipeline") / "_data" / kind
    return shipped if shipped.is_dir() else Path(__file__).parents[1] / kind
