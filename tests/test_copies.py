"""What a syncer puts beside an article is never the article, even while that is away."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from pipeline.config import Config
from pipeline.copies import numbered, original
from tests.support_night import make_vault, run_night, write_sessions
from tests.support_ownership import LAST, MORROW, NEWS, knowing, page, say, text

COPIES = [
    "Lantern project.sync-conflict-20261122-101010-ABCDEFG",
    "Lantern project (conflicted copy 2026-11-22)",
    "Lantern project (Anna's conflicted copy 2026-11-22)",
    "Lantern project (Anna's MacBook's conflicted copy 2026-11-22 1)",
]


@pytest.fixture
def config(home: Path) -> Config:
    """A vault after its first night: two articles, everything committed."""
    write_sessions(home)
    config = make_vault()
    run_night(config)
    return config


@pytest.mark.parametrize("copy", COPIES)
def test_a_copy_is_told_by_its_name(copy: str) -> None:
    """As each of the syncers names it."""
    assert original(copy) == "Lantern project"


def test_a_copy_of_a_copy_is_a_copy_of_the_article() -> None:
    """Two machines may write it three times."""
    assert original(f"{COPIES[0]}.sync-conflict-20261123-101010-HIJKLMN") == "Lantern project"


@pytest.mark.parametrize("stem", ["Lantern", "Lantern (old)", "Conflicts", "Copy", "Lantern 12"])
def test_other_names_are_none_of_a_copy(stem: str) -> None:
    """Whatever they speak of."""
    assert (original(stem), numbered(stem)) == ("", "")


def test_a_number_behind_a_name_may_be_icloud_s() -> None:
    """Only what stands in the file can tell."""
    assert (original("Lantern 2"), numbered("Lantern 2")) == ("", "Lantern")


@pytest.mark.parametrize("copy", COPIES)
def test_news_wait_while_there_is_only_a_copy_of_the_article(
    home: Path, config: Config, copy: str
) -> None:
    """They neither go into the copy nor are given up, and the changelog tells of it."""
    before = text(config)
    page(config, copy).write_text(before, encoding="utf-8")
    page(config).unlink()
    say(home, NEWS)
    for weeks in range(7):
        night = run_night(config, knowing(NEWS), at=MORROW + timedelta(weeks=weeks))
        assert "only a copy of it" in str(night.results.rejected)
    assert text(config, copy) == before
    page(config).write_text(before, encoding="utf-8")
    run_night(config, knowing(NEWS), at=MORROW + timedelta(weeks=7))
    assert NEWS in text(config)
    assert text(config, copy) == before


def test_a_copy_that_gets_the_name_of_the_article_is_the_article(
    home: Path, config: Config
) -> None:
    """Which is how the user settles it."""
    file = page(config).rename(page(config, COPIES[0]))
    say(home, NEWS)
    run_night(config, knowing(NEWS), at=MORROW)
    file.rename(page(config))
    run_night(config, knowing(NEWS), at=LAST)
    assert NEWS in text(config)


def test_an_article_of_its_own_may_end_in_a_number(home: Path, config: Config) -> None:
    """It does not hold back what is told of a deleted one."""
    page(config, "Lantern project 2").write_text("# Lantern 2\n\nQuite another.\n")
    page(config).unlink()
    say(home, NEWS)
    night = run_night(config, knowing(NEWS), at=MORROW)
    assert not night.results.rejected
    assert "'Lantern project' is gone" in str(night.results.problems)


def test_an_article_may_be_renamed_to_end_in_a_number(home: Path, config: Config) -> None:
    """Its news follow it there, as under any other name."""
    renamed = page(config).rename(page(config, "Lantern project 2"))
    renamed.write_text(renamed.read_text().replace("Lantern project\n", "Lantern project 2\n"))
    say(home, NEWS)
    night = run_night(config, knowing(NEWS), at=MORROW)
    assert not night.results.rejected
    assert NEWS in renamed.read_text()


def test_an_article_that_quotes_another_is_no_copy_of_it(home: Path, config: Config) -> None:
    """Deleted by the user, the other is understood as deleted."""
    quoted = next(line for line in text(config).splitlines() if line.startswith("The Lantern"))
    own = f"# Lantern 2\n\n{quoted}\n\nQuite another. It has much to say. None of it is the same.\n"
    page(config, "Lantern project 2").write_text(own)
    page(config).unlink()
    say(home, NEWS)
    night = run_night(config, knowing(NEWS), at=MORROW)
    assert not night.results.rejected
