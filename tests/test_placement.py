"""What a new claim does to what an article says: add, cite, succeed, answer; and never hurt."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pipeline.config import Config
from pipeline.history import History
from pipeline.models import Ask
from tests.support_night import NIGHT, Script, make_vault, run_night, write_session, write_sessions

MORROW = NIGHT + timedelta(days=1)
OLD = "The Lantern retention job keeps sessions for 45 days."
NEW = "The Lantern retention job keeps sessions for 30 days."
OLDEST = "The Lantern retention job keeps sessions for 90 days."
LATER_SESSION = "3b1f0c2a-7d6e-4f50-9a1b-2c3d4e5f6a7b"
OLDER_SESSION = "7c2e1d3b-8e7f-4061-8b2c-3d4e5f607182"


@pytest.fixture
def config(home: Path) -> Config:
    """A vault after its first night."""
    write_sessions(home)
    config = make_vault()
    run_night(config)
    return config


def says(relation: str, **claims: str) -> Script:
    """A model that sees this relation between any two sentences it is asked about."""
    script = Script({"synthesize/relation": lambda ask: relation})
    script.claims = {
        **script.claims,
        "for 30 days": [(NEW, "fact")],
        "for 90 days": [(OLDEST, "fact")],
        **{words: [(text, "fact")] for words, text in claims.items()},
    }
    return script


def night(config: Config, script: Script, text: str, start: datetime, session: str) -> str:
    """One conversation of one user message, folded; the text of the Lantern article after."""
    home = config.vault.parent
    write_session(home, "claude-code", session, start, [("user", text)])
    run_night(config, script, at=MORROW)
    return lantern(config)


def lantern(config: Config) -> str:
    """The article."""
    return (config.vault / "articles" / "Lantern project.md").read_text(encoding="utf-8")


def parts(text: str) -> tuple[str, str]:
    """Current statements, and History."""
    body = text.partition("## References")[0]
    current, _, history = body.partition("## History")
    return current, history


def test_a_later_value_takes_the_place_of_the_earlier(config: Config) -> None:
    """The old sentence moves to History with its date and its citation."""
    text = night(config, says("updates"), NEW, NIGHT + timedelta(hours=5), LATER_SESSION)
    current, history = parts(text)
    assert NEW in current and OLD not in current
    assert f"- 2026-11-26: {OLD}[^" in history


def test_an_earlier_value_that_arrives_late_goes_to_history(config: Config) -> None:
    """The evidence's date decides, not the order in which transcripts are found."""
    text = night(config, says("updates"), OLDEST, NIGHT - timedelta(days=30), OLDER_SESSION)
    current, history = parts(text)
    assert OLD in current and OLDEST not in current
    assert f"- 2026-10-29: {OLDEST}[^" in history


def test_the_same_thing_said_again_adds_a_citation_only(config: Config) -> None:
    """No sentence stands twice; the second conversation stands behind the first's sentence."""
    before = lantern(config)
    text = night(config, says("unrelated"), OLD, NIGHT + timedelta(hours=5), LATER_SESSION)
    assert text.partition("## References")[0].count(OLD) == 1
    assert text.count("[^") == before.count("[^") + 2
    assert "conv:3b1f0c2a" in text


def test_a_contradiction_keeps_both_and_asks_on_the_talk_page(config: Config) -> None:
    """Nothing is taken back without a clear succession."""
    text = night(config, says("contradicts"), NEW, NIGHT + timedelta(hours=5), LATER_SESSION)
    assert OLD in text and NEW in text
    talk = (config.vault / "Talk" / "Lantern project.md").read_text(encoding="utf-8")
    assert NEW in talk and OLD in talk


def test_a_sentence_the_user_rewrote_is_answered_not_replaced(config: Config) -> None:
    """P7: their wording stays, byte for byte; the news goes to the Talk page and beside it."""
    path = config.vault / "articles" / "Lantern project.md"
    own = "The Lantern retention job keeps sessions for about 45 days, sadly."
    path.write_text(lantern(config).replace(OLD, own), encoding="utf-8")
    text = night(config, says("updates"), NEW, NIGHT + timedelta(hours=5), LATER_SESSION)
    assert own in parts(text)[0]
    assert NEW in (config.vault / "Talk" / "Lantern project.md").read_text(encoding="utf-8")


