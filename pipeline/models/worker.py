"""The process that a model works in: `python -m pipeline.models.worker SOCKET`.

Started by `child.py`. It computes on its main thread, listens on another, and ends at once when
whoever started it is gone, so that a killed run leaves no model behind.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Lock, Thread

from pipeline.errors import MemoryFault
from pipeline.models import Model
from pipeline.models.wire import (
    Accounted,
    Answered,
    Beat,
    Broke,
    Logged,
    Message,
    Refused,
    Request,
    Setup,
)

_BEAT_SECONDS = 1.0  # a step may take a millisecond; nobody needs to hear of each
_LOG = logging.getLogger(__name__)


def main(handle: int) -> None:
    """Work for the other end of the socket until it closes."""
    line = Connection(handle)
    try:
        setup: Setup = line.recv()
    except (EOFError, OSError):
        return  # the run was stopped in the very moment it started this process
    tell = _telling(line)
    logging.getLogger().addHandler(_Forwarding(tell))
    logging.getLogger().setLevel(setup.level)
    model = setup.make(
        account=lambda call: tell(Accounted(call)), beat=_beating(tell), batch=setup.batch
    )
    requests: SimpleQueue[Request] = SimpleQueue()
    Thread(target=_listen, args=(line, requests), daemon=True).start()
    while True:
        tell(_answer(model, requests.get()))


def _answer(model: Model, request: Request) -> Message:
    try:
        return Answered(getattr(model, request.call)(*request.args, **request.kwargs))
    except MemoryFault as fault:
        return Refused(type(fault), str(fault), fault.mend)
    except Exception as error:
        _LOG.debug("the model failed", exc_info=error)
        return Broke(f"{type(error).__name__}: {error}")


def _listen(line: Connection, requests: SimpleQueue[Request]) -> None:
    while True:
        try:
            requests.put(line.recv())
        except (EOFError, OSError):
            os._exit(0)  # the main thread may be deep in a computation that nobody waits for


def _telling(line: Connection) -> Callable[[Message], None]:
    lock = Lock()

    def tell(message: Message) -> None:
        with lock:
            try:
                line.send(message)
            except OSError:
                os._exit(0)

    return tell


def _beating(tell: Callable[[Message], None]) -> Callable[[], None]:
    last = 0.0

    def beat() -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _BEAT_SECONDS:
            last = now
            tell(Beat())

    return beat


class _Forwarding(logging.Handler):
    """Hands what is logged here to the log of the run."""

    def __init__(self, tell: Callable[[Message], None]) -> None:
        super().__init__()
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        try:
            said = self.format(record)
        except Exception:  # a library's slip in a line of its log is not what the job fails for
            self.handleError(record)
            return
        self._tell(Logged(record.name, record.levelno, said))


if __name__ == "__main__":
    main(int(sys.argv[1]))
