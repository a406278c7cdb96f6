"""Programs of the operating system, called one way, so that tests can give recorded answers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

NOT_THERE = 127  # what a shell answers for a program it cannot find
TOO_LATE = 124  # what timeout(1) answers


@dataclass(frozen=True, slots=True)
class Answer:
    """What a program said. code: its exit code, NOT_THERE or TOO_LATE."""

    code: int
    out: str = ""
    err: str = ""


Ask = Callable[[Sequence[str]], Answer]


def ask(argv: Sequence[str], *, given: str = "", seconds: float = 20.0) -> Answer:
    """Run a program to its end, with `given` on its standard input. Never raises for its faults."""
    try:
        done = subprocess.run(
            list(argv),
            input=given,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
        )
    except OSError as error:
        return Answer(NOT_THERE, err=f"{argv[0]}: {error.strerror or error}")
    except subprocess.TimeoutExpired:
        return Answer(TOO_LATE, err=f"{argv[0]}: no answer within {seconds:g} s")
    return Answer(done.returncode, done.stdout, done.stderr)


@contextmanager
def awake(command: Sequence[str] = ("caffeinate", "-i", "-w")) -> Iterator[None]:
    """Keep a Mac from idle sleep for the block; elsewhere, or where that fails, do nothing.

    caffeinate is told our process number to wait for, so that it never outlives a killed run.
    """
    if sys.platform != "darwin":
        yield
        return
    try:
        keeper = subprocess.Popen([*command, str(os.getpid())], stdin=subprocess.DEVNULL)
    except OSError:
        yield
        return
    try:
        yield
    finally:
        keeper.terminate()
        keeper.wait()
