"""SIGTERM ends a real run, with a real model at work, at a safe point and soon."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pipeline.history import History
from pipeline.models.mlx import MlxModel
from tests.support_night import NIGHT, make_vault, write_session, write_sessions

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


@pytest.mark.model
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_while_the_model_works(
    home: Path, smollm: MlxModel, number: signal.Signals
) -> None:
    """Exit 10 within ten seconds; the run is recorded as stopped; the vault is at rest."""
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
    process.send_signal(number)
    process.communicate(timeout=GRACE)
    assert process.returncode == 10
    said_ = subprocess.run(
        [sys.executable, "-m", "pipeline", "status", "--json"],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[1],
    )
    last = json.loads(said_.stdout)["last_run"]
    assert last["status"] == "stopped" and number.name in last["results"]["failure"]
    state = History(config.vault).state()
    assert not state.staged and not state.unstaged and not state.untracked
