"""The job under launchd: its file, and what every known answer of launchctl leads to."""

from __future__ import annotations

import json
import os
import plistlib
import re
import shutil
import subprocess
from datetime import UTC, datetime, time
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import BusyFault, MemoryFault
from pipeline.resources import folder
from pipeline.schedule import advice, launchd
from pipeline.schedule.jobs import Job, ProcessType, State
from pipeline.system import Answer
from tests.support_schedule import FIXTURES, Recorded, job, no_pause, recorded, script

NOW = datetime(2001, 2, 5, 12, 0, tzinfo=UTC)
AGENT = "Library/LaunchAgents/com.nightly-memory.synthesize.plist"


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


# ------------------------------------------------------------------ the file


def test_the_file_says_what_was_asked_for(home: Path, wanted: Job, logs: Path) -> None:
    """Label, absolute command, time, catch-up, priorities, environment and an existing log."""
    installed(wanted, logs)
    plist = plistlib.loads((home / AGENT).read_bytes(), fmt=plistlib.FMT_XML)
    assert plist["Label"] == "com.nightly-memory.synthesize"
    assert plist["ProgramArguments"] == [
        str(home / "bin" / "memory"),
        "synthesize",
        "--scheduled",
        "03:00",
    ]
    assert plist["StartCalendarInterval"] == {"Hour": 3, "Minute": 0}
    assert plist["RunAtLoad"] is True
    assert plist["ProcessType"] == "Standard"
    assert plist["LowPriorityIO"] is True
    assert plist["Nice"] == 10
    assert plist["ExitTimeOut"] >= 10
    assert plist["Umask"] == 0o077
    assert plist["EnvironmentVariables"]["MEMORY_CONFIG"] == "/Users/somebody/config.toml"
    assert "/usr/bin" in plist["EnvironmentVariables"]["PATH"]
    for key in ("StandardOutPath", "StandardErrorPath"):
        assert Path(plist[key]).parent.is_dir()
    assert (home / AGENT).stat().st_mode & 0o022 == 0
    assert logs.stat().st_mode & 0o077 == 0


def test_options_reach_the_file(home: Path, wanted: Job, logs: Path) -> None:
    """Time, battery and process type, each where launchd or the run looks for it."""
    other = Job(time(23, 5), True, ProcessType.BACKGROUND, wanted.script, wanted.interpreter, {})
    installed(other, logs)
    plist = plistlib.loads((home / AGENT).read_bytes())
    assert plist["ProgramArguments"][2:] == ["--scheduled", "23:05", "--on-battery"]
    assert plist["StartCalendarInterval"] == {"Hour": 23, "Minute": 5}
    assert plist["ProcessType"] == "Background"


def test_the_template_is_commented_and_complete() -> None:
    """Every key of the shipped file is explained above it, or belongs to the one explained."""
    text = (folder("launchd") / f"{launchd.LABEL}.plist").read_text(encoding="utf-8")
    assert text.count("<!--") >= 8
    assert set(re.findall(r"[A-Z]+_[A-Z]+", re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL))) == {
        "MEMORY_SCRIPT",
        "LOG_FOLDER",
        "HF_HUB",
    }


def lint(content: bytes) -> None:
    """What `plutil -lint` asks of an XML property list, by Apple's PropertyList-1.0 DTD."""
    head = content.decode("utf-8")
    assert head.startswith('<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE plist PUBLIC ')
    root = ElementTree.fromstring(content)
    assert (root.tag, root.attrib, len(root)) == ("plist", {"version": "1.0"}, 1)
    assert not (root.text or "").strip()
    waiting = list(root)
    while waiting:
        node = waiting.pop()
        text = node.text or ""
        assert not node.attrib and not (node.tail or "").strip()
        match node.tag:
            case "dict":
                assert not text.strip() and len(node) % 2 == 0
                keys = node[::2]
                assert all(key.tag == "key" and not len(key) for key in keys)
                assert len({key.text for key in keys}) == len(keys)
                waiting += node[1::2]
            case "array":
                assert not text.strip()
                waiting += node
            case "true" | "false":
                assert not text and not len(node)
            case "integer":
                assert re.fullmatch(r"-?\d+", text) and not len(node)
            case "string":
                assert not len(node)
            case other:
                raise AssertionError(f"{other} is no element of a launchd job")


def test_template_and_file_pass_the_lint(home: Path, wanted: Job, logs: Path) -> None:
    """By the DTD's rules, and by libplist's reader where it is there: it reads the same values."""
    installed(wanted, logs)
    shipped = (folder("launchd") / f"{launchd.LABEL}.plist").read_bytes()
    for content in (shipped, (home / AGENT).read_bytes()):
        lint(content)
        if shutil.which("plistutil"):
            binary = subprocess.run(
                ["plistutil", "-i", "-", "-f", "bin", "-o", "-"],
                input=content,
                capture_output=True,
                check=True,
            ).stdout
            assert plistlib.loads(binary, fmt=plistlib.FMT_BINARY) == plistlib.loads(content)


