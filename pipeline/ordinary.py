"""What stands in an ordinary file, and a refusal of all else that has a path.

Whoever opens a pipe waits for a writer who may never come, and a device may have no end.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO


def opened(path: Path, buffer: int = -1) -> BinaryIO:
    """The file's bytes; buffer: so many are read at a time. Raises OSError for what is no file."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        refuse_other(descriptor, path)
    except OSError:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb", buffering=buffer)


def content(path: Path) -> bytes:
    """All of the file. Raises OSError for what is no file."""
    with opened(path) as file:
        return file.read()


def refuse_other(descriptor: int, path: Path) -> None:
    """Raise OSError unless a file was opened: a folder, a pipe, a socket and a device are none."""
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is no ordinary file", str(path))
