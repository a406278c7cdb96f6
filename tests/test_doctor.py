"""The doctor: sees each thing that can be broken, by its code, and mends what is safe to mend."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import psutil
import pytest

from pipeline import doctor, errors
from pipeline.archive import Archive
from pipeline.config import NightConfig, SourcesConfig
from pipeline.doctor import CHECKS, Level, Machine, settings
from pipeline.errors import BusyFault, ConfigFault
from pipeline.lock import one_run
from pipeline.records import Call
from pipeline.store import Store
from pipeline.vault import Vault
from tests.support_health import NOW, Healthy, Systemd, healthy, kept, wrong
from tests.support_night import NIGHT

Break = Callable[[Healthy], Healthy]
WARN, FAIL = Level.WARN, Level.FAIL
__all__ = ["healthy", "kept"]  # fixtures


def sql(healthy: Healthy, *statements: str) -> None:
    """Behind the program's back."""
    database = sqlite3.connect(healthy.config.store_path, isolation_level=None)
    for statement in statements:
        database.execute(statement)
    database.close()


def git(healthy: Healthy, *arguments: str) -> None:
    """The user at work in the vault."""
    subprocess.run(["git", *arguments], cwd=healthy.config.vault, check=True, capture_output=True)


def unit(healthy: Healthy, kind: str) -> Path:
    """A file of the schedule."""
    return healthy.home / ".config" / "systemd" / "user" / f"nightly-memory.{kind}"


def article(healthy: Healthy) -> Path:
    """One that the night wrote."""
    return sorted((healthy.config.vault / "articles").glob("*.md"))[0]


# ------------------------------------------------------------------ what can be broken


def broken_prompt(h: Healthy) -> Healthy:
    """A prompt of the user's own that cannot be read."""
    own = h.home / ".config" / "nightly-memory" / "prompts" / "chunk" / "label.md"
    own.parent.mkdir(parents=True)
    own.write_text("no front matter")
    return h


def small_prompts(h: Healthy) -> Healthy:
    """Fewer tokens allowed than the window of text alone has."""
    return h.but(max_prompt_tokens=1024)


def another_pipeline(h: Healthy) -> Healthy:
    """Another distribution that brings a package of the same name."""
    site = h.home / "site"
    info = site / "luigi_like-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: luigi-like\nVersion: 1.0\n")
    (info / "RECORD").write_text("pipeline/__init__.py,,\n")
    sys.path.append(str(site))
    return h


def folder_of_the_same_name(h: Healthy) -> Healthy:
    """A folder `pipeline` of somebody's on Python's path."""
    (h.home / "site" / "pipeline").mkdir(parents=True)
    sys.path.append(str(h.home / "site"))
    return h


def nothing_scheduled(h: Healthy) -> Healthy:
    """The user never scheduled it."""
    unit(h, "timer").unlink()
    unit(h, "service").unlink()
    return h


def switched_off(h: Healthy) -> Healthy:
    """The timer was disabled."""
    return replace(h, systemd=Systemd(enabled="disabled"))


def not_loaded(h: Healthy) -> Healthy:
    """The timer does not run."""
    return replace(h, systemd=Systemd(active="inactive"))


def moved_python(h: Healthy) -> Healthy:
    """The command that the schedule starts is gone."""
    text = unit(h, "service").read_text()
    before = unit(h, "service").stat().st_mtime
    script = json.loads(text.partition("Job=")[2])["script"]
    unit(h, "service").write_text(text.replace(script, "/nowhere/bin/memory"))
    os.utime(unit(h, "service"), (before, before))
    return h


def edited_schedule(h: Healthy) -> Healthy:
    """The timer's file is not as this version writes it."""
    before = unit(h, "timer").stat().st_mtime
    unit(h, "timer").write_text(unit(h, "timer").read_text() + "# edited\n")
    os.utime(unit(h, "timer"), (before, before))
    return h