def test_a_sentence_of_the_users_own_is_answered_not_replaced(config: Config) -> None:
    """P7: what they wrote without a source stays; later news stand beside it and on Talk."""
    path = config.vault / "articles" / "Lantern project.md"
    own = "The Lantern retention job keeps sessions for 40 days.\n"
    path.write_text(lantern(config).replace("## Background", own + "\n## Background"))
    script = Script(
        {
            "synthesize/relation": lambda ask: (
                "updates" if "40 days.\nNew:" in ask.prompt else "unrelated"
            )
        },
        says("updates").claims,
    )
    text = night(config, script, NEW, NIGHT + timedelta(hours=5), LATER_SESSION)
    current, history = parts(text)
    assert own in current and NEW in current and "40 days" not in history
    talk = (config.vault / "Talk" / "Lantern project.md").read_text(encoding="utf-8")
    assert f"{NEW} (`conv:" in talk and own.strip() in talk


def test_a_deleted_sentence_does_not_come_back(config: Config) -> None:
    """P7: said again in another conversation, it stays deleted."""
    path = config.vault / "articles" / "Lantern project.md"
    text = lantern(config)
    start = text.index(OLD)
    gone = text[:start] + text[text.index("]", start) + 1 :]
    path.write_text(gone, encoding="utf-8")
    after = night(config, says("unrelated"), OLD, NIGHT + timedelta(hours=5), LATER_SESSION)
    assert OLD not in after


def test_a_deleted_article_does_not_come_back(config: Config) -> None:
    """P7: news about it are recorded as done with, and nothing is written."""
    (config.vault / "articles" / "Lantern project.md").unlink()
    home = config.vault.parent
    write_session(home, "claude-code", LATER_SESSION, NIGHT + timedelta(hours=5), [("user", NEW)])
    run_night(config, says("unrelated"), at=MORROW)
    assert not (config.vault / "articles" / "Lantern project.md").exists()
    assert run_night(config, says("unrelated"), at=MORROW + timedelta(days=1)).status == "nothing"


def test_the_users_uncommitted_edit_is_kept_and_committed_as_theirs(config: Config) -> None:
    """P7: their edit and ours are two commits, theirs first and under their name."""
    path = config.vault / "articles" / "Lantern project.md"
    own = "My own remark about the lamp.\n"
    path.write_text(lantern(config).replace("## Background", own + "\n## Background"))
    text = night(config, says("unrelated"), NEW, NIGHT + timedelta(hours=5), LATER_SESSION)
    assert own in text and NEW in text
    subjects = [
        commit.subject for commit in History(config.vault).log(path="articles/Lantern project.md")
    ]
    assert subjects[:2] == ["update: Lantern project", "vault: your edits"]


def test_with_commits_of_their_edits_turned_off_the_article_is_left_alone(config: Config) -> None:
    """The page is skipped and named; nothing of theirs is committed."""
    careful = config.model_copy(update={"commit_user_edits": False})
    path = config.vault / "articles" / "Lantern project.md"
    path.write_text(lantern(config) + "\nMine.\n")
    before = path.read_bytes()
    write_session(
        config.vault.parent,
        "claude-code",
        LATER_SESSION,
        NIGHT + timedelta(hours=5),
        [("user", NEW)],
    )
    ended = run_night(careful, says("unrelated"), at=MORROW)
    assert path.read_bytes() == before
    assert ended.status == "partial"
    assert any(
        "uncommitted" in reason for _, reasons in ended.results.rejected for reason in reasons
    )


def test_ignoring_a_topic_in_buckets_md_is_obeyed(config: Config) -> None:
    """The user's word in the table: no more claims, no more writing about it."""
    page = config.vault / "Meta" / "Buckets.md"
    rows = page.read_text(encoding="utf-8").splitlines(keepends=True)
    page.write_text(
        "".join(
            row.replace("| article |", "| ignored |") if row.startswith("| Lantern") else row
            for row in rows
        ),
        encoding="utf-8",
    )
    before = lantern(config)
    text = night(config, says("unrelated"), NEW, NIGHT + timedelta(hours=5), LATER_SESSION)
    assert text == before


def test_merging_topics_in_buckets_md_folds_nothing_twice(config: Config) -> None:
    """The chunks and their ledger go over to the other bucket; later news go to its article."""
    page = config.vault / "Meta" / "Buckets.md"
    rows = page.read_text(encoding="utf-8").splitlines(keepends=True)
    page.write_text(
        "".join(
            row.replace("| article |", "| → Harbor project |")
            if row.startswith("| Lantern")
            else row
            for row in rows
        ),
        encoding="utf-8",
    )
    before = lantern(config)
    assert (
        night(config, says("unrelated"), NEW, NIGHT + timedelta(hours=5), LATER_SESSION) == before
    )
    harbor = (config.vault / "articles" / "Harbor project.md").read_text(encoding="utf-8")
    assert NEW in harbor and OLD not in harbor


