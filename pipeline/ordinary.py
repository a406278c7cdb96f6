"""What stands in an ordinary file, and a refusal of all else that has a path.

Whoever opens a pipe waits for a writer who may never come, and a device may have no end. So does
whoever reads a file that iCloud has taken off the disk: it has its name and size and no content,
and where the network does not bring that, the call never returns.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

_DATALESS = 0x40000000  # SF_DATALESS in macOS's <sys/stat.h>


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


def is_dataless(status: os.stat_result) -> bool:
    """Whether the file's content is in iCloud alone, as chflags(2) says; not yet seen on a Mac."""
    return bool(getattr(status, "st_flags", 0) & _DATALESS)


def refuse_other(descriptor: int, path: Path) -> None:
    """Raise OSError unless a file was opened whose content is on this disk.

    A folder, a pipe, a socket and a device are none.
    """
    status = os.fstat(descriptor)
    mode = status.st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is no ordinary file", str(path))
    if is_dataless(status):
        raise OSError(errno.EDEADLK, "it is in iCloud, and not on this disk", str(path))
