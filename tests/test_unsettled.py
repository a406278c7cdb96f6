"""Pages that only the user can settle: committed conflicts, footnotes that say two things."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from pipeline.config import Config
from pipeline.models import Ask
from pipeline.unsettled import conflict, contradiction
from tests.support_command import memory
from tests.support_night import make_vault, run_night, write_sessions
from tests.support_ownership import (
    LAST,
    MORROW,
    NEWER,
    NEWS,
    OTHER_SESSION,
    OURS,
    git,
    knowing,
    page,
    say,
    text,
)
from tests.test_review import NEXT, article, held, script

__all__ = ["held"]  # a fixture

CONFLICT = "<<<<<<< HEAD\nOurs.\n=======\nTheirs.\n>>>>>>> other\n"
CITES = "[^1]: `conv:{}` (2026-11-28, pi, message {}) — a title\n"


@pytest.mark.parametrize(
    "text",
    [
        CONFLICT,
        CONFLICT.replace("\n", "\r\n"),
        f"\ufeff{CONFLICT}",
        CONFLICT.replace(" HEAD", "").replace(" other", ""),
        "<<<<<<< HEAD\n||||||| 1a2b3c\nBefore.\n=======\nTheirs.\n>>>>>>> other\n",
        "<<<<<<< HEAD\nTitle\n=======\n=======\nTheirs.\n>>>>>>> other\n",
        f"---\n{CONFLICT}---\n",
        "```\n<<<<<<< HEAD\n```\n=======\nTheirs.\n>>>>>>> other\n",
        f"```\n{CONFLICT}```\n\n{CONFLICT}",
    ],
)
def test_a_conflict_is_seen(text: str) -> None:
    """Wherever it stands, whatever the line ends."""
    assert "conflicts" in conflict(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Title\n=======\n\nText.\n",
        ">>>>>>> a quotation in a quotation\n\nTitle\n=======\n",
        "<<<<<<< HEAD\n>>>>>>> other\n",
        ">>>>>>> other\n=======\n<<<<<<< HEAD\n",
        "".join(f"> {line}\n" for line in CONFLICT.splitlines()),
        "".join(f"    {line}\n" for line in CONFLICT.splitlines()),
        f"Git writes:\n\n```\n{CONFLICT}```\n",
        f"<!--\n{CONFLICT}-->\n",
    ],
)
def test_a_heading_a_quotation_and_code_are_no_conflict(text: str) -> None:
    """Only all the markers in their order, in the text itself, are one."""
    assert conflict(text) == ""


def test_a_conflict_is_told_by_its_line() -> None:
    """So that it is found."""
    assert "from line 3 on" in conflict(f"# Title\n\n{CONFLICT}")


@pytest.mark.parametrize(
    "second",
    [
        CITES.format("5e6f7a8b", 1),
        CITES.format("1a2b3c4d", 2),
        "[^1]: a note of the user's\n",
    ],
)
def test_a_number_for_two_footnotes_is_seen(second: str) -> None:
    """With the lines in which they stand, whichever comes first."""
    first = CITES.format("1a2b3c4d", 1)
    for one, other in ((first, second), (second, first)):
        assert contradiction(f"Text.[^1]\n\n{one}{other}").endswith("1 in lines 3 and 4")


@pytest.mark.parametrize(
    "text",
    [
        CITES.format("1a2b3c4d", 1) * 2,
        CITES.format("1a2b3c4d", 1) + CITES.format("1a2b3c4d", 1).replace("title", "new title"),
        "[^1]: a note\n[^1]: another note of the user's\n",
        CITES.format("1a2b3c4d", 1) + "\n```\n" + CITES.format("5e6f7a8b", 1) + "```\n",
    ],
)
def test_footnotes_that_say_the_same_and_the_users_own_are_left_alone(text: str) -> None:
    """Nothing rests on the wrong conversation then."""
    assert contradiction(text) == ""


# ------------------------------------------------------------------ nights


@pytest.fixture
def config(home: Path) -> Config:
    """A vault after its first night: two articles, everything committed."""
    write_sessions(home)
    config = make_vault()
    run_night(config)
    return config


def meta(config: Config, name: str) -> Path:
    """The file of a Meta page."""
    return config.vault / "Meta" / f"{name}.md"


def with_conflict(before: str) -> str:
    """The page as a program commits it that does not look: its first sentence in two versions."""
    line = next(line for line in before.splitlines(keepends=True) if OURS in line)
    theirs = line.replace("45 days", "60 days")
    return before.replace(line, f"<<<<<<< HEAD\n{line}=======\n{theirs}>>>>>>> origin/main\n")


def with_doubled_footnote(before: str) -> str:
    """The page as a merge leaves it that keeps the notes of both sides."""
    return before + CITES.format("00112233", 1)


def committed(config: Config, file: Path, content: str) -> str:
    """The text of a page that somebody's program committed."""
    file.write_text(content, encoding="utf-8")
    git(config, "add", "--all")
    git(config, "commit", "--quiet", "--message", "vault backup")
    return content