def one_missed_night(h: Healthy) -> Healthy:
    """The machine was off last night."""
    return replace(h, now=NOW + timedelta(days=1))


def many_missed_nights(h: Healthy) -> Healthy:
    """Three nights without a run."""
    return replace(h, now=NOW + timedelta(days=3))


def failed_run(h: Healthy) -> Healthy:
    """A later run by hand failed."""
    store = Store(h.config.store_path)
    run = store.runs.begin(NOW, NOW, model="e4b", prompts={}, vault="")
    failure = {"failure": "the disk is full"}
    store.runs.finish(run, NOW, status="failed", vault="", results=failure)
    store.close()
    return h


def hanging_run(h: Healthy) -> Healthy:
    """This very process holds the lock, and began long before the clock of the examination."""
    me = psutil.Process()
    said = {"pid": me.pid, "started": me.create_time()}
    h.config.lock_path.write_text(json.dumps(said))
    return replace(h, now=NOW + timedelta(days=4000))


def killed_run(h: Healthy) -> Healthy:
    """The process in the lock file is gone."""
    h.config.lock_path.write_text(json.dumps({"pid": 2**22 + 1, "started": 1.0}))
    return h


def slow_model(h: Healthy) -> Healthy:
    """Three runs at 10 tokens a second after three at 40."""
    store = Store(h.config.store_path)
    for number, seconds in enumerate((10, 10, 10, 40, 40, 40)):
        at = NIGHT + timedelta(minutes=number + 1)
        run = store.runs.begin(at, at, model="e4b", prompts={}, vault="")
        store.runs.account(run, Call("chunk", "chunk/label", 900, 0, 400, float(seconds), "stop"))
        store.runs.finish(run, at, status="done", vault="", results={"failure": ""})
    store.close()
    return h


def given_up(h: Healthy) -> Healthy:
    """A job that failed as often as it may."""
    store = Store(h.config.store_path)
    pause = timedelta(hours=1)
    store.ledger.fail("chunk", "a", "no reply", now=NIGHT, pause=pause, max_attempts=1)
    store.close()
    return h


def no_vault(h: Healthy) -> Healthy:
    """The vault was moved."""
    h.config.vault.rename(h.home / "elsewhere")
    return h


def in_dropbox(h: Healthy) -> Healthy:
    """The vault stands, by way of a link, in a folder that is synced."""
    (h.home / "Dropbox").mkdir()
    h.config.vault.rename(h.home / "Dropbox" / "vault")
    h.config.vault.symlink_to(h.home / "Dropbox" / "vault")
    return h


def in_documents(h: Healthy) -> Healthy:
    """On a Mac, the vault stands where a scheduled job may not read."""
    (h.home / "Documents").mkdir()
    h.config.vault.rename(h.home / "Documents" / "vault")
    return replace(h.but(vault=h.home / "Documents" / "vault"), platform="darwin")


def store_in_onedrive(h: Healthy) -> Healthy:
    """The store is synced, to an account that the folder is named after."""
    place = h.home / "OneDrive - Somewhere" / "cache"
    shutil.copytree(h.config.cache_dir, place)
    return h.but(cache_dir=place)


def export_in_downloads(h: Healthy) -> Healthy:
    """On a Mac, an export was imported from where the browser put it."""
    store = Store(h.config.store_path)
    store.conversations.remember_import(h.home / "Downloads" / "export.zip", "chatgpt", NIGHT)
    store.close()
    return replace(h, platform="darwin")


def merging(h: Healthy) -> Healthy:
    """The user is in the middle of a merge."""
    git(h, "checkout", "-q", "-b", "other", "HEAD~1")
    (h.config.vault / "other.md").write_text("other")
    git(h, "add", "other.md")
    git(h, "commit", "-qm", "other")
    git(h, "merge", "-q", "--no-commit", "--no-ff", "main")
    return h


def detached(h: Healthy) -> Healthy:
    """An old commit is checked out."""
    git(h, "checkout", "-q", "--detach")
    return h


