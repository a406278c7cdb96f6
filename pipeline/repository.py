"""The git folder of a working tree, found by git's own files; no process is started.

`.git` is most often that folder itself. In a worktree, in a submodule, and where somebody keeps git
out of a synced folder, it is a file that says where the folder is.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import NamedTuple

_POINTER = "gitdir:"
_OF_A_WORKTREE = ("HEAD", "index", "config.worktree")  # what a worktree has of its own


class Repository(NamedTuple):
    """top: the folder with `.git` in it. git: its git folder. common: that of all worktrees."""

    top: Path
    git: Path
    common: Path

    @property
    def root(self) -> Path:
        """The main worktree's folder."""
        if self.git == self.common:  # a submodule keeps its git folder elsewhere
            return self.top
        return self.common.parent if self.common.name == ".git" else self.common


def repository(top: Path) -> Repository | None:
    """The repository whose working tree begins at this folder, None for none."""
    git = top / ".git"
    if is_file(git / "HEAD"):
        return Repository(top, git, git)
    pointer = text_of(git) if is_file(git) else ""
    if not pointer.startswith(_POINTER):
        return None
    actual = (top / pointer.removeprefix(_POINTER).strip()).resolve()
    common = text_of(actual / "commondir").strip()
    return Repository(top, actual, (actual / common).resolve() if common else actual)


def copy(top: Path, target: Path) -> None:
    """The working tree with a git folder inside it, wherever that of the original is.

    With the pointer alone, or a link, what is committed in the copy would be in the original too.
    """

    def git_of_top(folder: str, _names: list[str]) -> set[str]:
        return {".git"} if Path(folder) == top else set()

    shutil.copytree(top, target, symlinks=True, ignore=git_of_top)
    if (there := repository(top)) is None:
        return
    git = target / ".git"
    shutil.copytree(there.common, git, symlinks=True)
    if there.git != there.common:
        for name in _OF_A_WORKTREE:
            if (there.git / name).is_file():
                shutil.copy2(there.git / name, git / name)


def is_file(path: Path) -> bool:
    """Whether a file is there, also for a name that no file can have."""
    try:
        return path.is_file()
    except (OSError, ValueError):  # nobody may look, or no path can be so long
        return False


def text_of(path: Path) -> str:
    """What stands in a file, "" if it cannot be read."""
    try:
        return path.read_text("utf-8", errors="replace")
    except (OSError, ValueError):
        return ""
