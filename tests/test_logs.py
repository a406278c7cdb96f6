"""The logs of runs: private, without secrets, the newest kept, never in the way of a run."""

from __future__ import annotations

import errno
import json
import logging
import os
import subprocess
from pathlib import Path

import pytest

from pipeline.config import Config, load_config
from pipeline.errors import ConfigFault, VaultFault
from pipeline.logs import logs, read, run_log
from pipeline.records import Event
from pipeline.results import RunResults
from pipeline.tables import NightConfig
from tests import support_command

RUN = "20010203-030000"
SPENT = {"calls": 3, "prompt_tokens": 100, "cached_tokens": 0, "output_tokens": 20, "seconds": 1.5}
# of the documented form of the key, and nobody's
SECRET = "AKIA" + "Q7RT2XWZ9KLM4NPD"


def texts(config: Config, run: str = RUN) -> list[str]:
    """The lines of a log without their times."""
    return [line.split(" ", 2)[2] for line in read(config, run)[1].splitlines()]


def test_what_a_run_says_is_in_its_log() -> None:
    """Our own information, others' warnings, the stages and the result, in their order."""
    config = load_config()
    with run_log(config, RUN) as log:
        logging.getLogger("pipeline.stages").info("a job was put off")
        logging.getLogger("pipeline.stages").debug("not this")
        logging.getLogger("somebody.else").warning("a warning of theirs")
        logging.getLogger("somebody.else").info("not this either")
        log.event(Event("chunk", 1, 2, "first"))
        log.event(Event("chunk", 2, 2, "second"))
        results = RunResults(problems=["a page is missing"], failure="the disk is full")
        results.counts["folded"] = 4
        results.held.append(("Some article", ("it grew",)))
        log.result("partial", results, SPENT)
    assert texts(config) == [
        "INFO pipeline.stages: a job was put off",
        "WARNING somebody.else: a warning of theirs",
        "chunk: 1/2 · first",
        "chunk: 2/2 · second",
        "ended: partial; 4 folded; 3 model calls, 100 tokens read, 20 written, "
        "2 s of the model's time",
        "failure: the disk is full",
        "noticed: a page is missing",
        "held: Some article: it grew",
    ]
    assert log.problem == ""


def test_logging_is_as_before_after_the_run() -> None:
    """Neither handler nor level stays."""
    root, ours = logging.getLogger(), logging.getLogger("pipeline")
    before = (list(root.handlers), ours.level)
    with run_log(load_config(), RUN):
        assert ours.isEnabledFor(logging.INFO)
    assert (list(root.handlers), ours.level) == before


def test_the_fault_that_ends_a_run_is_told_and_goes_on() -> None:
    """What and how to mend it."""
    config = load_config()
    with pytest.raises(VaultFault), run_log(config, RUN):
        raise VaultFault("a merge is in progress", mend="finish it")
    assert texts(config) == ["ended by a fault: a merge is in progress finish it"]


def test_no_secret_reaches_the_log() -> None:
    """P8: in a message, an argument, an event, a result, and over the lines of a traceback."""
    config = load_config()
    key = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEAx\n-----END RSA PRIVATE KEY-----"
    with run_log(config, RUN) as log:
        logging.getLogger("pipeline").warning("the key %s was refused", SECRET)
        log.event(Event("ingest", 1, 1, SECRET))
        log.result("failed", RunResults(failure=f"could not read {SECRET}"), SPENT)
        try:
            raise ValueError(key)
        except ValueError as error:
            logging.getLogger("pipeline").error("broken", exc_info=error)
    said = log.path.read_text()
    assert SECRET not in said and "MIIEowIBAAKCAQEAx" not in said
    assert said.count("[REDACTED:") == 4
    assert "ValueError" in said


def test_the_users_own_patterns_hold_for_logs_too() -> None:
    """What they want out of the wiki does not stand in a log either."""
    config = load_config(ingest={"redact_patterns": {"badge": r"BDG-\d{6}"}})
    with run_log(config, RUN) as log:
        log.line("badge BDG-123456 was seen")
    assert texts(config) == ["badge [REDACTED:badge] was seen"]


def test_a_line_is_a_line() -> None:
    """What a transcript holds neither moves the cursor nor looks like a line of ours."""
    config = load_config()
    with run_log(config, RUN) as log:
        log.line("one\x1b[2J\x07 \ud800end\n2001-02-03 03:00:00+00:00 ended: done")
    first, second = read(config, RUN)[1].splitlines()
    assert first.endswith("one [2J   end")
    assert second == "    2001-02-03 03:00:00+00:00 ended: done"


def test_only_the_user_can_read_it() -> None:
    """0600 in 0700, also where a scheduler had made the folder open to all."""
    config = load_config()
    config.log_dir.mkdir(parents=True, mode=0o755)
    config.log_dir.chmod(0o755)
    with run_log(config, RUN) as log:
        log.line("something")
    assert config.log_dir.stat().st_mode & 0o777 == 0o700
    assert log.path.stat().st_mode & 0o777 == 0o600


