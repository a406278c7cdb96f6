"""The article files of a vault, and by what each is known without being read."""

from __future__ import annotations

import os
import time
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import date
from pathlib import Path
from stat import S_IFDIR, S_IFLNK, S_IFMT, S_IFREG, S_ISREG

# A file changed this shortly before it was read may be changed again without looking different:
# some file systems count in two seconds.
_UNSETTLED_NS = 2_000_000_000

# Last change of the text, in nanoseconds, size, last change of the file, inode: what does not stay
# the same when a file is changed. The first alone while it may still be changing.
Stamp = tuple[int, ...]

# Names and stamps. None for a page that is a link: it may lead out of the vault, and `Shelf` tells
# none of it either.
Pages = list[tuple[str, Stamp | None]]


def looked(root: Path) -> list[tuple[str, Pages]]:
    """Each folder of articles by its path under `root`, with "/", and the pages in it.

    Those nearer to the top come first. A folder that cannot be read has none.
    """
    found: list[tuple[str, Pages]] = []
    level = [("articles/", str(root / "articles"))]
    while level:
        below: list[tuple[str, str]] = []
        for before, place in level:
            pages, folders = _inside(place, time.time_ns() - _UNSETTLED_NS)
            found.append((before, pages))
            below += ((f"{before}{name}/", f"{place}/{name}") for name in folders)
        level = sorted(below)
    return found


def listed(found: Iterable[tuple[str, Pages]]) -> dict[str, tuple[str, Stamp]]:
    """Path → stem and stamp of every article, as `Vault` finds them, of what was `looked` at."""
    articles: dict[str, tuple[str, Stamp]] = {}
    stems: set[str] = set()
    for before, pages in found:
        for name, stamp in sorted(pages):
            stem = name[:-3] if name.isascii() else unicodedata.normalize("NFC", name[:-3])
            if stem in stems:  # of two with one name the nearer to the top
                continue
            stems.add(stem)
            if stamp is not None:
                articles[before + name] = (stem, stamp)
    return articles


def stamp_of(path: Path) -> Stamp:
    """The stamp of any file, () for one that is not there too."""
    try:
        return _stamp(path.stat(), time.time_ns() - _UNSETTLED_NS)
    except OSError:
        return ()


def is_settled(stamp: Sequence[int]) -> bool:
    """Whether a file with this stamp is the one that had it."""
    return len(stamp) > 1


def day_of(stamp: Sequence[int]) -> str:
    """The day of the last change that a file's stamp tells of, ISO."""
    return date.fromtimestamp(stamp[0] / 1e9).isoformat()


def _stamp(status: os.stat_result, settled: int) -> Stamp:
    written, changed = status.st_mtime_ns, status.st_ctime_ns
    if changed > settled or written > settled:
        return (written,)
    return written, status.st_size, changed, status.st_ino


def _inside(place: str, settled: int) -> tuple[Pages, list[str]]:
    """The pages in a folder and the folders in it, as they come.

    Hidden ones and links to folders are left out, and what has no name in Unicode.
    """
    pages: Pages = []
    folders: list[str] = []
    with suppress(OSError), _opened(place) as folder:
        for name in os.listdir(folder):  # noqa: PTH208 - a thousand paths would take longer
            if name[0] == "." or not (name.isascii() or _is_unicode(name)):
                continue
            try:
                status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            except OSError:  # gone since it was seen
                continue
            is_page, kind = name[-3:] == ".md", S_IFMT(status.st_mode)
            if kind == S_IFREG:
                if is_page:
                    pages.append((name, _stamp(status, settled)))
            elif kind == S_IFDIR:
                folders.append(name)
            elif kind == S_IFLNK and is_page and _leads_to_a_file(name, folder):
                pages.append((name, None))
    return pages, folders


@contextmanager
def _opened(place: str) -> Iterator[int]:
    """A folder by its number: found by their paths files take half as long again."""
    folder = os.open(place, os.O_RDONLY)
    try:
        yield folder
    finally:
        os.close(folder)


def _leads_to_a_file(name: str, folder: int) -> bool:
    try:
        return S_ISREG(os.stat(name, dir_fd=folder).st_mode)
    except OSError:
        return False


def _is_unicode(name: str) -> bool:
    return name.encode("utf-8", "replace").decode("utf-8") == name
