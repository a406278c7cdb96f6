"""One run at a time: a lock the kernel drops when its holder dies, however it dies."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.errors import BusyFault


@contextmanager
def one_run(path: Path) -> Iterator[None]:
    """Hold the lock file `path` for the block. Raises BusyFault that names whoever holds it."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # not truncated on open: the holder's number has to stay readable for whoever comes second
    with path.open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.seek(0)
            holder = file.read().strip() or "unknown"
            raise BusyFault(
                f"another run is at work (process {holder})",
                mend="wait until it is done; `memory status` shows how it goes",
            ) from error
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield
