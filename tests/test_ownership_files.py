"""The user's files win: write-protected, of the same name, with other line ends."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from pipeline.config import Config
from pipeline.history import History
from pipeline.models import Ask
from pipeline.store import Store
from tests.support_night import Script, make_vault, run_night, write_sessions
from tests.support_ownership import (
    LAST,
    LATER,
    MORROW,
    NEWS,
    OTHER_SESSION,
    assert_ours_alone,
    assert_settled,
    authors,
    knowing,
    our_commits,
    page,
    say,
    text,
)


@pytest.fixture
def config(home: Path) -> Config:
    """A vault after its first night: two articles, everything committed."""
    write_sessions(home)
    config = make_vault()
    run_night(config)
    return config


def test_a_read_only_article_is_left_alone(home: Path, config: Config) -> None:
    """Write protection is a wish: the page stays, the reason is said, lifted it is written."""
    page(config).chmod(0o444)
    before, head = page(config).read_bytes(), History(config.vault).head()
    say(home, NEWS)
    night = run_night(config, knowing(NEWS), at=MORROW)
    assert night.status == "partial"
    (job, reasons), *_ = night.results.rejected
    assert job == "synthesize: bucket Lantern project"
    assert "read-only" in reasons[0]
    assert page(config).read_bytes() == before
    assert page(config).stat().st_mode & 0o777 == 0o444
    assert all(p == ["Meta/Changelog.md"] for p in our_commits(config, head))
    store = Store(config.store_path)
    assert store.ledger.intents() == []
    store.close()
    page(config).chmod(0o644)
    assert run_night(config, knowing(NEWS), at=LAST).status == "done"
    assert NEWS in text(config)
    assert_settled(config, knowing(NEWS), at=LAST + timedelta(days=1))


def test_a_changelog_that_cannot_be_written_tells_all_when_it_can(
    home: Path, config: Config
) -> None:
    """Write-protected for six nights of news, it is never given up; the articles go on."""
    changelog = config.vault / "Meta" / "Changelog.md"
    changelog.chmod(0o444)
    before = changelog.read_bytes()
    said = [
        f"The Lantern login page has a button {number} pixels wide." for number in range(41, 47)
    ]
    for number, claim in enumerate(said):
        start = LATER + timedelta(days=number)
        say(home, claim, session=f"3b1f0c2a-7d6e-4f50-9a1b-{number:012x}", start=start)
        night = run_night(config, knowing(*said), at=MORROW + timedelta(days=number))
        assert night.status == "done"
        assert any("changelog was not written" in problem for problem in night.results.problems)
        assert claim in text(config)
    assert changelog.read_bytes() == before
    changelog.chmod(0o644)
    run_night(config, knowing(*said), at=MORROW + timedelta(days=7))
    after = changelog.read_text(encoding="utf-8")
    assert after.count("- updated [[Lantern project") == 6
    assert_settled(config, knowing(*said), at=MORROW + timedelta(days=8))


def test_an_announced_page_turned_read_only_does_not_stop_later_nights(
    home: Path, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed before the write, protected since: the next night says so and goes on."""

    def dies(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    say(home, NEWS)
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr("pipeline.vault.Vault.write", dies)
        run_night(config, knowing(NEWS), at=MORROW)
    page(config).chmod(0o444)
    harbor = "The Harbor importer has a limit of 31 connections."
    say(home, harbor, session=OTHER_SESSION)
    script = knowing(NEWS, harbor)
    assert run_night(config, script, at=MORROW + timedelta(hours=1)).status == "partial"
    assert harbor in text(config, "Harbor project")
    assert NEWS not in text(config)
    page(config).chmod(0o644)
    run_night(config, script, at=LAST)
    assert NEWS in text(config)


def new_topic(home: Path) -> None:
    """A third project, spoken of in two conversations."""
    claims = ORCHARD
    say(home, claims[0])
    say(home, claims[1], session=OTHER_SESSION, start=LATER + timedelta(hours=1))


ORCHARD = (
    "The Orchard sensors report the soil moisture every 10 minutes.",
    "The Orchard pumps are switched by a relay on port 7.",
)


def on_orchard(**overrides: Callable[[Ask], str]) -> Script:
    """A good model that knows the third project."""
    script = knowing(*ORCHARD)
    usual = Script(claims=script.claims)

    def named(purpose: str) -> Callable[[Ask], str]:
        def answer(ask: Ask) -> str:
            said = ask.prompt.partition("Piece:")[2] or ask.prompt
            if "Orchard" not in said:
                made = usual.choose if purpose == "cluster/route" else usual.write
                return str(made(purpose, ask))
            if purpose == "chunk/label":
                return "Watering the Orchard"
            if purpose == "cluster/name":
                return "Orchard watering"
            rows = ask.prompt.partition("Piece:")[0].splitlines()
            return next((row[0] for row in rows if "Orchard" in row), "none of these")

        return answer

    purposes = ("chunk/label", "cluster/name", "cluster/route")
    script.overrides = {purpose: named(purpose) for purpose in purposes}
    return script


def test_an_article_the_user_wrote_of_a_new_topic_is_taken_up(home: Path, config: Config) -> None:
    """Same title, never committed: it is kept, committed as theirs, and the news is added."""
    mine = "---\ntags: [garden]\n---\n# Orchard Watering\n\nPlanted in spring.\n\n- [ ] buy hose\n"
    page(config, "orchard WATERING").write_text(mine, encoding="utf-8")
    head = History(config.vault).head()
    new_topic(home)
    run_night(config, on_orchard(), at=MORROW)
    names = sorted(p.stem for p in (config.vault / "articles").glob("*.md"))
    assert names == ["Harbor project", "Lantern project", "orchard WATERING"]
    after = text(config, "orchard WATERING")
    assert ORCHARD[0] in after and ORCHARD[1] in after
    for line in mine.splitlines():
        assert line in after.splitlines()
    assert authors(config, "Planted in spring.") == {"You"}
    assert_ours_alone(config, head)
    assert_settled(config, on_orchard())


def test_a_new_article_never_shares_a_file_with_one_of_the_users(
    home: Path, config: Config
) -> None:
    """A page of that file name in other case, about something else, stays what it is."""
    mine = "# Cider press\n\nIt leaks.\n"
    page(config, "ORCHARD watering").write_text(mine, encoding="utf-8")
    new_topic(home)
    run_night(config, on_orchard(), at=MORROW)
    assert text(config, "ORCHARD watering") == mine
    made = {p.stem for p in (config.vault / "articles").glob("*.md")}
    assert len({unicodedata.normalize("NFC", stem).casefold() for stem in made}) == len(made) == 4
    assert authors(config, "It leaks.") == set()
    assert_settled(config, on_orchard())


@pytest.mark.parametrize("lead", [b"", b"\xef\xbb\xbf"], ids=["plain", "BOM"])
@pytest.mark.parametrize("nl", [b"\n", b"\r\n"], ids=["LF", "CRLF"])
def test_line_ends_and_byte_order_mark_are_kept(
    home: Path, config: Config, lead: bytes, nl: bytes
) -> None:
    """Saved by a Windows editor, the page keeps what it had; every line there before stands."""
    before = lead + page(config).read_bytes().replace(b"\n", nl)
    page(config).write_bytes(before)
    head = History(config.vault).head()
    say(home, NEWS)
    night = run_night(config, knowing(NEWS), at=MORROW)
    after = page(config).read_bytes()
    assert night.status == "done" and NEWS.encode() in after
    assert after.startswith(lead + b"---" + nl)
    assert after.count(b"\n") == after.count(nl)
    gone = set(before.split(nl)) - set(after.split(nl))
    assert all(line.startswith(b"updated:") or re.search(rb"\[\^\d+\]$", line) for line in gone), (
        gone
    )
    assert_ours_alone(config, head)
    assert_settled(config, knowing(NEWS))
