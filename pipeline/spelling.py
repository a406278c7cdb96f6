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

FOLDERS = ("articles", "Talk", "Meta")  # of the vault, as this program has them


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
    same = sameness(root)
    known = {same(start): start for name in listed for start in _starts(name)}
    for start in reversed(_starts(path)):
        named = known.get(same(start))
        # of files that are gone, nothing tells them apart
        if named and _number(root / named) == _number(root / start):
            return named + _composed(path[len(start) :])
    return _composed(path)


def has_aliases(path: str, root: Path) -> bool:
    """Whether the volume takes another name for this one."""
    if ignores_case(root):
        return True
    # also a volume that tells case apart, if it is a Mac's
    other = next((o for o in (_composed(path), _decomposed(path)) if o != path), path)
    return other != path and _number(root / path) == _number(root / other)


def ignores_case(root: Path) -> bool:
    """Whether the volume does; `.git` is there wherever it matters."""
    number = _number(root / ".git")
    return number is not None and number == _number(root / ".GIT")


def sameness(root: Path) -> Callable[[str], str]:
    """What is the same for all names that the volume may take for one."""
    return folded if ignores_case(root) else _composed


def folded(name: str) -> str:
    """The same for all names that differ in case or Unicode form alone."""
    return _composed(_composed(name).casefold())


def in_vault(path: str, root: Path) -> str:
    """A path that git or the disk tells of, with the vault's own folder as this program has it.

    The user's may be called `Articles`: on a Mac's volume it is the same.
    """
    top, slash, rest = path.partition("/")
    if top in FOLDERS:
        return path
    ours = next((name for name in FOLDERS if folded(name) == folded(top)), top)
    number = _number(root / top) if ours != top else None
    return f"{ours}{slash}{rest}" if number and number == _number(root / ours) else path


def _starts(path: str) -> list[str]:
    """The path and the folders above it, from the top."""
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts) + 1)]


def _number(path: Path) -> tuple[int, int] | None:
    """What a file has of its own, whatever it is called; None for one that is not there."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _composed(path: str) -> str:
    return unicodedata.normalize("NFC", path)


def _decomposed(path: str) -> str:
    return unicodedata.normalize("NFD", path)
