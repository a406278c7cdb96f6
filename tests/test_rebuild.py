"""memory.sqlite can be lost: `memory rebuild` brings it back; the next night has nothing to do."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
import zstandard

from pipeline import assemble
from pipeline.config import Config
from pipeline.errors import StoreFault
from pipeline.keeping.rebuilding import rebuild
from pipeline.records import Bucket
from pipeline.review.deciding import accept, find
from pipeline.store import Store
from pipeline.store.journal import Journal, frames, journal_files
from pipeline.store.restoring import Restoring
from tests.support_command import printed as memory
from tests.support_night import (
    NIGHT,
    files,
    make_vault,
    run_night,
    write_session,
    write_sessions,
)
from tests.support_rebuild import DAY, assert_silent, config, contents, lived_in, lose
from tests.test_night import CHILD, KILL_AT, ledger, stripped
from tests.test_review import NEXT, SECOND, article, decide, script

__all__ = ["config", "lived_in"]  # fixtures


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
