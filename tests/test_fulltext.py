"""The full-text indexes of the store: whole, and in few pieces when a night is over."""

from __future__ import annotations

import sqlite3
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest

from pipeline.keeping.rebuilding import rebuild
from pipeline.recall.library import library
from pipeline.recall.searching import Filters, search
from pipeline.store import Store
from pipeline.store.fulltext import FullText
from tests.support_command import memory
from tests.support_night import NIGHT, make_vault, run_night, write_session

# FTS5 writes a piece (its "segment") for each commit; small ones it leaves until there are sixteen.
CONVERSATIONS = 15


def pieces(path: Path) -> int:
    """Of how many pieces the index of messages consists, as FTS5 keeps them."""
    with sqlite3.connect(path) as store:
        found = store.execute("SELECT count(DISTINCT segid) FROM messages_fts_idx").fetchone()
    store.close()
    return int(found[0])


@pytest.fixture
def read_in(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The store after fifteen conversations were read, with the index as FTS5 leaves it."""
    for number in range(CONVERSATIONS):
        at = NIGHT - timedelta(hours=number + 1)
        said = [("user", f"The heron number {number} stands in the reeds.")]
        write_session(home, "claude-code", str(UUID(int=number, version=4)), at, said)
    config = make_vault()
    with monkeypatch.context() as patched:
        patched.setattr(FullText, "gather", lambda self: [])
        run_night(config, only="ingest")
    path = config.cache_dir / "memory.sqlite"
    assert pieces(path) == CONVERSATIONS
    return path


def test_after_a_night_a_search_asks_one_piece_and_finds_all(read_in: Path) -> None:
    config = make_vault()
    run_night(config, only="ingest", at=NIGHT + timedelta(days=1))
    assert pieces(read_in) == 1
    places = Filters(places=("conversations",))
    with library(config) as found:
        for number in range(CONVERSATIONS):
            (hit,) = search(found, f'"heron number {number}"', places, 3)
            assert f"{number}» stands in the reeds" in hit.snippet


def test_after_a_rebuild_a_search_asks_one_piece(read_in: Path) -> None:
    rebuild(make_vault())
    assert pieces(read_in) == 1
    with library(make_vault()) as found:
        (hit,) = search(found, '"heron number 3"', Filters(places=("conversations",)), 3)
        assert "3» stands in the reeds" in hit.snippet


def test_what_is_in_few_pieces_is_left_alone(read_in: Path) -> None:
    store = Store(read_in)
    store.fulltext.gather()
    store.close()
    before = read_in.read_bytes()
    store = Store(read_in)
    store.fulltext.gather()
    store.close()
    assert read_in.read_bytes() == before


def test_a_damaged_index_is_told_of_and_fails_no_night(
    read_in: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Only searches rest on it; `memory doctor --fix` mends it, and the next night gathers it."""
    with sqlite3.connect(read_in) as store:
        store.execute(
            """UPDATE messages_fts_data SET block = x'ffffffff'
               WHERE id = (SELECT max(id) FROM messages_fts_data)"""
        )
    store.close()
    assert run_night(make_vault(), only="ingest", at=NIGHT + timedelta(days=1)).status == "nothing"
    assert "messages_fts is damaged" in caplog.text
    assert "`memory doctor --fix`" in caplog.text
    caplog.clear()
    memory("doctor", "--fix")
    run_night(make_vault(), only="ingest", at=NIGHT + timedelta(days=2))
    assert "damaged" not in caplog.text
    with library(make_vault()) as found:
        assert len(search(found, "heron", Filters(places=("conversations",)), 20)) == CONVERSATIONS


def test_an_index_that_another_program_writes_is_left_for_another_night(read_in: Path) -> None:
    store, other = Store(read_in), sqlite3.connect(read_in, isolation_level=None)
    store._connection.execute("PRAGMA busy_timeout=0")
    other.execute("BEGIN IMMEDIATE")
    store.fulltext.gather()
    other.execute("ROLLBACK")
    assert pieces(read_in) == CONVERSATIONS
    store.fulltext.gather()
    assert pieces(read_in) == 1
    other.close()
    store.close()
