"""The job under launchd: its file, and what every known answer of launchctl leads to."""

from __future__ import annotations

import os
import plistlib
import re
import shutil
import subprocess
from datetime import time
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import BusyFault, MemoryFault
from pipeline.resources import folder
from pipeline.schedule import advice, launchd
from pipeline.schedule.jobs import Job, ProcessType
from pipeline.system import Answer
from tests.support_launchd import AGENT, fresh, installed, launchctl, logs, plain, wanted
from tests.support_schedule import FIXTURES, job, no_pause

__all__ = ["logs", "wanted"]  # fixtures


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
