"""Bytes on the disk itself, before anything is done that rests on their being there.

On a Mac fsync leaves them in the drive's own memory, which a loss of power empties, and the drive
may write what came later first: a page would have its new name and none of its words.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


def flush(descriptor: int) -> None:
    """Have what was written to this file on the disk. Raises OSError when it cannot be.

    On macOS as F_FULLFSYNC is documented in fcntl(2) and fsync(2); not yet seen on a Mac.
    """
    full: int | None = getattr(fcntl, "F_FULLFSYNC", None)
    if full is not None:
        try:
            fcntl.fcntl(descriptor, full)
            return
        except OSError:  # a volume that cannot, as on a server
            pass
    os.fsync(descriptor)


def flush_folder(path: Path) -> None:
    """Have the names in the folder on the disk: a new file is found again by its name alone."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        flush(descriptor)
    finally:
        os.close(descriptor)
