"""What is damaged is told and set aside; the rest is there, and nothing is folded twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.archive import Archive
from pipeline.config import Config
from pipeline.keeping.rebuilding import rebuild
from pipeline.store import Store
from pipeline.store.journal import CutOff, frames, journal_files
from tests.support_night import (
    NIGHT,
    files,
    run_night,
)
from tests.support_rebuild import DAY, assert_silent, config, lived_in, lose
from tests.test_review import NEXT, script

__all__ = ["config", "lived_in"]  # fixtures


def test_a_damaged_conversation_does_not_stop_the_rest(config: Config) -> None:
    """It is reported and kept aside, and comes back from the transcript without a model call."""
    archive = Archive(config.archive_dir)
    victim, *others = archive.convs()
    (path,) = config.archive_dir.rglob(f"{victim}*")
    whole = archive.read(victim)
    path.write_bytes(path.read_bytes()[:-20])
    lose(config)
    done = rebuild(config)
    assert any(path.name in problem for problem in done.problems)
    assert path.with_name(f"{path.name}.damaged").is_file()
    store = Store(config.store_path)
    assert all(store.conversations.messages(conv) for conv in others)
    assert store.conversations.messages(victim) == []
    store.close()
    assert_silent(config, at=DAY)
    store = Store(config.store_path)
    assert store.conversations.messages(victim) == whole[1]
    store.close()


def test_what_a_damaged_journal_lost_is_not_folded_twice(config: Config) -> None:
    """The trailers of the commits tell what is folded; the articles stay as they are."""
    pages = files(config.vault / "articles")
    for path in journal_files(config.journal_dir):
        data = bytearray(path.read_bytes())
        data[30:60] = bytes(30)
        path.write_bytes(data)
    lose(config)
    done = rebuild(config)
    assert any("damaged" in problem for problem in done.problems)
    assert any("trailers" in problem for problem in done.problems)
    run_night(config, at=NIGHT + DAY)
    assert files(config.vault / "articles") == pages
    # and what was made anew stands in a journal of its own
    lose(config)
    assert rebuild(config).problems == ()
    assert_silent(config, at=2 * DAY)


def test_a_journal_that_lost_its_end_keeps_its_beginning(lived_in: Config, home: Path) -> None:
    """Of the articles that it knows the later commits are noted; nothing is folded twice."""
    pages = files(lived_in.vault / "articles")
    for path in journal_files(lived_in.journal_dir)[2:]:
        path.write_bytes(b"x" + path.read_bytes())
    lose(lived_in)
    assert any("damaged" in problem for problem in rebuild(lived_in).problems)
    run_night(lived_in, script(), at=NEXT + 3 * DAY)
    assert files(lived_in.vault / "articles") == pages


def test_the_end_that_a_kill_cut_off_is_no_damage(config: Config) -> None:
    """Half of the last write is passed over: the database would have written it again."""
    path = journal_files(config.journal_dir)[-1]
    whole = list(frames(path))
    path.write_bytes(path.read_bytes()[:-7])
    kept = []
    with pytest.raises(CutOff):
        for frame in frames(path):
            kept.append(frame)
    assert kept == whole[:-1]
    lose(config)
    assert rebuild(config).problems == ()


def test_what_a_disk_cut_off_is_not_folded_twice(config: Config) -> None:
    """Of the only file there is the first write alone: the commits tell the rest."""
    pages = files(config.vault / "articles")
    (path,) = journal_files(config.journal_dir)
    path.write_bytes(path.read_bytes()[:200])
    lose(config)
    assert any("trailers" in problem for problem in rebuild(config).problems)
    run_night(config, at=NIGHT + DAY)
    assert files(config.vault / "articles") == pages
