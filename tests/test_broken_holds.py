"""Held drafts, attacked: news, merges and edits while they wait, odd words, kills."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from pipeline.config import Config
from pipeline.history import History
from pipeline.publish import heal
from pipeline.review.deciding import accept, find, reject
from pipeline.review.undoing import undo
from pipeline.store.ledger import Ledger
from pipeline.vault import Vault
from tests.support_command import memory
from tests.support_night import NIGHT, Script, files, run_night, write_session
from tests.test_review import (
    NEW,
    NEXT,
    OLD,
    article,
    decide,
    held,
    pages,
    script,
)

__all__ = ["held"]
LAST = NEXT + timedelta(days=4)


def more(
    home: Path, *texts: str, day: int = 24, session: str = "44444444-4444-4444-8444-444444444444"
) -> None:
    """One more conversation of the user."""
    said = [line for text in texts for line in (("user", text), ("assistant", "Noted."))]
    write_session(home, "claude-code", session, datetime(2026, 11, day, 9, 0, tzinfo=UTC), said)


def also(*texts: str, relation: str = "updates") -> Script:
    """The good model of the held night, which knows these claims too."""
    base = script()
    return replace(
        base,
        overrides={"synthesize/relation": lambda ask: relation},
        claims={**base.claims, **{t.removesuffix("."): [(t, "fact")] for t in texts}},
    )


def settled(config: Config, s: Script | None = None, at: datetime = LAST) -> None:
    """The night after the next has nothing to do."""
    run_night(config, s or script(), at=at)
    before, head = files(config.vault), History(config.vault).head()
    night = run_night(config, s or script(), at=at + timedelta(days=1))
    assert night.model.asked == []
    assert night.status == "nothing"
    assert files(config.vault) == before
    assert History(config.vault).head() == head


def counts(config: Config) -> dict[str, int]:
    """How often each sentence stands in the articles, titles of sources aside."""
    text = "".join(p.read_text() for p in (config.vault / "articles").rglob("*.md"))
    return {s: len(re.findall(re.escape(s), re.sub(r"(?m)^\[\^.*$", "", text))) for s in OLD + NEW}


EXTRA = "The Lantern mirror is updated every 90 minutes by the cluster."


def test_said_again_while_held(home: Path, held: Config) -> None:
    """The same news said again in a conversation, while its draft waits: once in the article."""
    run_night(held, script(), at=NEXT)
    more(home, NEW[0], EXTRA)
    run_night(held, also(EXTRA), at=NEXT + timedelta(days=1))
    decide(held, lambda r: accept(r.press.store.holds.open(), r), LAST)
    settled(held, also(EXTRA))
    c = counts(held)
    assert all(n <= 1 for n in c.values()), c


def test_added_twice(home: Path, held: Config) -> None:
    """A held new claim that a later night writes itself."""
    extra2 = "The Lantern relay waits 12 seconds for each peer of the cluster."
    run_night(held, script(), at=NIGHT + timedelta(hours=1))
    write_session(
        home,
        "claude-code",
        "55555555-5555-4555-8555-555555555555",
        datetime(2026, 11, 22, 12, 0, tzinfo=UTC),
        [("user", t) for t in (*NEW, extra2)],
    )
    run_night(held, also(extra2), at=NEXT)
    more(home, extra2, EXTRA)
    run_night(held, also(EXTRA, extra2), at=NEXT + timedelta(days=1))
    holds = decide(held, lambda r: r.press.store.holds.open(), LAST)
    for hold in holds:
        decide(held, lambda r, hold=hold: accept([hold], r), LAST)  # type: ignore[misc]
    text = article(held).read_text().split("## References")[0]
    assert text.count(extra2) <= 1


@pytest.mark.parametrize("what", ["merge", "ignore", "rename"])
def test_bucket_edited_while_held(home: Path, held: Config, what: str) -> None:
    """Buckets.md is obeyed while a draft waits."""
    run_night(held, script(), at=NEXT)
    page = held.vault / "Meta" / "Buckets.md"
    text = page.read_text()
    row = next(line for line in text.splitlines() if line.startswith("| Lantern project"))
    cells = row.split("|")
    if what == "merge":
        page.write_text(
            text.replace(row, row.replace("article |", "→ Beacon |"))
            + "| Beacon | | | | captured |\n"
        )
    elif what == "ignore":
        cells[-2] = " ignore "
        page.write_text(text.replace(row, "|".join(cells)))
    else:
        page.write_text(text.replace("| Lantern project |", "| Lantern works |", 1))
    run_night(held, script(), at=NEXT + timedelta(days=1))
    holds = decide(held, lambda r: r.press.store.holds.open(), LAST)
    if holds:
        decide(held, lambda r: accept(holds, r), LAST)
    settled(held)
    c = counts(held)
    assert all(n <= 1 for n in c.values()), c


def test_deleted_article(home: Path, held: Config) -> None:
    """A draft for an article the user deleted is stale, and nothing comes back."""
    run_night(held, script(), at=NEXT)
    article(held).unlink()
    d = decide(held, lambda r: accept(find("", r), r), NEXT)
    assert d[0].outcome == "stale"
    assert pages(held) == {}
    settled(held)
    assert pages(held) == {}


def test_renamed_article(home: Path, held: Config) -> None:
    """A draft for a renamed article goes to where it is now, and the changelog links there."""
    run_night(held, script(), at=NEXT)
    page = article(held)
    page.rename(page.with_name("Streetlight.md"))
    done = memory("accept")
    assert done.returncode == 0, done.stderr + done.stdout
    text = page.with_name("Streetlight.md").read_text()
    assert NEW[0] in text
    log = (held.vault / "Meta" / "Changelog.md").read_text()
    assert not page.exists()
    newest = log.split("\n## ")[1]
    assert "[[Streetlight" in newest


def test_undo_of_accepted(home: Path, held: Config) -> None:
    """What was accepted can be taken back, and stays out."""
    run_night(held, script(), at=NEXT)
    before = pages(held)
    decide(held, lambda r: accept(find("", r), r), NEXT)
    decide(held, lambda r: undo("", "", r), NEXT)
    assert pages(held) == before
    settled(held)
    assert pages(held) == before


def test_titles(home: Path, held: Config) -> None:
    """Odd words come out of `review` as they are."""
    odd = (
        "The Lantern [red]gauge[/red] :warning: shows \u202e80\tbar "
        "at the \U0001f600 gate of the cluster."
    )
    more(home, *NEW, odd, day=23)
    run_night(held, also(odd), at=NEXT)
    shown = memory("review")
    assert shown.returncode == 0
    js = json.loads(memory("review", "--json").stdout)
    diff = js["held"][0]["diff"]
    for line in diff.splitlines():
        assert line in shown.stdout, line


def test_diff_is_the_bytes(home: Path, held: Config) -> None:
    """What `memory diff` prints, when piped, is the diff: emoji names, tabs, CR."""
    page = article(held)
    page.write_bytes(
        page.read_bytes()
        .replace(b"## References", b":warning: my\ttab [bold]x[/bold]\n\n## References")
        .replace(b"\n", b"\r\n")
    )
    more(home, EXTRA)
    run_night(held, also(EXTRA, relation="unrelated"), at=NEXT)
    done = subprocess.run(
        [sys.executable, "-m", "pipeline", "diff"],
        capture_output=True,
        check=False,
        cwd=Path(__file__).parents[1],
    ).stdout
    assert b":warning: my\ttab [bold]x[/bold]\r\n" in done, done.decode()


class Kill(BaseException):
    """The process ends here."""


STEPS: dict[str, tuple[type, str, bool]] = {
    "announce": (Ledger, "announce", False),
    "after announce": (Ledger, "announce", True),
    "after write": (Vault, "write", True),
    "after commit": (History, "commit", True),
    "after settle": (Ledger, "settle", True),
}


@pytest.mark.parametrize("nth", [0, 1])
@pytest.mark.parametrize("step", STEPS)
def test_killed_accept(
    home: Path, held: Config, monkeypatch: pytest.MonkeyPatch, step: str, nth: int
) -> None:
    """Killed at any step, healed: accepted once, told once."""
    run_night(held, script(), at=NEXT)
    owner, name, after = STEPS[step]
    real: Any = getattr(owner, name)
    count = [0]

    def killing(self: Any, *a: Any, **k: Any) -> Any:
        count[0] += 1
        if count[0] == nth + 1 and not after:
            raise Kill
        result = real(self, *a, **k)
        if count[0] == nth + 1 and after:
            raise Kill
        return result

    with monkeypatch.context() as m:
        m.setattr(owner, name, killing)
        with suppress(Kill):
            decide(held, lambda r: accept(find("", r), r), NEXT)
    decide(held, lambda r: heal(r.press, NEXT), NEXT)
    if decide(held, lambda r: r.press.store.holds.open(), NEXT):
        decide(held, lambda r: accept(find("", r), r), NEXT)
    c = counts(held)
    assert all(n == 1 for n in c.values()), c
    settled(held)
    log = (held.vault / "Meta" / "Changelog.md").read_text()
    assert log.count("3 superseded") == 1, log[:900]
    assert len(re.findall(r"(?m)^## 2026-11-29", log)) <= 3


def test_dirty_changelog_left_alone(home: Path, held: Config) -> None:
    """commit_user_edits = false and an edited changelog: the decision stands and is told later."""
    run_night(held, script(), at=NEXT)
    config = held.model_copy(update={"commit_user_edits": False})
    log = held.vault / "Meta" / "Changelog.md"
    log.write_text(log.read_text() + "\nmine\n")
    d = decide(config, lambda r: accept(find("", r), r), NEXT)
    assert d[0].outcome == "accepted"
    decide(config, lambda r: undo("", "", r), NEXT)


def test_reject_dirty_changelog(home: Path, held: Config) -> None:
    """The same for a rejection."""
    run_night(held, script(), at=NEXT)
    config = held.model_copy(update={"commit_user_edits": False})
    log = held.vault / "Meta" / "Changelog.md"
    log.write_text(log.read_text() + "\nmine\n")
    d = decide(config, lambda r: reject(find("", r), "no", r, drop=True), NEXT)
    assert d[0].outcome == "dropped"


def test_accept_dirty_article(home: Path, held: Config) -> None:
    """commit_user_edits = false and an edited article: the hold stays, and says why."""
    run_night(held, script(), at=NEXT)
    config = held.model_copy(update={"commit_user_edits": False})
    page = article(held)
    page.write_text(page.read_text() + "\nmine\n")
    with pytest.raises(Exception, match="uncommitted"):
        decide(config, lambda r: accept(find("", r), r), NEXT)
    assert decide(held, lambda r: r.press.store.holds.open(), NEXT)
