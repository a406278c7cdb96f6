"""What only the user should do is proposed on Talk pages, once, and never done."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from pipeline import assemble
from pipeline.config import Config
from pipeline.models import Ask, Choice
from tests.support_night import NIGHT, Script, files, make_vault, run_night, write_sessions
from tests.support_wikify import (
    BEFORE,
    ENGLISH,
    FEED,
    FOUNDING,
    LONG,
    MORROW,
    article,
    asked,
    changelog,
    cited,
    grown,
    same,
    script,
    talk,
    tell,
)


@pytest.fixture
def config(home: Path) -> Config:
    """An empty vault."""
    return make_vault()


def add_dashboard(config: Config, heading: str) -> None:
    """The user writes forty sentences about the dashboard into a section of the article."""
    path = config.vault / "articles" / "Lantern project.md"
    own = " ".join(f"The dashboard of Lantern has a button for order {n}." for n in range(40))
    before, mark, references = article(config).partition("## References")
    assert mark
    if f"## {heading}\n" not in before:
        before += f"## {heading}\n\n"
    path.write_text(f"{before}{own}\n\n{mark}{references}", encoding="utf-8")


@pytest.mark.parametrize(
    ("heading", "topic"),
    [("Dashboard of the shops", "Dashboard of the shops"), ("Background", "dashboard")],
)
def test_a_split_is_proposed_once_and_never_done(config: Config, heading: str, topic: str) -> None:
    """The article is as without the proposal; the entry says how, and once settled stays away."""
    grown(config, ENGLISH, LONG)
    add_dashboard(config, heading)
    with assemble.rehearsal(config) as copies:
        run_night(copies, script(*ENGLISH), at=MORROW)
        alone = article(copies)
    night = run_night(config, script(*ENGLISH, split=lambda ask: "own"), at=MORROW)
    assert len(asked(night, "split")) == 1
    assert article(config) == alone
    entries = [line for line in talk(config).splitlines() if line.startswith("- ")]
    assert len(entries) == 1
    assert f"“{topic}”" in entries[0] and "Meta/Buckets.md" in entries[0]
    assert "has a proposal" in changelog(config)

    (config.vault / "Talk" / "Lantern project.md").write_text("# Settled\n", encoding="utf-8")
    tell(config, MORROW + timedelta(hours=9), FEED)
    answers = script(*ENGLISH, FEED, split=lambda ask: "own")
    again = run_night(config, answers, at=MORROW + timedelta(days=1))
    assert asked(again, "split") == []
    assert talk(config) == "# Settled\n"
    assert cited(article(config), FEED)


def test_a_topic_that_is_a_part_is_not_proposed(config: Config) -> None:
    """The model's doubtful "own" writes nothing on Talk."""
    grown(config, ENGLISH, LONG)
    add_dashboard(config, "Background")
    doubtful = Choice(("own", "part"), (0.55, 0.45))
    night = run_night(config, script(*ENGLISH, split=lambda ask: doubtful), at=MORROW)
    assert len(asked(night, "split")) == 1
    assert talk(config) == ""


def test_a_topic_that_has_an_article_is_not_proposed_again(config: Config) -> None:
    """Once the user split it off, or made a bucket of that name, nothing is asked."""
    grown(config, ENGLISH, LONG)
    add_dashboard(config, "Background")
    own = config.vault / "articles" / "Dashboard.md"
    own.write_text("# Dashboard\n\nMine.\n", encoding="utf-8")
    night = run_night(config, script(*ENGLISH, split=lambda ask: "own"), at=MORROW)
    assert not any("Topic: dashboard" in ask.prompt for ask in asked(night, "split"))


TWIN = [
    "The Beacon project of the platform team is the place in which the sessions of all shops are.",
    "Beacon has a login page with two fields.",
    "Carla Brandt reviews the Beacon releases.",
    "The Beacon backup copies tables at noon.",
    "A red lamp in Beacon means trouble.",
    "Beacon answers queries from a small cache.",
]


def two_projects(**answers: Callable[[Ask], str | Choice]) -> Script:
    """A model that files what names Beacon under that name."""
    made = script(*FOUNDING, *TWIN, FEED, **answers)

    def route(ask: Ask) -> str:
        topics, _, said = ask.prompt.partition("Piece:")
        name = "Beacon" if "Beacon" in said else "Lantern"
        return next((row[0] for row in topics.splitlines() if name in row), "none of these")

    def name(ask: Ask) -> str:
        return "Beacon project" if "Beacon" in ask.prompt else "Lantern project"

    made.overrides = {**made.overrides, "cluster/route": route, "cluster/name": name}
    return made


def test_a_merge_is_proposed_once_and_never_done(config: Config) -> None:
    """Both articles stand; one Talk page tells how to merge them by Meta/Buckets.md."""
    tell(config, BEFORE, *FOUNDING)
    tell(config, BEFORE + timedelta(hours=8), *TWIN)
    with assemble.rehearsal(config) as copies:
        run_night(copies, two_projects())
        alone = files(copies.vault / "articles")
    run_night(config, two_projects(merge=same))
    assert files(config.vault / "articles") == alone
    entries = [line for line in talk(config, "Beacon project").splitlines() if line[:2] == "- "]
    assert len(entries) == 1
    assert "“→ Lantern project”" in entries[0] and "Meta/Buckets.md" in entries[0]
    assert talk(config) == ""

    (config.vault / "Talk" / "Beacon project.md").write_text("", encoding="utf-8")
    tell(config, NIGHT + timedelta(hours=9), FEED)
    again = run_night(config, two_projects(merge=same), at=MORROW)
    assert cited(article(config), FEED)
    assert asked(again, "merge") == []
    assert talk(config, "Beacon project") == ""


def test_articles_about_different_things_are_not_compared(home: Path) -> None:
    """P6: what has neither name nor words in common costs no question."""
    write_sessions(home)
    night = run_night(make_vault())
    assert asked(night, "merge") == []


def test_a_settled_contradiction_does_not_come_back(config: Config) -> None:
    """What synthesize asks on Talk is told once, too."""
    old = "The Lantern retention job keeps sessions for 45 days."
    new = "The Lantern retention job keeps sessions for 30 days."
    texts = [*FOUNDING[:2], *FOUNDING[4:], old]
    grown(config, [*texts, new], new)

    def contradicts(*claims: str) -> Script:
        made = script(*texts, *claims)
        made.overrides = {"synthesize/relation": lambda ask: "contradicts"}
        return made

    run_night(config, contradicts(new), at=MORROW)
    assert new in talk(config)
    (config.vault / "Talk" / "Lantern project.md").write_text("# Settled\n", encoding="utf-8")
    # the article loses what was said; said in the same words again, it contradicts as before
    path = config.vault / "articles" / "Lantern project.md"
    path.write_text(article(config).replace(cited(article(config), new), ""), encoding="utf-8")
    tell(config, MORROW + timedelta(hours=9), f"{new} Lantern is well.")
    run_night(config, contradicts(new), at=MORROW + timedelta(days=1))
    assert talk(config) == "# Settled\n"
