"""Missed and failed nights are told at the start of a session, and good ones are not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time as clock
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline import schedule, silence
from pipeline.config import Config, load_config
from pipeline.errors import StoreFault
from pipeline.silence import missed, nights, scheduled
from pipeline.store import Store
from tests.support_health import Systemd

DAY = timedelta(days=1)
LAST = datetime(2001, 2, 3, 3, 0, tzinfo=UTC)  # a night that went well
MORNING = datetime(2001, 2, 3, 9, 0, tzinfo=UTC)


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine's own zone, by which schedules go."""
    monkeypatch.setenv("TZ", "UTC")
    clock.tzset()


def ran(config: Config, at: datetime, status: str, **results: Any) -> None:
    """A run of twelve minutes that ended so."""
    store = Store(config.store_path)
    run = store.runs.begin(at, at, model="m", prompts={}, vault="")
    if status != "running":
        end = at + timedelta(minutes=12)
        store.runs.finish(run, end, status=status, vault="", results={"failure": ""} | results)
    store.close()


def plan_nights(config: Config, home: Path, since: datetime = LAST - 10 * DAY) -> None:
    """Schedule the run for 03:00, some time ago."""
    schedule.install(schedule.job(), config, Systemd(active="inactive"), pause=lambda _: None)
    for unit in (home / ".config" / "systemd" / "user").glob("nightly-memory.*"):
        os.utime(unit, (since.timestamp(), since.timestamp()))


def told(config: Config, home: Path, now: datetime) -> str:
    """What a session is told."""
    return silence.silence(config.store_path, config.lock_path, now, environ=os.environ, home=home)


def test_good_nights_are_silent(home: Path) -> None:
    """Done, nothing new, some of it refused, or its time spent: the night did what it is for."""
    config = load_config()
    plan_nights(config, home)
    for number, status in enumerate(("done", "nothing", "partial", "stopped")):
        ran(config, LAST + number * DAY, status)
        assert told(config, home, MORNING + number * DAY) == ""


def test_missed_nights_are_counted(home: Path) -> None:
    """One a day, from the first that was due and not run."""
    config = load_config()
    plan_nights(config, home)
    ran(config, LAST, "done")
    assert told(config, home, MORNING + 17 * timedelta(hours=1)) == ""  # 02:00, not due yet
    assert "no successful run for 1 night." in told(config, home, MORNING + DAY)
    line = told(config, home, MORNING + 3 * DAY)
    assert "no successful run for 3 nights." in line
    assert "memory doctor" in line and "\n" not in line


def test_a_run_by_hand_makes_up_for_a_missed_night(home: Path) -> None:
    """What was missed before it counts no more."""
    config = load_config()
    plan_nights(config, home)
    ran(config, LAST, "done")
    ran(config, MORNING + 2 * DAY, "done")
    assert told(config, home, MORNING + 2 * DAY + timedelta(hours=1)) == ""


def test_a_failed_night_is_told_with_its_reason(home: Path) -> None:
    """On one line, however long and whatever is in it."""
    config = load_config()
    plan_nights(config, home)
    ran(config, LAST, "done")
    ran(config, LAST + DAY, "failed", failure="the disk\n\x1b[31m is full " + "x" * 500)
    line = told(config, home, MORNING + DAY)
    assert "1 night; the last run was failed: the disk [31m is full xxx" in line
    assert len(line) < 300 and line.isprintable()


def test_a_skipped_night_is_told_once_it_is_missed(home: Path) -> None:
    """On battery for two nights: it says that, and why."""
    config = load_config()
    plan_nights(config, home)
    ran(config, LAST, "done")
    for number in (1, 2):
        ran(config, LAST + number * DAY, "skipped", failure="on battery power")
    assert "2 nights; the last run was skipped: on battery power" in told(
        config, home, MORNING + 2 * DAY
    )


def test_a_night_that_a_signal_ended_is_no_success(home: Path) -> None:
    """A machine that is shut down at four every night folds nothing."""
    config = load_config()
    plan_nights(config, home)
    ran(config, LAST, "done")
    for number in (1, 2):
        ran(config, LAST + number * DAY, "stopped", asked=True)
    assert "2 nights" in told(config, home, MORNING + 2 * DAY)


def test_the_night_at_work_is_not_missed(home: Path) -> None:
    """A Mac that woke at nine is running it right now; one that was killed at it is not."""
    config = load_config()
    plan_nights(config, home)
    ran(config, LAST, "done")
    ran(config, MORNING + DAY, "running")
    config.lock_path.write_text(json.dumps({"pid": os.getpid(), "started": 1.0}))
    assert told(config, home, MORNING + DAY) == ""
    config.lock_path.write_text(json.dumps({"pid": 2**22 + 1, "started": 1.0}))
    assert "1 night" in told(config, home, MORNING + DAY)


