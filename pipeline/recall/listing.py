"""The article files of a vault, and by what each is known without being read."""

from __future__ import annotations

import os
import time
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import date
from pathlib import Path

# A file changed this shortly before it was read may be changed again without looking different:
# some file systems count in two seconds.
_UNSETTLED_NS = 2_000_000_000

# Size, last change of the text and of the file in nanoseconds, inode: what does not stay the same
# when a file is changed. () while it may still be changing, which is no other file's.
Stamp = tuple[int, ...]


def listed(root: Path) -> dict[str, tuple[str, Stamp]]:
    """Path under `root` → stem and stamp of every article, as `Vault` finds them.

    A folder that cannot be read has none.
    """
    found: dict[str, tuple[str, Stamp]] = {}
    stems: set[str] = set()
    level = [("articles/", str(root / "articles"))]
    while level:  # of two with one name the nearer to the top
        below: list[tuple[str, str]] = []
        for before, place in level:
            files, folders = _inside(place, time.time_ns() - _UNSETTLED_NS)
            readable = filter(_is_unicode, folders)
            below += ((f"{before}{name}/", f"{place}/{name}") for name in readable)
            for name, stamp in files:
                stem = name[:-3]
                if not stem.isascii():
                    if not _is_unicode(stem):
                        continue
                    stem = unicodedata.normalize("NFC", stem)
                if stem in stems:
                    continue
                stems.add(stem)
                if stamp is not None:
                    found[before + name] = (stem, stamp)
        level = sorted(below)
    return found


def stamp_of(path: Path) -> Stamp:
    """The stamp of any file, () for one that is not there too."""
    try:
        return _stamp(path.stat(), time.time_ns() - _UNSETTLED_NS)
    except OSError:
        return ()


def day_of(stamp: Sequence[int]) -> str:
    """The day of the last change that a stamp tells of, ISO; today's for a file that may change."""
    changed = stamp[1] / 1e9 if stamp else time.time()
    return date.fromtimestamp(changed).isoformat()


def _stamp(status: os.stat_result, settled: int) -> Stamp:
    written, changed = status.st_mtime_ns, status.st_ctime_ns
    if changed > settled or written > settled:
        return ()
    return status.st_size, written, changed, status.st_ino


def _inside(place: str, settled: int) -> tuple[list[tuple[str, Stamp | None]], list[str]]:
    """The pages in a folder and the folders in it, by name.

    A page that is a link has no stamp: it may lead out of the vault, and `Shelf` tells none of it
    either. Hidden ones and links to folders are left out, and what cannot be listed.
    """
    files: list[tuple[str, Stamp | None]] = []
    folders: list[str] = []
    with suppress(OSError), _entries(place) as entries:
        for entry in entries:
            name = entry.name
            if name[0] == ".":
                continue
            if name.endswith(".md") and entry.is_file():
                try:  # written out, for it is done a thousand times in a search
                    stamp = None if entry.is_symlink() else _stamp(entry.stat(), settled)
                except OSError:  # gone since it was seen
                    continue
                files.append((name, stamp))
            elif entry.is_dir(follow_symlinks=False):
                folders.append(name)
    return sorted(files), folders


@contextmanager
def _entries(place: str) -> Iterator[Iterator[os.DirEntry[str]]]:
    """What is in a folder, by its number: found by their paths files take half as long again."""
    folder = os.open(place, os.O_RDONLY)
    try:
        with os.scandir(folder) as entries:
            yield entries
    finally:
        os.close(folder)


def _is_unicode(name: str) -> bool:
    return name.encode("utf-8", "replace").decode("utf-8") == name
