"""Files that iCloud has taken off the disk, until somebody opens them.

`.Name.md.icloud` then stands where `Name.md` stood: the page is not there, and not deleted either.
macOS keeps the name since version 14, and fetches the file when it is read.
"""

from __future__ import annotations

import os
from pathlib import Path

from pipeline.errors import VaultFault

_ENDING = ".icloud"


def stood_for(name: str) -> str:
    """The name of the file that this one stands for, "" if it is no such one."""
    if name.startswith(".") and name.endswith(_ENDING):
        return name.removeprefix(".").removesuffix(_ENDING)
    return ""


def is_evicted(path: Path) -> bool:
    """Whether the file is kept by iCloud alone."""
    return os.path.lexists(path.with_name(f".{path.name}{_ENDING}")) and not os.path.lexists(path)


def refuse_evicted(path: Path) -> None:
    """Raise VaultFault for a file that is kept by iCloud alone."""
    if is_evicted(path):
        raise VaultFault(
            f"{path} is in iCloud, and not on this disk",
            mend="open it once, or have Finder keep the vault's folder downloaded",
        )
