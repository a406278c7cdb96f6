"""What is told of a job of launchd: how it is, how it ran, what has drifted."""

from __future__ import annotations

import json
import plistlib
from datetime import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.schedule import advice, launchd
from pipeline.schedule.jobs import Job
from pipeline.system import Answer
from tests.support_launchd import (
    AGENT,
    NOW,
    fresh,
    installed,
    launchctl,
    logs,
    plain,
    state,
    wanted,
)
from tests.support_schedule import FIXTURES, job, no_pause, recorded, script

__all__ = ["logs", "wanted"]  # fixtures


def test_not_scheduled(wanted: Job, logs: Path) -> None:
    """No file and not loaded: nothing is wrong either."""
    found = state(wanted, logs, print=["print-not-loaded"])
    assert (found.status, found.trouble, found.advice) == ("not scheduled", (), "")


def test_loaded_and_waiting(wanted: Job, logs: Path) -> None:
    """Runs and last exit are the job's own, not those of the blocks nested in the output."""
    installed(wanted, logs)
    found = state(wanted, logs, print=["print-waiting"])
    assert found.status == "loaded"
    assert (found.runs, found.last_exit, found.pid) == (6, 0, None)
    assert found.next_run is not None and found.next_run > NOW
    assert f"{found.next_run:%H:%M}" == "03:00"
    assert (found.drift, found.trouble, found.advice) == ((), (), "")
    assert found.as_json()["at"] == "03:00"


@pytest.mark.parametrize(
    ("printed", "pid", "last_exit", "words"),
    [
        ("print-never-ran", None, None, ""),
        ("print-running", 4711, 0, ""),
        ("print-cannot-start", None, 78, "could not start"),
        ("print-killed", None, None, "Killed: 9"),
    ],
)
def test_how_the_last_run_went(
    wanted: Job, logs: Path, printed: str, pid: int | None, last_exit: int | None, words: str
) -> None:
    """At work, never begun, not startable, killed: each is told apart."""
    installed(wanted, logs)
    found = state(wanted, logs, print=[printed])
    assert (found.pid, found.last_exit) == (pid, last_exit)
    assert words in " ".join(found.trouble)
    assert bool(found.trouble) == bool(words)


@pytest.mark.parametrize(
    ("printed", "disabled", "status", "cure"),
    [
        ("print-not-loaded", "disabled-enabled", "not loaded", "memory schedule"),
        ("print-not-loaded", "disabled-off", "disabled", "Login Items"),
        ("print-waiting", "disabled-off-before-13", "disabled", "Login Items"),
        ("print-no-session", "disabled-none", "unknown", "own screen"),
        ("print-no-domain", "disabled-none", "unknown", "own screen"),
        ("no-launchctl", "no-launchctl", "unknown", "PATH"),
    ],
)
def test_what_keeps_it_from_running(
    wanted: Job, logs: Path, printed: str, disabled: str, status: str, cure: str
) -> None:
    """Each state has its own cure, and the job is still described from its file."""
    installed(wanted, logs)
    found = state(wanted, logs, print=[printed], print_disabled=[disabled])
    assert found.status == status
    assert cure in found.advice
    assert found.installed is not None and found.installed.at == time(3, 0)


def test_drift_of_the_command(wanted: Job, logs: Path) -> None:
    """A script that is gone, or a Python that is: nothing would start tonight."""
    installed(wanted, logs)
    wanted.script.write_text("#!/nowhere/bin/python3\n")
    found = state(wanted, logs, print=["print-waiting"])
    assert found.status == "drifted"
    assert "/nowhere/bin/python3" in found.drift[0]
    wanted.script.unlink()
    found = state(wanted, logs, print=["print-waiting"])
    assert str(wanted.script) in found.drift[0] and "gone" in found.drift[0]
    assert found.advice == "memory schedule"


def test_drift_of_the_interpreter(home: Path, logs: Path) -> None:
    """The same path leads to another Python: macOS asks for its grants anew."""
    old, new, link = home / "python3.1", home / "python3.2", home / "python"
    for path in (old, new):
        path.touch()
    link.symlink_to(old)
    wanted = job(script(home / "bin", str(link)))
    installed(wanted, logs)
    assert state(wanted, logs, print=["print-waiting"]).status == "loaded"
    link.unlink()
    link.symlink_to(new)
    found = state(job(wanted.script), logs, print=["print-waiting"])
    assert found.status == "drifted"
    assert str(old) in found.drift[0] and str(new) in found.drift[0]