def no_repository(h: Healthy) -> Healthy:
    """The vault has lost its git."""
    (h.config.vault / ".git").rename(h.home / "git")
    return h


def left_lock(h: Healthy) -> Healthy:
    """A git was killed an hour ago."""
    lock = h.config.vault / ".git" / "index.lock"
    lock.touch()
    os.utime(lock, (time.time() - 3600, time.time() - 3600))
    return h


def left_branch_lock(h: Healthy) -> Healthy:
    """A git was killed while it moved the branch."""
    lock = h.config.vault / ".git" / "refs" / "heads" / "main.lock"
    lock.touch()
    os.utime(lock, (time.time() - 3600, time.time() - 3600))
    return h


def nobody(h: Healthy) -> Healthy:
    """Git does not know whose edits these are."""
    Path(os.environ["GIT_CONFIG_GLOBAL"]).write_text("")
    return h


def no_meta_page(h: Healthy) -> Healthy:
    """A Meta page was deleted."""
    git(h, "rm", "-q", "Meta/Chunking.md")
    git(h, "commit", "-qm", "gone")
    return h


def no_talk_folder(h: Healthy) -> Healthy:
    """Git keeps no empty folders: a cloned vault lacks them."""
    (h.config.vault / "Talk").rmdir()
    return h


def no_model(h: Healthy) -> Healthy:
    """It was never fetched."""
    return h.but(model="e2b")


def cut_weights(h: Healthy) -> Healthy:
    """The file of weights is cut short."""
    weights = h.home / "models" / "e4b" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-5])
    return h


def junk_weights(h: Healthy) -> Healthy:
    """The file of weights holds something else."""
    (h.home / "models" / "e4b" / "model.safetensors").write_text("<html>not found</html>")
    return h


def missing_model_file(h: Healthy) -> Healthy:
    """A file that the manifest names is gone."""
    folder = h.home / "models" / "e4b"
    said = json.loads((folder / "manifest.json").read_text())
    said["files"]["tokenizer.json"] = ""
    (folder / "manifest.json").write_text(json.dumps(said))
    return h


def empty_model_config(h: Healthy) -> Healthy:
    """The power went while it was written."""
    (h.home / "models" / "minilm" / "config.json").write_text("")
    return h


def damaged_store(h: Healthy) -> Healthy:
    """A page in the middle of the database is overwritten."""
    with h.config.store_path.open("r+b") as file:
        for page in range(1, 12):
            file.seek(page * 4096)
            file.write(b"\xff" * 4096)
    return h


def no_database(h: Healthy) -> Healthy:
    """The file holds something else."""
    h.config.store_path.write_text("not a database " * 1000)
    return h


def lost_store(h: Healthy) -> Healthy:
    """Somebody cleared the cache."""
    h.config.store_path.unlink()
    return h


def newer_store(h: Healthy) -> Healthy:
    """A later version was tried."""
    sql(h, "INSERT INTO _migrations VALUES ('9999_later.sql', 'x')")
    return h


def lost_table(h: Healthy) -> Healthy:
    """A table is gone, which SQLite does not mind."""
    sql(h, "DROP TABLE model_calls")
    return h


def index_behind(h: Healthy) -> Healthy:
    """A message was changed without its index."""
    sql(h, "DROP TRIGGER messages_fts_update", "UPDATE messages SET text = 'other words'")
    return h


def index_lacks_claims(h: Healthy) -> Healthy:
    """The index of the claims was emptied."""
    sql(h, "INSERT INTO claims_fts (claims_fts) VALUES ('delete-all')")
    return h


def ledger_without_chunk(h: Healthy) -> Healthy:
    """A chunk that was folded is gone."""
    sql(h, "UPDATE synthesized_bucket_chunks SET chunk_id = 'x' || chunk_id")
    return h


def ledger_without_bucket(h: Healthy) -> Healthy:
    """A topic that was folded is gone."""
    sql(h, "UPDATE synthesized_bucket_chunks SET bucket = 'x' || bucket")
    return h


