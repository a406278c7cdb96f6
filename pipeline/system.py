"""Programs of the operating system, called one way, so that tests can give recorded answers."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
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
