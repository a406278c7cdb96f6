"""A section that has grown is rid of repeats, and of nothing else."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from pipeline import assemble
from pipeline.config import Config
from pipeline.models import Ask
from pipeline.review.undoing import undo
from pipeline.store import Store
from tests.support_night import make_vault, run_night
from tests.support_wikify import (
    BETTER,
    ENGLISH,
    FEED,
    GROWTH,
    LANGUAGES,
    LEAD,
    LONG,
    MORROW,
    SHORT,
    article,
    asked,
    changelog,
    cited,
    grown,
    lead_of,
    marks,
    prefer,
    same,
    script,
    tell,
)


@pytest.fixture
def config(home: Path) -> Config:
    """An empty vault."""
    return make_vault()


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_repeat_goes_into_the_sentence_that_says_more(config: Config, language: str) -> None:
    """Its citation passes on; every other byte of the article is as without tidying."""
    texts, short, long = LANGUAGES[language]
    first = grown(config, texts, long)
    assert asked(first, "repeat") == []  # twelve statements are few enough
    with assemble.rehearsal(config) as copies:
        run_night(copies, script(*texts), at=MORROW)
        untidied = article(copies)
    night = run_night(config, script(*texts, repeat=same), at=MORROW)
    repeat, kept = cited(untidied, short), cited(untidied, long)
    assert not set(marks(repeat)) & set(marks(kept))
    wanted = untidied.replace(f"{repeat} ", "").replace(repeat, "")
    wanted = wanted.replace(kept, kept + repeat.removeprefix(short))
    assert article(config) == wanted
    assert "- tidied [[Lantern project]]: 1 repeat merged" in changelog(config)
    assert night.status == "done"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "The Lantern retention job keeps sessions for 45 days.",
            "The Lantern retention job keeps sessions for 30 days.",
        ),
        (
            "The Lantern retention job keeps sessions for 45 days.",
            "The Lantern retention job keeps sessions for 45 hours.",
        ),
        (
            "The Lantern retention job writes to db/old.sql every night.",
            "The Lantern retention job writes to db/new.sql every night.",
        ),
        (
            "The Lantern retention job of Amina removes stale sessions.",
            "The Lantern retention job of Bruno removes stale sessions.",
        ),
        (
            "The Lantern retention job removes stale sessions of guests.",
            "The Lantern retention job never removes stale sessions of guests.",
        ),
        (
            "The Lantern retention job is enabled on the small cluster of the shop.",
            "The Lantern retention job is disabled on the small cluster of the shop.",
        ),
    ],
)
def test_a_model_to_whom_all_is_the_same_merges_no_two_statements(
    config: Config, one: str, other: str
) -> None:
    """A number, a unit, a path, a name, a denial or a word apart: both stand, cited."""
    rest = [text for text in ENGLISH if text not in (SHORT, LONG)]
    texts = [*rest, one, other]
    grown(config, texts, other)
    run_night(config, script(*texts, repeat=same), at=MORROW)
    text = article(config)
    for sentence in texts:
        assert cited(text, sentence)
    assert "tidied" not in changelog(config)


def test_a_pair_is_merged_only_if_the_model_sees_it_both_ways_round(config: Config) -> None:
    """Who says "same" to one order of two sentences alone is not sure of them."""
    grown(config, ENGLISH, LONG)

    def first_is_short(ask: Ask) -> str:
        return "same" if f"One: {SHORT}" in ask.prompt else "different"

    night = run_night(config, script(*ENGLISH, repeat=first_is_short), at=MORROW)
    assert len(asked(night, "repeat")) == 2
    assert cited(article(config), SHORT)


def test_a_repeat_the_user_touched_stays(config: Config) -> None:
    """P7: neither of two sentences is merged when one of them is the user's by now."""
    grown(config, ENGLISH, LONG)
    path = config.vault / "articles" / "Lantern project.md"
    own = SHORT.replace("quietly", "gently")
    path.write_text(article(config).replace(SHORT, own), encoding="utf-8")
    night = run_night(config, script(*ENGLISH, repeat=same), at=MORROW)
    assert asked(night, "repeat") == []
    assert cited(article(config), own) and cited(article(config), LONG)


def test_tidying_that_the_user_took_back_is_not_done_again(config: Config) -> None:
    """P11: undo gives the article its repeat and its lead back, and they are left alone then."""
    texts = [*ENGLISH, *GROWTH]
    grown(config, texts, LONG, *GROWTH)
    with assemble.rehearsal(config) as copies:
        run_night(copies, script(*texts), at=MORROW)
        untidied = article(copies)
    # a night of its own for the tidying, so that it alone is taken back
    run_night(config, script(*texts), at=MORROW)
    store = Store(config.store_path)
    store._connection.execute("UPDATE articles SET linked = 0")
    store.close()
    answers = script(*texts, FEED, repeat=same, lead=prefer(BETTER))
    run_night(config, answers, at=MORROW + timedelta(hours=1))
    assert "1 repeat merged, lead refreshed" in changelog(config)
    with assemble.reviewer(config, now=lambda: MORROW + timedelta(hours=5)) as reviewer:
        undo("", "", reviewer)
    assert article(config) == untidied

    tell(config, MORROW + timedelta(hours=9), FEED)
    run_night(config, answers, at=MORROW + timedelta(days=1))
    text = article(config)
    assert cited(text, SHORT) and cited(text, LONG) and cited(text, FEED)
    assert lead_of(text) == LEAD


def test_a_repeat_put_back_by_undo_is_the_programs_own(config: Config) -> None:
    """It is superseded by newer evidence like any other sentence, and deleted it stays away."""
    grown(config, ENGLISH, LONG)
    run_night(config, script(*ENGLISH, repeat=same), at=MORROW)
    with assemble.reviewer(config, now=lambda: MORROW + timedelta(hours=5)) as reviewer:
        undo("", "", reviewer)
    path = config.vault / "articles" / "Lantern project.md"
    repeat = cited(article(config), SHORT)
    path.write_text(article(config).replace(f" {repeat}", ""), encoding="utf-8")
    tell(config, MORROW + timedelta(hours=9), SHORT)
    run_night(config, script(*ENGLISH), at=MORROW + timedelta(days=1))
    assert SHORT not in article(config)


def test_what_was_merged_may_be_news_again(config: Config) -> None:
    """A merged repeat was not deleted by the user: said again, it finds the sentence it went into.

    Where that sentence is gone by then, it is written anew.
    """
    grown(config, ENGLISH, LONG)
    run_night(config, script(*ENGLISH, repeat=same), at=MORROW)
    path = config.vault / "articles" / "Lantern project.md"
    kept = cited(article(config), LONG)
    path.write_text(article(config).replace(f" {kept}", ""), encoding="utf-8")
    tell(config, MORROW + timedelta(hours=5), SHORT)
    run_night(config, script(*ENGLISH), at=MORROW + timedelta(days=1))
    assert cited(article(config), SHORT)
    assert LONG not in article(config)
