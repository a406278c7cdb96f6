"""A run that nobody looks at: its signals, its programs, its words, and what it leaves behind."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time as clock
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import typer

from pipeline import assemble, schedule
from pipeline.backlog import news
from pipeline.cli.running import Wish, at_night, by_hand
from pipeline.config import Config, load_config
from pipeline.errors import MemoryFault, ModelFault
from pipeline.history import History
from pipeline.models import Ask
from pipeline.results import RunResults
from pipeline.store import Store
from pipeline.system import NOT_THERE, Answer
from tests.doubles import CannedModel, HashEmbedder
from tests.support_command import memory as command
from tests.support_health import Systemd
from tests.support_night import NIGHT, Script, files, make_vault, write_sessions

DUE = "00:00"
ROOT = Path(__file__).parents[1]
# The command with the replies of support_night.Script. SLOW: a model that takes its time.
CANNED = """
import os, sys, time
from pipeline import assemble
from tests.doubles import CannedModel, HashEmbedder
from tests.support_night import Script
slow, script = "SLOW" in os.environ, Script()
def choose(purpose, ask):
    if slow:
        print("asked", flush=True)
        time.sleep(60)
    return script.choose(purpose, ask)
def model(account):
    return CannedModel(choose, script.write, account=account)
assemble.real_models = lambda config: assemble.Models(model, HashEmbedder())
from pipeline.cli import main
main()
"""


def started(*arguments: str, **environment: str) -> subprocess.Popen[str]:
    """The command at work in the test's home."""
    return subprocess.Popen(
        [sys.executable, "-c", CANNED, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "MEMORY_NIGHT__MIN_FREE_GB": "0", **environment},
    )


