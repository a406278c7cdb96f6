"""One run at a time; a dead run's lock holds nobody up, and is told."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from pipeline.errors import BusyFault, StoreFault
from pipeline.lock import holder, one_run

HOLD = """
import sys, time
from pathlib import Path
from pipeline.lock import one_run
with one_run(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def holding(path: Path) -> subprocess.Popen[str]:
    """A process that holds the lock."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout and process.stdout.readline() == "held\n"
    return process


def test_a_second_run_is_told_who_holds_it(tmp_path: Path) -> None:
    """By its process number; exit code 8."""
    path = tmp_path / "run.lock"
    with holding(path) as other:
        with pytest.raises(BusyFault, match=f"process {other.pid}") as caught, one_run(path):
            pass
        assert caught.value.exit_code == 8
        found = holder(path)
        assert found and found.pid == other.pid
        other.kill()


def test_a_killed_run_is_taken_over_and_named(tmp_path: Path) -> None:
    """The next run gets the lock at once, and learns of the one before."""
    path = tmp_path / "run.lock"
    with holding(path) as other:
        other.send_signal(signal.SIGKILL)
        other.wait()
    assert holder(path) is None
    with one_run(path) as killed:
        assert killed and killed.pid == other.pid
    with one_run(path) as killed:
        assert killed is None


def test_a_number_that_was_given_out_again(tmp_path: Path) -> None:
    """A living process that only has the dead run's number is not taken for it."""
    path = tmp_path / "run.lock"
    born = psutil.Process().create_time()
    path.write_text(json.dumps({"pid": os.getpid(), "started": born - 1000}))
    assert holder(path) is None
    with one_run(path) as killed:
        assert killed and killed.pid == os.getpid()


@pytest.mark.parametrize("text", ["", "4711", "{}", '{"pid": "x", "started": 1}', "\0\0", "[1, 2]"])
def test_whatever_stands_in_the_file(tmp_path: Path, text: str) -> None:
    """An older version's file, or a torn one, is no obstacle."""
    path = tmp_path / "run.lock"
    path.write_text(text)
    assert holder(path) is None
    with one_run(path) as killed:
        assert killed is None
        assert holder(path)


def test_asking_takes_no_lock(tmp_path: Path) -> None:
    """`memory status` never makes a run that begins at that moment give up."""
    path = tmp_path / "run.lock"
    with one_run(path):
        pass
    deadline = time.monotonic() + 0.5
    pid = os.fork()
    if pid == 0:
        while time.monotonic() < deadline:
            holder(path)
        os._exit(0)
    try:
        for _ in range(200):
            with one_run(path):
                pass
    finally:
        os.waitpid(pid, 0)


def test_a_lock_that_cannot_be_written(tmp_path: Path) -> None:
    """A fault that names the file."""
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreFault, match=r"run\.lock"), one_run(tmp_path / "file" / "run.lock"):
        pass
