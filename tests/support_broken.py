"""A healthy machine with one thing broken: each in its own way, by what really breaks it."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import psutil

from pipeline.records import Call
from pipeline.resources import folder
from pipeline.store import Store
from pipeline.tables import NightConfig, SourcesConfig
from tests.support_health import NOW, Healthy, Systemd
from tests.support_night import NIGHT


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


def outdated_prompt(h: Healthy) -> Healthy:
    """A prompt of the user's own with an answer of another form than is read."""
    shipped = (folder("prompts") / "synthesize" / "compose.md").read_text("utf-8")
    own = h.home / ".config" / "nightly-memory" / "prompts" / "synthesize" / "compose.md"
    own.parent.mkdir(parents=True)
    own.write_text(shipped.replace('{"sentences":[', '{"notes":['), "utf-8")
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
    store.attempts.fail("chunk", "a", "no reply", now=NIGHT, pause=pause, max_attempts=1)
    store.close()
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


def log_folder_is_a_file(h: Healthy) -> Healthy:
    """A file stands where the folder of the logs should be."""
    shutil.rmtree(h.config.log_dir)
    h.config.log_dir.touch(mode=0o600)
    return h


def log_folder_is_a_link(h: Healthy) -> Healthy:
    """The logs' folder was moved elsewhere and linked."""
    elsewhere = h.home / "elsewhere"
    h.config.log_dir.rename(elsewhere)
    h.config.log_dir.symlink_to(elsewhere)
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
