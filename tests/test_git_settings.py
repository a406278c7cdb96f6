"""What git is told to do with pages: pass over them, encrypt them, end their lines, not put out."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from pipeline import publish
from pipeline.config import Config, load_config
from pipeline.history import History
from pipeline.keeping.backing_up import backup
from pipeline.keeping.putting_back import restore
from tests.support_command import printed as memory
from tests.support_night import NIGHT, files, make_vault, run_night, write_sessions
from tests.test_git_elsewhere import git
from tests.test_night import MORROW, NEWS, add_news, with_news

LANTERN = "articles/Lantern project.md"
MINE = """---
title: Lantern project
---

My own first sentence.

## Notes

My note on colours.
"""
AFTER = MORROW + timedelta(days=1)


@pytest.fixture
def config(home: Path) -> Config:
    """Transcripts and an empty vault."""
    write_sessions(home)
    return make_vault()


def put(config: Config, text: str = MINE) -> Path:
    """The user's own page of a topic the night is going to write about."""
    page = config.vault / LANTERN
    page.write_bytes(text.encode())
    return page


def commit_all(config: Config, message: str = "mine") -> None:
    """As the user does, or a program that commits every few minutes."""
    git(config.vault, "add", "-A")
    git(config.vault, "commit", "--quiet", "-m", message)


def committed(config: Config, path: str = LANTERN) -> str:
    """The blob, no filter applied."""
    return git(config.vault, "cat-file", "blob", f"HEAD:{path}")


# ------------------------------------------------------------------ passed over


def test_a_page_of_the_users_that_git_ignores_outlives_undo(config: Config) -> None:
    """It was never committed, and is not a page that the night has made."""
    (config.vault / ".gitignore").write_text("articles/\n")
    commit_all(config)
    page = put(config)
    run_night(config)
    assert "The Lantern" in page.read_text()
    memory("undo")
    assert page.read_text() == MINE


@pytest.mark.parametrize("flag", ["--skip-worktree", "--assume-unchanged"])
def test_an_edit_that_git_was_told_to_pass_over_outlives_undo(config: Config, flag: str) -> None:
    """It is committed as the user's before ours, and nothing is staged that would reverse it."""
    page = put(config)
    commit_all(config)
    git(config.vault, "update-index", flag, LANTERN)
    edited = MINE.replace("My note", "My newest note")
    page.write_text(edited)
    run_night(config)
    assert git(config.vault, "status", "-s") == ""
    memory("undo")
    assert page.read_text() == edited
    assert git(config.vault, "diff", "--cached") == ""


def test_a_page_that_may_be_run_stays_so(config: Config) -> None:
    """As pages are that came from a disk of Windows."""
    put(config).chmod(0o755)
    commit_all(config)
    run_night(config)
    assert git(config.vault, "status", "-s") == ""
    assert git(config.vault, "ls-tree", "HEAD", LANTERN).startswith("100755 ")


# ------------------------------------------------------------------ filters


def encrypt(config: Config) -> None:
    """As git-crypt does, with a cipher that a test can undo."""
    for way in ("clean", "smudge"):
        git(config.vault, "config", f"filter.secret.{way}", "tr a-zA-Z n-za-mN-ZA-M")
    git(config.vault, "config", "filter.secret.required", "true")
    (config.vault / ".gitattributes").write_text("*.md filter=secret\n")


def test_pages_that_are_kept_encrypted_are_committed_encrypted(home: Path, config: Config) -> None:
    """No sentence of a night leaves the machine in the open; undo and the log work all the same."""
    encrypt(config)
    page = put(config)
    commit_all(config)
    run_night(config)
    first = page.read_text()
    assert "Lantern" in first
    assert "Ynagrea" in committed(config)
    assert "Lantern" not in committed(config) + committed(config, "Meta/Changelog.md")
    assert git(config.vault, "status", "-s") == ""
    add_news(home)
    run_night(config, with_news(), at=MORROW)
    assert NEWS in page.read_text()
    memory("undo")
    assert NEWS not in page.read_text()
    memory("undo", "20261128-030000")
    assert page.read_text() == MINE


