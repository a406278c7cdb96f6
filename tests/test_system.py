"""Programs of the system, and the user's own: heard within bounds, and ended as a whole."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from pipeline.control import Control, Stopped
from pipeline.system import NOT_THERE, TOO_LATE, Answer, ask


def ended(number: int) -> bool:
    """Whether that process comes to its end: gone, or only a number its parent has to fetch."""
    for _ in range(200):
        try:
            if "State:\tZ" in Path(f"/proc/{number}/status").read_text():
                return True
        except OSError:
            return True
        time.sleep(0.05)
    return False


def test_what_it_says_and_how_it_ends() -> None:
    """Both outputs, the exit code, and what was given to it, to the byte."""
    done = ask(["sh", "-c", "cat; echo no >&2; exit 3"], given="ö\r\n" * 100_000)
    assert (done.code, done.out, done.err) == (3, "ö\r\n" * 100_000, "no\n")
    assert ask(["/no/such/program"]).code == NOT_THERE


def test_it_may_close_its_outputs_and_go_on() -> None:
    """Its end counts, not that of what it says."""
    assert ask(["sh", "-c", "exec >&- 2>&-; sleep 0.2; exit 4"]).code == 4


def test_a_flood_is_not_kept() -> None:
    """A megabyte of it; the program is not held up by that."""
    program = "import sys; sys.stdout.write('x' * 30_000_000); sys.exit(5)"
    done = ask([sys.executable, "-c", program])
    assert done.code == 5 and len(done.out) == 1_000_000


def test_what_it_leaves_running_is_not_waited_for() -> None:
    """A program may start another one and go, though that one has its output."""
    done = ask(["sh", "-c", "sleep 60 & echo $!"])
    assert done.code == 0
    os.kill(int(done.out), signal.SIGKILL)


def test_it_has_no_terminal() -> None:
    """A question to the user is answered at once, by an error: nobody is there at night."""
    done = ask(["sh", "-c", "read answer < /dev/tty"])
    assert done.code not in (0, TOO_LATE)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="looks into /proc")
def test_when_its_time_is_up_all_of_it_ends(tmp_path: Path) -> None:
    """What it started itself, too; whether it says nothing or never stops."""
    for noise in ("sleep 60", "yes"):
        command = f"sleep 60 & echo $! > '{tmp_path}/child'; {noise}"
        assert ask(["sh", "-c", command], seconds=0.5).code == TOO_LATE
        assert ended(int((tmp_path / "child").read_text()))


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="looks into /proc")
def test_a_signal_ends_it(tmp_path: Path) -> None:
    """A run that is stopped leaves no program behind."""
    command = f"sleep 60 & echo $! > '{tmp_path}/child'; kill -TERM {os.getpid()}; wait"
    for _ in range(20):  # at whatever moment of its start the signal comes
        with pytest.raises(Stopped), Control(1).signals():
            ask(["sh", "-c", command])
        assert ended(int((tmp_path / "child").read_text()))


def test_it_hears_signals_as_we_do() -> None:
    """What holds signals back while it is started is not left to it, nor to us."""
    before = [signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)]
    assert ask(["sh", "-c", "kill -TERM $$; echo alive"]) == Answer(-signal.SIGTERM)
    assert ask(["/no/such/program"]).code == NOT_THERE
    after = [signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)]
    assert after == before
