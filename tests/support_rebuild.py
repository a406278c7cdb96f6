"""A vault that was lived in, the database of which is lost."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from pipeline.config import Config
from pipeline.history import History
from pipeline.review.deciding import accept, find, reject
from pipeline.review.undoing import undo
from tests.support_night import (
    NIGHT,
    Night,
    files,
    make_vault,
    run_night,
    write_session,
    write_sessions,
)
from tests.test_review import FIRST, NEW, NEXT, SECOND, article, decide, script

DAY = timedelta(days=1)
# accounts, marks, what is derived again, and what SQLite keeps for itself: nothing rests on them
_NOT_COMPARED = ("model_calls", "journal_", "derived", "_migrations", "sqlite_")
_IN_ORDER = ("buckets", "articles")  # rows of these are taken in the order in which they were made


def contents(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """Every row of every table, and what a search of each index finds."""
    connection = sqlite3.connect(path)
    listed = connection.execute("PRAGMA table_list").fetchall()
    found: dict[str, list[tuple[object, ...]]] = {}
    for _, table, kind, *_ in sorted(listed):
        if kind == "table" and not table.startswith(_NOT_COMPARED):
            rows = connection.execute(f"SELECT * FROM {table}").fetchall()
            found[table] = rows if table in _IN_ORDER else sorted(rows, key=repr)
    for table, column in (("messages", "text"), ("claims", "text"), ("chunks", "label")):
        found[f"{table}_fts"] = connection.execute(
            f"""SELECT {column} FROM {table} WHERE rowid IN (
                    SELECT rowid FROM {table}_fts WHERE {table}_fts MATCH 'harbor OR lantern'
                ) ORDER BY 1"""
        ).fetchall()
    connection.close()
    return found


def lose(config: Config) -> None:
    """Delete the database, as a cleaner of caches does."""
    for path in config.cache_dir.glob("memory.sqlite*"):
        path.unlink()


def assert_silent(config: Config, *, at: timedelta) -> Night:
    """The night asks the model nothing, changes no byte of the vault, makes no commit."""
    before, head = files(config.vault), History(config.vault).head()
    night = run_night(config, script(), at=NIGHT + at)
    assert night.model.asked == []
    assert files(config.vault) == before
    assert History(config.vault).head() == head
    return night


@pytest.fixture
def config(home: Path) -> Config:
    """A vault after its first night, with articles on two topics."""
    write_sessions(home)
    config = make_vault()
    run_night(config)
    return config


@pytest.fixture
def lived_in(home: Path) -> Config:
    """Three nights: a draft rejected and held anew, a night taken back, a claim deleted by hand."""
    config = make_vault()
    write_session(home, *FIRST)
    session = "33333333-3333-4333-8333-333333333333"
    write_session(home, "claude-code", session, FIRST[2] + timedelta(hours=3), FIRST[3][-2:])
    assert run_night(config, script(), at=NIGHT).status == "done"
    page = article(config)
    text = page.read_text("utf-8")
    start = text.index("The Lantern proxy listens")
    end = text.index("\n", start)
    page.write_text(text[:start].rstrip(" ") + text[end:], "utf-8")
    write_session(home, *SECOND)
    assert len(run_night(config, script(), at=NEXT).results.held) == 1
    decide(config, lambda r: reject(find("", r), "too much at once", r, drop=False), NEXT)
    assert len(run_night(config, script(), at=NEXT + DAY).results.held) == 1
    decide(config, lambda r: accept(find("", r), r), NEXT + DAY)
    _, pages = decide(config, lambda r: undo("", "not wanted", r), NEXT + DAY)
    assert [page.outcome for page in pages] == ["restored"]
    third = [text.replace("50 ", "70 ").replace("60 ", "90 ") for text in NEW]
    noon, session = NEXT + DAY / 2, "01a227d3-5ba7-760c-a6c2-4a98371937f9"
    write_session(home, "pi", session, noon, [("user", text) for text in third])
    known = {text.removesuffix("."): [(text, "fact")] for text in third}
    knowing = replace(script(), claims={**script().claims, **known})
    assert len(run_night(config, knowing, at=NEXT + 2 * DAY).results.held) == 1
    return config