def test_a_filter_that_is_not_there_stops_the_commit(config: Config) -> None:
    """As git itself would; the page is not committed in the open."""
    encrypt(config)
    git(config.vault, "config", "filter.secret.clean", "not-installed-here")
    with pytest.raises(Exception, match="secret"):
        History(config.vault).commit(["Meta/Buckets.md"], "x", content="Lantern\n")


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("rule", ["* text=auto", "*.md text eol=crlf", "*.md text eol=lf"])
def test_line_ends_that_git_settles_are_no_edit(config: Config, rule: str, ends: str) -> None:
    """The page keeps its own in the working tree, through a night and its undoing."""
    (config.vault / ".gitattributes").write_text(f"{rule}\n")
    page = put(config, MINE.replace("\n", ends))
    before = page.read_bytes()
    commit_all(config)
    run_night(config)
    assert "\r" not in committed(config)
    assert git(config.vault, "status", "-s") == ""
    memory("undo")
    assert page.read_bytes() == before


# ------------------------------------------------------------------ not deleted, though not there


def test_conflicts_of_a_stash_are_left_to_the_user(home: Path, config: Config) -> None:
    """No merge is in progress then, and still the page has two texts."""
    run_night(config)
    page = config.vault / LANTERN
    text = page.read_text()
    page.write_text(text.replace("Postgres", "Postgres 16", 1))
    git(config.vault, "stash")
    page.write_text(text.replace("Postgres", "Postgres 17", 1))
    commit_all(config)
    with pytest.raises(Exception, match="stash"):
        git(config.vault, "stash", "pop")
    both = page.read_text()
    assert "<<<<<<<" in both
    add_news(home)
    night = run_night(config, with_news(), at=MORROW)
    assert page.read_text() == both
    assert "UU" in git(config.vault, "status", "-s")
    assert "conflicts that are not settled" in str(night.results.rejected)
    page.write_text(text)
    commit_all(config)
    run_night(config, with_news(), at=AFTER)
    assert NEWS in page.read_text()


def test_a_page_left_out_by_a_sparse_checkout_is_not_deleted(home: Path, config: Config) -> None:
    """Its news wait."""
    run_night(config)
    git(config.vault, "update-index", "--refresh")  # else git leaves what it has not looked at
    git(config.vault, "sparse-checkout", "set", "--no-cone", "/*", "!/articles/Lantern*")
    assert not (config.vault / LANTERN).exists()
    add_news(home)
    night = run_night(config, with_news(), at=MORROW)
    assert "sparse" in str(night.results.rejected)
    git(config.vault, "sparse-checkout", "disable")
    run_night(config, with_news(), at=AFTER)
    assert NEWS in (config.vault / LANTERN).read_text()


def test_a_page_that_icloud_took_off_the_disk_is_not_deleted(home: Path, config: Config) -> None:
    """Its news wait, and no other page takes its place or its name."""
    run_night(config)
    page = config.vault / LANTERN
    evicted = page.with_name(f".{page.name}.icloud")
    page.rename(evicted)
    add_news(home)
    night = run_night(config, with_news(), at=MORROW)
    assert "is in iCloud" in str(night.results.rejected)
    assert sorted(path.name for path in page.parent.iterdir()) == [
        evicted.name,
        "Harbor project.md",
    ]
    for weeks in range(1, 8):  # longer than anything else is tried
        run_night(config, with_news(), at=MORROW + timedelta(weeks=weeks))
    evicted.rename(page)
    run_night(config, with_news(), at=MORROW + timedelta(weeks=8))
    assert NEWS in page.read_text()


