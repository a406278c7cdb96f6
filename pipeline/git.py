"""The git binary: called without a shell, without hooks and without the caller's GIT_DIR."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from pipeline.copies import original
from pipeline.errors import VaultFault
from pipeline.prose import flat
from pipeline.repository import versioned

PATIENCE = 10.0  # seconds to wait for a lock another git holds
_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.quotepath=off",
    "core.fsmonitor=false",
    "core.autocrlf=false",  # a page is committed as its bytes are
    "core.safecrlf=false",
    "core.trustctime=false",  # iCloud changes it as it takes a page off the disk: none is read anew
    "core.fsync=all",  # else a loss of power takes the commit of an edit that we wrote over
    "commit.gpgsign=false",
    "gc.autoDetach=false",
    "i18n.commitEncoding=utf-8",
    "i18n.logOutputEncoding=utf-8",
    "log.showSignature=false",
    "diff.orderFile=/dev/null",
    "init.defaultBranch=main",
    "protocol.file.allow=always",  # a backup is put back from a file, whatever else may not be
)
# Set by git for its own children; inherited by a run started from a hook they would lead astray.
_NOT_INHERITED = frozenset(
    {
        "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE", "GIT_PREFIX", "GIT_CONFIG_PARAMETERS",
        "GIT_CONFIG_COUNT", "GIT_SHALLOW_FILE", "GIT_GRAFT_FILE", "GIT_QUARANTINE_PATH",
        "GIT_REPLACE_REF_BASE", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS",
    }
)  # fmt: skip
_LOCK = re.compile(r"Unable to create '(?P<file>[^']+\.lock)': File exists")
_MOVED = re.compile(r"cannot lock ref '[^']+': is at \w+ but expected \w+")
_ASTRAY = re.compile(r"bad object (?P<ref>refs/\S+)")


class Locked(Exception):
    """Somebody else is writing to the repository at this moment."""


class Git:
    """Git in the repository whose working tree is `root`."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def __call__(
        self,
        *arguments: str,
        given: str = "",
        env: Mapping[str, str] | None = None,
        fails_with: str | None = None,
        no: int = 2,
    ) -> str:
        """As `run`, in a folder that is a repository."""
        if not versioned(self._root):
            raise VaultFault(
                f"{self._root} is not a git repository", mend="run `memory init` to make it one"
            )
        return self.run(arguments, given=given, env=env, fails_with=fails_with, no=no)

    def run(
        self,
        arguments: Sequence[str],
        *,
        given: str = "",
        env: Mapping[str, str] | None = None,
        fails_with: str | None = None,
        no: int = 2,
    ) -> str:
        """Output of `git arguments`; `fails_with` answers for a status from 1 to below `no`.

        Raises Locked while another git writes, VaultFault for every other refusal.
        """
        settings = [word for setting in _SETTINGS for word in ("-c", setting)]
        inherited = {k: v for k, v in os.environ.items() if k not in _NOT_INHERITED}
        fixed = {
            "LC_ALL": "C",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_LITERAL_PATHSPECS": "1",
            "GIT_CEILING_DIRECTORIES": str(self._root.parent),
        }
        try:
            done = subprocess.run(
                ["git", *settings, *arguments],
                cwd=self._root,
                env={**inherited, **fixed, **(env or {})},
                input=given.encode("utf-8", "surrogateescape"),
                capture_output=True,
                check=False,
            )
        except OSError as error:
            raise VaultFault(
                f"git cannot be started: {error.strerror}", mend="install git, then try again"
            ) from error
        said = done.stderr.decode("utf-8", "replace")
        if 1 <= done.returncode < no and fails_with is not None:
            return fails_with
        if done.returncode:
            if locked := _LOCK.search(said):
                raise Locked(locked["file"])
            if _MOVED.search(said):
                raise Locked(said.strip())
            if astray := _ASTRAY.search(said):
                raise self._leads_nowhere(astray["ref"])
            raise VaultFault(
                f"git {arguments[0]} failed in {self._root}: {flat(said)}",
                mend=f"see `git status` in {self._root}",
            )
        return done.stdout.decode("utf-8", "surrogateescape")

    def _leads_nowhere(self, ref: str) -> VaultFault:
        """That a branch or tag names no commit there is, as `git status` does not tell."""
        file = self._root / self.run(["rev-parse", "--git-path", ref]).rstrip("\n")
        return VaultFault(
            f"{file} names a commit that is not there",
            mend="a syncer left it, and nothing needs it: delete that file"
            if original(ref)
            else f"`git fsck` in {self._root} says what is missing",
        )

    @cached_property
    def folder(self) -> Path:
        """The repository's own folder, absolute."""
        return Path(self("rev-parse", "--absolute-git-dir").rstrip("\n"))

    def patiently(self, action: Callable[[], str]) -> str:
        """What it returns; tried again while another git writes. Raises VaultFault for one that
        stays at it."""
        retrying = Retrying(
            retry=retry_if_exception_type(Locked),
            stop=stop_after_delay(PATIENCE),
            wait=wait_fixed(0.1),
            reraise=True,
        )
        try:
            return retrying(action)
        except Locked as locked:
            raise VaultFault(
                f"the vault's git is locked: {locked}",
                mend="let the other git finish; if none is running, delete that file",
            ) from locked
