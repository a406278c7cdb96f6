"""Files that iCloud has taken off the disk, until somebody opens them.

Up to macOS 13 `.Name.md.icloud` then stands where `Name.md` stood: the page is not there, and not
deleted either. Since version 14 the page keeps its name and its size, and has no content.
"""

from __future__ import annotations

import os
from pathlib import Path

from pipeline.errors import VaultFault
from pipeline.ordinary import is_dataless

_ENDING = ".icloud"


def stood_for(name: str) -> str:
    """The name of the file that this one stands for, "" if it is no such one."""
    if name.startswith(".") and name.endswith(_ENDING):
        return name.removeprefix(".").removesuffix(_ENDING)
    return ""


def is_evicted(path: Path) -> bool:
    """Whether the file is kept by iCloud alone."""
    try:
        return is_dataless(path.lstat())
    except OSError:
        return os.path.lexists(path.with_name(f".{path.name}{_ENDING}"))


def refuse_evicted(path: Path) -> None:
    """Raise VaultFault for a file that is kept by iCloud alone."""
    if is_evicted(path):
        raise VaultFault(
            f"{path} is in iCloud, and not on this disk",
            mend="open it once, or have Finder keep the vault's folder downloaded",
        )
