"""Where a project's store is: found like git finds `.git`, shared by the worktrees of a repository.

Git's own files are read; no process is started.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from pipeline.repository import Repository, is_file, repository, text_of

FOLDER = ".anvil"
FILE = "memory.db"
VARIABLE = "ANVIL_MEMORY_DB"
_EXCLUDED = f"/{FOLDER}/"


class Place(NamedTuple):
    """The project that a folder belongs to.

    root: the project's folder, for every worktree the main one. database: its store's file, which
    need not be there. worktree: the folder of the worktree, "" outside of git. branch: "" where
    HEAD is detached. exclude: git's own list of what it does not track here.
    """

    root: Path
    database: Path
    worktree: str = ""
    branch: str = ""
    exclude: Path | None = None

    @property
    def project(self) -> str:
        """The project's name: that of its folder."""
        return self.root.name

    def relative(self, path: str) -> str:
        """A file's path from the worktree or the project's folder; as given if it is elsewhere.

        Agents name files by the path they were started in, which may lead through links.
        """
        real = os.path.realpath(path) if path.startswith("/") and "\0" not in path else path
        for name in (path, real):
            for folder in (self.worktree, str(self.root)):
                if folder and name.startswith(f"{folder}/"):
                    return name[len(folder) + 1 :]
        return path


def find(cwd: Path, environ: Mapping[str, str], home: Path) -> Place:
    """The project around `cwd`: the nearest folder with a store, else the repository, else `cwd`.

    A store in the home folder is that of the home folder alone.
    """
    here = cwd.resolve()
    nearest: Repository | None = None
    root: Path | None = None
    for folder in (here, *here.parents):
        if folder == home and folder != here:
            break
        found = repository(folder)
        nearest = nearest or found
        owners = (folder, found.root) if found else (folder,)
        root = next((one for one in owners if is_file(one / FOLDER / FILE)), None)
        if root:
            break
    root = root or (nearest.root if nearest else here)
    named = environ.get(VARIABLE)
    return Place(
        root=root,
        database=user_path(named).absolute() if named else root / FOLDER / FILE,
        worktree=str(nearest.top) if nearest else "",
        branch=_branch(nearest.git) if nearest else "",
        exclude=nearest.common / "info" / "exclude" if nearest else None,
    )


def exclude(place: Place) -> bool:
    """Have git leave the store's folder alone; True if it did not yet."""
    return is_tracked(place) and leave_alone(place, _EXCLUDED)


def leave_alone(place: Place, pattern: str) -> bool:
    """Put a pattern on git's own list of what it does not track here; True if it was not there."""
    if place.exclude is None or pattern in text_of(place.exclude).splitlines():
        return False
    present = text_of(place.exclude)
    place.exclude.parent.mkdir(parents=True, exist_ok=True)
    with place.exclude.open("a", encoding="utf-8") as file:
        file.write(f"{'' if not present or present.endswith(chr(10)) else chr(10)}{pattern}\n")
    return True


def is_tracked(place: Place) -> bool:
    """Whether git was never told to leave the store's folder alone."""
    if place.exclude is None or place.database.parent != place.root / FOLDER:
        return False
    return _EXCLUDED not in text_of(place.exclude).splitlines()


def is_there(place: Place, path: str) -> bool:
    """Whether a file that was noted by its path in the project still is."""
    return any(
        is_file(folder / path) for folder in (Path(place.worktree or place.root), place.root)
    )


def user_path(text: str) -> Path:
    """A path as a user names it: `~` is a home folder, and that of nobody a name like others."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        return Path(text)


def _branch(git: Path) -> str:
    head = text_of(git / "HEAD").strip()
    name = head.removeprefix("ref: refs/heads/")
    return name if name != head else ""