def memory(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command, run to its end."""
    with started(*arguments, **environment) as process:
        out, err = process.communicate(timeout=60)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


@pytest.fixture
def vault(home: Path) -> Path:
    """A new vault, with conversations to fold."""
    write_sessions(home)
    make_vault()
    return home


def until_there(path: Path) -> None:
    """Wait for a file that another process makes."""
    for _ in range(600):
        if path.exists():
            return
        clock.sleep(0.05)
    raise AssertionError(f"{path} was never made")


# ------------------------------------------------------------------ signals


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_while_the_users_command_is_at_work(vault: Path, number: signal.Signals) -> None:
    """The run has ended well and says so; its command ends with it, and the lock is let go of."""
    there, after = vault / "there", vault / "after"
    hook = ["sh", "-c", f"touch '{there}'; sleep 60; touch '{after}'"]
    with started("synthesize", MEMORY_NIGHT__ON_FINISH=json.dumps(hook)) as process:
        until_there(there)
        process.send_signal(number)
        _, err = process.communicate(timeout=10)
    assert process.returncode == 0, err
    assert load_config().lock_path.read_text() == ""
    assert number.name in command("logs", "--last").stdout
    assert json.loads(command("status", "--json").stdout)["last_run"]["status"] == "done"
    again = memory("synthesize")
    assert "nothing new" in again.stdout and "killed" not in again.stderr


def test_a_stopped_run_waits_little_for_the_users_command(vault: Path) -> None:
    """Ten seconds from the signal to the end, whatever the command does; it gets the result."""
    told = vault / "told"
    hook = ["sh", "-c", f"cat > '{told}'; sleep 60"]
    with started("synthesize", SLOW="1", MEMORY_NIGHT__ON_FINISH=json.dumps(hook)) as process:
        assert process.stdout
        assert any(line == "asked\n" for line in process.stdout)
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=10)
    assert process.returncode == 10
    assert json.loads(told.read_text())["asked"]
    assert "killed" not in memory("synthesize").stderr


def test_a_signal_before_the_stages(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit 10, in JSON too, and the lock is free: the next run takes nothing for killed."""

    def stopped(config: Config) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        clock.sleep(10)

    config = load_config()
    monkeypatch.setattr(assemble, "real_models", stopped)
    with pytest.raises(typer.Exit) as caught:
        by_hand(config, Wish(None, news, dry_run=False, as_json=True, trust_clock=False))
    assert caught.value.exit_code == 10
    assert config.lock_path.read_text() == ""
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_run_under_nohup_outlives_its_terminal(vault: Path) -> None:
    """A signal that was to be ignored stays ignored."""
    there, go = vault / "there", vault / "go"
    hook = ["sh", "-c", f"touch '{there}'; while ! [ -e '{go}' ]; do sleep 0.05; done; exit 7"]
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        process = started("synthesize", MEMORY_NIGHT__ON_FINISH=json.dumps(hook))
    finally:
        signal.signal(signal.SIGHUP, before)
    with process:
        until_there(there)
        process.send_signal(signal.SIGHUP)
        go.touch()
        process.communicate(timeout=30)
    assert process.returncode == 0
    assert "ended with 7" in command("logs", "--last").stdout


# ------------------------------------------------------------------ its words


def test_whatever_becomes_of_it_json_is_json(vault: Path) -> None:
    """Held back, failed, done, done already: every line is an object, the last tells the status."""

    def told(*arguments: str, **environment: str) -> tuple[int, dict[str, object]]:
        done = memory("synthesize", "--json", *arguments, **environment)
        objects = [json.loads(line) for line in done.stdout.splitlines()]
        assert all(isinstance(found, dict) for found in objects)
        return done.returncode, objects[-1]

    code, last = told("--scheduled", DUE, MEMORY_NIGHT__MIN_FREE_GB="1000000")
    assert (code, last["status"]) == (11, "skipped")
    assert "night.min_free_gb" in str(last["why"]) and last["run"]
    root = load_config().vault
    merging = root / ".git" / "MERGE_HEAD"
    merging.write_text(History(root).head() + "\n")
    code, last = told("--scheduled", DUE)
    assert (code, last["status"]) == (6, "failed") and "merge" in str(last["failure"])
    merging.unlink()
    code, last = told("--scheduled", DUE)
    assert (code, last["status"]) == (0, "done")
    code, last = told("--scheduled", DUE)
    assert (code, last["status"]) == (0, "not due") and "done already" in str(last["why"])
    code, last = told()
    assert (code, last["status"]) == (0, "nothing")


@pytest.mark.parametrize("closed", ["stdout", "stderr"])
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_nobody_has_to_listen(vault: Path, closed: str, form: list[str]) -> None:
    """With an output that is closed or full, the run does its work and ends well."""
    number = {"stdout": 1, "stderr": 2}[closed]
    for how in (f"{number}>&-", f"{number}>/dev/full"):
        done = subprocess.run(
            ["sh", "-c", f'"$@" {how}', "sh", sys.executable, "-c", CANNED, "synthesize", *form],
            capture_output=True,
            text=True,
            check=False,
            cwd=ROOT,
        )
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
    counts = json.loads(command("status", "--json").stdout)["counts"]
    assert counts["conversations"] == 4 <= counts["chunks"]  # none is without a chunk


@pytest.mark.parametrize(
    "arguments",
    [
        ["--scheduled", DUE, "--stage", "chunk"],
        ["--scheduled", DUE, "--dry-run"],
        ["--scheduled", DUE, "--since", "2001-02-03"],
        ["--since", "2001-02-03", "--backlog"],
        ["--on-battery"],
        ["--since", "0001-01-01"],
        ["--stage", "no such stage"],
    ],
)
def test_what_contradicts_itself_is_refused(vault: Path, arguments: list[str]) -> None:
    """Nothing is done and nothing recorded: half a night never counts as the night's run."""
    done = memory("synthesize", *arguments, TZ="Asia/Tokyo")
    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stderr
    assert not load_config().store_path.is_file()


@pytest.mark.parametrize("days", [["--to", "9999-12-31"], ["--from", "0001-01-01"]])
def test_days_at_the_ends_of_the_calendar(vault: Path, days: list[str]) -> None:
    """They have no day before or after them in some zone; that is said."""
    done = memory("backfill", *days, TZ="Asia/Tokyo")
    assert done.returncode == 3 and "calendar" in done.stderr


# ------------------------------------------------------------------ nights in a row


@pytest.fixture
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The machine's own zone, by which schedules go."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "UTC")
        clock.tzset()
        yield
    clock.tzset()


def scheduled_since(days: int, config: Config, home: Path) -> None:
    """The job of 03:00, installed so many days before NIGHT."""
    schedule.install(schedule.job(), config, Systemd(active="inactive"), pause=lambda _: None)
    at = (NIGHT - timedelta(days=days)).timestamp()
    for unit in (home / ".config" / "systemd" / "user").glob("nightly-memory.*"):
        os.utime(unit, (at, at))


def night(config: Config, patch: pytest.MonkeyPatch, at: datetime, *, fetched: bool) -> None:
    """A scheduled night at that time. fetched: whether there is a model."""
    script = Script()

    def model(account: object) -> CannedModel:
        def write(purpose: str, ask: Ask) -> object:
            if not fetched:
                raise ModelFault("the model has not been fetched")
            return script.write(purpose, ask)

        return CannedModel(script.choose, write, account=account)  # type: ignore[arg-type]

    patch.setattr(assemble, "utc_now", lambda: at)
    patch.setattr(assemble.desk, "__kwdefaults__", {**_KWDEFAULTS, "now": lambda: at})
    patch.setattr(assemble, "real_models", lambda _: assemble.Models(model, HashEmbedder()))
    patch.setattr("pipeline.system.ask", lambda argv, **_: Answer(NOT_THERE))
    at_night(config, Wish(None, news, dry_run=False, as_json=False, trust_clock=False), "03:00")


_KWDEFAULTS = dict(assemble.desk.__kwdefaults__ or {})


def sections(config: Config) -> list[str]:
    """Those of the changelog, newest first."""
    page = (config.vault / "Meta" / "Changelog.md").read_text()
    return page.split("\n## ")[1:]


def test_a_week_of_nights_that_fail_is_told_once(
    home: Path, utc: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When it is first seen, and how long it lasted by the night that ends it; then no more."""
    write_sessions(home)
    config = make_vault().model_copy(
        update={"night": load_config().night.model_copy(update={"min_free_gb": 0})}
    )
    scheduled_since(1, config, home)
    begun = len(sections(config))
    for day in range(6):
        with pytest.raises(MemoryFault):
            night(config, monkeypatch, NIGHT + timedelta(days=day, seconds=5), fetched=False)
    assert len(sections(config)) == begun + 1
    assert "has not been fetched" in sections(config)[0]
    night(config, monkeypatch, NIGHT + timedelta(days=6, seconds=5), fetched=True)
    assert len(sections(config)) == begun + 2
    # of 28 November to 4 December the last was the one at work
    assert "no successful run for 6 nights" in sections(config)[0]
    before = files(config.vault)
    night(config, monkeypatch, NIGHT + timedelta(days=7, seconds=5), fetched=True)
    assert files(config.vault) == before


def test_a_night_that_was_missed_is_told_once(
    home: Path, utc: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the next night, though it has nothing else to tell; P14."""
    write_sessions(home)
    config = make_vault().model_copy(
        update={"night": load_config().night.model_copy(update={"min_free_gb": 0})}
    )
    scheduled_since(1, config, home)
    for day in (0, 3, 4):
        night(config, monkeypatch, NIGHT + timedelta(days=day, seconds=5), fetched=True)
    told = [section for section in sections(config) if "no successful run" in section]
    assert len(told) == 1 and "for 2 nights" in told[0]


def test_a_clock_once_wrong_does_not_stand_for_the_nights_to_come(vault: Path) -> None:
    """A night "done" in two years is no night done: the run says what is wrong with the clock."""
    store = Store(load_config().store_path)
    ahead = datetime.now(UTC) + timedelta(days=730)
    run = store.runs.begin(ahead, ahead, model="", prompts={}, vault="")
    results = RunResults(scheduled=True).as_json()
    store.runs.finish(run, ahead, status="done", vault="", results=results)
    store.close()
    done = memory("synthesize", "--scheduled", DUE)
    assert done.returncode == 3 and "--trust-clock" in done.stderr
    assert memory("synthesize", "--scheduled", DUE, "--trust-clock").returncode == 0
    assert "done already" in memory("synthesize", "--scheduled", DUE).stdout


# ------------------------------------------------------------------ faults


def test_settings_that_cannot_be_read_are_no_silent_night(vault: Path) -> None:
    """The user is shown that the night failed, as for any other fault of it."""
    shown = vault / "shown"
    program = vault / "bin" / "notify-send"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nprintf '%s\\n' \"$@\" > '{shown}'\n")
    program.chmod(0o755)
    path = f"{program.parent}:{os.environ['PATH']}"
    done = memory("synthesize", "--scheduled", DUE, PATH=path, MEMORY_MAX_MINUTES="soon")
    assert done.returncode == 3
    assert "max_minutes" in shown.read_text()


def test_a_run_at_work_is_no_failed_night(vault: Path) -> None:
    """The second one says so and exits with 8; nobody is alarmed."""
    shown = vault / "shown"
    program = vault / "bin" / "notify-send"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ntouch '{shown}'\n")
    program.chmod(0o755)
    path = f"{program.parent}:{os.environ['PATH']}"
    with started("synthesize", SLOW="1") as process:
        assert process.stdout
        assert any(line == "asked\n" for line in process.stdout)
        assert memory("synthesize", "--scheduled", DUE, PATH=path).returncode == 8
        process.terminate()
        process.communicate(timeout=10)
    assert not shown.exists()


def test_a_store_that_breaks_during_the_run_is_made_anew(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same command goes on with what the archive and the journal have; the bad one is kept."""
    config = load_config(timezone="UTC", since_days="all")
    script = Script()
    broken: list[int] = []

    def write(purpose: str, ask: Ask) -> object:
        if purpose == "synthesize/claims" and not broken:
            broken.append(config.store_path.stat().st_size)
            with sqlite3.connect(config.store_path) as database:
                database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            database.close()
            with config.store_path.open("r+b") as file:
                file.seek(4096)
                file.write(b"\xa5" * (config.store_path.stat().st_size - 4096))
        return script.write(purpose, ask)

    def model(account: object) -> CannedModel:
        return CannedModel(script.choose, write, account=account)  # type: ignore[arg-type]

    monkeypatch.setattr(assemble, "real_models", lambda _: assemble.Models(model, HashEmbedder()))
    by_hand(config, Wish(None, news, dry_run=False, as_json=False, trust_clock=False))
    assert broken
    assert list(config.store_path.parent.glob("memory.sqlite.before-*"))
    assert len(list((config.vault / "articles").glob("*.md"))) == 2
    assert "was made anew" in sections(config)[0]


def test_a_log_that_cannot_be_written_is_told_once(vault: Path) -> None:
    """In the changelog, by the first night; the nights after it add nothing."""
    config = load_config()
    config.log_dir.parent.mkdir(parents=True)
    config.log_dir.symlink_to(vault)
    for _ in range(3):
        assert memory("synthesize").returncode == 0
    page = (config.vault / "Meta" / "Changelog.md").read_text()
    assert page.count("no log can be written") == 1
