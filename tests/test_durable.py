"""What is written is on the disk before anything rests on it; on a Mac a sync alone does not do."""

from __future__ import annotations

import errno
import fcntl
import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pipeline.archive import Archive
from pipeline.durable import flush
from pipeline.history import History
from pipeline.project.store import ProjectStore
from pipeline.records import Bucket, Conversation
from pipeline.store import Store
from pipeline.store.journal import journal_files
from pipeline.vault import Vault

_FULL = 51  # F_FULLFSYNC in macOS's <sys/fcntl.h>
TALK = Conversation("abcd1234", "pi", "s", "", "", *[datetime(2026, 11, 1, tzinfo=UTC)] * 2)


@pytest.fixture
def flushed(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """As on a Mac: the files, by inode, that the drive was told to put down."""
    found: set[int] = set()

    def told(descriptor: int, command: int) -> int:
        assert command == _FULL
        found.add(os.fstat(descriptor).st_ino)
        return 0

    monkeypatch.setattr(fcntl, "F_FULLFSYNC", _FULL, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", told)
    return found


def page(root: Path) -> list[Path]:
    """A new page, and the folder that has its name."""
    Vault(root).write("articles/New.md", "# New\n", expect="")
    return [root / "articles" / "New.md", root / "articles"]


def conversation(root: Path) -> list[Path]:
    """An archived conversation."""
    return [Archive(root).write(TALK, [])]


def journal(root: Path) -> list[Path]:
    """The journal's first file, and its folder."""
    store = Store(root / "memory.sqlite", root / "journal")
    store.buckets.save(Bucket("Garden", "on beds"), TALK.started_at)
    store.journal.write()
    store.close()
    return [root / "journal", *journal_files(root / "journal")]


@pytest.mark.parametrize("made", [page, conversation, journal])
def test_what_is_written_is_put_down_by_the_drive(
    made: Callable[[Path], list[Path]], flushed: set[int], tmp_path: Path
) -> None:
    """Before the call returns."""
    assert {path.stat().st_ino for path in made(tmp_path)} <= flushed


def test_a_volume_that_cannot_is_synced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As one on a server: what a Mac has besides is better than nothing."""
    synced: list[int] = []

    def cannot(_descriptor: int, _command: int) -> int:
        raise OSError(errno.ENOTSUP, "not here")

    monkeypatch.setattr(fcntl, "F_FULLFSYNC", _FULL, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", cannot)
    monkeypatch.setattr(os, "fsync", synced.append)
    with (tmp_path / "file").open("wb") as file:
        flush(file.fileno())
        assert synced == [file.fileno()]


def test_databases_are_told_the_same(tmp_path: Path) -> None:
    """The night's at every commit, a project's whenever its log is written back."""
    store = Store(tmp_path / "memory.sqlite")
    assert store._connection.execute("PRAGMA fullfsync").fetchone()[0] == 1
    store.close()
    project = ProjectStore(tmp_path / "memory.db", str, make=True)
    assert project.connection.execute("PRAGMA checkpoint_fullfsync").fetchone()[0] == 1
    project.close()


def test_a_commit_is_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Git alone flushes nothing then: an edit that was committed and written over would be gone."""
    vault = tmp_path / "vault"
    history = History(vault)
    history.init()
    (vault / "page.md").write_text("mine\n")
    trace = tmp_path / "trace"
    monkeypatch.setenv("GIT_TRACE2_EVENT", str(trace))
    history.commit(["page.md"], "page")
    monkeypatch.delenv("GIT_TRACE2_EVENT")
    told = [json.loads(line) for line in trace.read_text().splitlines()]
    flushes = sum(int(one["value"]) for one in told if one.get("key") == "fsync/hardware-flush")
    objects = list((vault / ".git" / "objects").glob("??/*"))
    assert len(objects) == 3  # the page, the folder, the commit
    assert flushes > len(objects)  # and the branch
