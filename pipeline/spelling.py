"""The name that git has for a file, where one file answers to many names.

On a Mac's volumes a name keeps its case and its Unicode form, but neither is told apart. Git goes
on with the name under which a page was first committed, in composed form. Under the name that the
folder shows by now, the page would be committed a second time, and a clone would have it twice.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Iterable
from pathlib import Path


def spelt(path: str, root: Path, names: Callable[[], Iterable[str]]) -> str:
    """The path as git has it, or would have it; as it is where no file has two names.

    names: asks git for all that it has. The folders of a new page count too: in one that was
    renamed, it goes where its neighbours are.
    """
    if not _has_aliases(path, root):
        return path
    listed = list(names())
    if path in listed:
        return path
    known = {_folded(start): start for name in listed for start in _starts(name)}
    for start in reversed(_starts(path)):
        named = known.get(_folded(start))
        if named and _is_same(root / named, root / start):
            return named + _composed(path[len(start) :])
    return _composed(path)


def _has_aliases(path: str, root: Path) -> bool:
    """Whether the volume takes another name for this one."""
    if _is_same(root / ".git", root / ".GIT"):
        return True
    # also a volume that tells case apart, if it is a Mac's
    other = next((o for o in (_composed(path), _decomposed(path)) if o != path), path)
    return other != path and _is_same(root / path, root / other)


def _starts(path: str) -> list[str]:
    """The path and the folders above it, from the top."""
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts) + 1)]


def _is_same(one: Path, other: Path) -> bool:
    """Whether both are one file; of files that are gone, nothing tells them apart."""
    return _number(one) == _number(other)


def _number(path: Path) -> tuple[int, int] | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _folded(path: str) -> str:
    return _composed(_composed(path).casefold())


def _composed(path: str) -> str:
    return unicodedata.normalize("NFC", path)


def _decomposed(path: str) -> str:
    return unicodedata.normalize("NFD", path)
