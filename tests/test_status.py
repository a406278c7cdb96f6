"""One screen that says how the nights go, and that shows silence for what it is."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import psutil

from pipeline.config import load_config
from pipeline.records import Span
from pipeline.status import gather, lines
from pipeline.store import Store
from pipeline.store.times import to_text
from tests.support_health import NOW, Healthy, Systemd, healthy, kept
from tests.support_night import NIGHT
from tests.support_store import fill

__all__ = ["healthy", "kept"]  # fixtures


def state_of(h: Healthy) -> dict[str, Any]:
    """What is gathered of a machine."""
    return gather(h.config, h.now, h.systemd)


def line_of(state: dict[str, Any], word: str) -> str:
    """The one line that begins with this word."""
    (found,) = [line for line in lines(state) if line.startswith(word)]
    return found


def ran(h: Healthy, days: int, status: str, **results: Any) -> None:
    """A run of half an hour, so many days after the first night."""
    at = NIGHT + timedelta(days=days)
    store = Store(h.config.store_path)
    run = store.runs.begin(at, at, model="e4b", prompts={}, vault="")
    results = {"failure": ""} | results
    store.runs.finish(run, at + timedelta(minutes=30), status=status, vault="", results=results)
    store.close()


def test_after_a_good_night(healthy: Healthy) -> None:
    """Last run, next run, what there is, and nothing that calls for the user."""
    state = state_of(healthy)
    assert state["last_run"]["status"] == "done"
    assert state["last_success"] == to_text(NIGHT)
    assert state["missed_nights"] == 0
    assert state["at_work"] is None
    assert state["schedule"]["status"] == "loaded"
    assert state["model_fetched"]
    assert state["articles"] == 2 and state["uncommitted"] == 0
    assert state["problems"] == []
    run = state["last_run"]["id"]
    assert line_of(state, "last run") == f"last run  {run}: done, 2026-11-28 03:00, 0 minutes"
    assert line_of(state, "next run") == "next run  2026-11-29 03:00 (systemd)"
    assert line_of(state, "pending") == "pending   nothing"
    assert not [line for line in lines(state) if line.startswith(("missed", "backlog", "problem"))]


def test_times_are_those_of_the_settings(healthy: Healthy) -> None:
    """03:00 in UTC is noon in Tokyo."""
    state = state_of(healthy)
    told = lines(state, ZoneInfo("Asia/Tokyo"))
    run = state["last_run"]["id"]
    assert told[0] == f"last run  {run}: done, 2026-11-28 12:00, 0 minutes"


def test_missed_nights_are_said(healthy: Healthy) -> None:
    """P14: three nights after the last good one, with how long the last one took."""
    ran(healthy, 1, "failed", failure="the disk is full")
    state = state_of(replace(healthy, now=NOW + timedelta(days=3)))
    assert state["missed_nights"] == 3
    assert line_of(state, "missed") == "missed    no successful run for 3 nights"
    assert "30 minutes" in line_of(state, "last run")
    assert "          the disk is full" in lines(state)


def test_the_run_at_work_is_named(healthy: Healthy) -> None:
    """By its process; a run that was killed is not at work."""
    store = Store(healthy.config.store_path)
    store.runs.begin(NOW, NOW, model="e4b", prompts={}, vault="")
    store.close()
    assert "killed" in line_of(state_of(healthy), "last run")
    me = psutil.Process()
    said = json.dumps({"pid": me.pid, "started": me.create_time()})
    healthy.config.lock_path.write_text(said)
    tomorrow = replace(healthy, now=NOW + timedelta(days=1))
    state = state_of(tomorrow)
    assert state["at_work"]["pid"] == me.pid and state["missed_nights"] == 0
    assert str(me.pid) in line_of(state, "at work")
    assert "running" in line_of(state, "last run")


def test_what_is_wrong_with_the_schedule_is_said(healthy: Healthy) -> None:
    """Not there, switched off, not loaded: each with what to do."""
    off = lines(state_of(replace(healthy, systemd=Systemd(enabled="disabled"))))
    assert "next run  the schedule is disabled" in off
    assert "          memory schedule" in off
    assert "not loaded" in line_of(
        state_of(replace(healthy, systemd=Systemd(active="inactive"))), "next run"
    )
    shutil.rmtree(healthy.home / ".config" / "systemd")
    state = state_of(replace(healthy, now=NOW + timedelta(days=9)))
    assert "`memory schedule`" in line_of(state, "next run")
    assert state["missed_nights"] == 0  # none was due


def test_the_backlog_is_told_in_nights(healthy: Healthy) -> None:
    """At the pace of the last nights that made it shrink: 12 and 8 of them, so 10 a night."""
    h = healthy.but(since_days=14)
    store = Store(h.config.store_path)
    for number in range(25):
        fill(store, f"{number:08x}", ["Something said.", "An answer."])  # of 2001
    assert len(store.conversations.to_chunk(Span(until=NIGHT - timedelta(days=14)))) == 25
    store.close()
    assert state_of(h)["backlog"] == {"conversations": 25, "nights": None}
    for day, left in ((1, 45), (2, 33), (3, 33), (4, 25)):
        ran(h, day, "done", backlog=left)
    state = state_of(h)
    assert state["backlog"] == {"conversations": 25, "nights": 3}
    assert state["pending"]["to chunk"] == 0
    told = "backlog   25 older conversations, about 3 nights (`memory backfill`)"
    assert line_of(state, "backlog") == told


def test_what_waits_and_what_was_given_up_is_listed(healthy: Healthy) -> None:
    """With the reason."""
    store = Store(healthy.config.store_path)
    fill(store, "00000001", ["Something said.", "An answer."])
    pause = timedelta(hours=1)
    store.attempts.fail("chunk", "a", "no reply", now=NIGHT, pause=pause, max_attempts=1)
    store.close()
    state = state_of(healthy)
    assert line_of(state, "pending") == "pending   1 to chunk"
    assert line_of(state, "parked") == "parked    chunk: a: no reply"


def test_sizes_are_those_of_the_files(healthy: Healthy) -> None:
    """Bytes, links not followed."""
    big = healthy.home / "big"
    big.write_bytes(b"x" * 10**6)
    (healthy.config.archive_dir / "link").symlink_to(big)
    before = state_of(healthy)["sizes"]
    models = [p for p in (healthy.home / "models").rglob("*") if p.is_file()]
    assert before["models"] == sum(path.stat().st_size for path in models)
    (healthy.config.archive_dir / "pi" / "more").write_bytes(b"x" * 12_345)
    assert state_of(healthy)["sizes"]["archive"] == before["archive"] + 12_345
    assert before["archive"] < 10**6


def test_a_broken_part_does_not_hide_the_rest(healthy: Healthy) -> None:
    """A damaged store and a vault whose git is broken are named; schedule and sizes are told."""
    healthy.config.store_path.write_text("not a database")
    (healthy.config.vault / ".git" / "HEAD").write_text("nonsense")
    state = state_of(healthy)
    assert len([line for line in lines(state) if line.startswith("problem")]) == 2
    assert any("memory rebuild" in problem for problem in state["problems"])
    assert state["schedule"]["status"] == "loaded" and state["sizes"]["vault"] > 0


def test_nothing_is_made_by_looking(home: Path) -> None:
    """On a machine where there is nothing yet."""
    before = sorted(home.rglob("*"))
    config = load_config()
    state = gather(config, NOW, Systemd())
    assert line_of(state, "last run") == "last run  none yet"
    assert "memory init" in line_of(state, "vault")
    assert sorted(home.rglob("*")) == before


def test_the_command_says_it_in_json_too(healthy: Healthy) -> None:
    """The same, for a program."""
    done = subprocess.run(
        [sys.executable, "-m", "pipeline", "status", "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)["last_success"] == to_text(NIGHT)
