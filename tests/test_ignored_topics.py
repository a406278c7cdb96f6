"""What the page of topics to ignore says is to be ignored."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.ignored_topics import ignored_topics
from pipeline.recall.library import library
from pipeline.recall.searching import Filters, search
from tests.support_night import Script, make_vault, run_night, write_sessions


@pytest.mark.parametrize(
    "item",
    [
        "Old ferry", "**Old ferry**", "**Old ferry**: nobody asks", "**Old ferry:** nobody asks",
        "__Old ferry__ — nobody asks", "*Old ferry*, nobody asks", "***Old ferry*** (nobody asks)",
        "[ ] **Old ferry** - nobody asks", "**[[Ferries|Old ferry]]**: nobody asks", "Old ferry.",
    ],
)  # fmt: skip
def test_what_is_led_by_emphasis_is_the_topic(item: str) -> None:
    """And what follows it is the reason."""
    assert ignored_topics(f"# Topics to ignore\n\nOne an item.\n\n- {item}\n") == ["Old ferry"]


def test_emphasis_within_a_topic_makes_it_no_shorter() -> None:
    """Only part of a name is emphasised, or signs of emphasis are part of it."""
    for item in ("*The Ferry* rebuilt", "**tea** and **cake**", "snake_case", "2 ** 3", "a *b*"):
        assert ignored_topics(f"- {item}\n") == [item]


def test_each_topic_is_listed_once_and_nothing_is_none() -> None:
    """Of all lists of the page, nested ones too."""
    assert ignored_topics("- tea\n  - **Cake**: dry\n\nText.\n\n1. tea\n2. ...\n") == [
        "tea",
        "Cake",
    ]
    assert ignored_topics("") == []


def test_the_night_reads_the_page_as_a_search_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A topic with its reason is not shown to the model, and not given."""
    monkeypatch.setenv("HOME", str(tmp_path))
    config = make_vault()
    write_sessions(tmp_path)
    page = config.vault / "Meta" / "Topics_to_Ignore.md"
    page.write_text(f"{page.read_text('utf-8')}\n- **Harbor**: nobody's business\n", "utf-8")
    night = run_night(config, Script())
    assert any("Lantern" in asked.ask.prompt for asked in night.model.asked)
    assert not any("zstd" in asked.ask.prompt for asked in night.model.asked)
    with library(config) as lib:
        assert not search(lib, "zstd for the archives", Filters(), 5)
        assert search(lib, "Lantern", Filters(), 5)
