"""A backup holds everything that cannot be made again, and comes back to the byte."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from pipeline import sqlite
from pipeline.config import Config, config_path, load_config
from pipeline.errors import ConfigFault, StoreFault
from pipeline.history import History
from pipeline.keeping import backing_up
from pipeline.keeping.backing_up import backup, digest_of, known_backups
from pipeline.keeping.putting_back import restore
from pipeline.store import Store
from tests.support_command import printed as memory
from tests.support_night import NIGHT, files, make_vault, run_night, write_sessions
from tests.support_rebuild import DAY, assert_silent, contents


@pytest.fixture
def config(home: Path) -> Config:
    """A vault after its first night, settings, and edits of every kind that are not committed."""
    write_sessions(home)
    config_path().parent.mkdir(parents=True)
    config_path().write_text('embedder = "none"\nsince_days = "all"\ntimezone = "UTC"\n')
    (config_path().parent / "prompts").mkdir()
    (config_path().parent / "prompts" / "own.md").write_text("mine")
    config = make_vault()
    run_night(config)
    pages = sorted((config.vault / "articles").glob("*.md"))
    pages[0].write_bytes(pages[0].read_bytes() + b"\r\nMine, with an odd \xc3\xa9nd\r\n")
    pages[1].unlink()
    (config.vault / ".gitattributes").write_text("* text=auto eol=lf\n")
    (config.vault / "notes").mkdir()
    (config.vault / "notes" / "picture.png").write_bytes(bytes(range(256)))
    (config.vault / "notes" / "link.md").symlink_to("../README.md")
    (config.vault / ".obsidian").mkdir()
    (config.vault / ".obsidian" / "workspace.json").write_text("{}")
    return config


def git(vault: Path, *arguments: str) -> str:
    """What git says of a repository."""
    done = subprocess.run(
        ["git", "-C", str(vault), *arguments], check=True, capture_output=True, text=True
    )
    return done.stdout


def new_home(path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Another machine: nothing of ours is on it."""
    path.mkdir()
    monkeypatch.setenv("HOME", str(path))
    for name, place in (
        ("XDG_CONFIG_HOME", ".config"),
        ("XDG_CACHE_HOME", ".cache"),
        ("XDG_DATA_HOME", ".local/share"),
    ):
        monkeypatch.setenv(name, str(path / place))
    return path


