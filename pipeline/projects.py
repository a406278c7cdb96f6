"""Which project a message belongs to: the repository that its working folder is part of.

A session is often started in one folder and works in another, in a subfolder, or in a worktree that
is gone a week later; all of them are the same project.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

_WORKTREE = re.compile(r"gitdir: (?P<main>.+)[/\\]\.git[/\\]worktrees[/\\][^/\\]+\s*")
# Where agents put worktrees inside the repository; told by name, since they are soon deleted.
_AGENTS_WORKTREE = re.compile(r"(?P<main>.+?)[/\\]\.(?:claude[/\\])?worktrees(?:[/\\].*)?")


class Projects:
    """Working folder → project folder. aliases: old folder → new one, for projects that moved."""

    def __init__(self, aliases: Mapping[str, str], home: Path) -> None:
        self._aliases = {old.rstrip("/\\"): new.rstrip("/\\") for old, new in aliases.items()}
        self._home = home
        self.of = cache(self._of)

    def _of(self, folder: str) -> str:
        """The project's folder; the folder itself where no repository is found; "" for ""."""
        given = self._renamed(folder.rstrip("/\\") or folder)
        if inside := _AGENTS_WORKTREE.fullmatch(given):
            given = inside["main"]
        if not Path(given).is_absolute() or not _is(stat.S_ISDIR, Path(given)):
            return given
        spelled = _as_on_disk(Path(given))
        return str(_repository(spelled, self._home) or spelled)

    def _renamed(self, folder: str) -> str:
        for old, new in self._aliases.items():
            rest = folder[len(old) :]
            if folder[: len(old)].casefold() == old.casefold() and (not rest or rest[0] in "/\\"):
                return new + rest
        return folder


def _repository(folder: Path, home: Path) -> Path | None:
    """The main folder of the git repository around `folder`, worktrees included.

    A repository of the whole home folder keeps somebody's settings; it is nobody's project.
    """
    for place in (folder, *folder.parents):
        if place == home:
            return None
        git = place / ".git"
        if _is(stat.S_ISDIR, git):
            return place
        if _is(stat.S_ISREG, git):
            found = _WORKTREE.fullmatch(_text(git))
            return Path(found["main"]) if found else place
    return None


def _is(kind: Callable[[int], bool], path: Path) -> bool:
    """Whether it is of this kind; not if nobody may look, or no path can be so long."""
    try:
        return kind(path.stat().st_mode)
    except (OSError, ValueError):
        return False


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", errors="replace")
    except OSError:
        return ""


def _as_on_disk(path: Path) -> Path:
    """The path spelled as its folders are: where case does not count, agents write it as typed."""
    spelled = Path(path.anchor)
    for part in path.parts[1:]:
        try:
            names = [entry.name for entry in spelled.iterdir()]
        except OSError:
            names = [part]
        alike = [name for name in names if name.casefold() == part.casefold()]
        spelled /= part if part in names or len(alike) != 1 else alike[0]
    return spelled
