"""The names that a syncer gives to the second version of a file, when two machines wrote one."""

from __future__ import annotations

import re

_MARKED = re.compile(
    r"(?P<name>.+?)"
    r"(?:\.sync-conflict-\d{8}-\d{6}(?:-[A-Z0-9]+)?"  # Syncthing
    r"| \((?:[^()]+ )?conflicted copy[^()]*\))+"  # Dropbox, with or without whose it is
)
_NUMBERED = re.compile(r"(?P<name>.+) [2-9]")  # iCloud


def original(stem: str) -> str:
    """The stem of the file that one with this stem is a copy of, "" for no copy."""
    found = _MARKED.fullmatch(stem)
    return found["name"] if found else ""


def numbered(stem: str) -> str:
    """Likewise of `NAME 2`, which is as likely a file of its own."""
    found = _NUMBERED.fullmatch(stem)
    return found["name"] if found else ""
