"""What git calls the vault's files: in its index, in a commit, in its log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pipeline.git import Git
from pipeline.spelling import folded, has_aliases, ignores_case, in_vault, sameness, spelt


class Pathnames:
    """The names of the files of one repository. On most volumes each file has just one."""

    def __init__(self, root: Path, git: Git) -> None:
        self._root = root
        self._git = git

    def of(self, path: str, commit: str = "") -> str:
        """The name that git has for the file: in its index, or in a commit."""
        asked = ("ls-tree", "-r", "-z", "--name-only", commit) if commit else ("ls-files", "-z")
        return spelt(path, self._root, lambda: self._git(*asked).split("\0"))

    def asked(self, paths: Sequence[str]) -> tuple[list[str], dict[str, str]]:
        """What names these files to git, in whatever case it had them, and its environment."""
        if not ignores_case(self._root):  # forms git tells apart nowhere, where a volume does not
            return list(paths), {}
        return [f":(icase,literal){path}" for path in paths], {"GIT_LITERAL_PATHSPECS": "0"}

    def each_once(self, paths: Sequence[str]) -> list[str]:
        """The files of a commit by the vault's names; one that it renamed by case is one file."""
        named = [in_vault(path, self._root) for path in paths]
        if len({folded(path) for path in named}) == len(named):  # nearly always
            return named
        same = sameness(self._root)
        files = {same(path): path for path in reversed(named)}
        return list(files.values())[::-1]

    def left_behind(self, paths: Sequence[str], beside: Mapping[str, str]) -> list[str]:
        """Names that these files have in the index beside the user's, and no longer in theirs."""
        same = sameness(self._root)
        files = {same(path) for path in paths if has_aliases(path, self._root)}
        if not files:
            return []
        listed = self._git("ls-files", "-z", env=beside).split("\0")
        others = {name for name in listed if same(name) in files} - {*paths}
        return sorted(others - {*self._git("ls-files", "-z").split("\0")}) if others else []
