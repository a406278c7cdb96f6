"""The job under systemd: its units, read by systemd itself, and what its answers lead to."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from datetime import UTC, datetime, time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import BusyFault, ConfigFault, MemoryFault
from pipeline.schedule import systemd
from pipeline.schedule.jobs import Job, ProcessType, State
from pipeline.system import Answer
from tests.support_schedule import Recorded, job, no_pause, script

NOW = datetime(2001, 2, 5, 12, 0, tzinfo=UTC)
LOGS = Path("/logs")
TIMER = ".config/systemd/user/nightly-memory.timer"
SERVICE = ".config/systemd/user/nightly-memory.service"


@pytest.fixture
def wanted(home: Path) -> Job:
    """A job whose command is there."""
    return job(script(home / "bin"), MEMORY_CONFIG="/home/somebody/config.toml")


def systemctl(**answers: list[str]) -> Recorded:
    """systemctl of a machine on which the job is well, unless said otherwise."""
    usual = {
        "show_timer": ["timer-active"],
        "show_service": ["service-never-ran"],
        "is_enabled": ["enabled"],
        "show_user": ["linger"],
        "daemon_reload": ["done"],
        "enable": ["done"],
        "restart": ["done"],
        "disable": ["done"],
        "stop": ["done"],
        "start": ["done"],
    }
    return Recorded("systemctl", **{**usual, **answers})


def installed(wanted: Job) -> None:
    """Have the job installed and loaded."""
    ask = systemctl(show_timer=["timer-not-found"], is_enabled=["not-enabled"])
    assert systemd.install(wanted, LOGS, ask, no_pause)


def state(wanted: Job, **answers: list[str]) -> State:
    """How the schedule does by these answers."""
    return systemd.state(wanted, LOGS, systemctl(**answers), NOW)


# ------------------------------------------------------------------ the units


def test_the_units_say_what_was_asked_for(home: Path, wanted: Job) -> None:
    """Time, catch-up, priorities, permissions, environment, and the run's own command line."""
    installed(wanted)
    timer, service = (home / TIMER).read_text(), (home / SERVICE).read_text()
    assert "OnCalendar=*-*-* 03:00:00\n" in timer
    assert "Persistent=true\n" in timer
    for line in (
        "Type=oneshot",
        "Nice=10",
        "IOSchedulingClass=idle",
        "UMask=0077",
        'Environment="MEMORY_CONFIG=/home/somebody/config.toml"',
        f'ExecStart=":{home}/bin/memory" "synthesize" "--scheduled" "03:00"',
    ):
        assert f"{line}\n" in service
    assert "CPUSchedulingPolicy" not in service


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd here")
@pytest.mark.parametrize("process_type", ProcessType)
def test_systemd_takes_the_units(home: Path, tmp_path: Path, process_type: ProcessType) -> None:
    """`systemd-analyze verify` finds nothing to say, whatever is in paths and settings."""
    path = script(home / "a b%n $HOME é" / "bin")
    settings = {"MEMORY_VAULT": '/50% $HOME "x" \\n \t', "CODEX_HOME": "/c"}
    systemd.install(
        Job(time(2, 30), True, process_type, path, "/usr/bin/python3", settings),
        LOGS,
        systemctl(),
        no_pause,
    )
    said = subprocess.run(
        ["systemd-analyze", "verify", "--user", home / TIMER, home / SERVICE],
        env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (said.returncode, said.stderr) == (0, "")


def test_a_command_that_systemd_refuses_is_named(home: Path) -> None:
    """It takes no quote and no backslash there; nothing is written."""
    for name in ("it's", 'a"b', "a\\b"):
        with pytest.raises(ConfigFault, match="quote"):
            systemd.install(job(script(home / name)), LOGS, systemctl(), no_pause)
    assert not (home / SERVICE).exists()


plain = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S")), min_size=1)


@given(
    at=st.times(),
    on_battery=st.booleans(),
    process_type=st.sampled_from(ProcessType),
    settings=st.dictionaries(st.sampled_from(["MEMORY_VAULT", "CODEX_HOME"]), plain),
)
def test_any_job_is_read_back_as_it_was_written(
    at: time, on_battery: bool, process_type: ProcessType, settings: dict[str, str]
) -> None:
    """Whatever stands in the settings."""
    at = at.replace(second=0, microsecond=0)
    wanted = Job(at, on_battery, process_type, Path("/opt/é %/memory"), "/usr/bin/py", settings)
    for path, content in systemd.plan(wanted, LOGS).files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    found = systemd.installed()
    assert found is not None
    for part in ("at", "on_battery", "process_type", "script", "interpreter", "environment"):
        assert getattr(found, part) == getattr(wanted, part)


# ------------------------------------------------------------------ installing and removing


def test_a_second_time_changes_nothing(home: Path, wanted: Job) -> None:
    """Same job, still loaded: no file is written and systemctl is only asked."""
    installed(wanted)
    before = [(home / name).stat().st_ino for name in (TIMER, SERVICE)]
    ask = systemctl()
    assert not systemd.install(wanted, LOGS, ask, no_pause)
    assert before == [(home / name).stat().st_ino for name in (TIMER, SERVICE)]
    assert not ask.told("daemon-reload", "enable", "restart")


def test_a_new_time_restarts_the_timer(home: Path, wanted: Job) -> None:
    """A timer at work would go on with the old time."""
    installed(wanted)
    ask = systemctl()
    assert systemd.install(job(wanted.script, time(4, 0)), LOGS, ask, no_pause)
    assert [argv[2] for argv in ask.told("daemon-reload", "enable", "restart")] == [
        "daemon-reload",
        "enable",
        "restart",
    ]
    assert "04:00" in (home / TIMER).read_text()


def test_a_run_at_work_is_not_disturbed(home: Path, wanted: Job) -> None:
    """The fault names its process, and nothing has changed."""
    installed(wanted)
    with pytest.raises(BusyFault, match="4711"):
        systemd.install(
            job(wanted.script, time(4, 0)),
            LOGS,
            systemctl(show_service=["service-running"]),
            no_pause,
        )
    assert "03:00" in (home / TIMER).read_text()


@pytest.mark.parametrize("answer", ["no-bus", "not-booted"])
def test_without_systemd_there_is_cron(home: Path, wanted: Job, answer: str) -> None:
    """The fault gives the line to use, settings included; nothing is written."""
    with pytest.raises(ConfigFault) as caught:
        systemd.install(wanted, LOGS, systemctl(show_timer=[answer]), no_pause)
    assert (
        f"0 3 * * * MEMORY_CONFIG=/home/somebody/config.toml {home}/bin/memory "
        "synthesize --scheduled 03:00" in caught.value.mend
    )
    assert not (home / SERVICE).exists()


def test_a_crontab_line_is_cut_nowhere(home: Path) -> None:
    """cron ends a command at a bare per cent sign."""
    odd = job(script(home / "a b"), time(23, 5), MEMORY_VAULT="/50% x")
    with pytest.raises(ConfigFault) as caught:
        systemd.install(odd, LOGS, systemctl(show_timer=["no-bus"]), no_pause)
    assert rf"5 23 * * * MEMORY_VAULT='/50\% x' '{home}/a b/memory' synthesize" in caught.value.mend


def test_a_refusal_is_told(wanted: Job) -> None:
    """In systemctl's words, with the command that failed."""
    with pytest.raises(MemoryFault, match="does not exist") as caught:
        systemd.install(
            wanted,
            LOGS,
            systemctl(is_enabled=["not-enabled"], enable=["enable-refused"]),
            no_pause,
        )
    assert "systemctl --user enable nightly-memory.timer" in str(caught.value)


def test_unschedule_takes_the_units_out(home: Path, wanted: Job) -> None:
    """Stopped, disabled, off the disk; a second time there is nothing to do."""
    installed(wanted)
    ask = systemctl()
    assert systemd.remove(ask, no_pause)
    assert ask.told("disable", "stop")
    assert not (home / TIMER).exists() and not (home / SERVICE).exists()
    assert not systemd.remove(ask, no_pause)


def test_unschedule_without_systemd_takes_the_files(home: Path, wanted: Job) -> None:
    """Its link too: the next session would start the timer by it."""
    installed(wanted)
    link = home / ".config/systemd/user/timers.target.wants/nightly-memory.timer"
    link.parent.mkdir()
    link.symlink_to(home / TIMER)
    assert systemd.remove(systemctl(show_timer=["no-bus"]), no_pause)
    assert not link.is_symlink() and not (home / TIMER).exists()


def test_a_start_is_not_waited_for() -> None:
    """Nights are long; a refusal is told."""
    ask = systemctl()
    systemd.start(ask)
    assert ask.asked == [["systemctl", "--user", "start", "--no-block", "nightly-memory.service"]]
    with pytest.raises(MemoryFault):
        systemd.start(systemctl(start=["no-bus"]))


# ------------------------------------------------------------------ the state


def test_not_scheduled(wanted: Job) -> None:
    """No unit: nothing is wrong, and a container without systemd has no scheduler."""
    found = state(wanted, show_timer=["timer-not-found"], is_enabled=["not-enabled"])
    assert (found.status, found.scheduler, found.advice) == ("not scheduled", "systemd", "")
    assert state(wanted, show_timer=["no-bus"]).scheduler == ""


def test_loaded_and_waiting(wanted: Job) -> None:
    """Nothing has run yet, so nothing has ended."""
    installed(wanted)
    found = state(wanted)
    assert (found.status, found.last_exit, found.pid) == ("loaded", None, None)
    assert found.next_run is not None and f"{found.next_run:%H:%M}" == "03:00"
    assert (found.drift, found.trouble, found.advice) == ((), (), "")


def test_how_the_last_run_went(wanted: Job) -> None:
    """Done, at work, failed with the run's own exit code."""
    installed(wanted)
    assert state(wanted, show_service=["service-done"]).last_exit == 0
    assert state(wanted, show_service=["service-running"]).pid == 4711
    failed = state(wanted, show_service=["service-failed"])
    assert failed.last_exit == 5 and "exit-code" in failed.trouble[0]


@pytest.mark.parametrize(
    ("answers", "status", "cure"),
    [
        ({"show_timer": ["timer-inactive"]}, "not loaded", "memory schedule"),
        ({"is_enabled": ["not-enabled"]}, "disabled", "memory schedule"),
        ({"show_timer": ["no-bus"]}, "unknown", "cron"),
        ({"show_user": ["no-linger"]}, "loaded", "loginctl enable-linger"),
    ],
)
def test_what_keeps_it_from_running(
    wanted: Job, answers: dict[str, list[str]], status: str, cure: str
) -> None:
    """Each state has its own cure; without lingering only the nights logged in are done."""
    installed(wanted)
    found = state(wanted, **answers)
    assert found.status == status
    assert cure in found.advice


def test_drift(home: Path, wanted: Job) -> None:
    """A command that is gone, an edited unit, a lost one, one that is not ours."""
    installed(wanted)
    (home / TIMER).write_text((home / TIMER).read_text().replace("03:00", "05:00"))
    found = state(wanted)
    assert found.status == "drifted" and "nightly-memory.timer" in found.drift[0]
    wanted.script.unlink()
    assert "is gone" in state(wanted).drift[0]
    (home / TIMER).unlink()
    assert state(wanted).status == "drifted"
    for text in ("", "[X-Nightly-Memory]\nJob={", "[X-Nightly-Memory]\nJob=[]\n"):
        (home / SERVICE).write_text(text)
        assert systemd.installed() is None
        assert "cannot be read" in state(wanted).drift[0]


@given(
    code=st.sampled_from([0, 1, 124, 127]),
    lines=st.lists(
        st.sampled_from(["MainPID=x", "ExecMainStatus=", "LoadState=loaded", "Result=", "=", ""])
        | st.text(),
    ),
)
def test_no_answer_is_a_fault_of_the_state(code: int, lines: list[str]) -> None:
    """Whatever systemctl prints: what cannot be read is not told."""
    wanted = Job(time(3, 0), False, ProcessType.STANDARD, Path("/opt/bin/memory"), "", {})
    for path, content in systemd.plan(wanted, LOGS).files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    text = "\n".join(lines)
    found = systemd.state(wanted, LOGS, lambda argv: Answer(code, text, text), NOW)
    assert found.installed is not None
    json.dumps(found.as_json())
