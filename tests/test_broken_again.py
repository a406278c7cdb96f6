"""P4 after every decision, P13 and locks: merges in progress, a run at work, proposals, retries."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from pipeline.config import Config
from pipeline.history import History
from pipeline.lock import one_run
from pipeline.review.deciding import accept, find, reject
from pipeline.review.undoing import undo
from tests.support_command import memory
from tests.support_night import Script, files, run_night
from tests.test_review import FIRST, NEXT, article, decide, held, pages, script

__all__ = ["held"]
DAY = timedelta(days=1)


def settled(config: Config, s: Script, at: datetime) -> None:
    """The next night has nothing to do."""
    before, head = files(config.vault), History(config.vault).head()
    again = run_night(config, s, at=at)
    assert (again.status, [a.purpose for a in again.model.asked]) == ("nothing", [])
    assert files(config.vault) == before
    assert History(config.vault).head() == head


@pytest.mark.parametrize(
    "first", ["accept", "reject", "drop", "stale", "undo", "retry", "undo accepted", "reject undo"]
)
def test_second_night_after(held: Config, first: str) -> None:
    """Whatever the user decided, the second night after it has nothing to do."""
    run_night(held, script(), at=NEXT)
    if first in ("accept", "undo accepted"):
        decide(held, lambda r: accept(find("", r), r), NEXT)
    if first in ("reject", "reject undo"):
        decide(held, lambda r: reject(find("", r), "no\n## x [[y]] run 5", r, drop=False), NEXT)
    if first == "drop":
        decide(held, lambda r: reject(find("", r), "no", r, drop=True), NEXT)
    if first == "stale":
        page = article(held)
        page.write_text(page.read_text().replace("100 entries", "about 100 entries"))
        decide(held, lambda r: accept(find("", r), r), NEXT)
    if first == "retry":
        memory("retry")
    if first.startswith(("undo", "reject undo")) or first == "reject undo":
        decide(held, lambda r: undo("", "why\n# not", r), NEXT)
    run_night(held, script(), at=NEXT + DAY)
    settled(held, script(), NEXT + 2 * DAY)
    settled(held, script(), NEXT + 9 * DAY)


def test_undo_of_the_article_a_draft_is_held_for(held: Config) -> None:
    """An article taken back while a draft of it waits does not come back by accepting that."""
    run_night(held, script(), at=NEXT)
    runs = [c.trailers["Run"] for c in History(held.vault).log() if "Run" in c.trailers]
    decide(held, lambda r: undo(runs[-1], "", r), NEXT)
    assert pages(held) == {}
    d = decide(held, lambda r: accept(find("", r), r), NEXT)
    assert d[0].outcome == "stale"
    run_night(held, script(), at=NEXT + DAY)
    text = "".join(b.decode() for b in pages(held).values())
    for old in (t for r, t in FIRST[3] if r == "user"):
        assert old not in text.split("## References")[0]
    settled(held, script(), NEXT + 2 * DAY)


@pytest.mark.parametrize("state", ["merge", "detached"])
@pytest.mark.parametrize("command", [["undo"], ["accept"], ["reject", "--reason", "x"]])
def test_unfit(held: Config, state: str, command: list[str]) -> None:
    """In the middle of a merge, or off a branch, nothing is decided and nothing is written."""
    run_night(held, script(), at=NEXT)
    if state == "merge":
        (held.vault / ".git" / "MERGE_HEAD").write_text(History(held.vault).head() + "\n")
    else:
        subprocess.run(["git", "checkout", "-q", "--detach"], cwd=held.vault, check=True)
    before = files(held.vault)
    done = memory(*command)
    assert done.returncode not in (0, 1), done.stderr
    assert "Traceback" not in done.stderr
    assert files(held.vault) == before
    assert len(decide(held, lambda r: r.press.store.holds.open(), NEXT)) == 1


@pytest.mark.parametrize("command", [["undo"], ["accept"], ["reject", "--reason", "x"], ["retry"]])
def test_locked(held: Config, command: list[str]) -> None:
    """While a run is at work nothing is decided; reading goes on."""
    run_night(held, script(), at=NEXT)
    before = files(held.vault)
    with one_run(held.lock_path):
        done = memory(*command)
        assert done.returncode not in (0, 1) and "another run" in done.stderr
        assert memory("review").returncode == 0
        assert memory("diff").returncode == 0
    assert files(held.vault) == before


def test_index_lock_during_undo(held: Config) -> None:
    """A foreign index.lock: undo says so; once it is gone, the same command finishes it."""
    before: dict[str, bytes] = {}
    lock = held.vault / ".git" / "index.lock"
    lock.touch()
    done = memory("undo")
    assert done.returncode != 0 and "index.lock" in done.stderr
    lock.unlink()
    for _ in range(2):
        if pages(held):
            memory("undo")
    assert pages(held) == before
    assert not History(held.vault).state().staged
    run_night(held, script(), at=NEXT)


def test_sigkill_in_undo(held: Config, home: Path) -> None:
    """kill -9 at some moment of a real process: the vault heals whatever it was."""
    for delay in (0.3, 0.5, 0.6, 0.7, 0.8, 0.9):
        run_night(held, script(), at=NEXT)
        p = subprocess.Popen(
            [sys.executable, "-m", "pipeline", "undo"],
            cwd=Path(__file__).parents[1],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(delay)
        p.send_signal(signal.SIGKILL)
        p.wait()
        night = run_night(held, script(), at=NEXT + DAY)
        assert night.status in ("nothing", "done", "partial")
        state = History(held.vault).state()
        assert not (state.staged or state.unstaged)


def test_five_rejections_then_news(held: Config, home: Path) -> None:
    """A parked topic does not swallow news for ever without saying so: status names it."""
    at = NEXT
    for _ in range(5):
        run_night(held, script(), at=at)
        decide(held, lambda r: reject(find("", r), "wrong", r, drop=False), at)
        at += DAY
    settled(held, script(), at + DAY)
    out = memory("status").stdout
    assert "parked" in out, out