def test_drift_of_the_installation(home: Path, wanted: Job, logs: Path) -> None:
    """Another environment's command, or other settings, are named."""
    installed(wanted, logs)
    other = job(script(home / "other"), MEMORY_VAULT="/elsewhere")
    found = state(other, logs, print=["print-waiting"])
    assert str(home / "other" / "memory") in found.drift[0]
    assert "MEMORY_CONFIG, MEMORY_VAULT" in found.drift[1]


def test_drift_of_the_file(home: Path, wanted: Job, logs: Path) -> None:
    """Edited by hand, unreadable, or deleted while launchd has it; and a lost log folder."""
    installed(wanted, logs)
    logs.rmdir()
    found = state(wanted, logs, print=["print-waiting"])
    assert str(logs) in found.drift[0]
    plist = plistlib.loads((home / AGENT).read_bytes())
    (home / AGENT).write_bytes(plistlib.dumps(plist | {"KeepAlive": True, "Nice": 0}))
    found = state(wanted, logs, print=["print-waiting"])
    assert "KeepAlive, Nice" in found.drift[0]
    for broken in (b"", b"<plist", b"\xff\xfe", plistlib.dumps({"Label": "x"})):
        (home / AGENT).write_bytes(broken)
        assert launchd.installed() is None
        found = state(wanted, logs, print=["print-waiting"])
        assert found.status == "drifted" and "cannot be read" in found.drift[0]
    (home / AGENT).unlink()
    found = state(wanted, logs, print=["print-waiting"])
    assert found.status == "drifted" and "is gone" in found.drift[0]


def test_what_has_drifted_is_mended_by_scheduling(wanted: Job, logs: Path, home: Path) -> None:
    """As the advice says."""
    installed(wanted, logs)
    (home / AGENT).write_bytes(b"broken")
    ask = fresh(
        print=["print-waiting", "print-not-loaded", "print-waiting"], bootout=["bootout-done"]
    )
    assert launchd.install(wanted, logs, ask, no_pause)
    assert state(wanted, logs, print=["print-waiting"]).status == "loaded"


@given(
    code=st.sampled_from([0, 1, 5, 113, 124, 125, 127, 255]),
    lines=st.lists(
        st.sampled_from(
            ["\tpid = ", "\truns = x", "\tlast exit code = ", "\tstate = running", "}", "=", ""]
        )
        | st.text(),
    ),
)
def test_no_answer_is_a_fault_of_the_state(code: int, lines: list[str]) -> None:
    """Whatever launchctl prints: what cannot be read is not told."""
    wanted = job(Path("/opt/bin/memory"))
    found = launchd.state(
        wanted, Path("/logs"), lambda argv: Answer(code, "\n".join(lines), "\n".join(lines)), NOW
    )
    assert found.status in ("not scheduled", "unknown", "drifted", "loaded", "not loaded")
    json.dumps(found.as_json())


values = st.recursive(
    st.none() | st.integers(-(2**63), 2**64 - 1) | plain | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(plain, inner, max_size=3),
    max_leaves=8,
).map(lambda value: value if value is not None else "")


@given(
    changes=st.dictionaries(
        st.sampled_from(
            ["ProgramArguments", "StartCalendarInterval", "EnvironmentVariables", "ProcessType"]
        ),
        values,
    ),
    hour=values,
)
def test_any_file_can_be_looked_at(changes: dict[str, object], hour: object) -> None:
    """A property list with anything in the place of anything is drift, never a fault."""
    wanted = job(Path("/opt/bin/memory"))
    plist = launchd.render(wanted, Path("/logs"))
    plist["StartCalendarInterval"]["Hour"] = hour
    launchd.path().parent.mkdir(parents=True, exist_ok=True)
    try:
        launchd.path().write_bytes(plistlib.dumps(plist | changes))
    except TypeError:  # what no property list can hold
        return
    ask = launchctl(print=["print-waiting"])
    found = launchd.state(wanted, Path("/logs"), ask, NOW)
    assert found.status == "drifted"
    json.dumps(found.as_json())


def test_recordings_are_whole() -> None:
    """Each has what was asked, a code and both outputs."""
    for path in (FIXTURES / "launchctl").glob("*.json"):
        assert recorded(f"launchctl/{path.stem}").code in range(256)


def test_every_known_refusal_is_documented() -> None:
    """docs/schedule.md has the table's numbers and meanings."""
    page = (FIXTURES.parent / "docs" / "schedule.md").read_text(encoding="utf-8")
    for code, told in advice.KNOWN.items():
        assert f"| {code} | {told.meaning} |" in page
