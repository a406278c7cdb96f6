"""The journal: it says what the database holds, is private, and is read whatever wrote it."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.config import Config
from pipeline.errors import StoreFault
from pipeline.keeping.rebuilding import rebuild
from pipeline.records import Bucket
from pipeline.sqlite import connect
from pipeline.store import Store
from pipeline.store.journal import frames, journal_files
from tests.support_night import (
    NIGHT,
)
from tests.support_rebuild import DAY, assert_silent, config, contents, lived_in, lose

__all__ = ["config", "lived_in"]  # fixtures


_WORDS = st.text("ab", min_size=1, max_size=2)
_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("bucket"), _WORDS, _WORDS),
        st.tuples(st.just("rename"), _WORDS, _WORDS),
        st.tuples(st.just("fail"), _WORDS, _WORDS),
        st.tuples(st.just("succeed"), _WORDS, _WORDS),
        st.tuples(st.just("shut out"), _WORDS, _WORDS),
        st.tuples(st.just("write"), _WORDS, _WORDS),
        st.tuples(st.just("rewrite"), _WORDS, _WORDS),
    ),
    max_size=25,
)


@settings(max_examples=15)
@given(_STEPS)
def test_the_journal_says_what_the_database_holds(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str, str]]
) -> None:
    """Whatever was written, renamed and deleted, and whenever it was written down."""
    place = tmp_path_factory.mktemp("journal")
    store = Store(place / "a.sqlite", place / "journal")
    for step, one, other in steps:
        match step:
            case "bucket":
                store.buckets.save(Bucket(one, other), NIGHT)
            case "rename":
                store.ledger.rename(one, other)
            case "fail":
                store.attempts.fail(one, other, "why", now=NIGHT, pause=DAY, max_attempts=3)
            case "succeed":
                store.attempts.succeed(one, other)
            case "shut out":
                store.ledger.shut_out(one, [other], "run")
            case "write":
                store.journal.write()
            case "rewrite":
                store.journal.rewrite()
    store.journal.write()
    store.close()
    played = Store(place / "b.sqlite")
    for path in journal_files(place / "journal"):
        for frame in frames(path):
            played.restoring.replay(frame)
    played.close()
    assert contents(place / "b.sqlite") == contents(place / "a.sqlite")


def test_a_journal_of_an_older_version_is_read(lived_in: Config) -> None:
    """Columns that it did not have yet get what the migration gives them; unknown ones are left."""
    for path in journal_files(lived_in.journal_dir):
        packed = []
        for frame in frames(path):
            lines: list[object] = [{"format": 1, "whole": frame.whole}]
            for entry in frame.rows:
                row = entry["row"]
                if row is not None and entry["table"] == "source_files":
                    row = {name: row[name] for name in row if name != "fingerprint"} | {"old": 1}
                lines.append({**entry, "row": row})
            lines.append({"table": "of_another_time", "key": ["x"], "row": {"a": 1}})
            text = "".join(json.dumps(line) + "\n" for line in lines)
            packed.append(zstandard.ZstdCompressor().compress(text.encode()))
        path.write_bytes(b"".join(packed))
    before = contents(lived_in.store_path)
    lose(lived_in)
    assert rebuild(lived_in).problems == ()
    after = contents(lived_in.store_path)
    files_read = before.pop("source_files"), after.pop("source_files")
    assert len(files_read[0]) == len(files_read[1])
    assert after == before
    assert_silent(lived_in, at=4 * DAY)


def test_a_database_that_cannot_be_opened_is_let_go(tmp_path: Path) -> None:
    """The fault says where more is told, and nothing holds the file any more."""
    path = tmp_path / "memory.sqlite"
    path.write_bytes(b"no database at all" * 1000)
    before = len(list(Path("/dev/fd").iterdir()))
    with pytest.raises(StoreFault) as caught:
        connect(path)
    assert "memory doctor" in caught.value.mend and "archive" not in caught.value.mend
    del caught
    assert len(list(Path("/dev/fd").iterdir())) == before


def test_the_journal_is_private(config: Config) -> None:
    """Nobody else may read the files or list the folder."""
    assert config.journal_dir.stat().st_mode & 0o777 == 0o700
    assert {p.stat().st_mode & 0o777 for p in journal_files(config.journal_dir)} == {0o600}


def test_every_table_that_matters_is_watched(tmp_path: Path) -> None:
    """A table without a primary key would be lost with the database: none may be added."""
    store = Store(tmp_path / "a.sqlite")
    connection = sqlite3.connect(tmp_path / "a.sqlite")
    tables = {
        row[1]
        for row in connection.execute("PRAGMA table_list")
        if row[2] == "table" and not row[1].startswith(("sqlite_", "journal_"))
    }
    connection.close()
    known = {"messages", "model_calls", "derived", "_migrations"}
    assert tables - store.journal.marks.tables.keys() <= known
    store.close()
