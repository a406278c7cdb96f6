"""What can be wrong with the vault, its folder and its repository."""

from __future__ import annotations

import os
import re
import shutil
import time
from dataclasses import replace
from pathlib import Path

from pipeline.store import Store
from tests.support_broken import article, git
from tests.support_health import Healthy
from tests.support_night import NIGHT


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


def put_back(h: Healthy) -> Healthy:
    """The vault as of a day before the night."""
    git(h, "reset", "-q", "--hard", ":/init")
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


def committed_conflict(h: Healthy) -> Healthy:
    """A page was committed with both sides of a merge in it."""
    page = article(h)
    both = "\n<<<<<<< HEAD\nOurs.\n=======\nTheirs.\n>>>>>>> other\n"
    page.write_text(page.read_text() + both)
    return h


def committed_conflict_of_topics(h: Healthy) -> Healthy:
    """Likewise the table of topics."""
    page = h.config.vault / "Meta" / "Buckets.md"
    page.write_text(page.read_text() + "\n<<<<<<< HEAD\n=======\nTheirs.\n>>>>>>> other\n")
    return h


def footnotes_of_both_sides(h: Healthy) -> Healthy:
    """A merge kept what each side said under one number."""
    page = article(h)
    first = next(line for line in page.read_text().splitlines() if line.startswith("[^1]: "))
    page.write_text(f"{page.read_text()}{re.sub('message.*', 'message 99)', first)}\n")
    return h


def copy_of_a_syncer(h: Healthy) -> Healthy:
    """Two machines wrote one article at once."""
    page = article(h)
    copy = page.with_stem(f"{page.stem}.sync-conflict-20261126-101010-ABCDEFG")
    copy.write_text(page.read_text())
    return h


def copy_of_icloud(h: Healthy) -> Healthy:
    """Likewise, told by a number."""
    page = article(h)
    page.with_stem(f"{page.stem} 2").write_text(page.read_text())
    return h
