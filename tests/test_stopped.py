"""A signal ends a run, with a real model at work or a slow one, at a safe point and soon."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pipeline.config import Config
from pipeline.history import History
from pipeline.models.mlx import MlxModel
from tests.support_night import NIGHT, make_vault, write_session, write_sessions
from tests.test_unattended import started

GRACE = 10.0  # seconds; the promise of the command


def start() -> subprocess.Popen[str]:
    """`memory synthesize` as a process of its own, with the smallest model."""
    return subprocess.Popen(
        [sys.executable, "-m", "pipeline", "synthesize", "--model", "smollm2-135m", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[1],
        env={**os.environ, "MEMORY_EMBEDDER": "none", "MEMORY_SINCE_DAYS": "all"},
    )


def ends_well(process: subprocess.Popen[str], number: signal.Signals, config: Config) -> None:
    """Exit 10 within ten seconds; the run is recorded as stopped; the vault is at rest."""
    process.send_signal(number)
    process.communicate(timeout=GRACE)
    assert process.returncode == 10
    said = subprocess.run(
        [sys.executable, "-m", "pipeline", "status", "--json"],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[1],
    )
    last = json.loads(said.stdout)["last_run"]
    assert last["status"] == "stopped" and number.name in last["results"]["failure"]
    state = History(config.vault).state()
    assert not state.staged and not state.unstaged and not state.untracked


@pytest.mark.model
def test_a_signal_while_a_real_model_works(home: Path, smollm: MlxModel) -> None:
    """In the middle of a batch that its process computes."""
    write_sessions(home)
    for turn in range(6):
        said = [
            ("user", f"The Orchard pump {turn} runs for {turn + 3} minutes at dawn. " * 8),
            ("assistant", f"The Orchard pump {turn} is set to {turn + 3} minutes. " * 8),
        ]
        session = f"3b1f0c2a-7d6e-4f50-9a1b-2c3d4e5f6a{turn:02}"
        write_session(home, "claude-code", session, NIGHT, said)
    config = make_vault()
    process = start()
    assert process.stdout is not None
    for line in process.stdout:
        if json.loads(line).get("stage") == "chunk":
            break
    time.sleep(1)  # well into the next batch
    ends_well(process, signal.SIGTERM, config)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_of_any_kind(home: Path, number: signal.Signals) -> None:
    """While the model has not answered yet."""
    write_sessions(home)
    config = make_vault()
    process = started("synthesize", SLOW="1")
    assert process.stdout is not None
    assert process.stdout.readline() == "asked\n"
    ends_well(process, number, config)
