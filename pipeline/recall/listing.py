"""The article files of a vault, and by what each is known without being read."""

from __future__ import annotations

import os
import time
import unicodedata
from collections.abc import Sequence
from contextlib import suppress
from datetime import date
from operator import itemgetter
from pathlib import Path

# A file changed this shortly before it was read may be changed again without looking different:
# some file systems count in two seconds.
_UNSETTLED_NS = 2_000_000_000


def listed(root: Path) -> dict[str, tuple[str, str]]:
    """Path under `root` → stem and stamp of every article, as `Vault` finds them.

    stamp: "" while the file may still be changing. A folder that cannot be read has none.
    """
    settled = time.time_ns() - _UNSETTLED_NS
    found: dict[str, tuple[str, str]] = {}
    stems: set[str] = set()
    level = [(str(root / "articles"), "articles/")]
    while level:  # of two with one name the nearer to the top
        files, level = _level(level)
        for path, entry in files:
            stem = path[path.rfind("/") + 1 : -3]
            if not path.isascii():
                if not _is_unicode(path):
                    continue
                stem = unicodedata.normalize("NFC", stem)
            if stem in stems:
                continue
            try:
                status = entry.stat()
            except OSError:  # gone since it was seen
                continue
            stems.add(stem)
            if entry.is_symlink():  # it may lead out of the vault; `Shelf` tells none of it either
                continue
            found[path] = (stem, _stamp(status, settled))
    return found


def stamp_of(path: Path) -> str:
    """The stamp of any file, "" for one that is not there too."""
    try:
        return _stamp(path.stat(), time.time_ns() - _UNSETTLED_NS)
    except OSError:
        return ""


def day_of(stamp: str) -> str:
    """The day of the last change that a stamp tells of, ISO; today's for a file that may change."""
    changed = int(stamp.split()[1]) / 1e9 if stamp else time.time()
    return date.fromtimestamp(changed).isoformat()


def _stamp(status: os.stat_result, settled: int) -> str:
    changed = status.st_ctime_ns
    if changed > settled or status.st_mtime_ns > settled:
        return ""
    return f"{status.st_size} {status.st_mtime_ns} {changed} {status.st_ino}"


def _level(
    folders: Sequence[tuple[str, str]],
) -> tuple[list[tuple[str, os.DirEntry[str]]], list[tuple[str, str]]]:
    """The pages in some folders, and the folders in them, each with its path in the vault.

    Hidden ones and links to folders are left out, and what cannot be listed.
    """
    files: list[tuple[str, os.DirEntry[str]]] = []
    below: list[tuple[str, str]] = []
    for place, before in folders:
        with suppress(OSError), os.scandir(place) as entries:
            for entry in entries:
                name = entry.name
                if name[0] == ".":
                    continue
                if name.endswith(".md") and entry.is_file():
                    files.append((before + name, entry))
                elif entry.is_dir(follow_symlinks=False):
                    below.append((entry.path, f"{before}{name}/"))
    return sorted(files, key=itemgetter(0)), sorted(below)


def _is_unicode(name: str) -> bool:
    return name.encode("utf-8", "replace").decode("utf-8") == name
