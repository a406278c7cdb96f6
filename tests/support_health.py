"""A machine on which everything is as it should be, to break one thing of."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from pipeline import schedule
from pipeline.config import Config
from pipeline.doctor import Finding, Level, Machine, examine, mend
from pipeline.logs import run_log
from pipeline.system import Answer, ask
from tests.support_night import NIGHT, make_vault, run_night, write_sessions

NOW = NIGHT + timedelta(hours=6)


@dataclass(frozen=True)
class Systemd:
    """systemd as it answers for a timer that is loaded; git and the rest are real."""

    active: str = "active"
    enabled: str = "enabled"

    def __call__(self, argv: Sequence[str]) -> Answer:
        """The recorded answer."""
        words = list(argv)
        if words[0] == "loginctl":
            return Answer(0, "Linger=yes\n")
        if words[0] != "systemctl":
            return ask(argv)
        if "is-enabled" in words:
            return Answer(0 if self.enabled == "enabled" else 1, f"{self.enabled}\n")
        if words[-1].endswith(".timer"):
            return Answer(0, f"LoadState=loaded\nActiveState={self.active}\n")
        return Answer(0, "MainPID=0\nExecMainStatus=0\nExecMainExitTimestamp=\nResult=success\n")


@dataclass(frozen=True)
class Healthy:
    """The machine: its home, its settings, its clock and its scheduler."""

    home: Path
    config: Config
    now: datetime = NOW
    systemd: Callable[[Sequence[str]], Answer] = Systemd()
    platform: str = "linux"

    def machine(self) -> Machine:
        """As the doctor meets it."""
        return Machine(
            self.config,
            now=self.now,
            ask=self.systemd,
            environ=os.environ,
            home=self.home,
            platform=self.platform,
        )

    def examine(self) -> dict[str, Finding]:
        """What the doctor finds, by code."""
        with self.machine() as machine:
            return {finding.code: finding for finding in examine(machine)}

    def mend(self) -> dict[str, str]:
        """What the doctor does about it, by code."""
        with self.machine() as machine:
            return dict(mend(machine, examine(machine)))

    def but(self, **changed: object) -> Healthy:
        """The same machine with other settings."""
        return replace(self, config=self.config.model_copy(update=changed))


def wrong(found: dict[str, Finding]) -> dict[str, Level]:
    """The findings that are not ok."""
    return {code: f.level for code, f in found.items() if f.level is not Level.OK}


def write_model(folder: Path) -> Path:
    """A folder with the form of a fetched model: one small tensor."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text('{"model_type": "none"}')
    save_file({"weight": np.zeros((4, 4), np.float32)}, folder / "model.safetensors")
    names = ["config.json", "model.safetensors"]
    (folder / "manifest.json").write_text(json.dumps({"files": dict.fromkeys(names, "")}))
    return folder


def settle(home: Path, patch: pytest.MonkeyPatch) -> None:
    """The user's surroundings: home, zone, git's settings, models."""
    patch.setenv("HOME", str(home))
    for name, place in (("CONFIG", ".config"), ("CACHE", ".cache"), ("DATA", ".local/share")):
        patch.setenv(f"XDG_{name}_HOME", str(home / place))
    patch.setenv("XDG_STATE_HOME", str(home / ".local" / "state"))
    patch.setenv("MEMORY_MODELS_DIR", str(home / "models"))
    patch.setenv("GIT_CONFIG_GLOBAL", str(home / "gitconfig"))
    patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    patch.setenv("TZ", "UTC")
    time.tzset()
    patch.setattr("sys.platform", "linux")


def make_healthy(home: Path) -> Config:
    """After one scripted night: vault, store, archive, logs, models, schedule."""
    (home / "gitconfig").write_text("[user]\nname = Somebody\nemail = somebody@localhost\n")
    for name in ("e4b", "minilm"):
        write_model(home / "models" / name)
    write_sessions(home)
    config = make_vault().model_copy(update={"model": "e4b"})
    night = run_night(config)
    assert night.status == "done", night.results
    with run_log(config, "20261128-030000"):
        pass
    schedule.install(schedule.job(), config, Systemd(active="inactive"), pause=lambda _: None)
    before = (NIGHT - timedelta(days=1)).timestamp()
    for unit in (home / ".config" / "systemd" / "user").glob("nightly-memory.*"):
        os.utime(unit, (before, before))
    return config


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Config]:
    """The healthy machine's home, a copy of it as it was made, and its settings."""
    home, copy = tmp_path_factory.mktemp("healthy"), tmp_path_factory.mktemp("kept") / "home"
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(("GIT_", "MEMORY_"))]:
            patch.delenv(name)
        settle(home, patch)
        config = make_healthy(home)
    shutil.copytree(home, copy, symlinks=True)
    return home, copy, config


@pytest.fixture
def healthy(
    kept: tuple[Path, Path, Config], home: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Healthy]:
    """The machine as it was made; made once, since a night takes a while."""
    place, copy, config = kept
    shutil.rmtree(place)
    shutil.copytree(copy, place, symlinks=True)
    settle(place, monkeypatch)
    yield Healthy(place, config)
    monkeypatch.undo()
    time.tzset()
