"""What the page of topics to ignore says is to be ignored."""

from __future__ import annotations

import pytest

from pipeline.ignored_topics import ignored_topics


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
