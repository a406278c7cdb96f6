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

_OURS = ("articles", "Talk", "Meta")


def spelt(path: str, root: Path, names: Callable[[], Iterable[str]]) -> str:
    """The path as it stands among git's names, or would; as it is where no file has two.

    names: asks git for all that an index, or a commit, has. The folders of a new page count too:
    in one that was renamed, it goes where its neighbours are.
    """
    if not has_aliases(path, root):
        return path
    listed = list(names())
    if path in listed:
        return path
    known = {folded(start): start for name in listed for start in _starts(name)}
    for start in reversed(_starts(path)):
        named = known.get(folded(start))
        if named and _is_same(root / named, root / start):
            return named + _composed(path[len(start) :])
    return _composed(path)


def has_aliases(path: str, root: Path) -> bool:
    """Whether the volume takes another name for this one."""
    if _is_same(root / ".git", root / ".GIT"):
        return True
    # also a volume that tells case apart, if it is a Mac's
    other = next((o for o in (_composed(path), _decomposed(path)) if o != path), path)
    return other != path and _is_same(root / path, root / other)


def in_vault(path: str, root: Path) -> str:
    """A path that git or the disk tells of, with the vault's own folder as this program has it.

    The user's may be called `Articles`: on such a volume it is the same.
    """
    top, slash, rest = path.partition("/")
    ours = next((name for name in _OURS if folded(name) == folded(top)), top)
    return f"{ours}{slash}{rest}" if ours != top and has_aliases(path, root) else path


def folded(path: str) -> str:
    """The same for all names that a Mac's volume takes for one."""
    return _composed(_composed(path).casefold())


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


def _composed(path: str) -> str:
    return unicodedata.normalize("NFC", path)


def _decomposed(path: str) -> str:
    return unicodedata.normalize("NFD", path)
