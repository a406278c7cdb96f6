"""What would be too much at once passes a whole night in bounded memory and bounded prompts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.pipeline_giant import CONVERSATION, MESSAGE, TOKENS, UNBROKEN
from tests.support_giants import Told

ROOT = Path(__file__).parents[1]
BOUND = 400 * 2**20  # bytes of the run's own process, its model apart


@pytest.mark.parametrize("kind", [CONVERSATION, MESSAGE, UNBROKEN])
def test_a_giant_passes_the_whole_night(kind: str, home: Path) -> None:
    """400,000 tokens said in one conversation; 200,000 in one message, with spaces or without.

    No prompt is longer than the cap, every message stands in one chunk, what is stated far inside
    is found, and the run's own process stays small.
    """
    done = subprocess.run(
        [sys.executable, "-m", "tests.support_giants", kind, str(home)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = Told(**json.loads(done.stdout.splitlines()[-1]))
    assert told.tokens >= TOKENS[kind]
    assert told.status == "done", told.rejected
    assert told.covered == told.messages
    assert told.asks > 0
    assert told.largest <= told.cap
    assert told.claimed == told.facts
    assert told.peak < BOUND
