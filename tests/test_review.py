"""The user's say: held drafts, rejection with a reason, and nights taken back."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

import pytest

from pipeline import assemble
from pipeline.config import Config
from pipeline.history import History
from pipeline.models import Ask
from pipeline.review import Reviewer
from pipeline.review.deciding import accept, find, reject
from pipeline.review.undoing import undo
from tests.support_command import memory
from tests.support_night import (
    NIGHT,
    Night,
    Script,
    files,
    make_vault,
    run_night,
    write_session,
    write_sessions,
)

FIRST = (
    "claude-code",
    "11111111-1111-4111-8111-111111111111",
    datetime(2026, 11, 20, 9, 0, tzinfo=UTC),
    [
        ("user", "The Lantern cache keeps 100 entries for each tenant of the cluster."),
        ("assistant", "Noted."),
        ("user", "The Lantern queue holds 200 jobs for each worker of the cluster."),
        ("assistant", "Noted."),
        ("user", "The Lantern log is kept for 30 days on each server of the cluster."),
        ("assistant", "Noted."),
        ("user", "The Lantern proxy listens on port 8080 of each gateway of the cluster."),
        ("assistant", "Noted."),
    ],
)
SECOND = (
    "claude-code",
    "22222222-2222-4222-8222-222222222222",
    datetime(2026, 11, 22, 9, 0, tzinfo=UTC),
    [
        ("user", "The Lantern cache keeps 150 entries for each tenant of the cluster."),
        ("assistant", "Noted."),
        ("user", "The Lantern queue holds 250 jobs for each worker of the cluster."),
        ("assistant", "Noted."),
        ("user", "The Lantern log is kept for 60 days on each server of the cluster."),
        ("assistant", "Noted."),
    ],
)
OLD = [text for role, text in FIRST[3] if role == "user"]
NEW = [text for role, text in SECOND[3] if role == "user"]
NEXT = NIGHT + timedelta(days=1)
T = TypeVar("T")


def everything_updates(ask: Ask) -> str:
    return "updates"


def script() -> Script:
    """Every user sentence is a claim; every pair that is asked about is an update."""
    claims = {text.removesuffix("."): [(text, "fact")] for text in OLD + NEW}
    return Script({"synthesize/relation": everything_updates}, claims)


def article(config: Config) -> Path:
    (page,) = (config.vault / "articles").glob("*.md")
    return page


def decide(config: Config, action: Callable[[Reviewer], T], at: datetime) -> T:
    """Do something by day."""
    with assemble.reviewer(config, now=lambda: at) as reviewer:
        return action(reviewer)


@pytest.fixture
def held(home: Path) -> Config:
    """A vault with one article, and a draft that outdates three of its four sentences."""
    config = make_vault()
    write_session(home, *FIRST)
    # one conversation with six claims, or two conversations, earn an article
    write_session(
        home,
        "claude-code",
        "33333333-3333-4333-8333-333333333333",
        FIRST[2] + timedelta(hours=3),
        FIRST[3][-2:],
    )
    run_night(config, script(), at=NIGHT)
    write_session(home, *SECOND)
    return config


def test_an_upheaval_is_held_and_changes_nothing(held: Config) -> None:
    """A night that would outdate most of an article waits for the user, and says so."""
    before = article(held).read_bytes()
    night = run_night(held, script(), at=NEXT)
    assert article(held).read_bytes() == before
    assert night.status == "partial"
    ((stem, reasons),) = night.results.held
    assert stem == article(held).stem
    assert "3 of 4 sentences would move to History" in reasons[0]
    changelog = (held.vault / "Meta" / "Changelog.md").read_text()
    assert f"- held [[{stem}]]: " in changelog and "memory review" in changelog


def test_a_held_draft_is_not_made_again_while_it_waits(held: Config) -> None:
    """The next night asks nothing, changes no byte and makes no commit."""
    run_night(held, script(), at=NEXT)
    before, head = files(held.vault), History(held.vault).head()
    night = run_night(held, script(), at=NEXT + timedelta(days=1))
    assert night.status == "nothing" and night.model.asked == []
    assert files(held.vault) == before and History(held.vault).head() == head


def test_accept_writes_what_was_shown(held: Config) -> None:
    """The accepted draft is in the article: new values current, old ones dated in History."""
    run_night(held, script(), at=NEXT)
    (one,) = decide(held, lambda r: accept(find("", r), r), NEXT)
    assert one.outcome == "accepted"
    text = article(held).read_text()
    current, _, history = text.partition("## History")
    assert all(sentence in current for sentence in [*NEW, OLD[3]])
    assert all(f"- 2026-11-20: {sentence}" in history for sentence in OLD[:3])
    assert all(sentence not in current for sentence in OLD[:3])
    assert "accepted by you" in (held.vault / "Meta" / "Changelog.md").read_text()
    assert History(held.vault).state().unstaged == ()


def test_accept_keeps_edits_made_meanwhile(held: Config) -> None:
    """The user's edit of another sentence and the accepted draft are both there."""
    run_night(held, script(), at=NEXT)
    page = article(held)
    page.write_text(page.read_text().replace("# Lantern project", "# Lantern project\n\nMine."))
    (one,) = decide(held, lambda r: accept(find("", r), r), NEXT)
    assert one.outcome == "accepted"
    assert "\n\nMine.\n" in page.read_text() and NEW[0] in page.read_text()


