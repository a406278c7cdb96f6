"""News goes first, then the oldest of what was there before; a night's budget decides how far."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from pipeline.backlog import news_then_backlog, oldest_first
from pipeline.config import Config, load_config
from pipeline.control import Control
from pipeline.models import Ask
from pipeline.records import Span
from pipeline.store import Store
from tests.support_night import NIGHT, Script, make_vault, run_night, write_session

YEAR = NIGHT - timedelta(days=300)


def old(home: Path, number: int) -> None:
    """A conversation of `number` days after the year began, on a thing of that number."""
    said = [
        ("user", f"The Lantern sensor {number:03} stands in the field of {number:03} trees."),
        ("assistant", f"The Lantern sensor {number:03} stands there."),
    ]
    session = f"3b1f0c2a-7d6e-4f50-9a1b-2c3d4e5f{number:04}"
    write_session(home, "claude-code", session, YEAR + timedelta(days=number), said)


@pytest.fixture
def config(home: Path) -> Config:
    """25 conversations of long ago, one of yesterday; the first night looks two weeks back."""
    for number in range(25):
        old(home, number)
    said = [("user", "The Harbor gate opens at 06:00."), ("assistant", "The Harbor gate does.")]
    write_session(
        home, "pi", "01a227e0-11a7-7b0c-92c2-99aa37193c01", NIGHT - timedelta(days=1), said
    )
    make_vault()
    return load_config(timezone="UTC", since_days=14)


def labelled(script: Script) -> list[str]:
    """The numbers of the conversations in the order they are cut; the new one is "new"."""
    order: list[str] = []

    def label(ask: Ask) -> str:
        for number in range(25):
            if f"sensor {number:03}" in ask.prompt:
                order.append(f"{number:03}")
                return "Sensors of the Lantern project"
        order.append("new")
        return "The gate of the Harbor project"

    script.overrides = {**script.overrides, "chunk/label": label}
    return order


def chunked(config: Config) -> int:
    """How many conversations are cut."""
    store = Store(config.store_path)
    found = store.conversations.counts()["conversations"] - len(store.conversations.to_chunk())
    store.close()
    return found


def test_by_itself_a_run_takes_the_news_alone(config: Config) -> None:
    """What was said before the horizon waits, and is counted."""
    night = run_night(config)
    assert chunked(config) == 1
    assert night.results.backlog == 25


def test_what_is_left_does_not_hang_on_the_span_of_a_run(config: Config) -> None:
    """`status` tells from the numbers of several runs how fast the backlog shrinks."""
    assert run_night(config, span=Span(since=NIGHT)).results.backlog == 25
    assert run_night(config, span=Span(since=YEAR)).results.backlog == 0


def test_days_of_the_past_leave_the_rest_of_the_backlog(config: Config) -> None:
    """Three of 25 are taken; what lies before the days asked for waits, and so do those after."""
    span = Span(YEAR + timedelta(days=3), YEAR + timedelta(days=6))
    assert run_night(config, span=span).results.backlog == 22


def test_news_first_then_the_oldest(config: Config) -> None:
    """Whatever the order of the files: the news, then each conversation by its age."""
    script = Script()
    order = labelled(script)
    night = run_night(config, script, passes=news_then_backlog)
    assert order == ["new", *(f"{number:03}" for number in range(25))]
    assert night.results.backlog == 0


def test_a_budget_that_ends_in_the_backlog_leaves_whole_slices(config: Config) -> None:
    """What was taken first went through every stage; the night counts as done, the rest waits."""
    run_night(config)
    # A label is 5 words and the empty list of claims 2: ten conversations take about 70, and with
    # the labels of the next ones, which are cut eight at a time, 90 is passed.
    script = Script({"chunk/label": lambda ask: "Sensors of the Lantern project"})
    night = run_night(config, script, control=Control(60, 90), passes=news_then_backlog)
    assert night.status == "done"
    assert "token budget" in night.results.failure
    store = Store(config.store_path)
    waiting = {c.started_at for c in store.conversations.to_chunk()}
    unread = list(store.chunks.to_claim())
    store.close()
    assert YEAR + timedelta(days=9) not in waiting and YEAR + timedelta(days=24) in waiting
    begun = {YEAR + timedelta(days=number) for number in range(10)}
    assert not begun & {chunk_start(config, chunk.conv) for chunk in unread}
    assert night.results.backlog == len(waiting) < 25
    again = run_night(config, script, passes=news_then_backlog)
    assert again.results.backlog == 0 and chunked(config) == 26


def chunk_start(config: Config, conv: str) -> datetime:
    """When the conversation began."""
    store = Store(config.store_path)
    try:
        return store.conversations.get(conv).started_at
    finally:
        store.close()


def test_a_budget_that_ends_in_the_news_stops_the_run(config: Config) -> None:
    """Then there is work left that the night was for."""
    night = run_night(config, control=Control(60, 1), passes=news_then_backlog)
    assert night.status == "stopped"
    assert chunked(config) <= 1


def test_days_of_the_past_by_hand(config: Config) -> None:
    """A span takes the conversations that ended in it, both ends included, and no other."""
    span = Span(YEAR + timedelta(days=3), YEAR + timedelta(days=6))
    script = Script()
    order = labelled(script)
    run_night(config, script, passes=oldest_first, span=span)
    # that of the sixth day goes on for a minute after the span's end
    assert order == ["003", "004", "005"]


def test_a_stage_whose_time_is_up_leaves_the_others_theirs(config: Config) -> None:
    """Its rest is done by the next run; this one says so and counts as stopped."""
    night = config.night.model_copy(update={"stage_minutes": 1e-9})
    hasty = config.model_copy(update={"night": night, "batch": 1})
    done = run_night(hasty, passes=news_then_backlog)
    assert done.status == "stopped"
    told = [
        problem for problem in done.results.problems if "the stage ingest was stopped" in problem
    ]
    assert len(told) == 1  # not once for each slice of the backlog
    assert any("the stage wikify was stopped" in problem for problem in done.results.problems)
    assert run_night(config, passes=news_then_backlog).results.backlog == 0
    assert chunked(config) == 26