plain = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S")), min_size=1)


@given(
    at=st.times(),
    on_battery=st.booleans(),
    process_type=st.sampled_from(ProcessType),
    name=plain.filter(lambda text: "/" not in text),
    settings=st.dictionaries(st.sampled_from(["MEMORY_VAULT", "CODEX_HOME"]), plain),
)
def test_any_job_is_read_back_as_it_was_written(
    at: time, on_battery: bool, process_type: ProcessType, name: str, settings: dict[str, str]
) -> None:
    """Whatever stands in paths and settings, XML's own characters too."""
    at = at.replace(second=0, microsecond=0)
    wanted = Job(at, on_battery, process_type, Path("/opt") / name, "/usr/bin/python", settings)
    (path, content), *_ = launchd.plan(wanted, Path("/logs") / name).files.items()
    lint(content)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    found = launchd.installed()
    assert found is not None
    for part in ("at", "on_battery", "process_type", "script", "interpreter", "environment"):
        assert getattr(found, part) == getattr(wanted, part)


# ------------------------------------------------------------------ installing


def test_it_is_enabled_then_bootstrapped(home: Path, wanted: Job, logs: Path) -> None:
    """In the user's GUI domain, by label and by file; never by load or unload."""
    ask = fresh()
    assert launchd.install(wanted, logs, ask, no_pause)
    domain = f"gui/{os.getuid()}"
    assert ask.told("enable", "bootstrap", "bootout") == [
        ["launchctl", "enable", f"{domain}/com.nightly-memory.synthesize"],
        ["launchctl", "bootstrap", domain, str(home / AGENT)],
    ]
    assert not ask.told("load", "unload")


def test_a_second_time_changes_nothing(home: Path, wanted: Job, logs: Path) -> None:
    """Same job, still loaded: no file is written and launchctl is only asked."""
    installed(wanted, logs)
    before = (home / AGENT).stat()
    ask = launchctl(print=["print-waiting"])
    assert not launchd.install(wanted, logs, ask, no_pause)
    after = (home / AGENT).stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.parametrize("disabled", ["disabled-off", "disabled-off-before-13"])
def test_a_job_switched_off_is_switched_on(wanted: Job, logs: Path, disabled: str) -> None:
    """By either form in which macOS lists it."""
    installed(wanted, logs)
    ask = fresh(print=["print-not-loaded", "print-waiting"], print_disabled=[disabled])
    assert launchd.install(wanted, logs, ask, no_pause)
    assert ask.told("enable")


def test_a_new_time_takes_the_old_job_out_first(home: Path, wanted: Job, logs: Path) -> None:
    """The new file is loaded only when launchd has let go of the old: bootout ends later."""
    installed(wanted, logs)
    ask = fresh(
        print=["print-waiting", "print-ending", "print-ending", "print-not-loaded"],
        bootout=["bootout-36"],
    )
    assert launchd.install(job(wanted.script, time(4, 0)), logs, ask, no_pause)
    verbs = [argv[1] for argv in ask.asked if argv[1] != "print-disabled"]
    assert verbs == ["print", "bootout", "print", "print", "print", "enable", "bootstrap"]
    assert b"04:00" in (home / AGENT).read_bytes()


def test_an_answer_that_is_late_is_waited_for(wanted: Job, logs: Path) -> None:
    """bootout may hang until the run has ended: what counts is whether the job goes."""
    installed(wanted, logs)
    ask = fresh(
        print=["print-waiting", "print-ending", "print-ending", "print-not-loaded"],
        bootout=["bootout-late"],
    )
    assert launchd.install(job(wanted.script, time(4, 0)), logs, ask, no_pause)


def test_an_old_job_that_stays_keeps_its_file(home: Path, wanted: Job, logs: Path) -> None:
    """Else the file would say one time and launchd hold to another."""
    installed(wanted, logs)
    ask = fresh(print=["print-waiting"], bootout=["bootout-1"])
    with pytest.raises(MemoryFault, match="does not permit"):
        launchd.install(job(wanted.script, time(4, 0)), logs, ask, no_pause)
    assert b"03:00" in (home / AGENT).read_bytes()


def test_a_run_at_work_is_not_ended_by_scheduling(home: Path, wanted: Job, logs: Path) -> None:
    """The fault names its process, and nothing has changed."""
    installed(wanted, logs)
    before = (home / AGENT).read_bytes()
    ask = launchctl(print=["print-running"])
    with pytest.raises(BusyFault, match="4711"):
        launchd.install(job(wanted.script, time(4, 0)), logs, ask, no_pause)
    assert (home / AGENT).read_bytes() == before


@pytest.mark.parametrize("passing", ["bootstrap-5", "bootstrap-17", "bootstrap-36", "bootstrap-37"])
def test_a_passing_refusal_is_tried_again(wanted: Job, logs: Path, passing: str) -> None:
    """launchd answers so while it still ends the old job; the next try goes through."""
    ask = fresh(print=["print-not-loaded"], bootstrap=[passing, passing, "bootstrap-done"])
    assert launchd.install(wanted, logs, ask, no_pause)
    assert len(ask.told("bootstrap")) == 3