def test_accept_of_a_draft_whose_sentence_is_gone(held: Config) -> None:
    """A draft about a sentence the user has changed is stale: nothing written, made anew."""
    run_night(held, script(), at=NEXT)
    page = article(held)
    page.write_text(page.read_text().replace("100 entries", "about 100 entries"))
    before = page.read_bytes()
    (one,) = decide(held, lambda r: accept(find("", r), r), NEXT)
    assert one.outcome == "stale" and page.read_bytes() == before
    night = run_night(held, script(), at=NEXT + timedelta(days=1))
    assert "about 100 entries" in page.read_text()
    assert any(asked.purpose == "synthesize/relation" for asked in night.model.asked)


def test_rejected_drafts_come_with_the_reason_and_are_parked_after_five(held: Config) -> None:
    """The reason stands in later prompts; the fifth rejection parks the topic; retry frees it."""
    at = NEXT
    for number in range(5):
        night = run_night(held, script(), at=at)
        assert len(night.results.held) == 1, f"night {number}"
        relations = [a.ask for a in night.model.asked if a.purpose == "synthesize/relation"]
        assert relations
        told = ["wrong cluster altogether" in ask.system for ask in relations]
        assert all(told) if number else not any(told)
        decide(held, lambda r: reject(find("", r), "wrong cluster altogether", r, drop=False), at)
        at += timedelta(days=1)
    night = run_night(held, script(), at=at)
    assert night.results.held == [] and night.model.asked == []
    state = json.loads(memory("status", "--json").stdout)
    (parked,) = [attempt for attempt in state["attempts"] if attempt["parked"]]
    assert "wrong cluster altogether" in parked["reason"]
    assert memory("retry").returncode == 0
    assert len(run_night(held, script(), at=at).results.held) == 1


def test_a_rejection_leaves_what_a_killed_night_did_to_be_told(held: Config) -> None:
    """A night that was killed before its changelog: the next one tells of it, whatever is decided
    in between.
    """
    run_night(held, script(), at=NEXT)
    with sqlite3.connect(held.store_path) as store:
        store.execute("UPDATE changes SET reported = 0")
    decide(held, lambda r: reject(find("1", r), "not mine", r, drop=True), NEXT)
    page = held.vault / "Meta" / "Changelog.md"
    told = f"new [[{article(held).stem}"
    before = page.read_text().count(told)
    run_night(held, script(), at=NEXT + timedelta(days=1))
    assert page.read_text().count(told) == before + 1


def test_dropped_claims_never_come_back(held: Config) -> None:
    """`--drop` ends it: no draft, no question, the next night."""
    run_night(held, script(), at=NEXT)
    decide(held, lambda r: reject(find("1", r), "not mine", r, drop=True), NEXT)
    before = article(held).read_bytes()
    night = run_night(held, script(), at=NEXT + timedelta(days=1))
    assert night.status == "nothing" and night.model.asked == []
    assert article(held).read_bytes() == before


def test_a_dropped_claim_said_again_stays_out(held: Config, home: Path) -> None:
    """`--drop` is about what is claimed, not about where it was said."""
    run_night(held, script(), at=NEXT)
    decide(held, lambda r: reject(find("1", r), "not mine", r, drop=True), NEXT)
    before = article(held).read_bytes()
    again = ("44444444-4444-4444-8444-444444444444", SECOND[2] + timedelta(days=1))
    write_session(home, "claude-code", *again, [("user", NEW[0]), ("assistant", "Noted.")])
    run_night(held, script(), at=NEXT + timedelta(days=1))
    assert article(held).read_bytes() == before


def test_a_rehearsal_holds_nothing(held: Config) -> None:
    """A dry run shows what would be held and leaves the real store without it."""
    with assemble.rehearsal(held) as copies:
        assert len(run_night(copies, script(), at=NEXT).results.held) == 1
    assert decide(held, lambda r: r.press.store.holds.open(), NEXT) == []


