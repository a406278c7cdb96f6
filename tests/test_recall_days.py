"""The days and months that a query names, and what a search makes of them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from pipeline.config import Config, load_config
from pipeline.recall.days import days
from tests.support_recall import article, claimed, found, places, store
from tests.support_store import fill


@pytest.mark.parametrize(
    "query",
    [
        "what broke on 2000-01-31?",
        "what broke on 31 January 2000",
        "what broke on the 31st of January, 2000",
        "January 31st, 2000: what broke",
        "jan. 31 2000",
    ],
)
def test_a_day_is_named_in_several_ways(query: str) -> None:
    """It is that day and no other one."""
    named = days(query)
    assert named.cover("2000-01-31")
    assert not any(map(named.cover, ("2000-01-30", "2000-02-01", "2001-01-31", "")))


def test_a_month_is_all_its_days_and_without_a_year_that_of_every_year() -> None:
    """`2000-01` and `January 2000` are one month, `January` alone is many."""
    for query in ("in 2000-01", "in January 2000", "in january, 2000"):
        assert [days(query).cover(day) for day in ("2000-01-01", "2000-01-31")] == [True, True]
        assert not days(query).cover("2000-02-01")
        assert not days(query).cover("2001-01-01")
    for query in ("what was said in January", "in january"):
        assert days(query).cover("2000-01-01")
        assert days(query).cover("2001-01-31")
        assert not days(query).cover("2001-02-01")
    assert days("on 1 February").cover("2000-02-01")
    assert not days("on 1 February").cover("2000-02-10")


@pytest.mark.parametrize(
    "query",
    [
        "may I", "what may come", "May I ask", "march on", "March of the ants", "in 2000", "1999",
        "2000-13", "2000-00-10", "99 January", "an x2000-01-02", "2000-01-02-03", "janitor", "jan",
        "1.2.3", "", "١ ٢",
    ],
)  # fmt: skip
def test_what_is_no_day_names_none(query: str) -> None:
    """Words that are names of months too, years alone, versions and numbers."""
    assert not days(query)


def test_may_and_march_are_months_where_they_are_written_so() -> None:
    """With a capital within the query, or beside a day or a year."""
    for query in ("what happened in May", "may 2000", "3 may", "in March?"):
        assert days(query)


@pytest.fixture
def config() -> Config:
    """Three days on which the kiln was spoken of."""
    config = load_config(timezone="UTC")
    with store(config) as opened:
        for number, day in enumerate((5, 12, 19), 1):
            start = datetime(2000, 10, day, 9, tzinfo=UTC)
            said = ["The kiln was fired.", f"It went well, {number} pots came out."]
            claimed(
                opened, f"0000000{number}", said, [(f"The kiln fired {number}.", 0)], start=start
            )
    return config


def test_what_was_said_on_the_day_that_is_named_comes_first(config: Config) -> None:
    """Though the newest would come first otherwise, and the day stands in no message."""
    for place in ("conversations", "claims"):
        for query, conv in (
            ("kiln fired on 12 October 2000", "00000002"),
            ("kiln fired 2000-10-05", "00000001"),
            ("kiln fired", "00000003"),
        ):
            assert found(config, query, places=(place,))[0].citation == f"conv:{conv}#1", query


def test_a_section_that_speaks_of_the_day_comes_before_others(config: Config) -> None:
    """By the day it cites."""
    for number, day in (("1", "05"), ("2", "12"), ("3", "19")):
        note = f"[^1]: `conv:0000000{number}` (2000-10-{day}, pi, message 1) — title"
        article(
            config, f"Firing {number}", f"# Firing {number}\n\nThe kiln was hot.[^1]\n\n{note}\n"
        )
    for query, name in (
        ("hot kiln on October 12", "Firing 2"),
        ("hot kiln on October 5", "Firing 1"),
    ):
        assert found(config, query, places=("articles",))[0].article == name


def test_a_day_is_the_users_own() -> None:
    """What was said at half past eleven in the evening of UTC was said on the next day in Tokyo."""
    config = load_config(timezone="Asia/Tokyo")
    with store(config) as opened:
        fill(opened, "0000000a", ["kiln"], start=datetime(2000, 10, 4, 23, 30, tzinfo=UTC))
        fill(opened, "0000000b", ["kiln"], start=datetime(2000, 10, 5, 23, 30, tzinfo=UTC))
    assert places(found(config, "kiln 5 October"))[0][1] == "conv:0000000a#1"


def test_a_day_that_is_named_finds_nothing_by_itself(config: Config) -> None:
    """Nor does it where what was said then was stored right before what matches."""
    with store(config) as opened:
        fill(opened, "0000000a", ["the loom", "the dye"], start=datetime(2000, 10, 26, tzinfo=UTC))
        fill(opened, "0000000b", ["the wheel"], start=datetime(2001, 3, 2, tzinfo=UTC))
    hits = found(config, "wheel 26 October 2000", places=("conversations",))
    assert [hit.citation for hit in hits] == ["conv:0000000b#1"]
    assert found(config, "26 October 2000", places=("conversations",)) == []


def test_a_day_that_is_named_hides_nothing(config: Config) -> None:
    """It counts, and is no filter: what was said on other days follows."""
    assert len(found(config, "kiln on 1 January 1999", places=("conversations",))) >= 3