def test_a_backup_comes_back_to_the_byte_on_an_empty_home(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files, links, commits, branches, rows and settings; the night after has nothing to do."""
    History(config.vault).commit_user_edits([".gitattributes"])
    git(config.vault, "branch", "mine", "HEAD~1")
    vault, rows, data = files(config.vault), contents(config.store_path), files(config.data_dir)
    log, status = git(config.vault, "log", "--all"), git(config.vault, "status", "--porcelain")
    assert status  # edits that are not committed are what this is about
    made = Path(json.loads(memory("backup", str(tmp_path / "disk"), "--json"))["backup"])
    new_home(tmp_path / "other", monkeypatch)
    memory("restore", str(made))
    there = load_config()
    assert there.embedder == "none"
    assert there.vault == tmp_path / "other" / "MemoryVault"
    assert (config_path().parent / "prompts" / "own.md").read_text() == "mine"
    assert files(there.vault) == vault
    assert (there.vault / "notes" / "link.md").readlink() == Path("../README.md")
    assert contents(there.store_path) == rows
    assert files(there.data_dir).items() >= data.items()
    assert git(there.vault, "log", "--all") == log
    assert git(there.vault, "status", "--porcelain") == status
    assert git(there.vault, "branch", "--show-current").strip() == "main"
    assert (there.vault / "Talk").is_dir()  # without a page, so in no commit
    git(there.vault, "fsck", "--strict")


def test_what_was_closed_to_others_comes_back_closed(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the backup nor what it is put back to has a folder that others can read."""
    made = Path(json.loads(memory("backup", str(tmp_path / "disk"), "--json"))["backup"])
    new_home(tmp_path / "other", monkeypatch)
    memory("restore", str(made))
    for place in (made, load_config().data_dir):
        folders = [place, *(path for path in place.rglob("*") if path.is_dir())]
        assert len(folders) > 4  # the archive has its folders by source, year and month
        assert [path for path in folders if path.lstat().st_mode & 0o077] == []


def test_the_night_after_a_restore_is_silent(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is asked or written again, though the transcripts lie elsewhere now."""
    write_sessions(home)
    config = make_vault()
    run_night(config)
    made = backup(config, tmp_path / "disk").path
    write_sessions(new_home(tmp_path / "other", monkeypatch))
    there = load_config(timezone="UTC", since_days="all")
    restore(made, there)
    assert_silent(there, at=DAY)


def test_the_list_of_hashes_is_of_every_file(config: Config, tmp_path: Path) -> None:
    """What is in the folder and what is in the manifest are the same."""
    made = backup(config, tmp_path / "disk").path
    manifest = json.loads((made / "manifest.json").read_text())
    there = {p.relative_to(made).as_posix() for p in made.rglob("*") if not p.is_dir()}
    assert there == {*manifest["files"], "manifest.json"}
    assert made.stat().st_mode & 0o777 == 0o700


def test_a_backup_overwrites_nothing(config: Config, tmp_path: Path) -> None:
    """The same second twice: the second is refused, the first stays as it is."""
    made = backup(config, tmp_path / "disk", now=lambda: NIGHT).path
    before = files(made)
    with pytest.raises(ConfigFault, match="already"):
        backup(config, tmp_path / "disk", now=lambda: NIGHT)
    assert files(made) == before


def test_a_backup_is_not_put_into_what_it_is_of(config: Config) -> None:
    """It would be part of the next one, and of the wiki."""
    for place in (config.vault / "backups", config.data_dir, config.cache_dir / "x"):
        with pytest.raises(ConfigFault, match="inside"):
            backup(config, place)


def test_a_backup_that_fails_leaves_no_half(config: Config, tmp_path: Path) -> None:
    """A damaged database is told of, and nothing that looks like a backup is there."""
    config.store_path.write_bytes(b"no database at all" * 1000)
    (tmp_path / "disk").mkdir()
    with pytest.raises(StoreFault):
        backup(config, tmp_path / "disk")
    assert list((tmp_path / "disk").iterdir()) == []


@pytest.mark.parametrize("harm", ["changed", "missing"])
def test_a_damaged_backup_puts_nothing_back(config: Config, tmp_path: Path, harm: str) -> None:
    """One file is not as it was written: it is named, and every place stays as it is."""
    made = backup(config, tmp_path / "disk").path
    victim = sorted((made / "data").rglob("*.zst"))[0]
    if harm == "changed":
        victim.write_bytes(victim.read_bytes()[:-1] + b"x")
    else:
        victim.unlink()
    before = files(config.vault, git=True), files(config.data_dir)
    with pytest.raises(StoreFault, match=harm):
        restore(made, config, force=True)
    assert (files(config.vault, git=True), files(config.data_dir)) == before


def test_a_manifest_cannot_write_elsewhere(config: Config, tmp_path: Path) -> None:
    """A name that leads out of the backup is refused."""
    made = backup(config, tmp_path / "disk").path
    manifest = json.loads((made / "manifest.json").read_text())
    (made.parent / "evil").write_text("x")
    entry = manifest["files"].pop("config/config.toml")
    manifest["files"]["vault/../../evil"] = entry
    (made / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(StoreFault, match="outside"):
        restore(made, config, force=True)
    del manifest["files"]["vault/../../evil"]
    (made / "vault" / "away").symlink_to(made.parent)
    manifest["files"]["vault/away"] = {"link": str(made.parent)}
    manifest["files"]["vault/away/evil"] = entry
    (made / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(StoreFault, match="outside"):
        restore(made, config, force=True)


def test_what_is_newer_stays_unless_forced(config: Config, tmp_path: Path) -> None:
    """Work since the backup is not put away by accident; by intent it is kept aside."""
    made = backup(config, tmp_path / "disk").path
    page = next((config.vault / "articles").glob("*.md"))
    page.write_text("written since")
    later = time.time() + 5
    os.utime(page, (later, later))
    with pytest.raises(ConfigFault, match="newer"):
        restore(made, config)
    assert page.read_text() == "written since"
    done = restore(made, config, force=True)
    (vault,) = [part for part in done if part.name == "vault"]
    assert vault.aside is not None
    assert (vault.aside / page.relative_to(config.vault)).read_text() == "written since"
    assert page.read_text() != "written since"
    assert_silent_after(config)


def assert_silent_after(config: Config) -> None:
    """The database that was put back is one a night can work with."""
    assert run_night(config, at=NIGHT + DAY).status in ("done", "nothing")


def test_a_killed_restore_is_done_again(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed between two parts, nothing is lost; the same command puts the rest in place."""
    made = backup(config, tmp_path / "disk").path
    vault, rows = files(config.vault), contents(config.store_path)
    real = Path.rename

    def killed(self: Path, target: Path) -> Path:
        if self.name == ".MemoryVault.restoring":
            raise KeyboardInterrupt
        return real(self, target)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Path, "rename", killed)
        restore(made, config, force=True)
    (aside,) = config.vault.parent.glob("MemoryVault.before-*")
    assert files(aside) == vault
    restore(made, config)
    assert files(config.vault) == vault
    assert contents(config.store_path) == rows


def test_a_dry_run_says_where_the_parts_would_go(config: Config, tmp_path: Path) -> None:
    """And puts nothing there."""
    made = backup(config, tmp_path / "disk").path
    config.lock_path.touch()
    before = files(config.vault.parent, git=True)
    told = json.loads(memory("restore", str(made), "--dry-run", "--json"))
    assert {part["part"]: part["place"] for part in told}["vault"] == str(config.vault)
    assert files(config.vault.parent, git=True) == before


def test_what_is_no_backup_is_refused(config: Config, tmp_path: Path) -> None:
    """A folder without a manifest is named."""
    with pytest.raises(ConfigFault, match="no backup"):
        restore(tmp_path, config)


# ------------------------------------------------------------------ places that are not as usual


def test_a_link_does_not_hide_that_the_place_is_inside(config: Config, tmp_path: Path) -> None:
    """By whatever name: a backup within the vault would be part of the wiki."""
    link = tmp_path / "link"
    link.symlink_to(config.vault)
    for place in (link, link / "deep" / "er", tmp_path / "x" / ".." / "link"):
        with pytest.raises(ConfigFault, match="inside"):
            backup(config, place)
    assert not list(config.vault.glob("nightly-memory-*"))


def test_an_archive_on_another_disk_is_in_the_backup(config: Config, tmp_path: Path) -> None:
    """Where the folder is a link, what it leads to is kept: the link alone would bring nothing."""
    other = config.archive_dir.rename(tmp_path / "disk")
    config.archive_dir.symlink_to(other)
    made = backup(config, tmp_path / "backups").path
    assert files(made / "data" / "archive") == files(other)
    assert not (made / "data" / "archive").is_symlink()


def test_a_full_disk_is_said_so(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where SQLite finds it out: a fault that names the place, and no half of a backup."""

    def full(*_: object) -> None:
        raise sqlite.Error("database or disk is full")

    class Full:
        """A database that cannot be copied."""

        def __init__(self, path: Path) -> None:
            self._connection = sqlite.connect(path)
            self.backup = full

        def close(self) -> None:
            self._connection.close()

    monkeypatch.setattr(backing_up, "connect", Full)
    with pytest.raises(StoreFault, match="full"):
        backup(config, tmp_path / "disk")
    assert list((tmp_path / "disk").iterdir()) == []


def test_what_a_killed_backup_left_is_cleared_away(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its half folder holds what was said: it is known, and the next backup deletes it."""
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(backing_up, "_listed", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
        patch.setattr(shutil, "rmtree", lambda *_, **__: None)
        backup(config, tmp_path / "disk", now=lambda: NIGHT)
    (half,) = (tmp_path / "disk").iterdir()
    assert known_backups(config) == [half]
    made = backup(config, tmp_path / "elsewhere").path
    assert not half.exists()
    assert known_backups(config) == [made]


def test_a_vault_in_a_merge_and_on_no_branch_is_backed_up(config: Config, tmp_path: Path) -> None:
    """The files as they stand, conflict marks included, and every commit of both sides."""
    History(config.vault).commit_user_edits([".gitattributes"])
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    page = config.vault / "README.md"
    git(config.vault, "switch", "-q", "-c", "side")
    page.write_text("one\n")
    git(config.vault, *who, "commit", "-q", "-m", "one", "README.md")
    git(config.vault, "switch", "-q", "--detach", "main")
    page.write_text("two\n")
    git(config.vault, *who, "commit", "-q", "-m", "two", "README.md")
    done = subprocess.run(
        ["git", "-C", str(config.vault), *who, "merge", "side"], check=False, capture_output=True
    )
    assert done.returncode == 1, done.stderr
    vault, log = files(config.vault), git(config.vault, "log", "--all", "HEAD")
    made = backup(config, tmp_path / "disk").path
    restore(made, config, force=True)
    assert files(config.vault) == vault
    assert git(config.vault, "log", "--all", "HEAD") == log
    assert git(config.vault, "branch", "--show-current") == ""


@pytest.mark.parametrize("layout", ["all below the data", "one folder", "data in the vault"])
def test_places_within_each_other_come_back(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layout: str
) -> None:
    """Store, data, vault and models, however they lie: each is put back, none goes with another."""
    data = home / "nm"
    vault, cache = {
        "all below the data": (data / "vault", data / "cache"),
        "one folder": (home / "MemoryVault", data),
        "data in the vault": (home / "wiki", home / "cache"),
    }[layout]
    if layout == "data in the vault":
        data = vault / ".nm"
    monkeypatch.setenv("MEMORY_VAULT", str(vault))
    monkeypatch.setenv("MEMORY_CACHE_DIR", str(cache))
    monkeypatch.setenv("MEMORY_DATA_DIR", str(data))
    monkeypatch.setenv("MEMORY_MODELS_DIR", str(cache / "models"))
    write_sessions(home)
    config = make_vault()
    run_night(config)
    (config.models_dir / "some").mkdir(parents=True)
    (config.models_dir / "some" / "weights").write_text("heavy")
    pages, rows = files(config.vault / "articles"), contents(config.store_path)
    journal = files(config.journal_dir)
    made = backup(config, tmp_path / "disk").path
    assert not [path for path in made.rglob("*") if path.name == "weights"]
    assert len(list(made.rglob("memory.sqlite"))) == 1
    run_night(config, at=NIGHT + DAY)
    for _ in range(2):
        restore(made, config, force=True)
        assert files(config.vault / "articles") == pages
        assert contents(config.store_path) == rows
        assert files(config.journal_dir) == journal
        assert (config.models_dir / "some" / "weights").read_text() == "heavy"
    assert run_night(config, at=NIGHT + 2 * DAY).model.asked == []
    assert files(config.vault / "articles") == pages


# ------------------------------------------------------------------ a backup from elsewhere


@pytest.mark.parametrize("name", ["vault/.git/config", "vault/.GIT/hooks/post-checkout"])
def test_a_manifest_brings_no_settings_of_git(config: Config, tmp_path: Path, name: str) -> None:
    """They would start programs; the commits come from the bundle alone."""
    made = backup(config, tmp_path / "disk").path
    evil = made / name
    evil.parent.mkdir(parents=True)
    evil.write_text("[core]\n fsmonitor = evil\n")
    manifest = json.loads((made / "manifest.json").read_text())
    manifest["files"][name] = {"sha256": digest_of(evil), "size": 1}
    (made / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(StoreFault, match="outside"):
        restore(made, config, force=True)


@pytest.mark.parametrize(
    "harm",
    [
        {"files": {"data/x": "no object"}},
        {"files": {"data/x": {}}},
        {"files": {"data/\0": {"link": "x"}}},
        {"vault": {"head": "--stdin", "branch": "main"}},
        {"vault": 5},
        {"made": 5},
        {"format": 99},
    ],
)
def test_a_manifest_of_another_form_is_refused(
    config: Config, tmp_path: Path, harm: dict[str, object]
) -> None:
    """Whatever stands in it: a fault, and nothing is touched."""
    made = backup(config, tmp_path / "disk").path
    (made / "data" / "x").write_text("x")
    manifest = json.loads((made / "manifest.json").read_text())
    (made / "manifest.json").write_text(json.dumps(manifest | harm))
    before = files(config.vault, git=True), files(config.data_dir)
    with pytest.raises(StoreFault):
        restore(made, config, force=True)
    assert (files(config.vault, git=True), files(config.data_dir)) == before


def test_what_was_written_since_to_a_database_left_open_counts_as_newer(
    config: Config, tmp_path: Path
) -> None:
    """A killed run leaves its last writes beside the database, whose own file is older."""
    made = backup(config, tmp_path / "disk").path
    for path in config.data_dir.rglob("*"):
        os.utime(path, (1, 1))
    written = config.store_path.with_name("memory.sqlite-wal")
    written.write_bytes(b"")
    later = time.time() + 5
    os.utime(written, (later, later))
    with pytest.raises(ConfigFault, match="wal is newer"):
        restore(made, config)


def test_what_a_killed_run_left_beside_the_database_is_not_newer(
    config: Config, tmp_path: Path
) -> None:
    """The backup itself opens the database, and with that puts it in."""
    db = config.store_path
    beside = [db, db.with_name(f"{db.name}-wal"), db.with_name(f"{db.name}-shm")]
    store = Store(db, config.journal_dir)
    store._connection.execute("CREATE TABLE written_last (x)")
    left = [path.read_bytes() for path in beside]
    store.close()
    for path, held in zip(beside, left, strict=True):
        path.write_bytes(held)
    assert beside[1].stat().st_size > 0
    made = backup(config, tmp_path / "disk").path
    restore(made, config)
    assert "written_last" in contents(db)


def test_looking_does_not_make_newer(config: Config, tmp_path: Path) -> None:
    """What only read the store, as `memory status` does, changed nothing."""
    made = backup(config, tmp_path / "disk").path
    time.sleep(0.05)
    memory("status")
    memory("list")
    restore(made, config)


def test_backups_made_since_stay_known(config: Config, tmp_path: Path) -> None:
    """An older list comes back with the data; `memory forget` names the later ones all the same."""
    first = backup(config, tmp_path / "disk", now=lambda: NIGHT).path
    second = backup(config, tmp_path / "disk").path
    restore(first, config, force=True)
    assert set(known_backups(config)) == {first, second}