def test_the_newest_are_kept() -> None:
    """So many as the setting says, this run's included; by the time in the name, not by the disk's.

    Files that are not logs of runs stay.
    """
    config = load_config(night=NightConfig(keep_logs=3))
    config.log_dir.mkdir(parents=True)
    old = ["20010101-030000-k7wq", "20010102-030000", "20010102-030000-2", "20010102-030000-10"]
    for run in reversed(old):
        (config.log_dir / f"{run}.log").touch()
    (config.log_dir / "my notes.txt").write_text("mine")
    (config.log_dir / "launchd.log").write_text("theirs")
    with run_log(config, RUN):
        pass
    assert [log.run for log in logs(config)] == [RUN, "20010102-030000-10", "20010102-030000-2"]
    assert sorted(path.name for path in config.log_dir.iterdir())[-2:] == [
        "launchd.log",
        "my notes.txt",
    ]


def test_the_log_that_is_being_written_is_kept() -> None:
    """Where the clock went back its name is the oldest; the others are kept by their number."""
    night = load_config().night.model_copy(update={"keep_logs": 2})
    config = load_config().model_copy(update={"night": night})
    for run in ("20280101-030000", "20280102-030000", "20260101-030000"):
        with run_log(config, run) as log:
            log.line("something")
        assert log.path.is_file()
    assert [log.run for log in logs(config)] == ["20280102-030000", "20260101-030000"]


def test_a_schedulers_log_does_not_grow_for_ever() -> None:
    """Its end is kept, from the beginning of a line, in the very file that is being appended to."""
    config = load_config()
    config.log_dir.mkdir(parents=True)
    other = config.log_dir / "launchd.log"
    other.write_text("".join(f"line {number}\n" for number in range(200_000)))
    with other.open("a") as appending:
        with run_log(config, RUN):
            pass
        appending.write("the next line\n")
    lines = other.read_text().splitlines()
    assert other.stat().st_size < 1_000_000
    assert lines[-2:] == ["line 199999", "the next line"]
    assert all(line.startswith("line ") for line in lines[:-1])


def test_links_lead_nowhere(tmp_path: Path) -> None:
    """A link in the place of a log or of the folder is neither written, read, cut nor followed."""
    config = load_config()
    config.log_dir.mkdir(parents=True)
    outside = tmp_path / "outside.txt"
    outside.write_text("mine\n" * 300_000)
    before = outside.read_bytes()
    for name in (f"{RUN}.log", "launchd.log"):
        (config.log_dir / name).symlink_to(outside)
    with run_log(config, RUN) as log:
        log.line("something")
    assert str(config.log_dir) in log.problem
    assert logs(config) == []
    with pytest.raises(ConfigFault):
        read(config, RUN)
    for path in config.log_dir.iterdir():
        path.unlink()
    config.log_dir.rmdir()
    config.log_dir.symlink_to(tmp_path)
    with run_log(config, RUN) as log:
        log.line("something")
    assert log.problem and outside.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["outside.txt"]


def test_a_second_name_of_a_file_elsewhere_is_not_written(tmp_path: Path) -> None:
    """A hard link is no file of the run's own."""
    config = load_config()
    config.log_dir.mkdir(parents=True)
    outside = tmp_path / "outside.txt"
    outside.write_text("mine")
    (config.log_dir / f"{RUN}.log").hardlink_to(outside)
    with run_log(config, RUN) as log:
        log.line("something")
    assert log.problem and outside.read_text() == "mine"


def test_a_run_goes_on_without_a_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """No folder can be made, or the disk fills: it is said, and nothing else happens."""
    config = load_config()
    config.log_dir.parent.mkdir(parents=True)
    config.log_dir.write_text("a file where the folder should be")
    with run_log(config, RUN) as log:
        log.line("something")
        log.event(Event("chunk", 1, 1))
    assert str(log.path.parent) in log.problem
    config.log_dir.unlink()
    with run_log(config, RUN) as log:
        os.close(log._file)
        reader, log._file = os.pipe()
        os.close(reader)  # as a full disk does, every write fails
        log.line("something")
        log.line("and more")
    assert os.strerror(errno.EPIPE) in log.problem


def test_reading_makes_nothing(home: Path) -> None:
    """Asking for logs before there is one leaves no folder behind, and says so."""
    config = load_config()
    assert logs(config) == []
    with pytest.raises(ConfigFault, match="yet"):
        read(config)
    assert not config.log_dir.exists()


def test_the_command_shows_the_last_a_named_one_or_all() -> None:
    """`memory logs`, `--run`, `--list`, each also as JSON; an unknown run is named, exit 3."""
    config = load_config()
    older = "20010202-030000-k7wq"
    for run, text in ((older, "the older"), (RUN, "the newer")):
        with run_log(config, run) as log:
            log.line(text)

    def memory(*arguments: str) -> subprocess.CompletedProcess[str]:
        return support_command.memory("logs", *arguments)

    assert memory().stdout.rstrip().endswith("the newer")
    assert memory("--last").stdout == memory().stdout
    for named in (older, "20010202"):
        assert memory("--run", named).stdout.rstrip().endswith("the older")
    assert [line.split()[0] for line in memory("--list").stdout.splitlines()] == [
        RUN,
        older,
    ]
    shown = json.loads(memory("--json").stdout)
    assert shown["run"] == RUN and shown["lines"][0].endswith("the newer")
    assert [one["run"] for one in json.loads(memory("--list", "--json").stdout)] == [
        RUN,
        older,
    ]
    unknown = memory("--run", "../../etc/passwd")
    assert unknown.returncode == 3 and "--list" in unknown.stderr
