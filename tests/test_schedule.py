"""`memory schedule` as a whole: what a scheduled run takes along, and what the commands say."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, time
from pathlib import Path

import pytest

from pipeline import schedule
from pipeline.assemble import SOURCES
from pipeline.config import load_config
from pipeline.errors import ConfigFault
from pipeline.schedule.jobs import ProcessType
from pipeline.schedule.surroundings import (
    console_script,
    environment,
    interpreter_of,
    interpreter_path,
)
from tests.support_schedule import Recorded, no_pause

NOW = datetime(2001, 2, 5, 12, 0, tzinfo=UTC)


# ------------------------------------------------------------------ what a run takes along


def test_the_command_is_this_environments() -> None:
    """Absolute, executable, and it starts this very interpreter."""
    path = console_script()
    assert path.is_absolute() and path.name == "memory" and os.access(path, os.X_OK)
    assert interpreter_path(path) == os.path.realpath(sys.executable)


@pytest.mark.parametrize(
    ("text", "python"),
    [
        ("#!/opt/py/bin/python3\n", "/opt/py/bin/python3"),
        ("#!/opt/py/bin/python3 -P\n", "/opt/py/bin/python3"),
        ("#!/bin/sh\n'''exec' \"/a b/python\" \"$0\" \"$@\"\n' '''\n", "/a b/python"),
        ("#!/bin/sh\n'''exec' /long/python \"$0\" \"$@\"\n' '''\n", "/long/python"),
        ("#!/bin/sh\n'''exec' \"/un closed\n", None),
        ("#!/it's/python\n", "/it's/python"),
        ("print()\n", None),
        ("", None),
        ("#!\n", None),
        ("#!python\n", None),
    ],
)
def test_the_interpreter_is_read_from_the_script(
    tmp_path: Path, text: str, python: str | None
) -> None:
    """In each form in which installers write it; what says nothing is not guessed at."""
    path = tmp_path / "memory"
    path.write_text(text)
    assert interpreter_of(path) == (Path(python) if python else None)
    assert interpreter_of(tmp_path / "missing") is None


def test_settings_go_along_and_nothing_else_does(home: Path) -> None:
    """What says where things are; no token, no shell; relative places are made absolute."""
    kept = environment(
        {
            "MEMORY_VAULT": "~/wiki",
            "XDG_CACHE_HOME": "/caches",
            "XDG_DATA_HOME": "relative",
            "CODEX_HOME": "~/codex",
            "CLAUDE_CONFIG_DIR": "",
            "API_TOKEN": "x",
            "PATH": "/bin",
            "SHELL": "/bin/sh",
        }
    )
    assert kept == {
        "MEMORY_VAULT": "~/wiki",
        "XDG_CACHE_HOME": "/caches",
        "CODEX_HOME": f"{home}/codex",
    }


def test_a_relative_configuration_file_is_named_in_full(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A scheduler starts the run in another folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEMORY_CONFIG", "mine.toml")
    assert environment(os.environ)["MEMORY_CONFIG"] == f"{tmp_path}/mine.toml"


@pytest.mark.parametrize("value", ["/a\nb", "/a\x1bb", "/a\udcffb"])
def test_a_setting_that_no_file_can_hold_is_refused(value: str) -> None:
    """By name; a job without it would use another vault."""
    with pytest.raises(ConfigFault, match="MEMORY_VAULT"):
        environment({"MEMORY_VAULT": value})


class _Listening(Mapping[str, str]):
    """An environment that notes what it is asked for."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def __getitem__(self, name: str) -> str:
        self.names.add(name)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def test_every_variable_that_moves_transcripts_goes_along(home: Path) -> None:
    """A source that looks elsewhere by day would find nothing by night."""
    asked = _Listening()
    for _, default_roots in SOURCES.values():
        default_roots(asked, home)
    assert asked.names
    assert set(environment(dict.fromkeys(asked.names, "/place"))) == asked.names


# ------------------------------------------------------------------ the whole


