"""Steps that could not be written while the store was locked: kept in files, written by the next.

A file is claimed by renaming it, so that two calls never write the same steps.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

Step = dict[str, Any]
MOST = 5000  # files; more means that nobody will ever write them
_STALE = 60.0  # seconds after which a claim is that of a call that was killed


def folder_of(database: Path) -> Path:
    """Where the steps for this store wait."""
    return database.with_name(f"{database.name}-spool")


def keep(database: Path, steps: list[Step], clock: int) -> bool:
    """Keep cleaned steps; False when too many wait already. Raises OSError. clock: milliseconds."""
    folder = folder_of(database)
    folder.mkdir(mode=0o700, exist_ok=True)
    if sum(1 for _ in folder.iterdir()) >= MOST:
        return False
    name = f"{clock}-{time.time_ns()}-{os.getpid()}"
    draft = folder / f".{name}"
    opened = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(opened, "w", encoding="utf-8") as file:
        json.dump(steps, file, ensure_ascii=True)
    draft.rename(folder / f"{name}.json")
    return True


def waiting(database: Path) -> bool:
    """Whether there is anything to write."""
    try:
        return any(folder_of(database).iterdir())
    except OSError:
        return False


def is_waiting(database: Path, before: int) -> bool:
    """Whether steps from before a moment, in milliseconds, wait for somebody to claim them."""
    try:
        names = [path.name for path in folder_of(database).iterdir() if path.suffix == ".json"]
    except OSError:
        return False
    return any(name < str(before) for name in names)


def claim(database: Path, most: int) -> Iterator[tuple[Path, list[Step]]]:
    """Files with their steps, the oldest first; each is the caller's to `done` or `give_back`."""
    now = time.time()
    try:
        names = sorted(folder_of(database).iterdir(), key=lambda path: path.name)
    except OSError:
        return
    for path in names[:most]:
        try:
            left = now - path.stat().st_mtime > _STALE
            if path.suffix == ".taken" and left:
                taken = path.with_suffix(f".{os.getpid()}.taken")
            elif path.name.startswith(".") and left:  # killed before it was named
                taken = path.with_name(f"{path.name[1:]}.taken")
            elif path.suffix == ".json" and not path.name.startswith("."):
                taken = path.with_suffix(".taken")
            else:
                continue
            path.rename(taken)
            os.utime(taken)
            text = taken.read_text("utf-8", errors="replace")
        except OSError:  # another call was quicker
            continue
        yield taken, _whole(text)


def _whole(text: str) -> list[Step]:
    """The steps in a file; of one that was cut off those before the break."""
    decoder = json.JSONDecoder()
    found: list[Step] = []
    at = 1 if text.startswith("[") else len(text)
    with suppress(ValueError, RecursionError):
        while at < len(text):
            step, at = decoder.raw_decode(text, at)
            found.append(step)
            at += len(", ")  # as it is written here
    return found


def done(taken: Path) -> None:
    """The steps are written."""
    taken.unlink(missing_ok=True)


def give_back(taken: Path) -> None:
    """The steps could not be written now either."""
    taken.rename(taken.with_name(f"{taken.name.partition('.')[0]}.json"))
