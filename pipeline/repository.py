"""The git folder of a working tree, found by git's own files; no process is started.

`.git` is most often that folder itself. In a worktree, in a submodule, and where somebody keeps git
out of a synced folder, it is a file that says where the folder is.
"""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path
from typing import NamedTuple

from pipeline.errors import VaultFault

_POINTER = "gitdir:"
_OBJECTS = "objects"
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
    try:
        actual = (top / pointer.removeprefix(_POINTER).strip()).resolve()
        common = text_of(actual / "commondir").strip()
        return Repository(top, actual, (actual / common).resolve() if common else actual)
    except (OSError, ValueError, RuntimeError):  # no path, or links in a circle
        return None


def versioned(top: Path) -> bool:
    """Whether there is a git folder, or what says where it is.

    Raises VaultFault where nobody may look: that it is not there would be no news to be obeyed.
    """
    try:
        (top / ".git").lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise VaultFault(
            f"cannot look into {top}: {error.strerror}", mend="check the folder's permissions"
        ) from error
    return True


def copy(top: Path, target: Path) -> None:
    """The working tree with a git folder inside it, wherever that of the original is.

    With the pointer alone, or a link, what is committed in the copy would be in the original too.
    The commits so far are read where they are. Pipes and sockets are left out: whoever opens one
    waits. Raises VaultFault for what cannot be copied.
    """
    try:
        if there := repository(top):
            _copy_git(there, target / ".git")
        _copy(top, target, leave_out=".git")
    except shutil.Error as error:
        (name, _, reason), *more = error.args[0]
        others = f", and {len(more)} others" if more else ""
        raise _uncopied(f"{name} cannot be copied ({reason}){others}") from error
    except OSError as error:
        raise _uncopied(f"{error.filename or top} cannot be copied: {error.strerror}") from error


def _uncopied(said: str) -> VaultFault:
    return VaultFault(
        said,
        mend="a dry run works on a copy of the whole vault: make what is named readable, or make "
        "room for it",
    )


def _copy_git(there: Repository, target: Path) -> None:
    _copy(there.common, target, leave_out=_OBJECTS)
    if there.git != there.common:
        for name in _OF_A_WORKTREE:
            if (there.git / name).is_file():
                shutil.copy2(there.git / name, target / name)
    # years of commits are not copied: git looks there too, and writes here alone
    known = target / _OBJECTS / "info"
    known.mkdir(parents=True)
    (known / "alternates").write_text(f"{(there.common / _OBJECTS).resolve()}\n", "utf-8")


def _copy(source: Path, target: Path, leave_out: str) -> None:
    """A folder's content. leave_out: a name that stands directly in it."""

    def left_out(folder: str, names: list[str]) -> set[str]:
        odd = {name for name in names if not _is_ordinary(Path(folder, name))}
        return odd | {leave_out} if Path(folder) == source else odd

    shutil.copytree(
        source,
        target,
        symlinks=True,
        ignore=left_out,
        copy_function=_copy_file,
        dirs_exist_ok=True,
    )


def _is_ordinary(path: Path) -> bool:
    """Whether it is a file, a folder or a link; also for what nobody may look at."""
    try:
        mode = path.lstat().st_mode
    except OSError:
        return True
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)


def _copy_file(source: str, target: str) -> None:
    try:
        shutil.copy2(source, target, follow_symlinks=False)
    except FileNotFoundError:
        if os.path.lexists(source):
            raise  # else its owner has deleted it meanwhile


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
