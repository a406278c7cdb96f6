"""The article files of a vault, and by what each is known without being read."""

from __future__ import annotations

import os
import time
import unicodedata
from collections.abc import Iterator
from datetime import date
from pathlib import Path

# A file changed this shortly before it was read may be changed again without looking different:
# some file systems count in two seconds.
_UNSETTLED_NS = 2_000_000_000


def listed(root: Path) -> dict[str, tuple[str, str]]:
    """Path under `root` → stem and stamp of every article, as `Vault` finds them.

    stamp: "" while the file may still be changing. A folder that cannot be read has none.
    """
    now = time.time_ns()
    found: dict[str, tuple[str, str]] = {}
    stems: set[str] = set()
    files = sorted(_files(str(root / "articles"), "articles/"), key=lambda one: one[0])
    for path, status in sorted(files, key=lambda one: one[0].count("/")):
        stem = unicodedata.normalize("NFC", path.rpartition("/")[2].removesuffix(".md"))
        if stem in stems or not _is_unicode(path):  # of two with one name the nearer to the top
            continue
        stems.add(stem)
        found[path] = (stem, _stamp(status, now))
    return found


def stamp_of(path: Path) -> str:
    """The stamp of any file, "" for one that is not there too."""
    try:
        return _stamp(path.stat(), time.time_ns())
    except OSError:
        return ""


def day_of(stamp: str) -> str:
    """The day of the last change that a stamp tells of, ISO; today's for a file that may change."""
    changed = int(stamp.split()[1]) / 1e9 if stamp else time.time()
    return date.fromtimestamp(changed).isoformat()


def _stamp(status: os.stat_result, now: int) -> str:
    if max(status.st_mtime_ns, status.st_ctime_ns) > now - _UNSETTLED_NS:
        return ""
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"


def _files(folder: str, under: str) -> Iterator[tuple[str, os.stat_result]]:
    """Pages in a folder and those below it; hidden ones and links to folders are left out."""
    below = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    below.append(entry)
                elif entry.name.endswith(".md"):
                    try:
                        if entry.is_file():
                            yield under + entry.name, entry.stat()
                    except OSError:  # gone since it was seen, or a link that leads nowhere
                        continue
    except OSError:
        return
    for entry in below:
        yield from _files(entry.path, f"{under}{entry.name}/")


def _is_unicode(name: str) -> bool:
    return name.encode("utf-8", "replace").decode("utf-8") == name
