"""memory.sqlite can be lost: `memory rebuild` brings it back; the next night has nothing to do."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from pipeline import assemble
from pipeline.archive import Archive
from pipeline.cli import app
from pipeline.config import Config
from pipeline.errors import StoreFault
from pipeline.history import History
from pipeline.keeping.rebuilding import rebuild
from pipeline.records import Bucket
from pipeline.review.deciding import accept, find, reject
from pipeline.review.undoing import undo
from pipeline.sqlite import connect
from pipeline.store import Store
from pipeline.store.journal import CutOff, Journal, frames, journal_files
from pipeline.store.restoring import Restoring
from tests.support_night import (
    NIGHT,
    Night,
    files,
    make_vault,
    run_night,
    write_session,
    write_sessions,
)
from tests.test_night import CHILD, KILL_AT, ledger, stripped
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


def memory(*arguments: str) -> str:
    """What the command prints."""
    done = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


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


# ------------------------------------------------------------------ P16


def test_the_rebuilt_database_holds_what_the_lost_one_held(lived_in: Config) -> None:
    """Every row of every table and of the search indexes."""
    before = contents(lived_in.store_path)
    lose(lived_in)
    assert rebuild(lived_in).problems == ()
    assert contents(lived_in.store_path) == before


def test_the_night_after_a_rebuild_is_silent(lived_in: Config) -> None:
    """What was held waits, what was rejected, taken back or deleted does not come back."""
    assert_silent(lived_in, at=4 * DAY)
    lose(lived_in)
    rebuild(lived_in)
    assert_silent(lived_in, at=5 * DAY)
    (hold,) = decide(lived_in, lambda r: r.press.store.holds.open(), NEXT)
    assert hold.draft.article == article(lived_in).stem
    # and the night after a second loss, of which the journal has both databases' share
    lose(lived_in)
    rebuild(lived_in)
    assert_silent(lived_in, at=6 * DAY)


def test_a_hold_can_be_accepted_after_a_rebuild(lived_in: Config) -> None:
    """The draft is whole: it is written as it was shown."""
    lose(lived_in)
    rebuild(lived_in)
    decide(lived_in, lambda r: accept(find("", r), r), NEXT + 3 * DAY)
    assert "The Lantern cache keeps 170 entries" in article(lived_in).read_text("utf-8")


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("point", KILL_AT.values(), ids=KILL_AT.keys())
def test_a_run_is_killed_and_then_the_database_lost(
    home: Path, point: tuple[str, str], count: int, tmp_path: Path
) -> None:
    """P5: whatever step of a publication it was, the end is that of an undisturbed run."""
    write_sessions(home)
    config = make_vault()
    with assemble.rehearsal(config) as copies:
        run_night(copies)
        undisturbed, folded = stripped(files(copies.vault)), ledger(copies)
    child = subprocess.run(
        [sys.executable, "-c", CHILD, *point, str(count)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert child.returncode == -signal.SIGKILL, child.stderr.decode()
    lose(config)
    assert rebuild(config).problems == ()
    run_night(config)
    assert stripped(files(config.vault)) == undisturbed
    assert ledger(config) == folded
    assert_silent(config, at=DAY)


# ------------------------------------------------------------------ a lost or old database


def test_a_night_does_not_start_over_when_the_database_is_gone(config: Config) -> None:
    """P5: it would fold everything again; it says what mends it and leaves the vault alone."""
    before = files(config.vault)
    lose(config)
    with pytest.raises(StoreFault, match="lost") as caught:
        run_night(config, at=NEXT)
    assert "memory rebuild" in caught.value.mend
    assert files(config.vault) == before


def test_with_the_archive_alone_nothing_is_folded_twice(config: Config) -> None:
    """Database and journal are gone: the night refuses; rebuilt, the articles stay as they are."""
    pages = files(config.vault / "articles")
    with sqlite3.connect(config.store_path) as store:
        (folded,) = store.execute(
            "SELECT count(DISTINCT chunk_id) FROM synthesized_bucket_chunks"
        ).fetchone()
    lose(config)
    shutil.rmtree(config.journal_dir)
    with pytest.raises(StoreFault, match="archive") as caught:
        run_night(config, at=NIGHT + DAY)
    assert "memory rebuild" in caught.value.mend
    done = rebuild(config)
    assert (done.counts["conversations"], done.counts["folded chunks"]) == (4, folded)
    run_night(config, at=NIGHT + DAY)
    assert files(config.vault / "articles") == pages
    lose(config)
    rebuild(config)
    assert_silent(config, at=2 * DAY)


def test_an_old_copy_of_the_database_is_not_worked_with(config: Config, home: Path) -> None:
    """One that was put back without its journal knows less than was done; rebuild mends that."""
    old = config.store_path.read_bytes()
    write_session(home, *SECOND)
    run_night(config, script(), at=NEXT)
    lose(config)
    config.store_path.write_bytes(old)
    with pytest.raises(StoreFault, match="older copy"):
        run_night(config, script(), at=NEXT + DAY)
    rebuild(config)
    assert_silent(config, at=3 * DAY)


def test_a_malformed_database_is_moved_aside(config: Config) -> None:
    """The run says that it is damaged and what mends it; the damaged file is kept."""
    damaged = bytearray(config.store_path.read_bytes())
    damaged[4096:12288] = b"\xff" * 8192
    lose(config)
    config.store_path.write_bytes(damaged)
    with pytest.raises(StoreFault) as caught:
        run_night(config, at=NEXT)
    assert "memory rebuild" in caught.value.mend
    aside = json.loads(memory("rebuild", "--json"))["aside"]
    assert Path(aside).name.startswith("memory.sqlite.before-")
    assert Path(aside).read_bytes() == damaged
    assert_silent(config, at=2 * DAY)


def test_what_a_killed_command_did_not_write_down_is_kept(config: Config) -> None:
    """The database that stands is asked before it is moved aside."""
    store = Store(config.store_path)  # as one that is killed before it writes the journal
    store.holds.object("Lantern project", "too long", NIGHT)
    store.close()
    assert rebuild(config).aside is not None
    store = Store(config.store_path)
    assert store.holds.objections("Lantern project", 3) == ["too long"]
    store.close()


def test_a_killed_rebuild_is_done_again(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed between moving the old one away and putting the new one in place."""
    before = contents(config.store_path)
    real = Path.rename

    def killed(self: Path, target: Path) -> Path:
        if self.parent.name == "rebuilding":
            raise KeyboardInterrupt
        return real(self, target)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Path, "rename", killed)
        rebuild(config)
    assert not config.store_path.exists()
    rebuild(config)
    assert contents(config.store_path) == before


