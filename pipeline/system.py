"""Programs of the operating system, called one way, so that tests can give recorded answers."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

NOT_THERE = 127  # what a shell answers for a program it cannot find
TOO_LATE = 124  # what timeout(1) answers
_KEPT = 1_000_000  # bytes of what a program says
_AT_ONCE = 65_536
_LOOK_SECONDS = 0.05  # between two looks whether it has ended


@dataclass(frozen=True, slots=True)
class Answer:
    """What a program said. code: its exit code, NOT_THERE or TOO_LATE."""

    code: int
    out: str = ""
    err: str = ""


_HELD_BACK = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

Ask = Callable[[Sequence[str]], Answer]


def ask(argv: Sequence[str], *, given: str = "", seconds: float = 20.0) -> Answer:
    """Run a program to its end, with `given` on its standard input. Never raises for its faults.

    It has no terminal, of what it says only the first million bytes are kept, and what it started
    itself ends with it when its time is up or the block is left by an exception.
    """
    # a signal that came while it is started would lose hold of it: it waits until it can be ended
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _HELD_BACK)
    try:
        program = subprocess.Popen(
            list(argv),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, before),  # noqa: PLW1509
        )
    except OSError as error:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return Answer(NOT_THERE, err=f"{argv[0]}: {error.strerror or error}")
    except BaseException:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        raise
    with program:
        try:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            out, err = _talk(program, given.encode("utf-8", "replace"), seconds)
        except TimeoutError:
            _end(program)
            return Answer(TOO_LATE, err=f"{argv[0]}: no answer within {seconds:g} s")
        except BaseException:  # a signal, too: nothing of ours goes on after us
            _end(program)
            raise
    return Answer(program.returncode, out, err)


def _talk(program: subprocess.Popen[bytes], given: bytes, seconds: float) -> tuple[str, str]:
    """What it says until it ends. Raises TimeoutError.

    Not Popen.communicate: that keeps all of a flood, and waits for whatever the program left
    running with its output open.
    """
    assert program.stdin and program.stdout and program.stderr
    until, rest = time.monotonic() + seconds, memoryview(given)
    said = {program.stdout.fileno(): bytearray(), program.stderr.fileno(): bytearray()}
    with selectors.DefaultSelector() as pipes:
        for number in said:
            pipes.register(number, selectors.EVENT_READ)
        os.set_blocking(program.stdin.fileno(), False)
        pipes.register(program.stdin.fileno(), selectors.EVENT_WRITE)
        while True:
            ended = program.poll() is not None
            ready = pipes.select(0 if ended else _LOOK_SECONDS)
            if ended and all(key.fd not in said for key, _ in ready):
                break
            if time.monotonic() > until:
                raise TimeoutError
            for key, _ in ready:
                if key.fd in said:
                    heard = os.read(key.fd, _AT_ONCE)
                    said[key.fd] += heard[: _KEPT - len(said[key.fd])]
                    open_ = bool(heard)
                else:
                    rest = _handed(key.fd, rest)
                    open_ = bool(rest)
                if not open_:
                    pipes.unregister(key.fd)
                    if key.fd not in said:
                        program.stdin.close()
    out, err = (kept.decode("utf-8", "replace") for kept in said.values())
    return out, err


def _handed(pipe: int, rest: memoryview) -> memoryview:
    """What is still to be written to the pipe; nothing where nobody reads it."""
    try:
        return rest[os.write(pipe, rest[:_AT_ONCE]) :]
    except BlockingIOError:
        return rest
    except OSError:
        return rest[:0]


def _end(program: subprocess.Popen[bytes]) -> None:
    """End it and what it started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(program.pid, signal.SIGKILL)
    program.kill()


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
