"""Short names of models, and the default for a machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.errors import ModelFault
from pipeline.models import catalog
from pipeline.models.catalog import HubModel, RegistryModel

GIB = 2**30


@pytest.mark.parametrize(
    ("gigabytes", "alias"), [(8, "e2b"), (16, "e4b"), (24, "e4b"), (128, "e4b")]
)
def test_the_default_follows_the_memory(gigabytes: int, alias: str) -> None:
    """e4b from 16 GB; under that the smaller model, and a message that says so."""
    chosen, message = catalog.default_alias(gigabytes * GIB)
    assert chosen == alias
    assert (message is None) == (alias == "e4b")
    if message:
        assert "e2b" in message
        assert f"{gigabytes} GB" in message


def test_a_machine_that_reports_a_little_under_16_counts_as_16() -> None:
    """Virtual machines and integrated graphics take some of it."""
    assert catalog.default_alias(int(15.6 * GIB))[0] == "e4b"


def test_aliases_stand_for_their_models() -> None:
    """The hub names and packages of the documentation."""
    e4b = catalog.resolve("e4b")
    assert isinstance(e4b, HubModel)
    assert e4b.hub_name == "mlx-community/gemma-4-e4b-it-4bit"
    qwen = catalog.resolve("qwen-0.5b")
    assert isinstance(qwen, RegistryModel)
    assert len(qwen.packages[0]) == 6


def test_any_hub_name_is_accepted() -> None:
    """And gets a folder of its own, one level deep."""
    model = catalog.resolve("mlx-community/Some-Model-4bit")
    assert isinstance(model, HubModel)
    assert catalog.folder_name(model) == "mlx-community--Some-Model-4bit"


def test_a_model_folder_is_accepted_before_a_hub_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative folder that looks like a hub name is the folder."""
    folder = tmp_path / "org" / "model"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    assert catalog.resolve("org/model") == folder
    assert catalog.resolve(str(folder)) == folder


@pytest.mark.parametrize("name", ["", "nonsense", "a/b/c", "../x", "/no/such/folder", "a b/c"])
def test_anything_else_is_refused_with_the_names_there_are(name: str) -> None:
    """A typing mistake never becomes a download."""
    with pytest.raises(ModelFault, match="There is no model") as caught:
        catalog.resolve(name)
    assert "e4b" in caught.value.mend


def test_every_registry_model_is_pinned() -> None:
    """By version and by sha256: the publisher of a package is not the maker of the model."""
    for model in catalog.REGISTRY_MODELS:
        assert len(model.sha256) == 64
        assert all("==" in package for packages in model.packages for package in packages)
