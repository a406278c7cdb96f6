"""A project with a memory, and the command that works on it, in this process."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pipeline import anvil
from pipeline.project.cleaning import cleaner
from pipeline.project.store import ProjectStore


@dataclass
class Project:
    """A folder with a store. Commands run as if called in it."""

    root: Path
    _capsys: pytest.CaptureFixture[str]
    _monkeypatch: pytest.MonkeyPatch

    @property
    def database(self) -> Path:
        return self.root / ".anvil" / "memory.db"

    def call(self, *arguments: str, at: Path | None = None) -> tuple[int, str, str]:
        """Exit code, standard output and standard error of a command line."""
        self._monkeypatch.chdir(at or self.root)
        self._capsys.readouterr()
        try:
            code = anvil.run(list(arguments))
        except SystemExit as exit_:
            code = int(exit_.code or 0)
        done = self._capsys.readouterr()
        return code, done.out, done.err

    def ask(self, *arguments: str, at: Path | None = None) -> Any:
        """What a command answers with --json; it must succeed."""
        code, out, err = self.call(*arguments, "--json", at=at)
        assert code == 0, err
        return json.loads(out)

    def observe(self, title: str, *more: str, kind: str = "change") -> int:
        return int(self.ask("observe", "--type", kind, "--title", title, *more)["id"])

    def titles(self, *search: str) -> list[str]:
        return [hit["title"] for hit in self.ask("search", *search)]

    def store(self) -> ProjectStore:
        """The store itself; close it after use."""
        return ProjectStore(self.database, cleaner({}))

    def bytes_on_disk(self) -> bytes:
        return b"".join(path.read_bytes() for path in sorted(self.database.parent.iterdir()))


def git(folder: Path, *arguments: str) -> None:
    """Run git in a folder; a repository's first commit needs a name."""
    name: Sequence[str] = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    subprocess.run(["git", *name, *arguments], cwd=folder, check=True, capture_output=True)


def new_project(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Project:
    """A git repository on the branch `main`, with a memory."""
    folder.mkdir(parents=True)
    root = folder.resolve()
    git(root, "init", "-q", "-b", "main")
    made = Project(root, capsys, monkeypatch)
    assert made.call("init")[0] == 0
    return made