def ledger_without_article(h: Healthy) -> Healthy:
    """An article that was written to is not known."""
    sql(h, "DELETE FROM articles")
    return h


def row_that_points_nowhere(h: Healthy) -> Healthy:
    """A claim of no chunk."""
    sql(
        h,
        "PRAGMA foreign_keys=OFF",
        """INSERT INTO claims (id, chunk_id, ordinal, text, messages, kind, support)
           VALUES ('c', 'none', 0, 'Words.', '[0]', 'fact', 1.0)""",
    )
    return h


def old_copy_of_the_store(h: Healthy) -> Healthy:
    """The database was put back from somewhere, and the journal knows of more."""
    newest = sorted(h.config.journal_dir.iterdir())[-1]
    newest.with_name("99999999.jsonl.zst").write_bytes(newest.read_bytes())
    newest.with_name("99999999.jsonl.zst").chmod(0o600)
    return h


def lost_archive_file(h: Healthy) -> Healthy:
    """One conversation's file is gone."""
    sorted(h.config.archive_dir.rglob("*.jsonl.zst"))[0].unlink()
    return h


def dead_citation(h: Healthy) -> Healthy:
    """A footnote that cites what was never read."""
    page = article(h)
    page.write_text(
        page.read_text() + "\n[^77]: `conv:00112233` (2026-11-26, pi, message 1) — none\n"
    )
    return h


def page_that_is_no_text(h: Healthy) -> Healthy:
    """An article that is not UTF-8."""
    article(h).write_bytes(b"\xff\xfe broken")
    return h


def full_disk(h: Healthy) -> Healthy:
    """Less room than a run asks for."""
    return h.but(night=NightConfig(min_free_gb=10**9))


def open_store(h: Healthy) -> Healthy:
    """Others may read the database."""
    h.config.store_path.chmod(0o644)
    return h


def open_archive(h: Healthy) -> Healthy:
    """Others may list a folder of the archive and read a file in it."""
    file = sorted(h.config.archive_dir.rglob("*.jsonl.zst"))[0]
    file.chmod(0o640)
    file.parent.chmod(0o755)
    return h


def open_log(h: Healthy) -> Healthy:
    """Others may read a log."""
    sorted(h.config.log_dir.iterdir())[0].chmod(0o604)
    return h


def no_log_folder(h: Healthy) -> Healthy:
    """The folder of the logs is gone."""
    for log in h.config.log_dir.iterdir():
        log.unlink()
    h.config.log_dir.rmdir()
    return h


def soon_purged(h: Healthy) -> Healthy:
    """Claude Code keeps its transcripts for two days."""
    (h.home / ".claude" / "settings.json").write_text('{"cleanupPeriodDays": 2}')
    return replace(h, now=NIGHT + timedelta(hours=6))


def purged_already(h: Healthy) -> Healthy:
    """None was read for longer than Claude Code keeps them."""
    return replace(h, now=NOW + timedelta(days=29))


def purged_elsewhere(h: Healthy) -> Healthy:
    """Its settings stand where CLAUDE_CONFIG_DIR says; zero days means none is kept."""
    folder = h.home / "claude"
    (folder / "projects").mkdir(parents=True)
    (folder / "settings.json").write_text('{"cleanupPeriodDays": 0}')
    os.environ["CLAUDE_CONFIG_DIR"] = str(folder)
    return h


def unreadable_transcript(h: Healthy) -> Healthy:
    """One could not be read."""
    store = Store(h.config.store_path)
    store.conversations.record_failure(Path("/sessions/a.jsonl"), "pi", "permission denied")
    store.close()
    return h


def nowhere_to_look(h: Healthy) -> Healthy:
    """The only source looks in a folder that is not there."""
    roots = {"pi": [h.home / "nowhere"]}
    return h.but(sources=SourcesConfig(enabled=["pi"], roots=roots))


# ------------------------------------------------------------------ and what is found then

