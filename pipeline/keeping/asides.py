"""Names for what makes room for something else and is kept all the same."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from pipeline.errors import StoreFault

BEFORE = ".before-"
REBUILDING = "rebuilding"  # under cache_dir: a database that is not whole yet
_BESIDE = ("", "-wal", "-shm")  # what belongs to a database that was not closed


def move_aside(path: Path, at: datetime) -> Path | None:
    """Rename a file, a database with what belongs to it, or a folder; its new name.

    What belongs to a database that is gone itself is moved too: SQLite would write it into the next
    one of that name. None when there is nothing. Raises StoreFault when it cannot be moved.
    """
    there = path.exists()
    if not any(path.with_name(path.name + ending).exists() for ending in _BESIDE):
        return None
    stamp = aside = f"{path.name}{BEFORE}{at:%Y%m%d-%H%M%S}"
    again = 1
    while any(path.with_name(aside + ending).exists() for ending in _BESIDE):
        again += 1
        aside = f"{stamp}-{again}"
    # the database last: killed before that, it is still found under its name
    for ending in reversed(_BESIDE):
        part = path.with_name(path.name + ending)
        try:
            if part.exists():
                part.rename(path.with_name(aside + ending))
        except OSError as error:
            raise StoreFault(
                f"{part} cannot be moved aside: {error.strerror or error}",
                mend="check the folder's permissions",
            ) from error
    return path.with_name(aside) if there else None