@pytest.fixture
def mac(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scheduler is launchd."""
    monkeypatch.setattr(sys, "platform", "darwin")


def _fresh() -> Recorded:
    return Recorded(
        "launchctl",
        print_disabled=["disabled-none"],
        print=["print-not-loaded", "print-waiting"],
        enable=["enable-done"],
        bootstrap=["bootstrap-done"],
        bootout=["bootout-done"],
    )


@pytest.mark.usefixtures("mac")
def test_what_is_not_said_again_stays(home: Path) -> None:
    """Scheduling anew, as the advice for drift goes, loses no option."""
    config = load_config()
    first = schedule.job(time(4, 30), True, ProcessType.BACKGROUND)
    assert schedule.install(first, config, _fresh(), pause=no_pause)
    assert schedule.job() == first
    changed = schedule.job(process_type=ProcessType.STANDARD, on_battery=False)
    assert (changed.at, changed.on_battery) == (time(4, 30), False)
    assert changed.process_type is ProcessType.STANDARD


@pytest.mark.usefixtures("mac")
def test_what_the_run_asks_of_the_schedule(home: Path) -> None:
    """When it is due, whether on battery, by which command, and since when."""
    assert schedule.installed() is None
    before = datetime.now(UTC).replace(microsecond=0)
    schedule.install(schedule.job(time(4, 30)), load_config(), _fresh(), pause=no_pause)
    found = schedule.installed()
    assert found is not None
    assert (found.at, found.on_battery, found.script) == (time(4, 30), False, console_script())
    assert found.path.is_file() and found.installed_at >= before


@pytest.mark.usefixtures("mac")
def test_the_state_is_a_value_without_an_installed_program(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The doctor reads it from a checkout too: what cannot be compared is said, not raised."""
    schedule.install(schedule.job(), load_config(), _fresh(), pause=no_pause)
    monkeypatch.setenv("CODEX_HOME", "/a\nb")
    ask = Recorded("launchctl", print=["print-waiting"], print_disabled=["disabled-none"])
    found = schedule.state(load_config(), ask, NOW)
    assert found.loaded and "CODEX_HOME" in found.trouble[-1]
    json.dumps(found.as_json())


def test_under_sudo_nothing_is_scheduled(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The job would be root's."""
    monkeypatch.setenv("SUDO_USER", "somebody")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(ConfigFault, match="sudo"):
        schedule.install(schedule.job(), load_config(), Recorded("launchctl"), pause=no_pause)


# ------------------------------------------------------------------ the commands


def run(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command, out of reach of this machine's own schedulers."""
    hidden = {"PATH": str(home), "XDG_RUNTIME_DIR": str(home), "DBUS_SESSION_BUS_ADDRESS": ""}
    return subprocess.run(
        [sys.executable, "-m", "pipeline", *arguments],
        env={**os.environ, **hidden},
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[1],
    )


@pytest.mark.parametrize("at", ["25:00", "3", "03:60", "-1:00", ""])
def test_a_bad_time_schedules_nothing(home: Path, at: str) -> None:
    """Exit 3, and the time as it was written."""
    done = run(home, "schedule", "--at", at)
    assert done.returncode == 3
    assert repr(at) in done.stderr
    assert not list(home.rglob("*nightly-memory*.plist")) + list(home.rglob("*.timer"))


def test_an_unknown_process_type_lists_the_known(home: Path) -> None:
    """Exit 3."""
    done = run(home, "schedule", "--process-type", "fast")
    assert done.returncode == 3
    assert "'fast'" in done.stderr and "background" in done.stderr


def test_options_are_not_swallowed_by_a_subcommand(home: Path) -> None:
    """What would be ignored is refused."""
    assert run(home, "schedule", "--at", "04:00", "status").returncode == 3


def test_what_is_not_scheduled_is_not_tried(home: Path) -> None:
    """Exit 3 and the command that schedules, where the system would speak of its own."""
    done = run(home, "schedule", "try")
    assert done.returncode == 3
    assert done.stderr.splitlines()[-1].strip() == "memory schedule"


def test_a_dry_run_writes_nothing(home: Path) -> None:
    """It shows the files and the commands."""
    before = sorted(home.rglob("*"))
    done = run(home, "schedule", "--at", "04:30", "--dry-run", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert any("04:30" in text for text in told["files"].values())
    assert told["commands"]
    assert sorted(home.rglob("*")) == before
    assert "04:30" in run(home, "schedule", "--at", "04:30", "--dry-run").stdout


@pytest.mark.skipif(sys.platform != "linux", reason="of a machine without a scheduler")
def test_without_a_scheduler_there_is_a_line_for_cron(home: Path) -> None:
    """Exit 3, with the line; status says that there is nothing, and is no error."""
    done = run(home, "schedule", "--at", "04:30")
    assert done.returncode == 3
    assert "30 4 * * * " in done.stderr and "--scheduled 04:30" in done.stderr
    done = run(home, "schedule", "status", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["status"] == "not scheduled"
    assert run(home, "unschedule").stdout == "it was not scheduled\n"
