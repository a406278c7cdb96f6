"""A night among hostile transcripts, odd models and a vault in the middle of something."""

from __future__ import annotations

import subprocess
from datetime import timedelta
from pathlib import Path

import pytest

from pipeline.config import Config
from pipeline.errors import VaultFault
from pipeline.history import History
from pipeline.records import BucketState
from pipeline.store import Store
from tests.support_night import (
    NIGHT,
    Script,
    files,
    make_vault,
    run_night,
    write_session,
    write_sessions,
)

MORROW = NIGHT + timedelta(days=1)
LATER = NIGHT + timedelta(hours=5)
SESSION = "3b1f0c2a-7d6e-4f50-9a1b-2c3d4e5f6a7b"
NEWS = "The Lantern login page asks for a code of 6 digits."


@pytest.fixture
def config(home: Path) -> Config:
    """Transcripts and an empty vault."""
    write_sessions(home)
    return make_vault()


def knowing(**claims: str) -> Script:
    """A good model that also makes these claims of the messages that hold the words."""
    script = Script()
    script.claims = {**script.claims, **{w: [(t, "fact")] for w, t in claims.items()}}
    return script


def buckets(config: Config, **states: str) -> None:
    """Give the rows of these buckets, by first word, another state in Buckets.md."""
    page = config.vault / "Meta" / "Buckets.md"
    rows = page.read_text(encoding="utf-8").splitlines(keepends=True)
    for word, state in states.items():
        rows = [
            row.replace("| article |", f"| {state} |") if row.startswith(f"| {word} ") else row
            for row in rows
        ]
    page.write_text("".join(rows), encoding="utf-8")


@pytest.mark.parametrize("command", [["checkout", "--detach"], ["merge", "other"]])
def test_a_vault_in_the_middle_of_something_is_not_touched(
    home: Path, config: Config, command: list[str]
) -> None:
    """Detached, or in a merge: no commit, no byte, and the next fit night does the work."""
    run_night(config)
    git = ["git", "-c", "user.name=U", "-c", "user.email=u@localhost"]
    page = config.vault / "articles" / "Lantern project.md"
    for name, text in (("other", "theirs"), ("main", "mine")):
        if name == "other":
            subprocess.run([*git, "branch", "other"], cwd=config.vault, check=True)
        subprocess.run([*git, "checkout", "-q", name], cwd=config.vault, check=True)
        page.write_text(page.read_text() + text)
        subprocess.run([*git, "commit", "-qam", text], cwd=config.vault, check=True)
    subprocess.run([*git, *command], cwd=config.vault, check=False, capture_output=True)
    write_session(home, "claude-code", SESSION, LATER, [("user", NEWS)])
    before, head = files(config.vault), History(config.vault).head()
    with pytest.raises(VaultFault):
        run_night(config, knowing(**{"login page": NEWS}), at=MORROW)
    assert files(config.vault) == before
    assert History(config.vault).head() == head


def test_a_title_runs_nothing_in_the_changelog(home: Path, config: Config) -> None:
    """P9: what a transcript begins with is plain text on every page."""
    bad = (
        "![x](http://evil.example/a.png) <img src=x> <% tp.x() %> [[Meta/Buckets]] {{date}} Lantern"
    )
    write_session(home, "pi", SESSION, LATER, [("user", bad), ("assistant", NEWS)])
    run_night(config, knowing(**{"login page": NEWS}), at=MORROW)
    assert NEWS in (config.vault / "articles" / "Lantern project.md").read_text()
    for name in ("Meta/Changelog.md", "articles/Lantern project.md", "Meta/Buckets.md"):
        text = (config.vault / name).read_text(encoding="utf-8")
        for live in ("![x]", "<img", "<%", "[[Meta/Buckets]]", "{{date}}"):
            assert live not in text, name


def test_one_claim_the_gate_would_refuse_does_not_block_its_article(
    home: Path, config: Config
) -> None:
    """Code that a plugin would run is refused claim by claim; the rest is written."""
    run_night(config)
    bad = "The Lantern template writes <% tp.date.now() %> into 7 report pages."
    write_session(home, "claude-code", SESSION, LATER, [("user", bad), ("assistant", NEWS)])
    script = knowing(**{"login page": NEWS, "report pages": bad})
    run_night(config, script, at=MORROW)
    text = (config.vault / "articles" / "Lantern project.md").read_text(encoding="utf-8")
    assert NEWS in text and "<%" not in text