def test_writes_that_a_lost_database_left_behind_are_not_taken_over(
    config: Config, home: Path, tmp_path: Path
) -> None:
    """A killed process leaves them beside it; SQLite would write them into the next database."""
    write_session(home, *SECOND)
    busy = sqlite3.connect(config.store_path)  # keeps the writes of the night beside the file
    busy.execute("SELECT count(*) FROM runs").fetchone()
    run_night(config, script(), at=NEXT)
    beside = config.store_path.with_name("memory.sqlite-wal")
    left = Path(shutil.copy2(beside, tmp_path / "wal"))
    busy.close()
    before = contents(config.store_path)
    lose(config)
    shutil.copy2(left, beside)
    assert left.stat().st_size
    assert rebuild(config).aside is None
    assert contents(config.store_path) == before
    (aside,) = config.cache_dir.glob("memory.sqlite.before-*")
    assert aside.name.endswith("-wal")


def test_a_database_that_is_in_use_is_not_moved_away(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it knows cannot be written down then: it says so and changes nothing."""
    monkeypatch.setattr("pipeline.sqlite.BUSY_SECONDS", 0.1)
    store = Store(config.store_path)
    store.holds.object("Lantern project", "too long", NIGHT)
    store.close()
    busy = sqlite3.connect(config.store_path, isolation_level=None)
    busy.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreFault, match="locked"):
        rebuild(config)
    busy.execute("ROLLBACK")
    busy.close()
    assert not list(config.cache_dir.glob("*.before-*"))
    rebuild(config)
    store = Store(config.store_path)
    assert store.holds.objections("Lantern project", 3) == ["too long"]
    store.close()


def test_a_rebuild_killed_after_it_saw_damage_sees_it_again(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Done again, it still knows that commits may be missing: nothing is folded twice."""
    pages = files(config.vault / "articles")
    (path,) = journal_files(config.journal_dir)
    data = bytearray(path.read_bytes())
    data[30:60] = bytes(30)
    path.write_bytes(data)
    lose(config)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("pipeline.keeping.rebuilding.move_aside", killed)
        rebuild(config)
    assert any("damaged" in problem for problem in rebuild(config).problems)
    run_night(config, at=NIGHT + DAY)
    assert files(config.vault / "articles") == pages


def test_a_file_of_the_journal_that_is_gone_is_made_good_by_the_commits(
    lived_in: Config, home: Path
) -> None:
    """Of the journal every beginning: to a file, or to a write. Nothing is folded twice."""
    pages = files(lived_in.vault / "articles")
    whole = {path: path.read_bytes() for path in journal_files(lived_in.journal_dir)}
    for number, (path, data) in enumerate(whole.items()):
        for later in list(whole)[number:]:
            later.unlink(missing_ok=True)
        ends = [0]
        while ends[-1] < len(data):
            unpacked = zstandard.ZstdDecompressor().decompressobj()
            unpacked.decompress(data[ends[-1] :])
            ends.append(len(data) - len(unpacked.unused_data))
        end = ends[len(ends) // 2] if number % 2 else 0  # half of a file, or all that came before
        if end:
            path.write_bytes(data[:end])
        with assemble.rehearsal(lived_in) as copies:
            shutil.copytree(lived_in.data_dir, copies.data_dir, dirs_exist_ok=True)
            lose(copies)
            rebuild(copies)
            run_night(copies, script(), at=NEXT + 3 * DAY)
            assert files(copies.vault / "articles") == pages, (path.name, end)
        path.write_bytes(data)


def test_a_whole_write_stays_one_when_it_is_killed(tmp_path: Path) -> None:
    """What was gone before it, and is not named any more, does not come back by the next write."""
    store = Store(tmp_path / "a.sqlite", tmp_path / "journal")
    store.ledger.shut_out("A", ["what was said"], "run")
    store.journal.write()
    store.journal.marks.clear()
    store._connection.execute("DELETE FROM written_sentences")
    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Journal, "_frame", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        store.journal.rewrite()
    store.close()
    store = Store(tmp_path / "a.sqlite", tmp_path / "journal")
    store.buckets.save(Bucket("B"), NIGHT)
    store.journal.write()
    store.close()
    played = Store(tmp_path / "b.sqlite")
    for path in journal_files(tmp_path / "journal"):
        for frame in frames(path):
            played.restoring.replay(frame)
    assert played.ledger.written_sentences("A") == frozenset()
    assert [bucket.name for bucket in played.buckets.all()] == ["B"]
    played.close()


def test_what_cannot_be_written_down_is_not_published(config: Config, home: Path) -> None:
    """No room for the journal: the night fails before it touches a page, and is made good."""
    write_session(home, *SECOND)
    before = files(config.vault / "articles")
    aside = config.journal_dir.rename(config.journal_dir.with_name("aside"))
    config.journal_dir.write_text("a file where the folder should be")
    with pytest.raises(StoreFault, match="journal"):
        run_night(config, script(), at=NEXT)
    assert files(config.vault / "articles") == before
    config.journal_dir.unlink()
    aside.rename(config.journal_dir)
    run_night(config, script(), at=NEXT + DAY)
    assert files(config.vault / "articles") != before
    lose(config)
    assert rebuild(config).problems == ()
    assert_silent(config, at=3 * DAY)


def test_a_rebuild_without_room_leaves_no_half(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it wrote so far would fill the disk for whatever is tried next."""
    before = contents(config.store_path)

    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patch, pytest.raises(StoreFault, match="full"):
        patch.setattr(Restoring, "conversation", full)
        rebuild(config)
    assert not (config.cache_dir / "rebuilding").exists()
    assert contents(config.store_path) == before


def test_a_dry_run_changes_nothing(config: Config) -> None:
    """It tells the same counts, and every file stays as it is."""
    before = files(config.data_dir), config.store_path.read_bytes()
    told = json.loads(memory("rebuild", "--dry-run", "--json"))
    assert (files(config.data_dir), config.store_path.read_bytes()) == before
    assert told["counts"]["conversations"] == 4
    assert told["counts"] == json.loads(memory("rebuild", "--json"))["counts"]


def test_without_archive_and_journal_there_is_nothing_to_rebuild(home: Path) -> None:
    """It says so, and makes no empty database that would pass for a rebuilt one."""
    config = make_vault()
    with pytest.raises(StoreFault, match="nothing to make"):
        rebuild(config)
    assert not config.store_path.exists()


# ------------------------------------------------------------------ damage


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


# ------------------------------------------------------------------ the journal itself

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


@settings(max_examples=15, deadline=None)
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
                store.ledger.fail(one, other, "why", now=NIGHT, pause=DAY, max_attempts=3)
            case "succeed":
                store.ledger.succeed(one, other)
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