def dataless(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As macOS 14 has a file that iCloud took off the disk: its name, its size, and a flag."""
    taken = page.stat().st_ino

    class Flagged:
        st_flags = 0x40000000  # SF_DATALESS

        def __init__(self, status: os.stat_result) -> None:
            self._status = status

        def __getattr__(self, name: str) -> Any:
            return getattr(self._status, name)

    def flagging(asked: Callable[..., os.stat_result]) -> Callable[..., Any]:
        def told(*given: Any, **more: Any) -> Any:
            status = asked(*given, **more)
            return Flagged(status) if status.st_ino == taken else status

        return told

    for name in ("stat", "lstat", "fstat"):
        monkeypatch.setattr(os, name, flagging(getattr(os, name)))


def test_a_page_that_is_in_icloud_under_its_name_is_not_read(
    home: Path, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever reads it may wait for ever. Its news wait, and a search finds it as it was."""
    run_night(config)
    page = config.vault / LANTERN
    asked = ("search", "retention job", "--in", "articles")
    found = memory(*asked)
    assert "[[Lantern project" in found
    text = page.read_text()
    page.write_text("x" * len(text.encode()))  # what a read would bring up here
    add_news(home)
    with monkeypatch.context() as patch:
        dataless(page, patch)
        night = run_night(config, with_news(), at=MORROW)
        assert "is in iCloud" in str(night.results.rejected)
        assert memory(*asked) == found
    assert page.read_text() == "x" * len(text.encode())
    page.write_text(text)
    run_night(config, with_news(), at=AFTER)
    assert NEWS in page.read_text()


def test_a_page_deleted_after_history_was_rewritten_is_deleted(home: Path, config: Config) -> None:
    """The commits that the store knows are gone; that the page was on this branch is not."""
    run_night(config)
    first = git(config.vault, "rev-list", "--max-parents=0", "HEAD")
    git(config.vault, "reset", "--quiet", "--soft", first)
    commit_all(config, "all nights as one")
    (config.vault / LANTERN).unlink()
    commit_all(config, "not needed")
    add_news(home)
    night = run_night(config, with_news(), at=MORROW)
    assert night.results.rejected == []
    assert "is gone: not written were 1 new claim " in str(night.results.problems)


# ------------------------------------------------------------------ somebody else commits


def test_what_another_program_commits_first_is_taken_back_all_the_same(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the page and our commit: the run is told of in one that changes nothing."""
    before = files(config.vault / "articles")
    write = publish._put

    def written(*arguments: object) -> None:
        write(*arguments)  # type: ignore[arg-type]
        commit_all(config, "vault backup")

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(publish, "_put", written)
        run_night(config)
    assert "Lantern project" in memory("log")
    memory("rebuild")
    memory("undo")
    assert files(config.vault / "articles") == before


# ------------------------------------------------------------------ other repositories and settings


@pytest.mark.parametrize(
    "setting",
    [
        ("i18n.commitEncoding", "ISO-8859-1"),
        ("diff.orderFile", "nowhere"),
        ("protocol.allow", "never"),
        ("core.ignoreStat", "true"),
        ("core.splitIndex", "true"),
    ],
    ids=lambda setting: setting[0],
)
def test_settings_of_the_users_change_nothing(
    config: Config, setting: tuple[str, str], tmp_path: Path
) -> None:
    """A night, its log, a backup put back, and undo."""
    git(config.vault, "config", "--global", *setting)
    put(config)
    assert run_night(config).status == "done"
    memory("log")
    pages = files(config.vault)
    restore(backup(config, tmp_path / "disk").path, config, force=True)
    assert files(config.vault) == pages
    memory("undo")
    assert "The Lantern" not in (config.vault / LANTERN).read_text()


def test_a_repository_of_longer_hashes_is_put_back(home: Path, tmp_path: Path) -> None:
    """As it was, not in a repository of the other kind."""
    write_sessions(home)
    vault = load_config().vault
    vault.mkdir()
    git(vault, "init", "--quiet", "-b", "main", "--object-format=sha256")
    config = make_vault()
    assert run_night(config).status == "done"
    pages, head = files(config.vault), History(config.vault).head()
    restore(backup(config, tmp_path / "disk").path, config, force=True)
    assert (files(config.vault), History(config.vault).head()) == (pages, head)
    (config.vault / LANTERN).unlink()
    History(config.vault).commit_user_edits([LANTERN], at=NIGHT)
    assert git(config.vault, "status", "-s") == ""
