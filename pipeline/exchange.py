"""Two files change names at one stroke, so that nothing saved in between is ever overwritten.

Checking a file and then renaming another over it leaves a moment in which an editor's save is lost.
After an exchange the old file can be looked at in peace, and given its name back.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from pathlib import Path

_HERE = -100  # AT_FDCWD of Linux
_EXCHANGE = 2  # RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS
_CANNOT = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP}


def exchange(one: Path, other: Path) -> bool:
    """Give each file the other's name; False where this file system cannot.

    Both must exist, on one file system. Raises OSError, as `os.rename` does. On macOS as
    renamex_np is documented; not yet seen on a Mac.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    names = os.fsencode(one), os.fsencode(other)
    try:
        if sys.platform == "darwin":
            failed = libc.renamex_np(*names, _EXCHANGE)
        else:
            failed = libc.renameat2(_HERE, names[0], _HERE, names[1], _EXCHANGE)
    except AttributeError:  # a C library older than the call
        return False
    if not failed:
        return True
    number = ctypes.get_errno()
    if number in _CANNOT:
        return False
    raise OSError(number, os.strerror(number), str(other))