BROKEN: list[tuple[Break, dict[str, Level]]] = [
    (broken_prompt, {"D02": FAIL}),
    (small_prompts, {"D03": WARN}),
    (another_pipeline, {"D04": FAIL}),
    (folder_of_the_same_name, {"D04": WARN}),
    (nothing_scheduled, {"D10": WARN}),
    (switched_off, {"D10": FAIL}),
    (not_loaded, {"D10": FAIL}),
    (moved_python, {"D11": FAIL}),
    (edited_schedule, {"D11": WARN}),
    (one_missed_night, {"D12": WARN}),
    (many_missed_nights, {"D12": FAIL}),
    (failed_run, {"D12": WARN}),
    (hanging_run, {"D12": FAIL, "D13": WARN, "D70": FAIL}),
    (killed_run, {"D13": WARN}),
    (slow_model, {"D14": WARN}),
    (given_up, {"D15": WARN}),
    (no_vault, {"D20": FAIL, "D24": WARN}),
    (in_dropbox, {"D21": WARN}),
    (in_documents, {"D21": FAIL}),
    (store_in_onedrive, {"D21": WARN}),
    (export_in_downloads, {"D21": FAIL}),
    (merging, {"D22": FAIL}),
    (detached, {"D22": FAIL}),
    (no_repository, {"D22": FAIL}),
    (left_lock, {"D23": FAIL}),
    (left_branch_lock, {"D23": FAIL}),
    (nobody, {"D24": WARN}),
    (no_meta_page, {"D25": WARN}),
    (no_talk_folder, {"D25": WARN}),
    (no_model, {"D30": FAIL}),
    (cut_weights, {"D30": FAIL}),
    (junk_weights, {"D30": FAIL}),
    (missing_model_file, {"D30": FAIL}),
    (empty_model_config, {"D31": FAIL}),
    (damaged_store, {"D40": FAIL}),
    (no_database, {"D40": FAIL}),
    (lost_store, {"D40": FAIL}),
    (newer_store, {"D40": FAIL}),
    (lost_table, {"D14": FAIL}),
    (index_behind, {"D41": FAIL}),
    (index_lacks_claims, {"D41": FAIL}),
    (ledger_without_chunk, {"D42": WARN}),
    (ledger_without_bucket, {"D42": WARN}),
    (ledger_without_article, {"D42": WARN}),
    (row_that_points_nowhere, {"D42": WARN}),
    (old_copy_of_the_store, {"D43": FAIL}),
    (lost_archive_file, {"D50": FAIL}),
    (dead_citation, {"D51": WARN}),
    (page_that_is_no_text, {"D51": FAIL}),
    (full_disk, {"D60": FAIL}),
    (open_store, {"D61": FAIL}),
    (open_archive, {"D61": FAIL}),
    (open_log, {"D61": FAIL}),
    (no_log_folder, {"D62": WARN}),
    (soon_purged, {"D70": WARN}),
    (purged_already, {"D12": FAIL, "D70": FAIL}),
    (purged_elsewhere, {"D11": WARN, "D70": WARN}),
    (unreadable_transcript, {"D71": WARN}),
    (nowhere_to_look, {"D71": WARN}),
]


