"""The user's edits win: what they did to their pages before a night, committed or not."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from pipeline.config import Config
from pipeline.history import History
from tests.support_command import printed as memory
from tests.support_night import files, make_vault, run_night, write_sessions
from tests.support_ownership import (
    LAST,
    LATER,
    MORROW,
    NEWER,
    NEWS,
    OTHER_SESSION,
    OURS,
    SESSION,
    THEIRS,
    assert_ours_alone,
    assert_settled,
    authors,
    edit,
    git,
    knowing,
    our_commits,
    page,
    say,
    standing,
    text,
)


@pytest.fixture
def config(home: Path) -> Config:
    """A vault after its first night: two articles, everything committed."""
    write_sessions(home)
    config = make_vault()
    run_night(config)
    return config


# ------------------------------------------------------------------ edits before the night


def test_a_sentence_the_user_edited_is_theirs(home: Path, config: Config) -> None:
    """Later news never replaces it; it stays where it is and the Talk page answers it."""
    mine = "The Lantern retention job keeps all sessions for 45 days by law."
    edit(page(config), OURS, mine)
    head = History(config.vault).head()
    say(home, NEWER)
    script = knowing(NEWER, synthesize__relation=lambda ask: "updates")
    assert run_night(config, script, at=MORROW).status == "done"
    assert mine in standing(config)
    assert "## History" not in text(config)
    talk = (config.vault / "Talk" / "Lantern project.md").read_text(encoding="utf-8")
    assert NEWER in talk
    assert authors(config, mine) == {"You"}
    assert_ours_alone(config, head)
    assert_settled(config, script)


def test_a_sentence_the_user_deleted_does_not_come_back(home: Path, config: Config) -> None:
    """Said again in another conversation, it stays deleted; the news beside it is written."""
    line = next(line for line in text(config).splitlines(keepends=True) if OURS in line)
    kept = re.sub(re.escape(OURS) + r"(?:\[\^\d+\])+ ?", "", line)
    edit(page(config), line, kept)
    say(home, OURS, NEWS)
    script = knowing(OURS, NEWS)
    run_night(config, script, at=MORROW)
    assert OURS not in text(config)
    assert NEWS in text(config)
    assert_settled(config, script)


def test_a_deleted_article_does_not_come_back(home: Path, config: Config) -> None:
    """The news about it is reported, in the results and on the changelog, not written."""
    page(config).unlink()
    say(home, NEWS)
    night = run_night(config, knowing(NEWS), at=MORROW)
    assert not page(config).exists()
    assert any("Lantern project" in problem for problem in night.results.problems)
    changelog = (config.vault / "Meta" / "Changelog.md").read_text(encoding="utf-8")
    assert "1 new claims about it" in changelog or "1 new claim about it" in changelog
    # the deletion is the user's to commit
    assert git(config, "status", "--porcelain") == ' D "articles/Lantern project.md"\n'
    assert_settled(config, knowing(NEWS))


def test_news_about_a_deleted_article_is_told_each_night(home: Path, config: Config) -> None:
    """Another night drops something else for good: the user can look up what was said."""
    page(config).unlink()
    for session, news, at in ((SESSION, NEWS, MORROW), (OTHER_SESSION, NEWER, LAST)):
        say(home, news, session=session)
        run_night(config, knowing(NEWS, NEWER), at=at)
    changelog = (config.vault / "Meta" / "Changelog.md").read_text(encoding="utf-8")
    told = re.findall(r"not written .*\((conv:\w+#\d+)\)", changelog)
    said = [memory("source", place) for place in told]
    assert [NEWER in said[0], NEWS in said[1]] == [True, True]


def test_a_moved_article_is_found_in_its_folder(home: Path, config: Config) -> None:
    """In a subfolder it is the same article: news goes there, nothing is made where it was."""
    folder = config.vault / "articles" / "work"
    folder.mkdir()
    page(config).rename(folder / "Lantern project.md")
    head = History(config.vault).head()
    say(home, NEWS)
    run_night(config, knowing(NEWS), at=MORROW)
    assert NEWS in (folder / "Lantern project.md").read_text(encoding="utf-8")
    assert not page(config).exists()
    assert_ours_alone(config, head)
    assert_settled(config, knowing(NEWS))


RENAMES: dict[str, Callable[[str], str]] = {
    "the file": lambda content: content,
    "the file and the title": lambda content: content.replace("Lantern project", "Streetlight"),
}


@pytest.mark.parametrize("retitle", RENAMES.values(), ids=RENAMES.keys())
def test_a_renamed_article_is_the_same_article(
    home: Path, config: Config, retitle: Callable[[str], str]
) -> None:
    """News goes to it under its new name; its sentences are still ours, deleted ones still gone."""
    before = text(config)
    table = "The Lantern session table lives in db/sessions.sql."
    before = re.sub(re.escape(table) + r"(?:\[\^\d+\])+ ?", "", before)
    assert table not in before and OURS in before
    page(config).unlink()
    page(config, "Streetlight").write_text(retitle(before), encoding="utf-8")
    say(home, NEWS, NEWER, table)
    script = knowing(NEWS, NEWER, table, synthesize__relation=lambda ask: "updates")
    script.claims = {**script.claims, "session table lives": [(table, "fact")]}
    run_night(config, script, at=MORROW)
    assert not page(config).exists()
    after = text(config, "Streetlight")
    assert NEWS in after
    assert table not in after
    assert NEWER in standing(config, "Streetlight")
    assert OURS not in standing(config, "Streetlight")
    assert OURS in after  # in History
    assert_settled(config, script)


def test_a_settled_talk_entry_does_not_come_back(home: Path, config: Config) -> None:
    """The user deletes what they settled; the same contradiction said again is not entered."""
    script = knowing(NEWER, synthesize__relation=lambda ask: "contradicts")
    say(home, NEWER)
    run_night(config, script, at=MORROW)
    talk = config.vault / "Talk" / "Lantern project.md"
    entry = next(line for line in talk.read_text(encoding="utf-8").splitlines() if NEWER in line)
    edit(talk, entry + "\n", "")
    line = next(line for line in text(config).splitlines(keepends=True) if NEWER in line)
    edit(page(config), line, re.sub(re.escape(NEWER) + r"(?:\[\^\d+\])+ ?", "", line))
    say(home, NEWER, session=OTHER_SESSION, start=LATER + timedelta(days=1))
    run_night(config, script, at=LAST)
    assert NEWER not in talk.read_text(encoding="utf-8")
    assert NEWER not in text(config)
    assert_settled(config, script, at=LAST + timedelta(days=1))


# ------------------------------------------------------------------ uncommitted, staged


def test_what_the_user_staged_stays_staged_and_theirs(home: Path, config: Config) -> None:
    """Staged, unstaged and new files elsewhere: none goes with our commits, the index stays."""
    harbor, note = page(config, "Harbor project"), config.vault / "articles" / "Mine.md"
    edit(harbor, "# Harbor project\n", f"# Harbor project\n\n{THEIRS}\n")
    note.write_text("# Mine\n\nOnly staged.\n", encoding="utf-8")
    git(config, "add", "articles/Harbor project.md", "articles/Mine.md")
    edit(harbor, THEIRS, f"{THEIRS} Not staged.")
    (config.vault / "todo.txt").write_text("buy lamps", encoding="utf-8")
    git(config, "rm", "-q", "--cached", "README.md")
    before, staged = git(config, "status", "--porcelain"), git(config, "diff", "--cached")
    head, bytes_ = History(config.vault).head(), files(config.vault)
    say(home, NEWS)
    run_night(config, knowing(NEWS), at=MORROW)
    assert NEWS in text(config)
    assert git(config, "status", "--porcelain") == before
    assert git(config, "diff", "--cached") == staged
    for name in ("articles/Harbor project.md", "articles/Mine.md", "todo.txt", "README.md"):
        assert (config.vault / name).read_bytes() == bytes_[name]
    assert_ours_alone(config, head)
    assert {p for paths in our_commits(config, head) for p in paths} <= {
        "articles/Lantern project.md", "Meta/Changelog.md", "Meta/Buckets.md",
    }  # fmt: skip
    assert_settled(config, knowing(NEWS))


@pytest.mark.parametrize("stage", [False, True], ids=["unstaged", "staged"])
def test_edits_of_the_page_itself_are_committed_as_the_users(
    home: Path, config: Config, *, stage: bool
) -> None:
    """What the user wrote on the page that gets news is committed first, in their name."""
    edit(page(config), "# Lantern project\n", f"# Lantern project\n\n{THEIRS}\n")
    if stage:
        git(config, "add", "articles/Lantern project.md")
    head = History(config.vault).head()
    say(home, NEWS)
    run_night(config, knowing(NEWS), at=MORROW)
    assert THEIRS in text(config) and NEWS in text(config)
    assert authors(config, THEIRS) == {"You"}
    assert authors(config, NEWS) == {"nightly-memory"}
    assert git(config, "status", "--porcelain") == ""
    assert_ours_alone(config, head)
    assert_settled(config, knowing(NEWS))


def test_a_half_staged_page_keeps_both_versions(home: Path, config: Config) -> None:
    """What was staged and what was typed since are both in the history, as the user's."""
    edit(page(config), "# Lantern project\n", "# Lantern project\n\nThe staged wording.\n")
    git(config, "add", "articles/Lantern project.md")
    edit(page(config), "The staged wording.", THEIRS)
    say(home, NEWS)
    run_night(config, knowing(NEWS), at=MORROW)
    assert THEIRS in text(config) and NEWS in text(config)
    assert authors(config, THEIRS) == {"You"}
    assert authors(config, "The staged wording.") == {"You"}
    assert_settled(config, knowing(NEWS))


