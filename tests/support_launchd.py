"""A recorded launchctl, and the job that is installed with it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import strategies as st

from pipeline.schedule import launchd
from pipeline.schedule.jobs import Job, State
from tests.support_schedule import Recorded, job, no_pause, script

NOW = datetime(2001, 2, 5, 12, 0, tzinfo=UTC)
AGENT = "Library/LaunchAgents/com.nightly-memory.synthesize.plist"
plain = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S")), min_size=1)


@pytest.fixture
def wanted(home: Path) -> Job:
    """A job whose command is there."""
    return job(script(home / "bin"), MEMORY_CONFIG="/Users/somebody/config.toml")


@pytest.fixture
def logs(home: Path) -> Path:
    """A folder for logs that is not made yet."""
    return home / "Library" / "Logs" / "nightly-memory"


def launchctl(**answers: list[str]) -> Recorded:
    """launchctl with recorded answers; asked for what is disabled it says nothing of ours."""
    return Recorded("launchctl", **{"print_disabled": ["disabled-none"], **answers})


def fresh(**answers: list[str]) -> Recorded:
    """launchctl of a Mac without the job, which takes it."""
    return launchctl(
        **{
            "print": ["print-not-loaded", "print-never-ran"],
            "enable": ["enable-done"],
            "bootstrap": ["bootstrap-done"],
            **answers,
        }
    )


def installed(wanted: Job, logs: Path) -> None:
    """Have the job installed and loaded."""
    assert launchd.install(wanted, logs, fresh(), no_pause)


def state(wanted: Job, logs: Path, **answers: list[str]) -> State:
    """How the schedule does by these answers."""
    return launchd.state(wanted, logs, launchctl(**answers), NOW)