def test_merging_into_nothing_is_reported_and_changes_nothing(config: Config) -> None:
    """A typo in the table is named; the topic goes on as it was."""
    page = config.vault / "Meta" / "Buckets.md"
    page.write_text(
        page.read_text().replace("project | article |", "project | → No such topic |", 1)
    )
    ended = run_night(config, says("unrelated"), at=MORROW)
    assert any("No such topic" in problem for problem in ended.results.problems)
    assert ended.results.rejected == []


def test_a_rule_the_user_adds_to_a_meta_page_reaches_the_model(config: Config) -> None:
    """The wiki governs itself: a line in the page is in the next night's prompts, and only then."""
    page = config.vault / "Meta" / "Editorial_Guidelines.md"
    page.write_text(page.read_text(encoding="utf-8") + "- Never mention the weather.\n")
    write_session(
        config.vault.parent,
        "claude-code",
        LATER_SESSION,
        NIGHT + timedelta(hours=5),
        [("user", NEW)],
    )
    ended = run_night(config, says("unrelated"), at=MORROW)
    systems = {a.purpose: a.ask.system for a in ended.model.asked}
    assert "Never mention the weather." in systems["synthesize/claims"]
    assert "Never mention the weather." not in systems["chunk/keep"]
    assert "Third person" not in systems["synthesize/claims"]


def test_two_values_of_one_message_are_two_things(config: Config) -> None:
    """A message cannot outdate itself: nothing goes to History, whatever the model says."""
    text = (
        "The Lantern retention job keeps sessions for 30 days and "
        "the Lantern retention job keeps logs for 7 days."
    )
    two = {
        "keeps logs": [
            ("The Lantern retention job keeps logs for 7 days.", "fact"),
            ("The Lantern retention job keeps sessions for 30 days.", "fact"),
        ]
    }
    script = says("updates")
    script.claims = {w: c for w, c in script.claims.items() if w != "for 30 days"} | two
    (config.vault / "articles" / "Lantern project.md").write_text(lantern(config).replace(OLD, ""))
    after = night(config, script, text, NIGHT + timedelta(hours=5), LATER_SESSION)
    current, history = parts(after)
    assert "keeps logs for 7 days" in current and "keeps sessions for 30 days" in current
    assert "30 days" not in history and "7 days" not in history


def test_the_same_statement_turned_round_is_not_written_twice(config: Config) -> None:
    """One message, two wordings with the same values: the article says it once."""
    first = "Postgres on the Lantern host ran out of memory last night, so its limit is 256 MB now."
    turned = (
        "The limit of the Lantern host is 256 MB now, since Postgres ran out of memory last night."
    )
    two = {"ran out of memory": [(first, "fact"), (turned, "fact")]}
    script = says("unrelated")
    script.claims = {**script.claims, **two}
    text = night(config, script, first, NIGHT + timedelta(hours=5), LATER_SESSION)
    assert text.partition("## References")[0].count("256 MB") == 1


def test_a_deleted_sentence_stays_out_under_another_topic(home: Path) -> None:
    """P7: the same words, filed elsewhere by the model, do not come back either."""
    config = make_vault()
    write_sessions(home)
    run_night(config)
    gone = "The Lantern retention job keeps sessions for 45 days."
    page = config.vault / "articles" / "Lantern project.md"
    text = page.read_text()
    assert gone in text
    page.write_text(re.sub(re.escape(gone) + r"(\[\^\d+\])*", "", text))
    write_session(
        home,
        "pi",
        "01a227fa-11a7-7b0c-92c2-99aa37193c04",
        datetime(2026, 11, 28, 9, 0, tzinfo=UTC),
        [("user", f"Of Harbor: {gone}"), ("assistant", "The Harbor importer knows of it.")],
    )

    def to_harbor(ask: Ask) -> str:
        topics = ask.prompt.partition("Piece:")[0].splitlines()
        return next((row[0] for row in topics if "Harbor" in row), "none of these")

    run_night(config, Script({"cluster/route": to_harbor}), at=NIGHT + timedelta(days=1))
    articles = [path.read_text() for path in (config.vault / "articles").glob("*.md")]
    assert not any(gone in article for article in articles)
