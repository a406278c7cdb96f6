"""The vault as of an earlier day beside records that know more: nothing is missing unsaid."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from pipeline.config import Config
from tests import support_command
from tests.support_night import NIGHT, files, make_vault, run_night, write_session, write_sessions
from tests.test_broken_undo import NEWS, NEXT, lantern, script, second
from tests.test_rewritten_history import git

DAY = timedelta(days=1)


@pytest.fixture
def config(home: Path) -> Config:
    """A vault after two nights; the tag `first` is where the first one left it."""
    config = make_vault()
    write_sessions(home)
    run_night(config, at=NIGHT)
    git(config, "tag", "first")
    second(home)
    run_night(config, script(), at=NEXT)
    assert NEWS in lantern(config).read_text("utf-8")
    return config


def memory(*arguments: str) -> str:
    """What the command says; it must succeed."""
    return " ".join(support_command.printed(*arguments).split())


def changelog(config: Config) -> str:
    """The user's page of it."""
    return (config.vault / "Meta" / "Changelog.md").read_text("utf-8")


def test_it_is_told_once(config: Config) -> None:
    """The night says what the vault does not hold any more and what can be done. Then silence."""
    git(config, "reset", "-q", "--hard", "first")
    night = run_night(config, script(), at=NEXT + DAY)
    (problem,) = night.results.problems
    assert lantern(config).stem in problem
    assert "memory retry --lost" in problem
    assert problem in changelog(config)
    assert NEWS not in lantern(config).read_text("utf-8")
    head, every = git(config, "rev-parse", "HEAD"), files(config.vault)
    assert run_night(config, script(), at=NEXT + 2 * DAY).status == "nothing"
    assert git(config, "rev-parse", "HEAD") == head
    assert files(config.vault) == every


def test_it_is_folded_again_when_asked_for(config: Config) -> None:
    """Just what is missing, each sentence once."""
    whole = lantern(config).read_text("utf-8")
    git(config, "reset", "-q", "--hard", "first")
    assert "it is folded again the next night" in memory("retry", "--lost")
    run_night(config, script(), at=NEXT + timedelta(hours=1))
    assert lantern(config).read_text("utf-8") == whole
    assert "holds all" in memory("retry", "--lost")


def test_an_article_founded_since_is_written_anew(home: Path, config: Config) -> None:
    """Its topic is not held up for ever by an article that no branch has."""
    stem = lantern(config).stem
    git(config, "reset", "-q", "--hard", git(config, "rev-list", "--max-parents=0", "HEAD").strip())
    assert not (config.vault / "articles" / f"{stem}.md").exists()
    memory("retry", "--lost")
    write_session(
        home,
        "pi",
        "01a227ea-11a7-7b0c-92c2-99aa37193c09",
        NEXT,
        [("user", "The Lantern restore test runs every second Tuesday on beryl.")],
    )
    said = "The Lantern restore test runs every second Tuesday on beryl."
    night = run_night(config, script("unrelated", said), at=NEXT + DAY)
    assert night.results.rejected == []
    text = lantern(config).read_text("utf-8")
    assert all(text.count(f"{sentence}[^") == 1 for sentence in (NEWS, said))


@pytest.mark.parametrize("how", ["rebase", "squash", "branch"])
def test_a_history_that_was_rewritten_has_lost_nothing(config: Config, how: str) -> None:
    """The sentences stand in the pages, in other commits."""
    if how == "branch":
        git(config, "switch", "-q", "-c", "other")
    elif how == "squash":
        git(config, "reset", "-q", "--soft", "first")
        git(config, "commit", "-q", "-m", "a week")
    else:
        git(config, "rebase", "-q", "--force-rebase", "--root")
    assert "holds all" in memory("retry", "--lost")
    assert run_night(config, script(), at=NEXT + DAY).results.problems == []


@pytest.mark.parametrize("how", ["merged", "split"])
def test_what_the_user_moved_to_another_page_is_not_lost(config: Config, how: str) -> None:
    """Also when the history was rewritten since: it stands in the vault, and is not doubled."""
    article = lantern(config)
    moved = article.read_text("utf-8")
    if how == "merged":
        page = next(article.parent.glob("Harbor*"))
        page.write_text(page.read_text("utf-8") + moved.replace("[^", "[^lantern"), "utf-8")
        article.unlink()
    else:
        page = article.with_stem("Everything about lamps")
        page.write_text(moved, "utf-8")
        article.write_text("# Lantern project\n\nSee [[Everything about lamps]].\n", "utf-8")
    git(config, "add", "-A")
    git(config, "reset", "-q", "--soft", git(config, "rev-list", "--max-parents=0", "HEAD").strip())
    git(config, "commit", "-q", "-m", "a week")
    before = page.read_bytes()
    assert "holds all" in memory("retry", "--lost")
    assert run_night(config, script(), at=NEXT + DAY).results.problems == []
    assert page.read_bytes() == before


def test_what_the_user_deleted_is_not_lost(config: Config) -> None:
    """A sentence, or a whole article: it is not brought back."""
    git(config, "revert", "--no-edit", "HEAD~1")
    git(config, "rm", "-q", "articles/" + next((config.vault / "articles").glob("Harbor*")).name)
    git(config, "commit", "-q", "-m", "mine")
    assert "holds all" in memory("retry", "--lost")


def test_whoever_goes_back_to_the_newer_vault_has_it_as_it_was(config: Config) -> None:
    """What was to be folded again is there after all, and what was deleted stays deleted."""
    page = lantern(config)
    without = page.read_text("utf-8").replace(f"{NEWS}[^5]", "")
    assert NEWS + "[" not in without
    page.write_text(without, "utf-8")
    git(config, "commit", "-q", "-a", "-m", "mine")
    git(config, "tag", "top")
    git(config, "reset", "-q", "--hard", "first")
    memory("retry", "--lost")
    git(config, "reset", "-q", "--hard", "top")
    run_night(config, script(), at=NEXT + DAY)
    assert NEWS + "[" not in lantern(config).read_text("utf-8")


@pytest.mark.parametrize("how", ["orphan", "rebase"])
def test_what_the_user_reworded_is_not_lost(config: Config, how: str) -> None:
    """It cites the same still; nor does a topic's new name make it so."""
    page = lantern(config)
    reworded = page.read_text("utf-8").replace(
        f"{NEWS}[", "Beryl makes it at a quarter past four.["
    )
    page.write_text(reworded, "utf-8")
    git(config, "commit", "-q", "-a", "-m", "mine")
    if how == "orphan":
        git(config, "checkout", "-q", "--orphan", "small")
        git(config, "commit", "-q", "-m", "small")
    else:
        memory("buckets", "rename", lantern(config).stem, "Lighthouse")
        git(config, "rebase", "-q", "--force-rebase", "--root")
    assert "holds all" in memory("retry", "--lost")