# ------------------------------------------------------------------ undo


def pages(config: Config) -> dict[str, bytes]:
    """Articles and Talk pages."""
    return {
        path: content
        for path, content in files(config.vault).items()
        if path.startswith(("articles/", "Talk/"))
    }


def grown(home: Path) -> tuple[Config, dict[str, bytes], Night]:
    """Two nights over the two invented projects; the pages after the first, and the second."""
    config = make_vault()
    write_sessions(home)
    run_night(config, at=NIGHT)
    before = pages(config)
    write_session(
        home,
        "pi",
        "01a227e9-11a7-7b0c-92c2-99aa37193c02",
        datetime(2026, 11, 28, 9, 0, tzinfo=UTC),
        [
            ("user", "The Lantern backup runs at 04:15 on the host named beryl."),
            ("assistant", "The Lantern backup on beryl is written to backup.tar."),
        ],
    )
    claims = {
        "backup runs": [("The Lantern backup runs at 04:15 on the host named beryl.", "fact")]
    }
    return config, before, run_night(config, replace(Script(), claims=claims), at=NEXT)


def test_undo_restores_every_byte(home: Path) -> None:
    """P11: after undo the articles are what they were before the night, and nothing comes back."""
    config, before, _ = grown(home)
    assert pages(config) != before
    decide(config, lambda r: undo("", "", r), NEXT)
    assert pages(config) == before
    state = History(config.vault).state()
    assert not (state.staged or state.unstaged or state.untracked)
    later = run_night(config, at=NEXT + timedelta(days=1))
    assert pages(config) == before and later.status == "nothing" and later.model.asked == []
    assert "taken back by you" in (config.vault / "Meta" / "Changelog.md").read_text()


def test_undo_repeated_takes_no_further_night_back(home: Path) -> None:
    """The same command again, as after a kill, is about the same run; another one is named."""
    config, before, _ = grown(home)
    assert memory("undo").returncode == 0
    again = memory("undo")
    assert again.returncode == 3 and "memory undo 20261128-030000" in again.stderr
    assert pages(config) == before
    assert memory("undo", "20261128-030000").returncode == 0
    assert pages(config) == {}


def test_undo_of_the_first_night_removes_what_it_made(home: Path) -> None:
    """Articles a run created are gone with it; their claims are not written again."""
    config = make_vault()
    write_sessions(home)
    run_night(config, at=NIGHT)
    assert pages(config)
    decide(config, lambda r: undo("", "", r), NIGHT)
    assert pages(config) == {}
    assert run_night(config, at=NEXT).model.asked == [] and pages(config) == {}


def test_the_topic_of_an_undone_article_goes_on(home: Path) -> None:
    """New claims of the topic may make an article again; the old ones stay out."""
    config, _, _ = grown(home)
    decide(config, lambda r: undo("", "", r), NEXT)
    decide(config, lambda r: undo("", "", r), NEXT)
    assert pages(config) == {}
    write_session(
        home,
        "pi",
        "01a227f9-11a7-7b0c-92c2-99aa37193c03",
        datetime(2026, 11, 29, 9, 0, tzinfo=UTC),
        [("user", "The Lantern mirror is updated every 90 minutes by cron.")],
    )
    claims = {"mirror is": [("The Lantern mirror is updated every 90 minutes by cron.", "fact")]}
    run_night(config, replace(Script(), claims=claims), at=NEXT + timedelta(days=2))
    text = article(config).read_text()
    assert "90 minutes" in text and "Postgres" not in text and "beryl" not in text


def test_undo_keeps_the_users_edits(home: Path) -> None:
    """A sentence edited since, even beside what the night wrote, stays as the user has it."""
    config, before, _ = grown(home)
    page = next((config.vault / "articles").glob("Lantern*"))
    old = before[f"articles/{page.name}"].decode()
    kept = "The Lantern project stores the sessions in Postgres."
    assert kept in old
    mine = "My project stores the sessions in Postgres."
    page.write_text(page.read_text().replace(kept, mine))
    decide(config, lambda r: undo(page.stem, "", r), NEXT)
    assert page.read_text() == old.replace(kept, mine)


