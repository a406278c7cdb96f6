"""One run at a time: a lock the kernel drops when its holder dies, however it dies."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, cast

import psutil

from pipeline import ordinary
from pipeline.errors import BusyFault, StoreFault

_LAST_PID = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Holder:
    """Who wrote itself into the lock file: a process, by its number and when it started."""

    pid: int
    started: float

    @property
    def alive(self) -> bool:
        """Whether that very process still runs; numbers are given out again."""
        try:
            return abs(psutil.Process(self.pid).create_time() - self.started) < 2
        except psutil.Error:
            return False

    def __str__(self) -> str:
        return f"process {self.pid}, started {datetime.fromtimestamp(self.started):%Y-%m-%d %H:%M}"


@contextmanager
def one_run(path: Path) -> Iterator[Holder | None]:
    """Hold the lock file `path` for the block; yields the run before it, if that one was killed.

    Raises BusyFault that names whoever holds it, StoreFault when the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # not truncated on open: the holder has to stay readable for whoever comes second
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK, 0o666)
    except OSError as error:
        raise _unwritable(path, error) from error
    with cast(BinaryIO, os.fdopen(descriptor, "r+b", buffering=0)) as file:
        try:
            ordinary.refuse_other(descriptor, path)
        except OSError as error:
            raise _unwritable(path, error) from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BusyFault(
                f"another run is at work ({_written(file) or 'unknown process'})",
                mend="wait until it is done; `memory status` shows how it goes",
            ) from error
        except OSError as error:  # a file system that knows no locks
            raise _unwritable(path, error) from error
        killed = _written(file)
        me = psutil.Process()
        try:
            _write(file, json.dumps({"pid": me.pid, "started": me.create_time()}))
        except OSError as error:
            raise _unwritable(path, error) from error
        try:
            yield killed
        finally:
            _write(file, "")


def holder(path: Path) -> Holder | None:
    """Who holds the lock now, if anyone. Takes no lock itself: a run that begins must get it."""
    try:
        with ordinary.opened(path) as file:
            found = _written(file)
    except OSError:
        return None
    return found if found and found.alive else None


def _unwritable(path: Path, error: OSError) -> StoreFault:
    return StoreFault(
        f"cannot write the lock file {path}: {error.strerror or error}",
        mend="check the folder's permissions and free space",
    )


def _written(file: BinaryIO) -> Holder | None:
    """Who stands in the file; None for nobody, and for what no run wrote there."""
    file.seek(0)
    try:
        said = json.loads(file.read())
        found = Holder(int(said["pid"]), float(said["started"]))
        str(found)  # a time outside the calendar cannot be told
    except (ValueError, TypeError, KeyError, OverflowError, OSError):
        return None
    return found if 0 < found.pid <= _LAST_PID else None


def _write(file: BinaryIO, text: str) -> None:
    file.truncate(0)
    # past any buffer, which on a full disk would refuse once more when the file is closed
    os.write(file.fileno(), text.encode())
    os.fsync(file.fileno())
