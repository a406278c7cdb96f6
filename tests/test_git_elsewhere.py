"""A vault whose git folder is not in it: kept out of a synced folder, a worktree, a submodule."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline import assemble
from pipeline.config import Config, load_config
from pipeline.doctor import Level, Machine, vault
from pipeline.errors import VaultFault
from pipeline.history import History
from pipeline.keeping.asides import BEFORE
from pipeline.keeping.backing_up import backup
from pipeline.keeping.putting_back import restore
from pipeline.repository import repository
from tests.support_command import printed as memory
from tests.support_night import files, make_vault, run_night, write_sessions
from tests.test_night import without_run


def git(where: Path, *arguments: str) -> str:
    """What git says."""
    allowed = ["-c", "protocol.file.allow=always", "-c", "user.name=Me", "-c", "user.email=me@host"]
    done = subprocess.run(
        ["git", "-C", str(where), *allowed, *arguments], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def apart(vault: Path) -> None:
    """git's own way to have the folder elsewhere."""
    vault.mkdir()
    git(vault, "init", "--quiet", "--separate-git-dir", str(vault.parent / "apart"), ".")


def linked(vault: Path) -> None:
    """What some do to keep git out of a synced folder."""
    vault.mkdir()
    git(vault.parent, "init", "--quiet", "outside")
    (vault.parent / "outside" / ".git").rename(vault.parent / "kept.git")
    (vault / ".git").symlink_to(vault.parent / "kept.git")


def a_worktree(vault: Path) -> None:
    """A branch of some other repository."""
    git(vault.parent, "init", "--quiet", "main")
    git(vault.parent / "main", "commit", "--quiet", "--allow-empty", "-m", "first")
    git(vault.parent / "main", "worktree", "add", "--quiet", str(vault))


def a_submodule(vault: Path) -> None:
    """Its settings name the working tree."""
    git(vault.parent, "init", "--quiet", "other")
    git(vault.parent / "other", "commit", "--quiet", "--allow-empty", "-m", "first")
    git(vault.parent, "init", "--quiet", ".")
    git(vault.parent, "submodule", "--quiet", "add", str(vault.parent / "other"), vault.name)
    git(vault, "checkout", "--quiet", "-B", "main")


Layout = Callable[[Path], None]
LAYOUTS: tuple[Layout, ...] = (apart, linked, a_worktree, a_submodule)


@pytest.fixture(params=LAYOUTS, ids=lambda layout: layout.__name__)
def config(home: Path, request: pytest.FixtureRequest) -> Config:
    """Transcripts, and an empty vault whose git folder is elsewhere."""
    write_sessions(home)
    request.param(load_config().vault)
    return make_vault()


def state(config: Config) -> tuple[dict[str, bytes], dict[str, bytes], str]:
    """Everything of the vault and of its git folder, wherever that is."""
    there = repository(config.vault)
    assert there is not None
    return files(config.vault), files(there.common, git=True), git(config.vault, "status", "-s")


def test_a_rehearsal_touches_nothing_and_tells_what_the_run_does(config: Config) -> None:
    """P10: neither the pages nor the repository outside of the vault, which is no part of it."""
    before = state(config)
    with assemble.rehearsal(config) as copies:
        head = History(copies.vault).head()
        run_night(copies)
        rehearsed = History(copies.vault).diff(head, History(copies.vault).head())
    assert state(config) == before
    run_night(config)
    done = History(config.vault).diff(head, History(config.vault).head())
    assert without_run(done) == without_run(rehearsed)
    assert "Lantern" in rehearsed


def test_what_is_staged_is_staged_in_the_rehearsal_too(config: Config) -> None:
    """An edit that waits in the index is an edit that is not committed."""
    (config.vault / "mine.md").write_text("Mine.\n")
    git(config.vault, "add", "mine.md")
    with assemble.rehearsal(config) as copies:
        assert History(copies.vault).state() == History(config.vault).state()


def test_a_night_is_made_and_taken_back(config: Config) -> None:
    """Pages are committed where git is, nothing of ours is left beside them, and undo undoes."""
    assert run_night(config).status == "done"
    names = files(config.vault)
    assert [name for name in names if "nightly-memory" in name] == []
    assert "articles/Lantern project.md" in names
    assert git(config.vault, "status", "-s") == ""
    memory("undo")
    assert [name for name in files(config.vault) if name.startswith("articles/")] == []


def test_a_lock_left_behind_is_found_where_git_is(config: Config) -> None:
    """And deleted, once no git can still be holding it."""
    there = repository(config.vault)
    assert there is not None
    locks = [there.git / "index.lock", there.common / "refs" / "heads" / "main.lock"]
    for lock in locks:
        lock.touch()
        os.utime(lock, (0, 0))
    machine = Machine(config)
    assert vault.locks(machine).level is Level.FAIL
    vault.remove_locks(machine)
    assert [lock for lock in locks if lock.exists()] == []
    assert vault.locks(machine).level is Level.OK


def test_a_backup_comes_back_as_a_vault_of_its_own(config: Config, tmp_path: Path) -> None:
    """With pages and commits; the repository that was used so far keeps its bytes."""
    run_night(config)
    pages, head = files(config.vault), History(config.vault).head()
    made = backup(config, tmp_path / "disk").path
    before = state(config)
    restore(made, config, force=True)
    assert (files(config.vault), History(config.vault).head()) == (pages, head)
    assert (config.vault / ".git").is_dir()
    assert not (config.vault / ".git").is_symlink()
    (aside,) = config.vault.parent.glob(f"{config.vault.name}{BEFORE}*")
    assert files(aside) == before[0]


def test_a_backup_of_a_clone_with_a_depth_comes_back(home: Path, tmp_path: Path) -> None:
    """As a vault is fetched onto a new machine in a hurry: its first commit has no parents here."""
    write_sessions(home)
    config = make_vault()
    run_night(config)
    config.vault.rename(home / "whole")
    git(home, "clone", "--quiet", "--depth", "1", (home / "whole").as_uri(), str(config.vault))
    pages, log = files(config.vault), git(config.vault, "log", "--format=%H")
    made = backup(config, tmp_path / "disk").path
    restore(made, config, force=True)
    assert files(config.vault) == pages
    assert git(config.vault, "log", "--format=%H") == log
    git(config.vault, "fsck", "--strict")
    assert History(config.vault).state().branch == "main"


def test_what_is_forgotten_is_told_where_git_has_it(config: Config) -> None:
    """And pages that a killed run left in the git folder are deleted."""
    run_night(config)
    there = repository(config.vault)
    assert there is not None
    left = there.git / "nightly-memory" / "page-99"
    left.write_text("The Lantern dashboard shows the queue length of each worker.\n")
    said = memory("forget", "--match", "dashboard shows the queue", "--yes", code=9)
    assert str(there.git.resolve()) in said
    assert not left.exists()


def test_git_that_is_not_there_is_said_so(home: Path) -> None:
    """A pointer to a folder that is gone: no run is begun, and nothing is made in its place."""
    place = load_config().vault
    apart(place)
    config = make_vault()
    (place.parent / "apart").rename(place.parent / "gone")
    with pytest.raises(VaultFault, match="not a git repository"):
        run_night(config)
    assert not (place.parent / "apart").exists()
