"""A file of the user's changed as a whole, or not at all."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

from pipeline import ordinary
from pipeline.errors import ConfigFault


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file's text before and after; None where there is no file."""

    path: Path
    before: str | None
    after: str | None


def text_of(path: Path) -> str | None:
    """The file's text, None where there is none. Raises ConfigFault for one that is no text."""
    try:
        return ordinary.content(path).decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise unusable(path, str(error)) from error


def unusable(path: Path, reason: str) -> ConfigFault:
    """The fault for a file that is left as it is."""
    return ConfigFault(
        f"{path} cannot be changed: {reason}",
        mend="mend the file, or move it aside, then try again",
    )


def diff(change: FileChange) -> Sequence[str]:
    """The change as a unified diff, lines without their ends."""
    before = (change.before or "").splitlines(keepends=True)
    after = (change.after or "").splitlines(keepends=True)
    names = (
        "/dev/null" if change.before is None else str(change.path),
        "/dev/null" if change.after is None else str(change.path),
    )
    return [line.rstrip("\r\n") for line in unified_diff(before, after, *names)]


def put(change: FileChange) -> None:
    """Make the change, unless the file is another by now; a link stays a link.

    Raises ConfigFault, with nothing written.
    """
    target = change.path.resolve()
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        if text_of(change.path) != change.before:
            raise ConfigFault(f"{change.path} was changed meanwhile", mend="try again")
        mode = target.stat().st_mode & 0o777 if change.before is not None else None
        if mode is not None and not mode & 0o222:
            raise ConfigFault(
                f"{change.path} is read-only", mend="have it writable, then try again"
            )
        if change.after is None:
            target.unlink()
            with suppress(OSError):  # the folder, if it was ours alone
                target.parent.rmdir()
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        draft.write_bytes(change.after.encode())
        draft.chmod(0o600 if mode is None else mode)  # settings may come to hold keys
        draft.replace(target)
    except OSError as error:
        raise ConfigFault(
            f"{change.path} cannot be written: {error.strerror or error}",
            mend="check its permissions",
        ) from error
    finally:
        draft.unlink(missing_ok=True)