def test_loaded_after_all_is_loaded(wanted: Job, logs: Path) -> None:
    """An error of bootstrap does not count when the job is there: 37 says just that."""
    ask = fresh(bootstrap=["bootstrap-37"])
    assert launchd.install(wanted, logs, ask, no_pause)
    assert len(ask.told("bootstrap")) == 1


CURES = {
    "bootstrap-1": "Full Disk Access",
    "bootstrap-5": "Login Items",
    "bootstrap-5-session": "own screen",
    "bootstrap-5-disabled": "Login Items",
    "bootstrap-17": "memory unschedule",
    "bootstrap-36": "wait until the run",
    "bootstrap-37": "wait a minute",
    "bootstrap-112": "own screen",
    "bootstrap-119": "Login Items",
    "bootstrap-122": "LaunchAgents",
    "bootstrap-124": "logged in",
    "bootstrap-125": "own screen",
    "bootstrap-126": "update nightly-memory",
    "bootstrap-134": "own screen",
    "bootstrap-150": "home folder",
    "bootstrap-155": "package installer",
    "no-launchctl": "PATH",
}


@pytest.mark.parametrize("name", CURES)
def test_every_known_refusal_has_its_cure(home: Path, wanted: Job, logs: Path, name: str) -> None:
    """The fault says what it means and what to do; the file stays for the next login."""
    ask = fresh(print=["print-not-loaded"], bootstrap=[name])
    with pytest.raises(MemoryFault) as caught:
        launchd.install(wanted, logs, ask, no_pause)
    assert CURES[name] in caught.value.mend
    assert (home / AGENT).is_file()


def test_every_recorded_refusal_is_tried() -> None:
    """A recording without a cure would be one the table forgot."""
    names = {path.stem for path in (FIXTURES / "launchctl").glob("bootstrap-*.json")}
    assert names - set(CURES) == {"bootstrap-done"}


def test_an_unknown_refusal_is_told_in_its_own_words() -> None:
    """And where macOS explains it."""
    told = advice.explain(Answer(149, err="Bootstrap failed: 149: something new\n"))
    assert "something new" in told.meaning
    assert told.cure.endswith("launchctl error 149")


def test_a_folder_that_cannot_be_written_is_named(home: Path, wanted: Job, logs: Path) -> None:
    """Here ~/Library is a file."""
    (home / "Library").write_text("")
    with pytest.raises(MemoryFault) as caught:
        launchd.install(wanted, logs, fresh(), no_pause)
    assert str(home / "Library") in str(caught.value)


# ------------------------------------------------------------------ removing and starting


def test_unschedule_takes_it_out(home: Path, wanted: Job, logs: Path) -> None:
    """Out of launchd and off the disk; a second time there is nothing to do."""
    installed(wanted, logs)
    ask = launchctl(print=["print-waiting", "print-not-loaded"], bootout=["bootout-done"])
    assert launchd.remove(ask, no_pause)
    assert not (home / AGENT).exists()
    assert not launchd.remove(launchctl(print=["print-not-loaded"]), no_pause)


@pytest.mark.parametrize("gone", ["bootout-3", "bootout-5"])
def test_gone_already_is_gone(home: Path, wanted: Job, logs: Path, gone: str) -> None:
    """Versions differ in what bootout answers for a job that is not there: print decides."""
    installed(wanted, logs)
    ask = launchctl(print=["print-waiting", "print-not-loaded"], bootout=[gone])
    assert launchd.remove(ask, no_pause)
    assert not (home / AGENT).exists()


def test_a_job_that_will_not_go_keeps_its_file(home: Path, wanted: Job, logs: Path) -> None:
    """Else nobody could tell what it is that launchd still starts."""
    installed(wanted, logs)
    ask = launchctl(print=["print-waiting"], bootout=["bootout-1"])
    with pytest.raises(MemoryFault):
        launchd.remove(ask, no_pause)
    assert (home / AGENT).is_file()


def test_unschedule_over_ssh_takes_the_file(home: Path, wanted: Job, logs: Path) -> None:
    """Without the screen's session there is nothing loaded, but the next login would load it."""
    installed(wanted, logs)
    assert launchd.remove(launchctl(print=["print-no-session"]), no_pause)
    assert not (home / AGENT).exists()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("kickstart-3", "memory schedule"),
        ("kickstart-113", "memory schedule"),
        ("kickstart-125", "own screen"),
    ],
)
def test_a_start_that_fails_has_its_cure(name: str, words: str) -> None:
    """Also where the number stands only in the text."""
    launchd.start(launchctl(kickstart=["kickstart-done"]))
    with pytest.raises(MemoryFault) as caught:
        launchd.start(launchctl(kickstart=[name]))
    assert words in caught.value.mend


# ------------------------------------------------------------------ the state


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
