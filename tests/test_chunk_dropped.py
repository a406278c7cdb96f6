"""What is dropped, what yields nothing, what waits: recorded, never asked about again, found."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from pipeline.config import Config
from pipeline.recall.library import library
from pipeline.recall.searching import Filters, search
from pipeline.records import BucketState
from pipeline.store import Store
from tests.support_night import (
    NIGHT,
    Script,
    make_vault,
    run_night,
    write_session,
    write_sessions,
)

LATER = datetime(2026, 11, 26, 15, 0, tzinfo=UTC)


@pytest.mark.parametrize("why", ["the model", "the user"])
def test_what_is_dropped_is_dropped_once_and_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    """Whether the model saw nothing in it or its topic stands on Topics_to_Ignore.md."""
    monkeypatch.setenv("HOME", str(tmp_path))
    config = make_vault()
    write_sessions(tmp_path)
    script = Script()
    if why == "the model":
        script = Script(
            overrides={"chunk/keep": lambda ask: "drop" if "Harbor" in ask.prompt else "keep"}
        )
    else:
        page = config.vault / "Meta" / "Topics_to_Ignore.md"
        page.write_text(page.read_text("utf-8") + "\n- Harbor\n", "utf-8")
    first = run_night(config, script)
    assert {asked.purpose for asked in first.model.asked} > {"chunk/keep"}
    assert any("Lantern" in a.ask.prompt for a in first.model.asked if a.stage != "chunk")
    asked = {a.purpose for a in first.model.asked if "Harbor" in a.ask.prompt}
    # what the user ignores is not even shown to the model; what is dropped gets no label
    assert asked == ({"chunk/keep"} if why == "the model" else set())
    assert run_night(config, script, at=NIGHT).model.asked == []
    with library(config) as lib:
        hits = search(lib, "zstd for the Harbor archives", Filters(), 5)
    # what the user wants ignored is not given either
    assert any("zstd" in hit.snippet for hit in hits) == (why == "the model")


def assert_found_and_not_asked_again(config: Config, script: Script, words: str) -> None:
    """A second night asks nothing; the search gives what was said."""
    assert run_night(config, script, at=NIGHT).model.asked == []
    with library(config) as lib:
        hits = search(lib, words, Filters(), 5)
    assert any("zstd" in hit.snippet for hit in hits)


def test_what_yields_nothing_is_asked_about_once_and_found(home: Path) -> None:
    """A model that finds no claim in anything: that is an answer, and no article comes of it."""
    config = make_vault()
    write_sessions(home)
    script = Script(claims={})
    first = run_night(config, script)
    assert "synthesize/claims" in {asked.purpose for asked in first.model.asked}
    assert not list((config.vault / "articles").glob("*.md"))
    assert_found_and_not_asked_again(config, script, "zstd for the Harbor archives")


def test_what_is_captured_is_asked_about_once_and_found(home: Path) -> None:
    """A topic of one conversation has no article; what is known waits."""
    config = make_vault()
    said = [("user", "We chose zstd for the Harbor archives, because it is fast.")]
    write_session(home, "pi", "01a227d3-5ba7-760c-a6c2-4a98371937f3", LATER, said)
    script = Script()
    assert "synthesize/claims" in {asked.purpose for asked in run_night(config, script).model.asked}
    assert not list((config.vault / "articles").glob("*.md"))
    store = Store(config.store_path)
    assert [bucket.state for bucket in store.buckets.all()] == [BucketState.CAPTURED]
    store.close()
    assert_found_and_not_asked_again(config, script, "zstd for the Harbor archives")
