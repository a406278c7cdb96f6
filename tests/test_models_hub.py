"""Downloads from a model hub, against a small hub on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import constants

from pipeline.errors import ModelFault
from pipeline.models import fetch
from pipeline.models import hub as hub_module
from tests.support_models import Hub, serving

FILES = {
    "config.json": b"{}",
    "tokenizer.json": b'{"model": {}}',
    "model.safetensors": bytes(range(256)) * 4096,
    "modeling_tiny.py": b"raise SystemExit",
    "README.md": b"# Tiny",
}


@pytest.fixture(autouse=True)
def online(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model loaded earlier in this process may have put the hub library offline."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)


@pytest.fixture
def configured(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The served hub is the one the hub library is configured for."""
    template = address + constants.HUGGINGFACE_CO_URL_TEMPLATE.removeprefix(constants.ENDPOINT)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(constants, "ENDPOINT", address)


@pytest.fixture
def hub() -> Hub:
    """The hub's files and what it shall do wrong."""
    return Hub(dict(FILES))


@pytest.fixture
def address(hub: Hub) -> Iterator[str]:
    """Where the hub is served."""
    with serving(hub) as address:
        yield address


def _download(work: Path, address: str, name: str = "org/tiny") -> Path:
    return hub_module.download(
        name, work, lambda what, done, total: None, endpoint=address, first_pause=0.01
    )


def test_weights_and_settings_arrive_and_code_does_not(address: str, tmp_path: Path) -> None:
    """The folder holds what mlx_lm reads, byte for byte, and no program."""
    folder = _download(tmp_path, address)
    found = {file.name: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    assert found == {name: FILES[name] for name in FILES if name.endswith(("json", "safetensors"))}


def test_progress_ends_at_all_bytes(address: str, tmp_path: Path) -> None:
    """The caller hears how many of how many bytes are there."""
    heard: list[tuple[int, int]] = []
    hub_module.download(
        "org/tiny",
        tmp_path,
        lambda what, done, total: heard.append((done, total)),
        endpoint=address,
    )
    total = sum(len(FILES[n]) for n in FILES if n.endswith(("json", "safetensors")))
    assert heard[0] == (0, total)
    assert heard[-1] == (total, total)


@pytest.mark.parametrize("fault", [500, 503, 429, 0])
def test_passing_faults_are_retried(hub: Hub, address: str, tmp_path: Path, fault: int) -> None:
    """An overloaded server or a cut connection costs another try, not the download."""
    hub.faults = [fault, fault]
    folder = _download(tmp_path, address)
    assert (folder / "model.safetensors").read_bytes() == FILES["model.safetensors"]


def test_lasting_faults_are_not_retried(hub: Hub, address: str, tmp_path: Path) -> None:
    """A refusal stays one, whoever asks again."""
    hub.faults = [403] * 20
    with pytest.raises(ModelFault, match="org/tiny"):
        _download(tmp_path, address)
    assert len(hub.asked) == 1


def test_an_unknown_model_is_named(address: str, tmp_path: Path) -> None:
    """With what to check."""
    with pytest.raises(ModelFault, match="org/none") as caught:
        _download(tmp_path, address, "org/none")
    assert "Check the name" in caught.value.mend


def test_a_broken_download_goes_on_where_it_stopped(hub: Hub, address: str, tmp_path: Path) -> None:
    """Files that arrived are not asked for again by the next command."""
    hub.files = {"config.json": b"{}", "a.safetensors": b"a" * 9999, "b.safetensors": b"b" * 9999}
    hub.faults = [None, None, 403]
    with pytest.raises(ModelFault, match="org/tiny"):
        _download(tmp_path, address)
    assert hub.asked == ["config.json", "a.safetensors", "b.safetensors"]
    hub.asked.clear()
    folder = _download(tmp_path, address)
    assert hub.asked == ["b.safetensors"]
    assert (folder / "b.safetensors").read_bytes() == b"b" * 9999


def test_bytes_other_than_the_stated_ones_are_refused(
    hub: Hub, address: str, tmp_path: Path
) -> None:
    """A file with another sha256 is not kept, and the fault names it."""
    hub.stated["model.safetensors"] = "f" * 64
    with pytest.raises(ModelFault, match=r"model\.safetensors"):
        _download(tmp_path, address)
    assert not (tmp_path / "folder" / "model.safetensors").exists()


def test_a_model_without_safetensors_is_refused(hub: Hub, address: str, tmp_path: Path) -> None:
    """Weights in other formats could hold code."""
    del hub.files["model.safetensors"]
    with pytest.raises(ModelFault, match="safetensors"):
        _download(tmp_path, address)


def test_a_hub_model_is_published_with_a_manifest(
    hub: Hub, configured: None, tmp_path: Path
) -> None:
    """By its hub name, whole, once, and then without any hub."""
    folder = fetch.fetch(
        "org/tiny", tmp_path, offline=False, progress=lambda what, done, total: None
    )
    assert folder == tmp_path / "org--tiny"
    assert fetch.check_files(folder) == []
    assert {file.name for file in folder.iterdir()} == {
        "config.json",
        "manifest.json",
        "model.safetensors",
        "tokenizer.json",
    }
    hub.files.clear()
    assert fetch.path("org/tiny", tmp_path) == folder


def test_a_refused_download_publishes_nothing(hub: Hub, configured: None, tmp_path: Path) -> None:
    """What did arrive is kept for the next try, out of the way."""
    hub.faults = [None, None, 403]
    with pytest.raises(ModelFault):
        fetch.fetch("org/tiny", tmp_path, offline=False, progress=lambda what, done, total: None)
    with pytest.raises(ModelFault, match="has not been fetched"):
        fetch.path("org/tiny", tmp_path)
    assert hub.asked == ["config.json", "tokenizer.json", "model.safetensors"]
