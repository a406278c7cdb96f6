"""What the system refuses every job alike: no room, no rights, a store that is locked or broken.

Such a fault ends the run. Counted as each job's own failure it would park them all.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator

from pipeline import sqlite
from pipeline.errors import (
    ConfigFault,
    InvalidReply,
    MemoryFault,
    ModelDied,
    ModelFault,
    OutOfMemory,
    PromptTooLong,
    StoreFault,
    VaultFault,
)

_OF_THE_SYSTEM = {
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some space: the quota is used up",
    errno.EROFS: "the disk can only be read: mount it for writing",
    errno.EIO: "the disk fails: check it, and restore from a backup if need be",
    errno.EMFILE: "too many files are open: raise `ulimit -n`",
    errno.ENFILE: "too many files are open on this machine: end some programs",
}
# git tells of the same in words
_IN_WORDS = {
    "No space left on device": errno.ENOSPC,
    "Disk quota exceeded": errno.EDQUOT,
    "Read-only file system": errno.EROFS,
    "Input/output error": errno.EIO,
}


def ending(error: BaseException) -> MemoryFault | None:
    """The fault that ends the whole run; None for what is one job's own."""
    if isinstance(error, InvalidReply | PromptTooLong | OutOfMemory | ModelDied):
        return None
    if isinstance(error, ConfigFault | ModelFault | StoreFault):
        return error
    if isinstance(error, sqlite.Error):
        return StoreFault(
            f"the store refuses: {error}",
            mend="free space, or end the program that locks it; `memory doctor` says what is wrong",
        )
    if isinstance(error, UnicodeEncodeError):  # bytes on the command line that are no UTF-8
        return MemoryFault(
            f"{error.object!r} holds what is no text", mend="write it in UTF-8, or rename it"
        )
    for cause in _causes(error):
        if isinstance(cause, OSError) and cause.errno in _OF_THE_SYSTEM:
            place = f": {cause.filename}" if cause.filename else ""
            return StoreFault(f"{cause.strerror}{place}", mend=_OF_THE_SYSTEM[cause.errno])
    if isinstance(error, VaultFault):
        for words, number in _IN_WORDS.items():
            if words in str(error):
                return VaultFault(str(error), mend=_OF_THE_SYSTEM[number])
    return None


def last_words(error: BaseException) -> MemoryFault | None:
    """The fault that ends a command: `ending`, or what the system refuses it alone.

    None for what nobody foresaw, which is told with the place in the code where it was raised.
    """
    if isinstance(error, MemoryFault):
        return error
    if fault := ending(error):
        return fault
    if isinstance(error, UnicodeEncodeError):  # bytes on the command line that are no UTF-8
        return MemoryFault(
            f"{error.object!r} holds what is no text", mend="write it in UTF-8, or rename it"
        )
    for cause in _causes(error):
        if isinstance(cause, OSError) and cause.filename:
            return MemoryFault(
                f"{cause.strerror}: {os.fsdecode(cause.filename)}",
                mend="check what stands there, and the permissions of it and of its folders",
            )
    return None


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__