@pytest.mark.parametrize(("breaks", "expected"), BROKEN, ids=[b.__name__ for b, _ in BROKEN])
def test_what_is_broken_is_found(
    healthy: Healthy,
    breaks: Break,
    expected: dict[str, Level],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """That and nothing else, with a cure."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "")
    found = breaks(healthy).examine()
    assert wrong(found) == expected
    assert all(found[code].what and found[code].cure for code in expected)


def test_on_a_healthy_machine_all_is_well(healthy: Healthy) -> None:
    """After a night every check says ok."""
    found = healthy.examine()
    assert list(found) == sorted(check.code for check in CHECKS)
    assert wrong(found) == {}


def test_every_check_is_seen_to_fail() -> None:
    """No check is without something that breaks it, and no two have one code."""
    codes = [check.code for check in CHECKS]
    assert len(set(codes)) == len(codes)
    assert set(codes) == {code for _, expected in BROKEN for code in expected}


# ------------------------------------------------------------------ --fix

MENDED: list[tuple[Break, str]] = [
    (left_lock, "D23"),
    (left_branch_lock, "D23"),
    (no_meta_page, "D25"),
    (no_talk_folder, "D25"),
    (damaged_store, "D40"),
    (no_database, "D40"),
    (lost_store, "D40"),
    (index_behind, "D41"),
    (index_lacks_claims, "D41"),
    (lost_archive_file, "D50"),
    (open_store, "D61"),
    (open_archive, "D61"),
    (open_log, "D61"),
    (no_log_folder, "D62"),
]


@pytest.mark.parametrize(("breaks", "code"), MENDED, ids=[b.__name__ for b, _ in MENDED])
def test_what_is_safe_is_mended(healthy: Healthy, breaks: Break, code: str) -> None:
    """It says what it did, and then all is well."""
    broken = breaks(healthy)
    done = broken.mend()
    assert list(done) == [code] and done[code]
    assert wrong(broken.examine()) == {}


def test_every_mend_is_seen_to_work() -> None:
    """No check claims to mend without a test of it."""
    assert {code for _, code in MENDED} == {c.code for c in CHECKS if c.mend is not None}


def test_on_a_healthy_machine_nothing_is_mended(healthy: Healthy) -> None:
    """No file is changed."""

    def state() -> dict[Path, tuple[bytes, int]]:
        every = [path for path in healthy.home.rglob("*") if path.is_file()]
        return {path: (path.read_bytes(), path.stat().st_mode) for path in every}

    before = state()
    assert healthy.mend() == {}
    assert state() == before


def test_nothing_is_mended_while_a_run_is_at_work(healthy: Healthy) -> None:
    """It would be done under the run's hands."""
    open_store(healthy)
    with one_run(healthy.config.lock_path), healthy.config.lock_path.open() as file:
        # the lock is the process's own; another process is who would be kept out
        assert file
        done = subprocess.run(
            [sys.executable, "-m", "pipeline", "doctor", "--fix"],
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | {"MEMORY_MODEL": "e4b"},
        )
    assert done.returncode == BusyFault.exit_code
    assert healthy.config.store_path.stat().st_mode & 0o777 == 0o644


def test_a_lock_that_a_git_holds_stays(healthy: Healthy) -> None:
    """However old the lock is, while a git works in the vault it is that git's."""
    left_lock(healthy)
    at_work = subprocess.Popen(
        ["git", "cat-file", "--batch"], cwd=healthy.config.vault, stdin=subprocess.PIPE
    )
    try:
        assert wrong(healthy.examine()) == {}
        assert healthy.mend() == {}
    finally:
        at_work.communicate(b"")
    assert (healthy.config.vault / ".git" / "index.lock").exists()


def test_a_fresh_lock_stays(healthy: Healthy) -> None:
    """It may be of a git that just ended."""
    (healthy.config.vault / ".git" / "index.lock").touch()
    assert wrong(healthy.examine()) == {}


def test_a_store_that_is_not_damaged_is_not_made_anew(healthy: Healthy) -> None:
    """One of a newer version is left as it is, to the byte."""
    newer_store(healthy)
    before = healthy.config.store_path.read_bytes()
    assert "not damaged" in healthy.mend()["D40"]
    assert healthy.config.store_path.read_bytes() == before


def test_the_damaged_store_is_kept(healthy: Healthy) -> None:
    """What is made anew takes its place; the old bytes stand beside it."""
    no_database(healthy)
    damaged = healthy.config.store_path.read_bytes()
    healthy.mend()
    beside = [p for p in healthy.config.cache_dir.glob("memory.sqlite.*") if p.is_file()]
    assert damaged in [path.read_bytes() for path in beside]


def test_what_the_archive_gets_back_is_what_it_had(healthy: Healthy) -> None:
    """The same messages, word for word."""
    archive = Archive(healthy.config.archive_dir)
    before = {conv: archive.read(conv) for conv in archive.convs()}
    lost_archive_file(healthy)
    healthy.mend()
    assert {conv: archive.read(conv) for conv in archive.convs()} == before


def test_a_page_put_back_is_committed_by_itself(healthy: Healthy) -> None:
    """What the user has staged does not go with it."""
    no_meta_page(healthy)
    page = article(healthy)
    page.write_text(page.read_text() + "\nMy own words.\n")
    git(healthy, "add", page.relative_to(healthy.config.vault).as_posix())
    healthy.mend()
    changed = subprocess.run(
        ["git", "show", "--name-only", "--format=", "HEAD"],
        cwd=healthy.config.vault,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert changed == ["Meta/Chunking.md"]


# ------------------------------------------------------------------ what is not broken


def test_a_citation_in_code_is_none(healthy: Healthy) -> None:
    """An article may show how a citation is written."""
    page = article(healthy)
    example = "[^1]: `conv:00112233` (2026-11-26, pi, message 1) — none"
    page.write_text(page.read_text() + f"\n```\n{example}\n```\n")
    assert wrong(healthy.examine()) == {}


def test_the_archive_alone_answers_for_a_citation(healthy: Healthy) -> None:
    """What the store has lost can still be opened."""
    sql(healthy, "PRAGMA foreign_keys=ON", "DELETE FROM conversations")
    assert "D51" not in wrong(healthy.examine())


def test_a_run_at_work_is_not_in_the_way(healthy: Healthy) -> None:
    """A writer holds the database: the doctor looks at the rest, and waits for nothing."""
    me = psutil.Process()
    said = json.dumps({"pid": me.pid, "started": me.create_time()})
    healthy.config.lock_path.write_text(said)
    writer = sqlite3.connect(healthy.config.store_path, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    try:
        found = healthy.examine()
    finally:
        writer.close()
    assert "at work" in found["D41"].what
    assert wrong({code: one for code, one in found.items() if code != "D13"}) == {}


def test_before_the_first_run_nothing_is_wrong_or_made(healthy: Healthy) -> None:
    """No store, no archive, no logs: that is no fault of a new machine."""
    place = healthy.home / "new"
    new = healthy.but(cache_dir=place / "cache", data_dir=place / "data")
    shutil.rmtree(healthy.config.log_dir)
    for page in (healthy.config.vault / "articles").iterdir():
        page.unlink()
    assert wrong(replace(new, now=NIGHT - timedelta(hours=1)).examine()) == {}
    assert not place.exists() and not healthy.config.log_dir.exists()


def test_guarded_folders_are_those_of_a_mac(healthy: Healthy) -> None:
    """Elsewhere a vault in Documents is as good as any."""
    assert wrong(replace(in_documents(healthy), platform="linux").examine()) == {}


def test_folders_that_sound_alike_are_not_guarded(healthy: Healthy) -> None:
    """Only the very folders are."""
    for name in ("Documents old", "Dropboxes", "Desktop2"):
        place = healthy.home / name / "vault"
        shutil.copytree(healthy.config.vault, place)
        assert wrong(replace(healthy.but(vault=place), platform="darwin").examine()) == {}


def test_what_was_forgotten_is_not_missed_in_the_ledger(healthy: Healthy) -> None:
    """The ledger outlives what the user had forgotten; only the citations are told."""
    archive = Archive(healthy.config.archive_dir)
    (conv, *_) = archive.convs()
    done = subprocess.run(
        [sys.executable, "-m", "pipeline", "forget", f"conv:{conv}", "--yes"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert conv not in archive.convs(), done.stderr
    assert wrong(healthy.examine()) == {"D51": WARN}


def test_without_claude_code_nothing_is_purged(healthy: Healthy) -> None:
    """Its transcripts are not there: nobody deletes them."""
    shutil.rmtree(healthy.home / ".claude")
    late = replace(healthy, now=NOW + timedelta(days=60))
    assert wrong(late.examine()) == {"D12": FAIL}


def test_no_embedder_is_no_fault(healthy: Healthy) -> None:
    """`none` is a setting."""
    assert wrong(healthy.but(embedder="none").examine()) == {}


def test_the_users_own_model_is_looked_at_too(healthy: Healthy, tmp_path: Path) -> None:
    """A folder without a manifest is sound if its index and weights are."""
    folder = tmp_path / "own"
    folder.mkdir()
    for name in ("config.json", "model.safetensors"):
        (folder / name).write_bytes((healthy.home / "models" / "e4b" / name).read_bytes())
    own = healthy.but(model=str(folder))
    assert wrong(own.examine()) == {}
    index = {"weight_map": {"weight": "model-00002-of-00002.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    assert wrong(own.examine()) == {"D30": FAIL}


# ------------------------------------------------------------------ the command


def memory(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command as a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "pipeline", "doctor", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_broken_configuration_is_the_only_finding(home: Path) -> None:
    """Nothing else can be looked at; exit 14, in JSON too."""
    file = home / ".config" / "nightly-memory" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text("modle = 'e4b'\n")
    done = memory("--json")
    assert done.returncode == errors.EXIT_UNSOUND == 14
    said = json.loads(done.stdout)
    assert not said["ok"]
    (finding,) = said["findings"]
    assert finding["code"] == doctor.SETTINGS and finding["level"] == "fail"
    assert "modle" in finding["what"] and "`model`" in finding["cure"]


def test_settings_that_cannot_be_read_are_a_finding() -> None:
    """Whatever the reason."""

    def refused() -> None:
        raise PermissionError(13, "Permission denied", "config.toml")

    config, finding = settings(refused)  # type: ignore[arg-type]
    assert config is None and finding.level is FAIL and "Permission denied" in finding.what

    def wrong_key() -> None:
        raise ConfigFault("unknown key", mend="take it away")

    config, finding = settings(wrong_key)  # type: ignore[arg-type]
    assert config is None and finding.cure == "take it away"


def test_warnings_alone_are_no_failure(healthy: Healthy, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit 0 with warnings, 14 with a failure; each finding on a line with its code and cure."""
    monkeypatch.setenv("MEMORY_MODEL", "e4b")
    # systemd is not asked for the truth here: what it says of this machine does not matter
    open_store(healthy)
    done = memory()
    lines = done.stdout.splitlines()
    assert done.returncode == 14
    (at,) = [number for number, line in enumerate(lines) if line.startswith("fail  D61")]
    assert lines[at + 1].strip() == "cure: memory doctor --fix"
    mended = memory("--fix")
    assert mended.stdout.splitlines()[0].startswith("did   D61")
    said = json.loads(memory("--json").stdout)
    levels = {finding["code"]: finding["level"] for finding in said["findings"]}
    assert levels["D61"] == "ok" and levels["D01"] == "ok"
    assert said["ok"] == ("fail" not in levels.values())


def test_a_check_that_cannot_look_says_so(healthy: Healthy) -> None:
    """An error of the system is a finding of that check, not the end of the examination."""
    healthy.config.lock_path.mkdir()
    found = healthy.examine()
    assert wrong(found) == {"D13": FAIL}
    assert str(healthy.config.lock_path) in found["D13"].what


def test_machines_close_what_they_open(healthy: Healthy) -> None:
    """The files of the WAL are folded in again."""
    with healthy.machine() as machine:
        assert isinstance(machine, Machine) and machine.store is not None
        assert Vault(machine.config.vault).stems()
    assert not healthy.config.store_path.with_name("memory.sqlite-wal").exists()


def test_the_lock_is_not_taken_by_looking(healthy: Healthy) -> None:
    """A run that begins at that moment gets it."""
    with healthy.machine() as machine:
        doctor.examine(machine)
        with healthy.config.lock_path.open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
