"""A copy of a vault with its repository, as a dry run works on."""

from __future__ import annotations

import os
import shutil
import socket
from pathlib import Path

import pytest

from pipeline import repository
from pipeline.errors import VaultFault
from pipeline.history import History
from tests.support_night import files, make_vault


@pytest.fixture
def vault(home: Path) -> Path:
    """A vault with its first commit, and an edit that is not committed."""
    root = make_vault().vault
    (root / "articles" / "Mine.md").write_text("Mine.\n")
    return root


def told(root: Path) -> dict[str, bytes]:
    """Every file but git's objects, which are read where they are."""
    found = files(root, git=True)
    return {name: held for name, held in found.items() if not name.startswith(".git/objects/")}


def test_commits_are_read_where_they_are(vault: Path, tmp_path: Path) -> None:
    """None of them is copied, all are there, and what is committed is so in the copy alone."""
    copy = tmp_path / "copy"
    objects = files(vault / ".git" / "objects")
    repository.copy(vault, copy)
    assert [path for path in (copy / ".git" / "objects").rglob("*") if path.is_file()] == [
        copy / ".git" / "objects" / "info" / "alternates"
    ]
    before = History(vault).log()
    assert before and History(copy).log() == before
    made = History(copy).commit(["articles/Mine.md"], "rehearsed")
    assert made == History(copy).head() != History(vault).head()
    assert files(vault / ".git" / "objects") == objects


def test_commits_that_are_borrowed_are_read_where_they_are(vault: Path, tmp_path: Path) -> None:
    """A vault that shares the objects of another clone, by a path from its own."""
    lent = tmp_path / "lent"
    shutil.move(vault / ".git" / "objects", lent)
    (vault / ".git" / "objects" / "info").mkdir(parents=True)
    borrowed = os.path.relpath(lent, vault / ".git" / "objects")
    (vault / ".git" / "objects" / "info" / "alternates").write_text(f"{borrowed}\n")
    assert History(vault).log()
    repository.copy(vault, tmp_path / "copy")
    assert History(tmp_path / "copy").log() == History(vault).log()


def test_what_can_be_opened_only_with_patience_is_left_out(vault: Path, tmp_path: Path) -> None:
    """A pipe, and the socket that git's own file system monitor keeps in the git folder."""
    before = told(vault)
    os.mkfifo(vault / "pipe")
    with socket.socket(socket.AF_UNIX) as made:
        here = Path.cwd()
        os.chdir(vault / ".git")  # a socket's path must be short
        made.bind("monitor.ipc")
        os.chdir(here)
    repository.copy(vault, tmp_path / "copy")
    assert told(tmp_path / "copy") == before
    assert History(tmp_path / "copy").state() == History(vault).state()


def test_links_stay_links(vault: Path, tmp_path: Path) -> None:
    """Also one that leads nowhere, and one to a folder that holds the vault."""
    (vault / "nowhere").symlink_to("gone")
    (vault / "above").symlink_to("..")
    repository.copy(vault, tmp_path / "copy")
    assert (tmp_path / "copy" / "nowhere").readlink() == Path("gone")
    assert (tmp_path / "copy" / "above").readlink() == Path("..")


def test_what_is_deleted_meanwhile_is_not_missed(
    vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An editor's own file, there when the folder was listed and gone a moment later."""
    passing = vault / ".~lock"
    passing.touch()
    real = shutil.copy2

    def copied(source: str, target: str, **how: bool) -> str:
        if source == str(passing):
            passing.unlink()
        return str(real(source, target, **how))

    monkeypatch.setattr(shutil, "copy2", copied)
    repository.copy(vault, tmp_path / "copy")
    assert told(tmp_path / "copy") == told(vault)


def test_a_full_disk_is_said_so(
    vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the file at which it was full."""

    def full(source: str, _target: str, **_how: bool) -> str:
        raise OSError(28, "No space left on device", source)

    monkeypatch.setattr(shutil, "copy2", full)
    with pytest.raises(VaultFault, match=r"cannot be copied .*No space left"):
        repository.copy(vault, tmp_path / "copy")
