"""`← Topic: words` through whole nights: written of in one place, told, and killed."""

from __future__ import annotations

import multiprocessing
import os
import signal
from datetime import timedelta
from pathlib import Path
from unittest.mock import ANY

import pytest
from typer.testing import CliRunner

from pipeline import assemble
from pipeline.cli import app
from pipeline.config import Config
from pipeline.keeping.forgetting import Forgetter, Wanted
from pipeline.keeping.rebuilding import rebuild
from pipeline.records import BucketState
from pipeline.review import splitting
from pipeline.topics import obeying
from tests.support_night import (
    NIGHT,
    Script,
    files,
    run_night,
    write_session,
)
from tests.test_buckets_commands import (
    DAY,
    LATER,
    LONE,
    SESSION,
    article,
    assert_settled,
    first_night,
    ledger,
    memory,
    page,
    script,
)

GATES = "The Zeppelin hangar has 4 gates."
ROOF = "The Zeppelin hangar has a roof of tin."
SHED = "01a227e0-11a7-7b0c-92c2-99aa37193cab"


@pytest.fixture
def config(home: Path) -> Config:
    """Two articles, and a topic that was ignored while three conversations spoke of it."""
    config = first_night(home, replies())
    memory("ignore", "Zeppelin hangar")
    write_session(home, "claude-code", SESSION, LATER, [("user", GATES)])
    write_session(home, "pi", SHED, LATER + timedelta(hours=1), [("user", ROOF)])
    run_night(config, replies(), at=NIGHT + DAY)
    memory("heed", "Zeppelin hangar")
    return config


def replies() -> Script:
    return script(**{"has 4 gates": GATES, "roof of tin": ROOF})


def ask(config: Config, said: str, name: str = "Hangar gates") -> None:
    """A new row at the end of the table, written by hand."""
    text = page(config).read_text(encoding="utf-8").rstrip("\n")
    page(config).write_text(f"{text}\n| {name} |  |  |  | {said} |\n", encoding="utf-8")


def changelog(config: Config) -> str:
    return (config.vault / "Meta" / "Changelog.md").read_text(encoding="utf-8")


def test_the_next_night_obeys_and_tells(home: Path, config: Config) -> None:
    """What went over is captured apart, the rest gets the article; later news go on from there."""
    ask(config, "← Zeppelin hangar: gates")
    assert "has edits of yours" in memory()
    lantern = article(config, "Lantern project")
    run_night(config, replies(), at=NIGHT + 2 * DAY)
    told = "\n- handed part of the topic Zeppelin hangar to Hangar gates: 1 chunk went over\n"
    assert told in changelog(config)
    assert "| Hangar gates |  |  |  | captured |\n" in page(config).read_text(encoding="utf-8")
    written = article(config, "Zeppelin hangar")
    assert LONE in written and ROOF in written and GATES not in written
    assert ledger(config)["Hangar gates"] == [""]
    assert article(config, "Lantern project") == lantern
    assert_settled(config, NIGHT + 3 * DAY)
    # what is written of stays, and what was asked for in vain is told once and stands
    ask(config, "← Zeppelin hangar: tin", "Roofs")
    night = run_night(config, replies(), at=NIGHT + 4 * DAY)
    (problem,) = night.results.problems
    assert "nothing of it would go" in problem and "folded into Zeppelin hangar" in problem
    before = files(config.vault)
    run_night(config, replies(), at=NIGHT + 5 * DAY)
    assert files(config.vault) == before and "← Zeppelin hangar: tin" in page(config).read_text()
    assert article(config, "Zeppelin hangar") == written


def test_what_comes_this_night_goes_over_too(home: Path, config: Config) -> None:
    """Asked for in vain before it came, and then not: the changelog tells of the second alone."""
    run_night(config, replies(), at=NIGHT + 2 * DAY)
    ask(config, "← Zeppelin hangar: tin", "Roofs")
    new = "The Zeppelin hangar has gutters of tin."
    later = LATER + timedelta(days=2)
    write_session(home, "pi", "01a227e0-11a7-7b0c-92c2-99aa37193cac", later, [("user", new)])
    replied = script(**{"has 4 gates": GATES, "roof of tin": ROOF, "gutters of tin": new})
    night = run_night(config, replied, at=NIGHT + 4 * DAY)
    assert night.results.handed == [("Zeppelin hangar", "Roofs", 1, ANY)]
    assert [one for one in night.results.problems if "nothing of it would go" in one] == []
    assert "nothing of it would go" not in changelog(config)


