"""A vault whose commits this store did not make: a new Mac, another machine, an older copy."""

from __future__ import annotations

import os
import shutil
import signal
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from pipeline.config import Config
from pipeline.review.undoing import undo
from pipeline.store import Store
from pipeline.store.ledger import Intent, Ledger
from tests.support_night import (
    CLAIMS,
    NIGHT,
    Script,
    files,
    make_vault,
    run_night,
    write_sessions,
)
from tests.support_rebuild import lose
from tests.test_broken_undo import NEWS, NEXT, decide, lantern, pages, script, second
from tests.test_rewritten_history import git

DAY = timedelta(days=1)
SAID = "The Lantern session table lives in db/sessions.sql."
# the same, as another model words it
OTHERWISE = {
    words: [(f"It holds that {text[0].lower()}{text[1:]}", kind) for text, kind in made]
    for words, made in CLAIMS.items()
}


@pytest.fixture
def config(home: Path) -> Config:
    """A vault after its first night, from which the user has deleted a sentence since."""
    config = make_vault()
    write_sessions(home)
    run_night(config, at=NIGHT)
    page = lantern(config)
    lines = page.read_text("utf-8").splitlines(keepends=True)
    assert any(SAID in line for line in lines)
    page.write_text("".join(line for line in lines if SAID not in line), "utf-8")
    git(config, "commit", "-q", "-a", "-m", "mine")
    return config


def new_machine(config: Config) -> None:
    """The vault and the transcripts are there, and nothing else that was known."""
    lose(config)
    for place in (config.archive_dir, config.journal_dir):
        shutil.rmtree(place)


@pytest.mark.parametrize("claims", [CLAIMS, OTHERWISE], ids=["in the same words", "in others"])
def test_a_new_machine_writes_nothing_a_second_time(
    config: Config, claims: dict[str, list[tuple[str, str]]]
) -> None:
    """Nor does what the user deleted come back; the next night makes no commit at all."""
    new_machine(config)
    before = pages(config)
    run_night(config, Script(claims=claims), at=NEXT)
    assert pages(config) == before
    head, every = git(config, "rev-parse", "HEAD"), files(config.vault)
    night = run_night(config, Script(claims=claims), at=NEXT + DAY)
    assert night.status == "nothing"
    assert git(config, "rev-parse", "HEAD") == head
    assert files(config.vault) == every


def test_a_new_machine_goes_on_with_the_articles(home: Path, config: Config) -> None:
    """What is said later goes into the article that is there, and can be taken back."""
    new_machine(config)
    run_night(config, at=NEXT)
    before = pages(config)
    second(home)
    run_night(config, script(), at=NEXT + DAY)
    assert pages(config).keys() == before.keys()
    assert NEWS in lantern(config).read_text("utf-8")
    decide(config, lambda reviewer: undo("", "", reviewer), at=NEXT + 2 * DAY)
    assert pages(config) == before


def test_records_older_than_the_vault_catch_up(home: Path, config: Config, tmp_path: Path) -> None:
    """The store of a week ago beside the vault of today: what was deleted since stays away."""
    old = tmp_path / "old"
    for place in (config.cache_dir, config.data_dir):
        shutil.copytree(place, old / place.name, dirs_exist_ok=True)
    second(home)
    run_night(config, script(), at=NEXT)
    git(config, "revert", "--no-edit", "-n", "HEAD~1")
    git(config, "commit", "-q", "-m", "mine")
    before = pages(config)
    assert NEWS.encode() not in b"".join(before.values())
    for place in (config.cache_dir, config.data_dir):
        shutil.rmtree(place)
        shutil.copytree(old / place.name, place)
    run_night(config, script(), at=NEXT + DAY)
    assert pages(config) == before


def test_what_another_machine_has_taken_back_is_not_written_here(
    home: Path, config: Config
) -> None:
    """Both have the conversation; the undo is in the log that they share."""
    second(home)
    run_night(config, script(), at=NEXT)
    decide(config, lambda reviewer: undo("", "", reviewer), at=NEXT + DAY)
    before = pages(config)
    new_machine(config)
    run_night(config, script(), at=NEXT + 2 * DAY)
    assert pages(config) == before


def test_a_commit_of_another_machine_is_not_told_as_this_ones(config: Config) -> None:
    """Its own changelog, which came with it, tells of it."""
    new_machine(config)
    before = (config.vault / "Meta" / "Changelog.md").read_text("utf-8")
    run_night(config, at=NEXT)
    after = (config.vault / "Meta" / "Changelog.md").read_text("utf-8")
    assert after.count("Lantern project]]") == before.count("Lantern project]]")
    store = Store(config.store_path, config.journal_dir)
    try:
        assert store.ledger.unreported_changes() == []
    finally:
        store.close()


def test_a_signal_stops_it_between_two_commits(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new machine has years of them; what was entered is, and the next night goes on."""
    new_machine(config)
    before, settle = pages(config), Ledger.settle
    topics: list[str] = []  # and "" for the changelog, which tells of the stop

    def settling(ledger: Ledger, intent: Intent, *rest: Any) -> None:
        settle(ledger, intent, *rest)
        topics.append(intent.folding.bucket)
        os.kill(os.getpid(), signal.SIGTERM)

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "settle", settling)
        assert run_night(config, at=NEXT).status == "stopped"
    assert len(list(filter(None, topics))) == 1
    run_night(config, at=NEXT + DAY)
    assert pages(config) == before
