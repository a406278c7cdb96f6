"""A commit made beside the user's index: nothing they have staged goes with it, or is lost."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from pipeline.git import Git
from pipeline.pathnames import Pathnames

_IDENTITY = re.compile(r"(?P<name>[^<>]*?) *<(?P<mail>[^<>]*)>")


class Staging(NamedTuple):
    """What puts files into an index: the git command, and what it is given to read."""

    command: tuple[str, ...]
    given: str


def as_they_stand(paths: Sequence[str]) -> Staging:
    """The files of the working tree; one that is not there is gone."""
    return Staging(
        ("update-index", "--add", "--remove", "-z", "--stdin"), "".join(f"{p}\0" for p in paths)
    )


def as_gone(paths: Sequence[str]) -> Staging:
    """The files as gone, whatever stands there."""
    return Staging(
        ("update-index", "--force-remove", "-z", "--stdin"), "".join(f"{p}\0" for p in paths)
    )


def as_blob(path: str, blob: str, mode: str) -> Staging:
    """The file as git holds it already under the name of this blob."""
    return Staging(("update-index", "--add", "--cacheinfo", f"{mode},{blob},{path}"), "")


class Committer:
    """Commits in the repository whose working tree is `root`."""

    def __init__(self, root: Path, git: Git) -> None:
        self._git = git
        self._names = Pathnames(root, git)

    def commit(
        self,
        paths: Sequence[str],
        staging: Staging,
        message: str,
        author: str,
        *,
        at: datetime | None = None,
        if_unchanged: str = "",
    ) -> str:
        """Commit these files, by git's names, as they are staged; return the commit.

        if_unchanged: the message of a commit that changes nothing, "" for no such commit. Waits for
        another git's lock; raises VaultFault that names the lock when it stays.
        """
        return self._git.patiently(
            lambda: self._once(paths, staging, message, author, at, if_unchanged)
        )

    def _once(
        self,
        paths: Sequence[str],
        staging: Staging,
        message: str,
        author: str,
        at: datetime | None,
        if_unchanged: str,
    ) -> str:
        own = self._git.folder / "nightly-memory"
        own.mkdir(exist_ok=True)
        index = own / "index"
        for left_behind in (index, own / "index.lock"):
            left_behind.unlink(missing_ok=True)
        beside = {"GIT_INDEX_FILE": str(index)}
        head, tree_before = self._head_and_tree()
        self._git("read-tree", head or "--empty", env=beside)
        if others := self._names.left_behind(paths, beside):
            self._stage(as_gone(others), env=beside)
        self._stage(staging, env=beside)
        tree = self._git("write-tree", env=beside).strip()
        # The user's index before the commit: killed after this, the page is staged as it will be
        # committed; else the index would silently hold the reversal of our commit.
        self._stage_alike(paths, beside, nothing="0" * len(tree))
        if staging.given:  # once more by the files: git need not look at them again to know them
            self._stage(staging)
        index.unlink(missing_ok=True)
        if tree == tree_before:
            last = self._git("log", "-1", "--format=%B", head) if if_unchanged else ""
            if last.strip() == if_unchanged.strip():
                return head
            message = if_unchanged
        parents = ["-p", head] if head else []
        sha = self._git(
            "commit-tree", tree, *parents, given=message, env=_identity(author, at)
        ).strip()
        subject = message.partition("\n")[0]
        # the old value makes this fail, and be tried again, if the user committed meanwhile
        self._git(
            "update-ref", "-m", f"commit: {subject}", "HEAD", sha, head or "0" * len(sha),
            env=_identity(author, at),
        )  # fmt: skip
        return sha

    def _stage(self, staging: Staging, env: Mapping[str, str] | None = None) -> None:
        self._git(*staging.command, given=staging.given, env=env)

    def _head_and_tree(self) -> tuple[str, str]:
        """The current commit and its tree, "" for both before the first."""
        told = self._git("cat-file", "--batch-check", given="HEAD\nHEAD^{tree}\n").splitlines()
        head, tree = (line.partition(" ") for line in told)
        return ("", "") if head[2] == "missing" else (head[0], tree[0])

    def _stage_alike(
        self, paths: Sequence[str], beside: Mapping[str, str], *, nothing: str
    ) -> None:
        """Have these files in the user's index as in the one beside it. nothing: the name of no
        blob.

        By name and blob: update-index of a file would pass over one marked assume-unchanged, and
        take one marked skip-worktree for deleted.
        """
        listed = self._git("ls-files", "--stage", "-z", "--", *paths, env=beside).split("\0")
        entries = [entry for entry in listed if entry]
        there = {entry.partition("\t")[2] for entry in entries}
        gone = [f"0 {nothing}\t{path}" for path in paths if path not in there]
        lines = "".join(f"{line}\0" for line in [*gone, *entries])
        self._git("update-index", "-z", "--index-info", given=lines)


def _identity(author: str, at: datetime | None) -> dict[str, str]:
    """Who and when, for author and committer alike: git's own configuration may have neither."""
    found = _IDENTITY.fullmatch(author)
    if found is None:
        raise ValueError(f"not 'name <mail>': {author!r}")
    who = {"NAME": found["name"], "EMAIL": found["mail"]}
    if at is not None:
        who["DATE"] = f"{int(at.timestamp())} {at.strftime('%z')}"
    return {f"GIT_{part}_{k}": v for part in ("AUTHOR", "COMMITTER") for k, v in who.items()}
