"""Fixtures for every test: a home of its own, and registry models fetched once per machine."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import typer.main
import typer.testing
from hypothesis import settings

from pipeline.models import blas, fetch
from pipeline.models.minilm import MiniLM
from pipeline.models.mlx import MlxModel

# Before any test module imports mlx, after which it would be too late.
blas.load()

# How long an example takes says more of the machine than of the code.
settings.register_profile("any machine", settings.default, deadline=None)
settings.load_profile("any machine")

# Read at import, before any test's own HOME is in place: weights are shared by all tests and runs.
_MODELS_DIR = Path(
    os.environ.get("MEMORY_MODELS_DIR") or Path.home() / ".cache" / "nightly-memory" / "models"
)


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty HOME with its XDG folders, and git without anybody's configuration."""
    home = tmp_path_factory.mktemp("home")
    gitconfig = home / "empty.gitconfig"
    gitconfig.touch()
    for name in [name for name in os.environ if name.startswith(("GIT_", "MEMORY_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / ".cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(home / ".local" / "share"))
    monkeypatch.setenv("XDG_STATE_HOME", str(home / ".local" / "state"))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(gitconfig))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("MEMORY_MODELS_DIR", str(_MODELS_DIR))
    return home


@pytest.fixture(autouse=True)
def heard_signals() -> Iterator[None]:
    """Signals as a terminal gives them: what is started in the background may ignore SIGINT."""
    before = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM)}
    for number, handler in before.items():
        if handler is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(scope="session", autouse=True)
def commands_made_once() -> Iterator[None]:
    """As in any process: made for each call here, they would take longer than most commands do."""
    made = cache(typer.main.get_command)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.main, "get_command", made)
        patch.setattr(typer.testing, "_get_command", made)
        yield


@pytest.fixture(scope="session")
def models_dir() -> Path:
    """The real models folder: MEMORY_MODELS_DIR as the caller set it, or the user's cache."""
    return _MODELS_DIR


def _say(what: str, done: int, total: int) -> None:
    print(f"{what}: {done}/{total} bytes")


@pytest.fixture(scope="session")
def smollm(models_dir: Path) -> Iterator[MlxModel]:
    """The smallest registry model, fetched once, loaded once per session. Mark tests `model`."""
    folder = fetch.fetch("smollm2-135m", models_dir, offline=False, progress=_say)
    model = MlxModel("smollm2-135m", folder, account=lambda call: None)
    yield model
    model.close()


@pytest.fixture(scope="session")
def minilm(models_dir: Path) -> MiniLM:
    """The registry embedder, fetched once. Mark tests `model`."""
    return MiniLM("minilm", fetch.fetch("minilm", models_dir, offline=False, progress=_say))
