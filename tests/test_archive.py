"""The archive: what was written can be read for good, and a crash leaves no half."""

from __future__ import annotations

import stat
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pipeline.archive import Archive
from pipeline.errors import StoreFault
from pipeline.records import Action, Conversation, Message, Role

BEGAN = datetime(2023, 12, 31, 23, 59, 59, 5000, tzinfo=UTC)
TALK = Conversation("abcd1234", "pi", "s", "Ünï — title", "/p", BEGAN, BEGAN + timedelta(1))


def said(position: int, text: str) -> Message:
    return Message(
        f"id{position}",
        "abcd1234",
        position,
        Role.ASSISTANT if position % 2 else Role.USER,
        BEGAN + timedelta(minutes=position),
        text,
        (Action("Edit", "a b.py"),) if position % 2 else (),
        "/p",
    )


MESSAGES = [
    said(0, "line\nline \u2028 日本語 🎉"),
    said(1, ""),
    said(2, "".join(map(chr, range(1, 160))) + '\\n\\"')._replace(
        actions=(Action('a"b', "c\\d"), Action("e")),
        project='/q"\\',
    ),
]


def test_a_conversation_comes_back_as_it_was(tmp_path: Path) -> None:
    """Every field of it and its messages, from a file named by source, year, month and id."""
    archive = Archive(tmp_path / "archive")
    path = archive.write(TALK, MESSAGES)
    assert path == tmp_path / "archive" / "pi" / "2023" / "12" / "abcd1234.jsonl.zst"
    assert archive.read("abcd1234") == (TALK, MESSAGES)


def test_the_archive_is_private(tmp_path: Path) -> None:
    """Nobody else may read the files or list the folders."""
    path = Archive(tmp_path / "archive").write(TALK, MESSAGES)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for folder in list(path.parents)[:4]:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_writing_again_replaces_the_one_file(tmp_path: Path) -> None:
    """Also when the conversation turns out to have begun in an earlier month; nothing is left."""
    archive = Archive(tmp_path)
    archive.write(TALK, MESSAGES[:1])
    earlier = replace(TALK, started_at=BEGAN - timedelta(days=60))
    archive.write(earlier, MESSAGES)
    assert archive.read("abcd1234") == (earlier, MESSAGES)
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 1


def test_what_an_earlier_run_left_is_replaced_too(tmp_path: Path) -> None:
    """By an archive that has not written before: one file is left, and no part of a killed run."""
    path = Archive(tmp_path).write(TALK, MESSAGES[:1])
    earlier = replace(TALK, started_at=BEGAN - timedelta(days=60))
    killed = replace(TALK, conv="eeee5678")
    part = path.with_name(".eeee5678.jsonl.zst.part")
    part.write_bytes(b"half")
    archive = Archive(tmp_path)
    archive.write(earlier, MESSAGES)
    archive.write(killed, [])
    assert archive.read("abcd1234") == (earlier, MESSAGES)
    assert archive.read("eeee5678") == (killed, [])
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 2


def test_what_is_missing_or_damaged_is_named(tmp_path: Path) -> None:
    """A fault, never an empty conversation."""
    archive = Archive(tmp_path)
    with pytest.raises(StoreFault, match="abcd1234"):
        archive.read("abcd1234")
    path = archive.write(TALK, MESSAGES)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(StoreFault, match="damaged"):
        archive.read("abcd1234")


def test_a_folder_that_refuses_is_a_store_fault(tmp_path: Path) -> None:
    """A file in the place of the source's folder."""
    (tmp_path / "pi").write_text("in the way")
    with pytest.raises(StoreFault, match="cannot write"):
        Archive(tmp_path).write(TALK, MESSAGES)
