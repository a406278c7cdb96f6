"""`memory synthesize --scheduled`: once a night, when the machine may, and never in silence."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pipeline.config import load_config
from pipeline.results import RunResults
from pipeline.store import Store
from tests import support_command

DUE = "00:00"


def memory(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command in the test's home, whatever room the disk has."""
    return support_command.memory(*arguments, **{"MEMORY_NIGHT__MIN_FREE_GB": "0", **environment})


@pytest.fixture
def vault(home: Path) -> Path:
    """A new vault, with nothing to fold."""
    assert memory("init").returncode == 0
    return home


def last_run() -> dict[str, object]:
    """The last run as `memory status --json` shows it."""
    return dict(json.loads(memory("status", "--json").stdout)["last_run"])


def test_a_night_is_run_once(vault: Path) -> None:
    """Started again the same night, as at login, it does nothing and makes no second run."""
    first = memory("synthesize", "--scheduled", DUE)
    assert first.returncode == 0, first.stderr
    run = last_run()
    assert run["status"] == "nothing"
    again = memory("synthesize", "--scheduled", DUE)
    assert again.returncode == 0 and "done already" in again.stdout
    assert last_run()["id"] == run["id"]


def test_a_run_by_hand_is_not_the_nights(vault: Path) -> None:
    """What was said after it would wait for another day."""
    assert memory("synthesize").returncode == 0
    by_hand = last_run()
    assert memory("synthesize", "--scheduled", DUE).returncode == 0
    assert last_run()["id"] != by_hand["id"]


@pytest.mark.parametrize(
    ("status", "asked", "done"),
    [
        ("done", False, True),
        ("nothing", False, True),
        ("partial", False, True),
        ("stopped", False, True),  # its time was up: that night has had its share
        ("stopped", True, False),  # the machine was shut down
        ("failed", False, False),
        ("skipped", False, False),
        ("interrupted", False, False),
    ],
)
def test_what_counts_as_done(vault: Path, status: str, asked: bool, done: bool) -> None:
    """A night that was skipped, failed, killed or shut down is caught up with."""
    config = load_config()
    store = Store(config.store_path)
    now = datetime.now(UTC)
    run = store.runs.begin(now, now, model="", prompts={}, vault="")
    results = RunResults(scheduled=True, asked=asked)
    store.runs.finish(run, now, status=status, vault="", results=results.as_json())
    store.close()
    said = memory("synthesize", "--scheduled", DUE)
    assert ("done already" in said.stdout) is done, said.stderr


def test_the_day_before_does_not_count(vault: Path) -> None:
    """Yesterday's run did yesterday's night."""
    store = Store(load_config().store_path)
    then = datetime.now(UTC) - timedelta(days=1, hours=1)
    run = store.runs.begin(then, then, model="", prompts={}, vault="")
    results = RunResults(scheduled=True).as_json()
    store.runs.finish(run, then, status="done", vault="", results=results)
    store.close()
    said = memory("synthesize", "--scheduled", DUE)
    assert said.returncode == 0 and "nothing new" in said.stdout


def test_a_night_held_back_says_why(vault: Path) -> None:
    """Exit 11; the reason is in `memory status` and in the words of the run; it is caught up."""
    done = memory("synthesize", "--scheduled", DUE, MEMORY_NIGHT__MIN_FREE_GB="1000000")
    assert done.returncode == 11
    assert "night.min_free_gb" in done.stderr
    assert last_run()["status"] == "skipped"
    assert "night.min_free_gb" in memory("status").stdout
    assert memory("synthesize", "--scheduled", DUE).returncode == 0
    assert last_run()["status"] == "nothing"


@pytest.mark.parametrize(
    "at", ["25:00", "3", "03:60", "-1:00", "03:00:00", "noon", "0３:00", "3:5"]
)
def test_bad_times(vault: Path, at: str) -> None:
    """An error that shows the form, never another time."""
    done = memory("synthesize", f"--scheduled={at}")
    assert done.returncode == 3, done.stdout
    assert "00:00" in done.stderr


def test_the_users_command_gets_the_result(vault: Path) -> None:
    """night.on_finish is started with the run's result on its standard input."""
    target = vault / "told.json"
    hook = json.dumps([sys.executable, "-c", f"open({str(target)!r}, 'w').write(input())"])
    done = memory("synthesize", MEMORY_NIGHT__ON_FINISH=hook)
    assert done.returncode == 0, done.stderr
    told = json.loads(target.read_text())
    assert told["status"] == "nothing" and told["run"] in done.stdout


@pytest.mark.parametrize("hook", ['["/no/such/program"]', '["false"]', '["sh", "-c", "exit 3"]'])
def test_a_users_command_that_fails_harms_nothing(vault: Path, hook: str) -> None:
    """The run's own result stands; the failure is in its log."""
    done = memory("synthesize", MEMORY_NIGHT__ON_FINISH=hook)
    assert done.returncode == 0
    assert "on_finish" in memory("logs", "--last").stdout


def test_every_run_leaves_a_log(vault: Path) -> None:
    """A rehearsal leaves none."""
    assert memory("synthesize", "--dry-run").returncode == 0
    assert json.loads(memory("logs", "--list", "--json").stdout) == []
    assert memory("synthesize").returncode == 0
    assert "ended: nothing" in memory("logs", "--last").stdout


def test_a_clock_that_went_back(vault: Path) -> None:
    """No run dates today's words years ago; the way out is named, and works."""
    store = Store(load_config().store_path)
    ahead = datetime.now(UTC) + timedelta(days=400)
    run = store.runs.begin(ahead, ahead, model="", prompts={}, vault="")
    store.runs.finish(run, ahead, status="done", vault="", results={})
    store.close()
    done = memory("synthesize")
    assert done.returncode == 3 and "--trust-clock" in done.stderr
    assert memory("synthesize", "--trust-clock").returncode == 0
    assert memory("synthesize").returncode == 0


def test_summer_time_is_no_clock_gone_back(vault: Path) -> None:
    """An hour is nothing to stop for."""
    store = Store(load_config().store_path)
    ahead = datetime.now(UTC) + timedelta(hours=1)
    run = store.runs.begin(ahead, ahead, model="", prompts={}, vault="")
    store.runs.finish(run, ahead, status="done", vault="", results={})
    store.close()
    assert memory("synthesize").returncode == 0