def test_a_dry_run_leaves_it_to_be_done(config: Config) -> None:
    """On the copies it is done and told, here nothing is."""
    ask(config, "← Zeppelin hangar: gates")
    before, known = files(config.vault, git=True), ledger(config)
    with assemble.rehearsal(config) as copies:
        run_night(copies, replies(), at=NIGHT + 2 * DAY)
        assert "to Hangar gates: 1 chunk went over" in changelog(copies)
    assert (files(config.vault, git=True), ledger(config)) == (before, known)


def test_a_command_obeys_the_row_first(config: Config) -> None:
    """The topic it makes is there to be named."""
    ask(config, "← Zeppelin hangar: gates")
    memory("describe", "Hangar gates", "doors of the hangar")
    assert ledger(config)["Hangar gates"] == [""] and "| ←" not in page(config).read_text("utf-8")
    ask(config, "← Nowhere: gates", "Doors")
    done = CliRunner().invoke(app, ["buckets", "describe", "Hangar gates", "doors"])
    assert "no topic is called so" in done.stderr


def test_it_is_the_same_after_a_rebuild(config: Config) -> None:
    """The journal knows what went where, and that the user put it there."""
    ask(config, "← Zeppelin hangar: gates")
    run_night(config, replies(), at=NIGHT + 2 * DAY)
    before = ledger(config)
    config.store_path.unlink()
    rebuild(config)
    assert ledger(config) == before
    with assemble.reviewer(config) as reviewer:
        (one,) = reviewer.press.store.buckets.placed("Hangar gates")
    assert one.chosen


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_night_that_is_killed_ends_as_one_left_in_peace(config: Config, moment: str) -> None:
    """By SIGKILL between the store and the page, before the page is written and just after."""
    ask(config, "← Zeppelin hangar: gates")
    child = multiprocessing.get_context("fork").Process(target=_dies, args=(config, moment))
    child.start()
    child.join()
    assert child.exitcode == -signal.SIGKILL
    assert ("| ←" in page(config).read_text(encoding="utf-8")) == (moment == "before")
    night = run_night(config, replies(), at=NIGHT + 3 * DAY)
    assert night.results.problems == []
    assert ledger(config)["Hangar gates"] == [""]
    assert ledger(config)["Zeppelin hangar"] == ["folded", "folded"]
    assert "| Hangar gates |  |  |  | captured |\n" in page(config).read_text(encoding="utf-8")
    assert_settled(config, NIGHT + 4 * DAY)


def _dies(config: Config, moment: str) -> None:
    kept = obeying.publish_page

    def die(*given: object, **named: object) -> None:
        if moment == "after":
            kept(*given, **named)  # type: ignore[arg-type]
        os.kill(os.getpid(), signal.SIGKILL)

    obeying.publish_page = die
    run_night(config, replies(), at=NIGHT + 2 * DAY)


def test_what_is_forgotten_leaves_no_line_of_it(config: Config) -> None:
    """The changelog and the run's report name the topic that goes with its only conversation."""
    memory("split", "Zeppelin hangar", "Doors", "--match", "gates", "--yes")
    ask(config, "← Doors: gates")
    run_night(config, replies(), at=NIGHT + 2 * DAY)
    assert "the topic Doors to Hangar gates" in changelog(config)
    with assemble.reviewer(config) as reviewer:
        store = reviewer.press.store
        (one,) = store.buckets.placed("Hangar gates")
        forgetter = Forgetter(config, store, now=lambda: NIGHT + 3 * DAY)
        plan = forgetter.plan(Wanted(conv=one.chunk.conv))
        assert "Hangar gates" in plan.topics
        forgetter.forget(plan, from_articles=True)
        left = [text for _, text in store.forgetting.cells() if "Hangar gates" in text]
    assert "Hangar gates" not in changelog(config) and left == []


def test_a_split_by_the_command_is_taken_for_done(config: Config) -> None:
    """Who says it on the page as well gets the row cleared, and no problem."""
    with assemble.reviewer(config) as reviewer:
        planned = splitting.plan("Zeppelin hangar", "Hangar gates", reviewer, match="gates")
        splitting.split(planned, reviewer)
        reviewer.press.store.journal.write()
        assert planned.target.state is BucketState.CAPTURED
    text = page(config).read_text(encoding="utf-8")
    row = next(line for line in text.splitlines() if line.startswith("| Hangar gates "))
    said = row.replace("captured", "← Zeppelin hangar: gates")
    page(config).write_text(text.replace(row, said), encoding="utf-8")
    night = run_night(config, replies(), at=NIGHT + 2 * DAY)
    assert night.results.problems == []
    assert "| ←" not in page(config).read_text(encoding="utf-8")
    assert ledger(config)["Hangar gates"] == [""]