def test_edits_are_left_uncommitted_when_the_user_wants_that(home: Path, config: Config) -> None:
    """commit_user_edits = false: that article waits, named with its reason; the others go on."""
    config = config.model_copy(update={"commit_user_edits": False})
    edit(page(config), "# Lantern project\n", f"# Lantern project\n\n{THEIRS}\n")
    before, state = page(config).read_bytes(), git(config, "status", "--porcelain")
    harbor = "The Harbor importer has a limit of 31 connections."
    say(home, NEWS)
    say(home, harbor, session=OTHER_SESSION)
    script = knowing(NEWS, harbor)
    night = run_night(config, script, at=MORROW)
    assert night.status == "partial"
    assert [job for job, _ in night.results.rejected] == ["synthesize: bucket Lantern project"]
    assert "uncommitted edits of yours" in night.results.rejected[0][1][0]
    assert page(config).read_bytes() == before
    assert git(config, "status", "--porcelain") == state
    assert harbor in text(config, "Harbor project")
    git(config, "commit", "-qam", "mine")
    assert run_night(config, script, at=LAST).status == "done"
    assert NEWS in text(config) and THEIRS in text(config)
    assert authors(config, THEIRS) == {"Rosa"}
    assert_settled(config, script, at=LAST + timedelta(days=1))


def test_a_page_dated_in_the_future_takes_news(home: Path, config: Config) -> None:
    """Its date stays, of whatever clock or slip: it never goes back."""
    edit(page(config), "updated: 2026-11-28", "updated: 2099-01-01")
    say(home, NEWS)
    run_night(config, knowing(NEWS), at=MORROW)
    assert NEWS in standing(config)
    assert "\nupdated: 2099-01-01\n" in text(config)
    assert_settled(config, knowing(NEWS))


def test_news_waits_for_a_page_that_can_take_none(home: Path, config: Config) -> None:
    """What is refused for the page's sake, as for a fence never closed, is not held against it."""
    edit(page(config), "## References", "## Sources\n\nA list of mine.")
    whole = text(config)
    page(config).write_text(f"{whole}\n```\nnever closed, and full of words of mine", "utf-8")
    say(home, NEWS)
    night = run_night(config, knowing(NEWS), at=MORROW)
    assert (len(night.results.rejected), night.results.refused) == (1, [])
    assert text(config) == f"{whole}\n```\nnever closed, and full of words of mine"
    page(config).write_text(f"{whole}\n```\nclosed\n```\n", "utf-8")
    run_night(config, knowing(NEWS), at=LAST)
    assert NEWS in standing(config)
