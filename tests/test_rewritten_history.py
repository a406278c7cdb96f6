"""Commits of ours that somebody amended, squashed or cut off hold more than a night wrote."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pipeline.config import Config
from pipeline.errors import ConfigFault
from pipeline.keeping.rebuilding import rebuild
from pipeline.review.listing import run_diff
from pipeline.review.undoing import Undone, undo
from pipeline.store import Store
from tests.support_night import NIGHT, files, make_vault, run_night, write_sessions
from tests.support_rebuild import lose
from tests.test_broken_undo import NEWS, NEXT, decide, lantern, pages, script, second

MINE = "\n## Mine\n\nThe jib sheet is too short.\n"


def git(config: Config, *arguments: str) -> str:
    """The user's own git, in the vault."""
    who = ("-c", "user.name=Ann", "-c", "user.email=ann@localhost")
    done = subprocess.run(
        ["git", *who, *arguments], cwd=config.vault, capture_output=True, text=True, check=True
    )
    return done.stdout


def own_page(config: Config) -> Path:
    """A page that no night ever wrote."""
    page = config.vault / "articles" / "Travel.md"
    page.write_text("# Travel\n\nThe ferry leaves at nine.\n", "utf-8")
    return page


def undone(config: Config) -> list[Undone]:
    """What `memory undo` does, nothing where it finds nothing."""
    try:
        return decide(config, lambda reviewer: undo("", "", reviewer))[1]
    except ConfigFault as fault:
        assert "nothing to take back" in str(fault)
        return []


@pytest.fixture
def config(home: Path) -> Config:
    """A vault after two nights, the second of which wrote one sentence into an article."""
    config = make_vault()
    write_sessions(home)
    run_night(config, at=NIGHT)
    with lantern(config).open("a", encoding="utf-8") as page:
        page.write(MINE)
    second(home)
    run_night(config, script(), at=NEXT)
    assert NEWS in lantern(config).read_text("utf-8")
    return config


@contextmanager
def untouched(config: Config) -> Iterator[None]:
    """No article or Talk page changes meanwhile."""
    before = pages(config)
    yield
    assert pages(config) == before


def test_pages_that_were_amended_to_the_last_commit_stay(config: Config) -> None:
    """Undo takes back what the night wrote, and not what stands in the same commit since."""
    own = own_page(config)
    git(config, "add", "-A")
    git(config, "commit", "--amend", "--no-edit", "-q")
    done = undone(config)
    assert [page.outcome for page in done] == ["restored"]
    assert own.read_text("utf-8") == "# Travel\n\nThe ferry leaves at nine.\n"
    text = lantern(config).read_text("utf-8")
    assert NEWS not in text
    assert MINE in text


def test_an_edit_that_was_amended_to_our_own_commit_stays(config: Config) -> None:
    """Nobody can tell the two apart without the trailer; the page is kept, and it is said why."""
    git(config, "reset", "-q", "--soft", "HEAD~1")  # without the changelog's commit
    with lantern(config).open("a", encoding="utf-8") as page:
        page.write("The mainsail has two reefs.\n")
    git(config, "commit", "-q", "-a", "--amend", "--no-edit")
    with untouched(config):
        done = undone(config)
    assert [page.outcome for page in done] == ["kept"]
    assert git(config, "rev-parse", "HEAD")[:10] in done[0].reason


@pytest.mark.parametrize("named", [True, False], ids=["with", "without the page's name"])
def test_a_squash_of_all_nights_is_not_taken_back(config: Config, named: bool) -> None:
    """Neither the user's pages nor the other nights' sentences go with the last night's name."""
    own_page(config)
    git(config, "add", "-A")
    message = git(config, "log", "-1", "--format=%B", "HEAD~1")
    assert "Chunks: " in message
    if not named:  # as older versions wrote it
        told = message.splitlines(keepends=True)
        message = "".join(line for line in told if not line.startswith(("Page:", "Change:")))
    root = git(config, "rev-list", "--max-parents=0", "HEAD").strip()
    git(config, "reset", "-q", "--soft", root)
    git(config, "commit", "-q", "-m", message)
    with untouched(config):
        assert {page.outcome for page in undone(config)} <= {"kept"}


@pytest.mark.parametrize("depth", [1, 2])
def test_nothing_is_deleted_in_a_clone_with_a_depth(
    config: Config, tmp_path: Path, depth: int
) -> None:
    """At its edge every file looks new: undo must not take them all for one night's."""
    _clone(config, tmp_path, depth)
    with untouched(config):
        assert {page.outcome for page in undone(config)} <= {"kept"}
    _, diff = decide(config, lambda reviewer: run_diff("", reviewer))
    assert "jib sheet" not in diff


def test_a_night_after_such_a_clone_is_taken_back(
    home: Path, config: Config, tmp_path: Path
) -> None:
    """What was written on top of the edge is known whole."""
    _clone(config, tmp_path, 1)
    before = pages(config)
    second(
        home,
        "The Lantern restore test runs every second Tuesday on beryl.",
        session="01a227ea-11a7-7b0c-92c2-99aa37193c07",
    )
    said = "The Lantern restore test runs every second Tuesday on beryl."
    run_night(config, script("unrelated", said), at=NEXT.replace(day=NEXT.day + 1))
    assert pages(config) != before
    assert [page.outcome for page in undone(config)] == ["restored"]
    assert pages(config) == before


def test_a_lost_store_takes_no_page_of_the_user_for_ours(config: Config) -> None:
    """Made anew from such commits, the records know the article alone."""
    own_page(config)
    git(config, "add", "-A")
    message = git(config, "log", "-1", "--format=%B", "HEAD~1")
    git(config, "reset", "-q", "--soft", "HEAD~2")
    git(config, "commit", "-q", "-m", message)
    stem = lantern(config).stem
    lose(config)
    shutil.rmtree(config.journal_dir)
    rebuild(config, now=lambda: NEXT)
    store = Store(config.store_path, config.journal_dir)
    try:
        known, buckets = store.ledger.known_articles(), store.buckets.all()
    finally:
        store.close()
    assert "Travel" not in known
    assert stem in known
    assert "Travel" not in {bucket.article for bucket in buckets}


def _clone(config: Config, tmp_path: Path, depth: int) -> None:
    """The vault as `git clone --depth` puts it out."""
    remote = tmp_path / "remote.git"
    git(config, "clone", "-q", "--bare", ".", str(remote))
    before = {path: text for path, text in files(config.vault).items() if path[0] != "."}
    shutil.rmtree(config.vault)
    subprocess.run(
        ["git", "clone", "-q", f"--depth={depth}", remote.as_uri(), str(config.vault)], check=True
    )
    after = {path: text for path, text in files(config.vault).items() if path[0] != "."}
    assert after == before
