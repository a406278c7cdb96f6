"""The doctor: sees each thing that can be broken, by its code, and mends what is safe to mend."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import psutil
import pytest

from pipeline import doctor, errors
from pipeline.archive import Archive
from pipeline.config import load_config
from pipeline.doctor import CHECKS, Level, Machine, places, settings
from pipeline.errors import BusyFault, ConfigFault
from pipeline.lock import one_run
from pipeline.vault import Vault
from tests import support_broken as broken
from tests import support_broken_vault as broken_vault
from tests import support_command
from tests.support_health import NOW, Healthy, healthy, kept, wrong
from tests.support_night import NIGHT

Break = Callable[[Healthy], Healthy]
WARN, FAIL = Level.WARN, Level.FAIL
__all__ = ["healthy", "kept"]  # fixtures


BROKEN: list[tuple[Break, dict[str, Level]]] = [
    (broken.broken_prompt, {"D02": FAIL}),
    (broken.outdated_prompt, {"D02": WARN}),
    (broken.small_prompts, {"D03": WARN}),
    (broken.another_pipeline, {"D04": FAIL}),
    (broken.folder_of_the_same_name, {"D04": WARN}),
    (broken.nothing_scheduled, {"D10": WARN}),
    (broken.switched_off, {"D10": FAIL}),
    (broken.not_loaded, {"D10": FAIL}),
    (broken.moved_python, {"D11": FAIL}),
    (broken.edited_schedule, {"D11": WARN}),
    (broken.one_missed_night, {"D12": WARN}),
    (broken.many_missed_nights, {"D12": FAIL}),
    (broken.failed_run, {"D12": WARN}),
    (broken.hanging_run, {"D12": FAIL, "D13": WARN, "D70": FAIL}),
    (broken.killed_run, {"D13": WARN}),
    (broken.slow_model, {"D14": WARN}),
    (broken.given_up, {"D15": WARN}),
    (broken_vault.no_vault, {"D20": FAIL}),
    (broken_vault.in_dropbox, {"D21": WARN}),
    (broken_vault.in_documents, {"D21": FAIL}),
    (broken_vault.store_in_onedrive, {"D21": WARN}),
    (broken_vault.export_in_downloads, {"D21": FAIL}),
    (broken_vault.merging, {"D22": FAIL}),
    (broken_vault.detached, {"D22": FAIL}),
    (broken_vault.no_repository, {"D22": FAIL}),
    (broken_vault.left_lock, {"D23": FAIL}),
    (broken_vault.left_branch_lock, {"D23": FAIL}),
    (broken_vault.nobody, {"D24": WARN}),
    (broken_vault.no_meta_page, {"D25": WARN}),
    (broken_vault.no_talk_folder, {"D25": WARN}),
    (broken_vault.put_back, {"D25": WARN, "D26": WARN}),
    (broken_vault.committed_conflict, {"D27": WARN}),
    (broken_vault.committed_conflict_of_topics, {"D27": WARN}),
    (broken_vault.footnotes_of_both_sides, {"D28": WARN}),
    (broken_vault.copy_of_a_syncer, {"D29": WARN}),
    (broken_vault.copy_of_icloud, {"D29": WARN}),
    (broken.no_model, {"D30": FAIL}),
    (broken.cut_weights, {"D30": FAIL}),
    (broken.junk_weights, {"D30": FAIL}),
    (broken.missing_model_file, {"D30": FAIL}),
    (broken.empty_model_config, {"D31": FAIL}),
    (broken.damaged_store, {"D40": FAIL}),
    (broken.no_database, {"D40": FAIL}),
    (broken.lost_store, {"D40": FAIL}),
    (broken.newer_store, {"D40": FAIL}),
    (broken.lost_table, {"D14": FAIL}),
    (broken.index_behind, {"D41": FAIL}),
    (broken.index_lacks_claims, {"D41": FAIL}),
    (broken.ledger_without_chunk, {"D42": WARN}),
    (broken.ledger_without_bucket, {"D42": WARN}),
    (broken.ledger_without_article, {"D42": WARN}),
    (broken.row_that_points_nowhere, {"D42": WARN}),
    (broken.old_copy_of_the_store, {"D43": FAIL}),
    (broken.lost_archive_file, {"D50": FAIL}),
    (broken.dead_citation, {"D51": WARN}),
    (broken.page_that_is_no_text, {"D51": FAIL}),
    (broken.full_disk, {"D60": FAIL}),
    (broken.open_store, {"D61": FAIL}),
    (broken.open_archive, {"D61": FAIL}),
    (broken.open_log, {"D61": FAIL}),
    (broken.no_log_folder, {"D62": WARN}),
    (broken.log_folder_is_a_file, {"D62": FAIL}),
    (broken.log_folder_is_a_link, {"D62": WARN}),
    (broken.soon_purged, {"D70": WARN}),
    (broken.purged_already, {"D12": FAIL, "D70": FAIL}),
    (broken.purged_elsewhere, {"D11": WARN, "D70": WARN}),
    (broken.unreadable_transcript, {"D71": WARN}),
    (broken.nowhere_to_look, {"D71": WARN}),
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
    (broken_vault.left_lock, "D23"),
    (broken_vault.left_branch_lock, "D23"),
    (broken_vault.no_meta_page, "D25"),
    (broken_vault.no_talk_folder, "D25"),
    (broken.damaged_store, "D40"),
    (broken.no_database, "D40"),
    (broken.lost_store, "D40"),
    (broken.index_behind, "D41"),
    (broken.index_lacks_claims, "D41"),
    (broken.lost_archive_file, "D50"),
    (broken.open_store, "D61"),
    (broken.open_archive, "D61"),
    (broken.open_log, "D61"),
    (broken.no_log_folder, "D62"),
]


@pytest.mark.parametrize(("breaks", "code"), MENDED, ids=[b.__name__ for b, _ in MENDED])
def test_what_is_safe_is_mended(healthy: Healthy, breaks: Break, code: str) -> None:
    """It says what it did, and then all is well."""
    sick = breaks(healthy)
    done = sick.mend()
    assert list(done) == [code] and done[code]
    assert wrong(sick.examine()) == {}


def test_every_mend_is_seen_to_work() -> None:
    """No check claims to mend without a test of it."""
    assert {code for _, code in MENDED} == {c.code for c in CHECKS if c.mend is not None}


def test_folders_that_no_run_has_needed_are_not_missed(home: Path) -> None:
    """After `memory init`, and after a night without transcripts, there is nothing to mend."""
    assert not list(home.rglob("*.jsonl"))
    for command in ("init", "synthesize"):
        assert support_command.memory(command).returncode == 0
        with Machine(load_config()) as machine:
            assert places.folders(machine).level is Level.OK


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
    broken.open_store(healthy)
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
    broken_vault.left_lock(healthy)
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
    broken.newer_store(healthy)
    before = healthy.config.store_path.read_bytes()
    assert "not damaged" in healthy.mend()["D40"]
    assert healthy.config.store_path.read_bytes() == before


def test_the_damaged_store_is_kept(healthy: Healthy) -> None:
    """What is made anew takes its place; the old bytes stand beside it."""
    broken.no_database(healthy)
    damaged = healthy.config.store_path.read_bytes()
    healthy.mend()
    beside = [p for p in healthy.config.cache_dir.glob("memory.sqlite.*") if p.is_file()]
    assert damaged in [path.read_bytes() for path in beside]


def test_what_the_archive_gets_back_is_what_it_had(healthy: Healthy) -> None:
    """The same messages, word for word."""
    archive = Archive(healthy.config.archive_dir)
    before = {conv: archive.read(conv) for conv in archive.convs()}
    broken.lost_archive_file(healthy)
    healthy.mend()
    assert {conv: archive.read(conv) for conv in archive.convs()} == before


def test_a_page_put_back_is_committed_by_itself(healthy: Healthy) -> None:
    """What the user has staged does not go with it."""
    broken_vault.no_meta_page(healthy)
    page = broken.article(healthy)
    page.write_text(page.read_text() + "\nMy own words.\n")
    broken.git(healthy, "add", page.relative_to(healthy.config.vault).as_posix())
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
    page = broken.article(healthy)
    example = "[^1]: `conv:00112233` (2026-11-26, pi, message 1) — none"
    page.write_text(page.read_text() + f"\n```\n{example}\n```\n")
    assert wrong(healthy.examine()) == {}


def test_the_archive_alone_answers_for_a_citation(healthy: Healthy) -> None:
    """What the store has lost can still be opened."""
    broken.sql(healthy, "PRAGMA foreign_keys=ON", "DELETE FROM conversations")
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
    assert wrong(replace(broken_vault.in_documents(healthy), platform="linux").examine()) == {}


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
    done = support_command.memory("forget", f"conv:{conv}", "--yes")
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
    """The doctor's command."""
    return support_command.memory("doctor", *arguments)


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
    broken.open_store(healthy)
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
