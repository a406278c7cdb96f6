"""A job's files: read, written in one step, taken away. Refusals are faults that name the file."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from pipeline import ordinary
from pipeline.errors import MemoryFault

# Schedulers refuse files that others may change; they need not be secret.
_MODE = 0o644


def replace_file(path: Path, content: bytes) -> None:
    """Put `content` at `path`, whole or not at all. Raises MemoryFault if the system refuses."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise _refused(path, error) from error
    beside = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            os.fchmod(file.fileno(), _MODE)
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise _refused(path, error) from error


def bytes_of(path: Path) -> bytes | None:
    """What a file holds; None if it is not there or cannot be read."""
    try:
        return ordinary.content(path)
    except OSError:
        return None


def make_folder(path: Path) -> None:
    """Make a folder that is the user's alone, with those above it."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise _refused(path, error) from error


def remove_file(path: Path) -> bool:
    """Take a file away; False if there was none."""
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise _refused(path, error) from error
    return True


def _refused(path: Path, error: OSError) -> MemoryFault:
    return MemoryFault(
        f"{path} cannot be written: {error.strerror or error}",
        mend=f"make {path.parent} a folder of your own that you may write",
    )
