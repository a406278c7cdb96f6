"""The index of a search is right after every edit, and may be lost at any time."""

from __future__ import annotations

import sqlite3
import time
from datetime import datetime
from pathlib import Path

import pytest

from pipeline.config import Config
from pipeline.recall.index import NAME
from pipeline.recall.library import library
from pipeline.recall.searching import Filters, search
from tests.support_recall import (
    HARBOR,
    LONG_AGO,
    article,
    config,
    found,
)

__all__ = ["config"]  # a fixture


def test_a_hand_edit_is_found_at_once(config: Config) -> None:
    """In the same process and in another, even within the moment in which a clock stands still."""
    with library(config) as lib:
        assert not search(lib, "ferry", Filters(places=("articles",)), 5)
        article(config, "Harbor importer", HARBOR.replace("owner", "ferry"), at=time.time())
        assert search(lib, "ferry", Filters(places=("articles",)), 5)
        article(config, "Harbor importer", HARBOR.replace("owner", "barge"), at=time.time())
        assert search(lib, "barge", Filters(places=("articles",)), 5)
        assert not search(lib, "ferry", Filters(places=("articles",)), 5)
    articles = config.vault / "articles"
    (articles / "Harbor importer.md").rename(articles / "Q.md")
    assert found(config, "barge")[0].article == "Q"
    (articles / "Q.md").unlink()
    assert not found(config, "barge", places=("articles",))


def test_the_day_of_an_article_is_that_of_its_last_change(config: Config) -> None:
    """Also while it may still be changing, as a file does that was put there a moment ago."""
    article(config, "Kettle", "# Kettle\n\nIt whistles.\n", at=LONG_AGO)
    day = datetime.fromtimestamp(LONG_AGO).date().isoformat()
    assert [hit.date for hit in found(config, "whistles")] == [day]


def test_of_an_edited_article_only_what_changed_is_indexed_anew(config: Config) -> None:
    """Sections that say what they said keep their rows, wherever they stand in the page now."""
    article(config, "Notes", "# Notes\n\nLead.\n\n## One\n\nFirst.\n\n## Two\n\nSecond.\n")

    def rows() -> dict[str, int]:
        with library(config) as lib:
            found = lib.sections.fresh().execute(
                "SELECT anchor, id FROM sections JOIN files USING (path) WHERE stem = 'Notes'"
            )
            return dict(found.fetchall())

    before = rows()
    article(config, "Notes", "# Notes\n\nLead.\n\n## Two\n\nSecond.\n\n## One\n\nAnother.\n")
    after = rows()
    assert (after[""], after["Two"]) == (before[""], before["Two"])
    assert found(config, "another")[0].anchor == "One"
    assert not found(config, "first", places=("articles",))


@pytest.mark.parametrize("left", [b"", b"no database" * 1000, None])
def test_a_lost_or_damaged_index_is_made_anew(config: Config, left: bytes | None) -> None:
    """Nothing is true because it stands there."""
    before = found(config, "zstd")
    index = config.cache_dir / NAME
    if left is None:
        data = bytearray(index.read_bytes())
        data[len(data) // 2 :] = b"\xff" * (len(data) - len(data) // 2)
        left = bytes(data)
    index.write_bytes(left)
    for beside in config.cache_dir.glob(f"{NAME}-*"):
        beside.unlink()
    assert found(config, "zstd") == before
    assert found(config, "zstd") == before


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE files SET digest = CAST(x'ff41' AS TEXT)",
        "UPDATE sections SET lines = CAST(x'ff41' AS TEXT)",
        "UPDATE sections SET lines = '['",
        "DROP TABLE sections_fts",
        "DROP TABLE files",
    ],
)
def test_damage_in_the_index_that_is_not_called_so_is_got_over(config: Config, damage: str) -> None:
    """As of a disk that turned some bits: the store is not blamed for it."""
    before = found(config, "zstd")
    index = sqlite3.connect(config.cache_dir / NAME)
    index.execute(damage)
    index.commit()
    index.close()
    assert found(config, "zstd") == before
    assert found(config, "zstd") == before


def test_where_no_index_can_be_written_the_search_is_the_same(config: Config) -> None:
    """A folder in the place of the file, as a stand-in for a disk that may not be written."""
    (config.cache_dir / NAME).mkdir()
    assert found(config, "zstd")[0].article == "Harbor importer"
    article(config, "Harbor importer", HARBOR.replace("owner", "ferry"))
    assert found(config, "ferry")


def test_a_locked_index_is_not_waited_for_long(config: Config, tmp_path: Path) -> None:
    """Another program that holds it costs a second; what was edited meanwhile is found."""
    found(config, "zstd")
    holder = sqlite3.connect(config.cache_dir / NAME, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    article(config, "Harbor importer", HARBOR.replace("owner", "ferry"))
    assert found(config, "ferry", places=("articles",))
    holder.execute("ROLLBACK")
    holder.close()


def test_a_store_on_a_disk_that_may_not_be_written_is_read(config: Config) -> None:
    """Where SQLite can make no file beside the store, it is read as it is."""
    for beside in config.cache_dir.glob("memory.sqlite-*"):
        beside.unlink()
    (config.cache_dir / "memory.sqlite-shm").mkdir()
    assert found(config, "zstd", places=("conversations",))


def test_the_index_is_for_its_owner_alone(config: Config) -> None:
    """It holds what the wiki says."""
    found(config, "zstd")
    assert (config.cache_dir / NAME).stat().st_mode & 0o077 == 0


def test_unread_files_and_links_are_listed_as_the_vault_lists_them(config: Config) -> None:
    """Subfolders, hidden files, two of one name, a link to nowhere, a page that is not UTF-8."""
    articles = config.vault / "articles"
    (articles / "sub" / ".hidden").mkdir(parents=True)
    for name in ("sub/Deep.md", "sub/Harbor importer.md", "sub/.hidden/No.md", ".No.md", "No.txt"):
        (articles / name).write_text("# ferry\n\nferry\n", "utf-8")
    (articles / "Bytes.md").write_bytes(b"\xff\xfe ferry")
    (articles / "Nowhere.md").symlink_to(articles / "gone.md")
    with library(config) as lib:
        readable = {stem for stem in lib.vault.stems() if stem not in ("Bytes", "Nowhere")}
        assert readable == {"Deep", "Harbor importer"}
        assert {h.article for h in search(lib, "ferry", Filters(places=("articles",)), 9)} == {
            "Deep"
        }