@pytest.mark.parametrize(
    "name",
    [
        "\ufeffLantern project",
        "Lantern\x01 | project\n",
        "<% Lantern %> [[x]]",
        "",
        "../../Lantern",
    ],
)
def test_any_name_a_model_gives_is_made_harmless(config: Config, name: str) -> None:
    """Hidden signs, table and template signs, nothing at all: two articles, and a silent morrow."""
    usual = Script()

    def named(ask: object) -> str:
        good = usual.write("cluster/name", ask)  # type: ignore[arg-type]
        return name if good == "Lantern project" else str(good)

    night = run_night(config, Script({"cluster/name": named}))
    assert night.status == "done"
    assert len(list((config.vault / "articles").glob("*.md"))) == 2
    rows = (config.vault / "Meta" / "Buckets.md").read_text(encoding="utf-8").count("\n| ")
    assert rows == 3  # the header and two topics
    assert run_night(config, at=MORROW).status == "nothing"


def test_a_chain_of_merges_ends_at_its_end(home: Path, config: Config) -> None:
    """A merged into B merged into C: news about A stand in C's article."""
    run_night(config)
    page = config.vault / "Meta" / "Buckets.md"
    page.write_text(page.read_text() + "| Umbrella |  |  | everything |  |\n", encoding="utf-8")
    buckets(config, Lantern="→ Umbrella", Harbor="→ Lantern project")
    write_session(home, "claude-code", SESSION, LATER, [("user", NEWS)])
    session = "7c2e1d3b-8e7f-4061-8b2c-3d4e5f607182"
    harbor = "The Harbor importer has a limit of 31 connections."
    write_session(home, "claude-code", session, LATER, [("user", harbor)])
    run_night(config, knowing(**{"login page": NEWS, "31 connections": harbor}), at=MORROW)
    text = (config.vault / "articles" / "Umbrella.md").read_text(encoding="utf-8")
    assert NEWS in text and harbor in text


def test_merging_in_a_circle_is_reported_and_changes_nothing(home: Path, config: Config) -> None:
    """Both topics go on as they were."""
    run_night(config)
    buckets(config, Lantern="→ Harbor project", Harbor="→ Lantern project")
    write_session(home, "claude-code", SESSION, LATER, [("user", NEWS)])
    night = run_night(config, knowing(**{"login page": NEWS}), at=MORROW)
    assert any("circle" in problem for problem in night.results.problems)
    assert NEWS in (config.vault / "articles" / "Lantern project.md").read_text(encoding="utf-8")
    store = Store(config.store_path)
    assert {b.state for b in store.buckets.all()} == {BucketState.ARTICLE}
    store.close()


def test_an_emptied_article_stays_empty_and_the_user_is_told(home: Path, config: Config) -> None:
    """Emptying a page deletes what it said; the news about it are not forced back in."""
    run_night(config)
    page = config.vault / "articles" / "Lantern project.md"
    page.write_text("")
    write_session(home, "claude-code", SESSION, LATER, [("user", NEWS)])
    night = run_night(config, knowing(**{"login page": NEWS}), at=MORROW)
    assert page.read_text() == ""
    assert night.results.rejected == []
    assert any("Lantern project" in problem for problem in night.results.problems)


def test_a_sentence_that_ends_in_an_exclamation_mark_can_be_cited(
    home: Path, config: Config
) -> None:
    """Its footnote mark makes no image of it, and its article is written."""
    run_night(config)
    loud = "The Lantern login page takes no more than 6 digits!"
    write_session(home, "claude-code", SESSION, LATER, [("user", loud), ("assistant", NEWS)])
    night = run_night(config, knowing(**{"no more than": loud, "login page asks": NEWS}), at=MORROW)
    assert night.results.rejected == []
    text = (config.vault / "articles" / "Lantern project.md").read_text(encoding="utf-8")
    assert "no more than 6 digits\\![^" in text and NEWS in text
    assert run_night(config, at=MORROW + timedelta(days=1)).status == "nothing"


def test_a_long_backlog_that_says_nothing_new_is_done_in_one_night(
    home: Path, config: Config
) -> None:
    """More chunks than one fold takes, all known already: the next night has nothing left."""
    run_night(config)
    said = "The Lantern retention job keeps sessions for 45 days."
    for number in range(25):
        session = f"3b1f0c2a-7d6e-4f50-9a1b-{number:012x}"
        start = LATER + timedelta(minutes=number)
        write_session(home, "claude-code", session, start, [("user", f"{said} Note {number}.")])
    script = knowing()
    script.claims = {"retention job": []}
    assert run_night(config, script, at=MORROW).status == "done"
    assert run_night(config, script, at=MORROW + timedelta(hours=1)).status == "nothing"