def test_undo_leaves_a_page_whose_new_sentence_the_user_changed(home: Path) -> None:
    """What the user made their own is not taken away; exit 9 and the reason say so."""
    config, _, _ = grown(home)
    page = next((config.vault / "articles").glob("Lantern*"))
    page.write_text(page.read_text().replace("04:15 on the host", "04:30 on the host"))
    before = page.read_bytes()
    done = memory("undo", "--json")
    assert done.returncode == 9, done.stderr
    assert page.read_bytes() == before
    told = {one["path"]: one for one in json.loads(done.stdout)["pages"]}
    assert told[f"articles/{page.name}"]["outcome"] == "kept"


def test_undo_of_the_night_that_made_an_article_leaves_what_a_later_one_grew(home: Path) -> None:
    """The later sentence stands in the article that the earlier night made, so the page stays."""
    config, _, _ = grown(home)
    page = next((config.vault / "articles").glob("Lantern*"))
    grown_bytes = page.read_bytes()
    done = memory("undo", "20261128-030000", "--json")
    outcomes = {one["path"]: one["outcome"] for one in json.loads(done.stdout)["pages"]}
    assert outcomes == {
        "articles/Lantern project.md": "kept",
        "articles/Harbor project.md": "deleted",
    }
    assert page.read_bytes() == grown_bytes


def test_undo_of_an_earlier_night_leaves_what_a_later_one_put_beside(home: Path) -> None:
    """Of two nights that wrote into one paragraph, the first goes and the second stays."""
    config, _, _ = grown(home)
    text = "The Lantern mirror is updated every 90 minutes by cron."
    start = datetime(2026, 11, 29, 9, 0, tzinfo=UTC)
    write_session(home, "pi", "01a227f9-11a7-7b0c-92c2-99aa37193c03", start, [("user", text)])
    claims = {"mirror is": [(text, "fact")]}
    run_night(config, replace(Script(), claims=claims), at=NEXT + timedelta(days=1))
    page = next((config.vault / "articles").glob("Lantern*"))
    assert re.search(r"beryl\.\[\^\d+\] The Lantern mirror", page.read_text())
    done = memory("undo", "20261129-030000", "--json")
    assert [one["outcome"] for one in json.loads(done.stdout)["pages"]] == ["restored"]
    after = page.read_text()
    assert "beryl" not in after
    assert re.search(r"each worker\.\[\^\d+\] The Lantern mirror is updated .*\[\^\d+\]", after)
    assert set(re.findall(r"\[\^\d+\]", after)) == set(re.findall(r"^\[\^\d+\]", after, re.M))


def test_undo_follows_a_renamed_and_a_moved_file(home: Path) -> None:
    """The page is found where the user has put it."""
    config, before, _ = grown(home)
    page = next((config.vault / "articles").glob("Lantern*"))
    moved = page.parent / "work" / page.name
    moved.parent.mkdir()
    page.rename(moved)
    decide(config, lambda r: undo("", "", r), NEXT)
    assert moved.read_bytes() == before[f"articles/{page.name}"]
    assert not page.exists()


def test_nothing_to_undo_or_decide(home: Path) -> None:
    """Bad input names what is wrong and how to go on, exit 3; nothing is written."""
    config = make_vault()
    head = History(config.vault).head()
    for arguments, word in (
        (["undo"], "nothing to take back"),
        (["undo", "No such thing"], "memory log"),
        (["accept"], "no draft is held"),
        (["accept", "7"], "no draft is held"),
        (["reject", "--reason", "x"], "no draft is held"),
        (["reject"], "needs a reason"),
        (["diff", "20000101-000000"], "memory log"),
        (["log", "No such article"], "memory log"),
        (["retry", "no such job"], "memory status"),
    ):
        done = memory(*arguments)
        assert done.returncode == 3, (arguments, done.stderr)
        assert word in done.stderr
    assert History(config.vault).head() == head


def test_review_diff_and_log_show_the_night(home: Path) -> None:
    """The held draft and the last night are there to read, plain when piped."""
    config, _, night = grown(home)
    shown = memory("review")
    assert shown.returncode == 0, shown.stderr
    assert "+The Lantern" in shown.stdout or "beryl" in shown.stdout
    assert "\x1b[" not in shown.stdout
    run = json.loads(memory("log", "--json", "--limit", "1").stdout)[0]["run"]
    assert run in shown.stdout
    diff = memory("diff").stdout
    assert diff == memory("diff", run).stdout
    assert "beryl" in diff and "Postgres." not in [
        line[1:] for line in diff.splitlines() if line.startswith("+")
    ]
    assert "Meta/Changelog.md" not in diff
    page = next((config.vault / "articles").glob("Lantern*"))
    lines = memory("log", page.stem).stdout.splitlines()
    assert len(lines) == 2 and lines[0].startswith(run)
    assert night.status == "done"
