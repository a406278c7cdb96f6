"""A model in a process of its own, so that nothing it does to itself ends the night.

Buffers that grow, a computation that the system cuts off or that never returns, memory that runs
out: the process is ended and another one started. What it was asked is asked once more, with half
as many requests side by side, and given up with its reason when that ends the same way.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Pipe
from pathlib import Path
from typing import Any

import pipeline
from pipeline.errors import ModelDied, ModelFault
from pipeline.models import Account, Ask, Choice, Grammar, Reply
from pipeline.models.wire import (
    Accounted,
    Beat,
    Broke,
    Logged,
    Make,
    Message,
    Refused,
    Request,
    Setup,
)

_LIFETIME = 900.0  # seconds: buffers grow with the work, and loading again takes a few seconds
_HOPELESS = 6  # processes that ended one after the other: no single job is the cause any more
_LOG = logging.getLogger(__name__)


class ChildModel:
    """The Model that `make` makes, in a process that is started at the first call.

    batch: requests worked on side by side. silence: seconds the model may take for one step, of
    reading, of writing or of being loaded, before it counts as hung. lifetime: seconds after which
    a process makes way for a new one, between two calls.
    """

    def __init__(
        self,
        name: str,
        make: Make,
        *,
        account: Account,
        batch: int,
        silence: float,
        lifetime: float = _LIFETIME,
    ) -> None:
        self._name = name
        self._make = make
        self._account = account
        self._batch = batch
        self._silence = silence
        self._lifetime = lifetime
        self._worker: _Worker | None = None
        self._ended = 0  # processes that ended since the last answer

    @property
    def name(self) -> str:
        """The alias or folder it was asked for by."""
        return self._name

    def choose(self, asks: Sequence[Ask], *, stage: str, purpose: str) -> list[Choice]:
        """As the model's own. Raise ModelDied when its process ends or hangs twice over this."""
        if not asks:
            return []
        choices: list[Choice] = self._asked("choose", purpose, asks, stage=stage, purpose=purpose)
        return choices

    def write(
        self,
        asks: Sequence[Ask],
        *,
        stage: str,
        purpose: str,
        max_tokens: int,
        grammar: Grammar | None = None,
        seeds: Sequence[int] | None = None,
        temperature: float = 0.0,
    ) -> list[Reply]:
        """As the model's own. Raise ModelDied as `choose` does."""
        if not asks:
            return []
        replies: list[Reply] = self._asked(
            "write",
            purpose,
            asks,
            stage=stage,
            purpose=purpose,
            max_tokens=max_tokens,
            grammar=grammar,
            seeds=seeds,
            temperature=temperature,
        )
        return replies

    def count(self, text: str) -> int:
        """Tokens in `text` by the model's own tokenizer."""
        tokens: int = self._asked("count", "counting tokens", text)
        return tokens

    def close(self) -> None:
        """End the process, whatever it is at: nothing of the run stands in it alone."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.end()

    def _asked(self, call: str, what: str, *args: Any, **kwargs: Any) -> Any:
        ends = ""
        for _ in range(2):
            try:
                answer = self._ready().ask(Request(call, args, kwargs), self._account)
            except _Gone as gone:
                self.close()
                self._ended += 1
                # the likeliest cause is memory
                self._batch = max(1, self._batch // 2)
                ends = str(gone)
                _LOG.warning("the model's process %s on %s; it is started again", ends, what)
                if self._ended >= _HOPELESS:
                    break
                continue
            if call != "count":  # which hardly anything fails at
                self._ended = 0
            return answer
        if self._ended >= _HOPELESS:
            raise ModelFault(
                f"The process of the model {self._name} {ends}, {self._ended} times in a row.",
                mend=f"Run `memory model check {self._name}`; a smaller model may do.",
            )
        raise ModelDied(
            f"The process of the model {self._name} {ends} twice on {what}.",
            mend="Raise `model_timeout_seconds` if it was only slow; else use a smaller model.",
        )

    def _ready(self) -> _Worker:
        """The process, a new one where there is none or the old one has served its time."""
        worker = self._worker
        if worker is not None and (worker.age > self._lifetime or not worker.idle):
            self.close()
        if self._worker is None:
            setup = Setup(self._make, self._batch, logging.getLogger().getEffectiveLevel())
            self._worker = _Worker(setup, self._silence)
        return self._worker


class _Gone(Exception):
    """The process ended or hangs; the message goes on from "the process …"."""


class _Worker:
    """One running process."""

    def __init__(self, setup: Setup, silence: float) -> None:
        self._silence = silence
        self._born = time.monotonic()
        self.idle = True  # False for good when a call was left by an exception: its answer may come
        self._line, theirs = Pipe()
        _bound(self._line.fileno(), silence)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "pipeline.models.worker", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                # what libraries print must not get between the lines of `--json`
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                # Ctrl-C is for the run, which ends this process when it stops
                start_new_session=True,
                env={**os.environ, "PYTHONPATH": _import_path()},
            )
        with suppress(OSError):  # it ended already: the first request tells
            self._line.send(setup)

    @property
    def age(self) -> float:
        """Seconds since it was started."""
        return time.monotonic() - self._born

    def ask(self, request: Request, account: Account) -> Any:
        """What the model answers. Raises _Gone, and what the model raises."""
        self.idle = False
        with self._there():
            self._line.send(request)
        while True:
            message = self._heard()
            if isinstance(message, Accounted):
                account(message.call)
            elif isinstance(message, Logged):
                logging.getLogger(message.logger).log(message.level, "%s", message.message)
            elif not isinstance(message, Beat):
                break
        self.idle = True
        if isinstance(message, Refused):
            raise message.kind(message.message, mend=message.mend)
        if isinstance(message, Broke):
            raise RuntimeError(message.error)
        return message.value

    def _heard(self) -> Message:
        with self._there():
            if not self._line.poll(self._silence):
                raise _Gone(self._silent())
            message: Message = self._line.recv()
            return message

    @contextmanager
    def _there(self) -> Iterator[None]:
        """Raise _Gone when the process ends or stands still meanwhile."""
        try:
            yield
        except BlockingIOError as error:  # it neither reads nor writes on in the midst of a message
            raise _Gone(self._silent()) from error
        except (EOFError, OSError) as error:
            raise _Gone(self._ending()) from error

    def _silent(self) -> str:
        return f"gave no sign of life for {self._silence:g} s"

    def end(self) -> None:
        """Kill it and wait until it is gone."""
        self._process.kill()
        self._process.wait()
        self._line.close()

    def _ending(self) -> str:
        """How it ended, once its socket is closed."""
        try:
            code = self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            return "closed its socket"
        if code < 0:
            return f"was ended by {signal.Signals(-code).name}"
        return f"ended with exit code {code}"


def _bound(handle: int, seconds: float) -> None:
    """Let no read or write of this socket wait longer: BlockingIOError tells of it.

    A request is larger than what the system holds back for a process that does not listen yet, so
    that a run would wait without end for one that hangs while it is loaded.
    """
    whole = int(seconds)
    wait = struct.pack("@ll", whole, int((seconds - whole) * 1e6))
    with socket.socket(fileno=os.dup(handle)) as ours:
        for way in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
            ours.setsockopt(socket.SOL_SOCKET, way, wait)


def _import_path() -> str:
    """Where this very package is found, and what the user's own variable adds."""
    here = str(Path(pipeline.__file__).parent.parent)
    return os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])