def test_a_run_of_a_wrong_clock_does_not_silence_what_comes_after(home: Path) -> None:
    """The clock stood three years ahead for a night; since then none succeeded."""
    config = load_config()
    plan_nights(config, home)
    ran(config, LAST, "done")
    ran(config, LAST + 1000 * DAY, "done")
    assert "2 nights" in told(config, home, MORNING + 2 * DAY)
    ran(config, LAST + 2 * DAY, "done")
    assert told(config, home, MORNING + 2 * DAY) == ""


def test_nothing_is_told_where_nothing_is_scheduled(home: Path) -> None:
    """Whoever runs it by hand knows when they did."""
    config = load_config()
    ran(config, LAST, "failed", failure="no")
    assert told(config, home, MORNING + 30 * DAY) == ""


def test_nights_before_the_schedule_do_not_count(home: Path) -> None:
    """It was scheduled yesterday noon, and has not run yet."""
    config = load_config()
    plan_nights(config, home, since=LAST - timedelta(hours=15))
    assert told(config, home, LAST - timedelta(hours=1)) == ""
    assert "1 night" in told(config, home, MORNING)


def test_a_broken_store_is_told(home: Path) -> None:
    """It is why nothing happens."""
    config = load_config()
    plan_nights(config, home)
    config.cache_dir.mkdir(parents=True)
    config.store_path.write_text("no database")
    assert "cannot be read" in told(config, home, MORNING)
    with pytest.raises(StoreFault, match=r"memory\.sqlite"):
        nights(config.store_path, MORNING)


def test_looking_leaves_nothing_behind(home: Path) -> None:
    """Neither a database where there is none, nor files of the WAL."""
    config = load_config()
    plan_nights(config, home)
    told(config, home, MORNING)
    assert not config.cache_dir.exists()
    ran(config, LAST, "done")
    before = config.store_path.read_bytes()
    told(config, home, MORNING)
    assert [path.name for path in config.cache_dir.iterdir()] == ["memory.sqlite"]
    assert config.store_path.read_bytes() == before


@pytest.mark.parametrize("platform", ["linux", "darwin"])
@pytest.mark.parametrize("at", [time(0, 0), time(3, 5), time(23, 59)])
def test_the_file_of_the_schedule_is_understood(
    home: Path, monkeypatch: pytest.MonkeyPatch, platform: str, at: time
) -> None:
    """As `memory schedule` writes it, on either system: the same hour and the same beginning."""
    assert scheduled(os.environ, home) is None
    monkeypatch.setattr("sys.platform", platform)
    config = load_config()
    for path, content in schedule.plan(schedule.job(at), config).files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    installed = schedule.installed()
    assert installed is not None
    found = scheduled(os.environ, home)
    assert found is not None and found[0] == at == installed.at
    assert abs(found[1] - installed.installed_at) < timedelta(seconds=5)


def test_a_night_is_due_once_on_days_when_the_clock_is_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Central Europe, 2026: 02:30 of 29 March does not exist, that of 25 October comes twice."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    clock.tzset()
    noon = timedelta(hours=12)
    spring, autumn = datetime(2026, 3, 28, 11, tzinfo=UTC), datetime(2026, 10, 24, 10, tzinfo=UTC)
    for before in (spring, autumn):
        assert missed(time(2, 30), before, before + noon) == 0
        assert missed(time(2, 30), before, before + 2 * noon) == 1
        assert missed(time(2, 30), before, before + 4 * noon) == 2
    monkeypatch.undo()
    clock.tzset()


@given(st.integers(0, 1439), st.integers(0, 2000), st.integers(0, 2000))
def test_as_many_nights_as_days(minute: int, first: int, more: int) -> None:
    """In UTC: the whole days between, plus the one begun if it reaches the hour; never negative."""
    at = time(minute // 60, minute % 60)
    start = datetime(2001, 1, 1, tzinfo=UTC)
    since = start + timedelta(hours=first)
    now = since + timedelta(hours=more)
    due = [start + timedelta(days=day, minutes=minute) for day in range(-1, 200)]
    assert missed(at, since, now) == sum(since < moment <= now for moment in due)
    assert missed(at, now, since) == 0


def test_it_loads_only_the_standard_library() -> None:
    """Sessions wait for it."""
    code = "import sys; before = set(sys.modules); import pipeline.silence; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert not loaded & {"pydantic", "typer", "rich", "psutil", "mlx", "zstandard"}
    ours = {name for name in done.stdout.split() if name.startswith("pipeline")}
    few = {"errors", "hours", "ordinary", "silence", "sqlite", "terminal"}
    assert ours == {"pipeline", *(f"pipeline.{name}" for name in few)}
