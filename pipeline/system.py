"""Programs of the operating system, called one way, so that tests can give recorded answers."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType

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


_Handler = Callable[[int, FrameType | None], object]

Ask = Callable[[Sequence[str]], Answer]


def ask(argv: Sequence[str], *, given: str = "", seconds: float = 20.0) -> Answer:
    """Run a program to its end, with `given` on its standard input. Never raises for its faults.

    It has no terminal, of what it says only the first million bytes are kept, and what it started
    itself ends with it when its time is up or the block is left by an exception.
    """
    # a signal that came while it is started would lose hold of it: it waits until it can be ended
    came: list[int] = []
    handlers = _held_back(came)
    try:
        program = subprocess.Popen(
            list(argv),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        _let_go(handlers, came)
        return Answer(NOT_THERE, err=f"{argv[0]}: {error.strerror or error}")
    except BaseException:
        _let_go(handlers, came)
        raise
    with program:
        try:
            _let_go(handlers, came)
            out, err = _talk(program, given.encode("utf-8", "replace"), seconds)
        except TimeoutError:
            _end(program)
            return Answer(TOO_LATE, err=f"{argv[0]}: no answer within {seconds:g} s")
        except BaseException:  # a signal, too: nothing of ours goes on after us
            _end(program)
            raise
    return Answer(program.returncode, out, err)


def _held_back(came: list[int]) -> dict[int, _Handler]:
    """Only note the signals that somebody handles, from here on; their handlers.

    Masking them would not do: another thread can receive them, and the handler runs in this one.
    """
    if threading.current_thread() is not threading.main_thread():
        return {}  # handlers never run here
    found = {n: signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    handlers: dict[int, _Handler] = {
        number: handler for number, handler in found.items() if callable(handler)
    }
    for number in handlers:
        signal.signal(number, lambda number, _frame: came.append(number))
    return handlers


def _let_go(handlers: dict[int, _Handler], came: list[int]) -> None:
    """Give the signals back, and those that came to their handlers."""
    for number, handler in handlers.items():
        signal.signal(number, handler)
    for number in came:
        handlers[number](number, None)


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