@pytest.mark.parametrize("unsettle", [with_conflict, with_doubled_footnote])
def test_news_of_an_unsettled_article_wait_until_it_is_settled(
    home: Path, config: Config, unsettle: Callable[[str], str]
) -> None:
    """However long that takes; the changelog says where to look, and the model is not asked."""
    settled = text(config)
    unsettled = committed(config, page(config), unsettle(settled))
    say(home, NEWER)
    asked: list[Ask] = []

    def related(ask: Ask) -> str:
        asked.append(ask)
        return "unrelated"

    script = knowing(NEWER, synthesize__relation=related)
    for weeks in range(8):
        night = run_night(config, script, at=MORROW + timedelta(weeks=weeks))
        assert "articles/Lantern project.md has" in str(night.results.rejected)
    assert text(config) == unsettled
    assert asked == []
    assert "Lantern project.md has" in meta(config, "Changelog").read_text(encoding="utf-8")
    page(config).write_text(settled, encoding="utf-8")
    run_night(config, script, at=MORROW + timedelta(weeks=8))
    assert NEWER in text(config) and asked


def test_no_side_of_a_conflict_loses_what_a_night_wrote(home: Path, config: Config) -> None:
    """Whichever the user settles for, the news are there afterwards."""
    before = text(config)
    committed(config, page(config), with_conflict(before))
    say(home, NEWS)
    run_night(config, knowing(NEWS), at=MORROW)
    theirs = re.sub(r"<{7} .*?={7}\n(.*?)>{7} [^\n]*\n", r"\1", text(config), flags=re.DOTALL)
    assert "60 days" in committed(config, page(config), theirs)
    run_night(config, knowing(NEWS), at=LAST)
    assert NEWS in text(config)


def test_a_talk_page_with_conflicts_is_left_alone(home: Path, config: Config) -> None:
    """Nor is the article written whose questions would go there."""
    talk = config.vault / "Talk" / "Lantern project.md"
    before = committed(config, talk, f"# Lantern project\n\n{CONFLICT}")
    article = text(config)
    say(home, NEWER)
    script = knowing(NEWER, synthesize__relation=lambda ask: "contradicts")
    night = run_night(config, script, at=MORROW)
    assert "Talk/Lantern project.md has conflicts" in str(night.results.rejected)
    assert talk.read_text(encoding="utf-8") == before
    assert text(config) == article


def test_topics_with_conflicts_are_not_obeyed(home: Path, config: Config) -> None:
    """One side may have a topic ignored, and lose: its news are written meanwhile."""
    table = meta(config, "Buckets").read_text(encoding="utf-8")
    row = next(line for line in table.splitlines(keepends=True) if "Lantern" in line)
    ignored = row.replace("article |", "ignored |")
    assert ignored != row
    both = f"<<<<<<< HEAD\n{row}=======\n{ignored}>>>>>>> origin/main\n"
    before = committed(config, meta(config, "Buckets"), table.replace(row, both))
    say(home, NEWS)
    night = run_night(config, knowing(NEWS), at=MORROW)
    assert "Meta/Buckets.md has conflicts" in str(night.results.problems)
    assert meta(config, "Buckets").read_text(encoding="utf-8") == before
    assert NEWS in text(config)
    committed(config, meta(config, "Buckets"), table.replace(row, ignored))
    run_night(config, knowing(NEWS), at=LAST)
    assert "ignored" in memory("buckets", "--state", "ignored").stdout


def test_a_changelog_with_conflicts_tells_when_it_is_settled(home: Path, config: Config) -> None:
    """What the nights meanwhile did."""
    settled = meta(config, "Changelog").read_text(encoding="utf-8")
    before = committed(config, meta(config, "Changelog"), settled + CONFLICT)
    say(home, NEWS)
    night = run_night(config, knowing(NEWS), at=MORROW)
    assert NEWS in text(config)
    assert "Meta/Changelog.md has conflicts" in str(night.results.problems)
    assert meta(config, "Changelog").read_text(encoding="utf-8") == before
    committed(config, meta(config, "Changelog"), settled)
    run_night(config, knowing(NEWS), at=LAST)
    assert "[[Lantern project]]" in meta(config, "Changelog").read_text(encoding="utf-8")


def test_undo_keeps_a_page_with_conflicts(config: Config) -> None:
    """And says why."""
    before = committed(config, page(config), text(config) + CONFLICT)
    told = memory("undo", "Lantern project")
    assert "has conflicts that are not settled" in told.stdout + told.stderr
    assert text(config) == before


def test_a_held_draft_waits_for_the_conflicts(held: Config) -> None:
    """It is neither written nor thrown away."""
    run_night(held, script(), at=NEXT)
    file = article(held)
    settled = file.read_text(encoding="utf-8")
    before = committed(held, file, settled + CONFLICT)
    told = memory("accept")
    assert told.returncode == 6 and "has conflicts" in told.stderr
    assert file.read_text(encoding="utf-8") == before
    committed(held, file, settled)
    assert memory("accept").returncode == 0
    assert file.read_text(encoding="utf-8") != settled


def test_other_articles_are_made_once_all_the_same(home: Path, config: Config) -> None:
    """An unsettled one does not have the others of its batch asked about again."""
    file = page(config, "Harbor project")
    committed(config, file, file.read_text(encoding="utf-8") + CONFLICT)
    harbor = "The Harbor importer reads files in blocks of 128 MB."
    say(home, NEWER)
    say(home, harbor, session=OTHER_SESSION)
    night = run_night(config, knowing(NEWER, harbor), at=MORROW)
    assert NEWER in text(config)
    assert "Harbor project.md has conflicts" in str(night.results.rejected)
    asked = [asked.purpose for asked in night.model.asked]
    assert asked.count("synthesize/relation") == 1
