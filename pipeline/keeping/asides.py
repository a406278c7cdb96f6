"""Names for what makes room for something else and is kept all the same."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from pipeline.errors import StoreFault
from pipeline.sqlite import files_of

BEFORE = ".before-"
REBUILDING = "rebuilding"  # under cache_dir: a database that is not whole yet


def move_aside(path: Path, at: datetime) -> Path | None:
    """Rename a file, a database with what belongs to it, or a folder; its new name.

    What belongs to a database that is gone itself is moved too: SQLite would write it into the next
    one of that name. None when there is nothing. Raises StoreFault when it cannot be moved.
    """
    there = path.exists()
    if not any(part.exists() for part in files_of(path)):
        return None
    stamp = aside = f"{path.name}{BEFORE}{at:%Y%m%d-%H%M%S}"
    again = 1
    while any(part.exists() for part in files_of(path.with_name(aside))):
        again += 1
        aside = f"{stamp}-{again}"
    # the database last: killed before that, it is still found under its name
    moves = zip(files_of(path), files_of(path.with_name(aside)), strict=True)
    for part, target in reversed(tuple(moves)):
        try:
            if part.exists():
                part.rename(target)
        except OSError as error:
            raise StoreFault(
                f"{part} cannot be moved aside: {error.strerror or error}",
                mend="check the folder's permissions",
            ) from error
    return path.with_name(aside) if there else None
