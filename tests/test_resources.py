"""The data that ships with the program."""

from __future__ import annotations

import tomllib
from importlib.resources.abc import Traversable

import pytest

from pipeline.policy import load_policy
from pipeline.resources import Kind, folder


@pytest.mark.parametrize("kind", ["prompts", "vault_meta", "launchd"])
def test_every_kind_of_data_is_found(kind: Kind) -> None:
    """Each shipped folder is there and can be read without knowing how the program is installed."""
    found = folder(kind)
    assert isinstance(found, Traversable)
    assert found.is_dir()
    assert list(found.iterdir())


def test_the_shipped_policy_is_whole() -> None:
    """Every number of policy.toml is read, and none is missing or unknown."""
    written = tomllib.loads((folder("vault_meta") / "policy.toml").read_text(encoding="utf-8"))
    assert load_policy().model_dump() == written


def test_policy_cannot_be_changed_by_a_stage() -> None:
    """The policy a run began with is the one it ends with."""
    policy = load_policy()
    with pytest.raises(ValueError, match="frozen"):
        policy.gate.word_floor = 0.0
