"""Times of day: what is refused, and what a clock that is changed does to the night."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, time, timedelta
from time import tzset
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import ConfigFault
from pipeline.hours import last_due, next_due, nights, parse

BERLIN = ZoneInfo("Europe/Berlin")
HALF_PAST_TWO = time(2, 30)


def utc(text: str) -> datetime:
    """A moment."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    ["25:00", "24:00", "3", "03:60", "-1:00", "", "03:00:00", "3:5", "０3:00", "03:00\n", "noon"],
)
def test_a_bad_time_is_refused(text: str) -> None:
    """Never clamped, never guessed; the fault repeats what was written."""
    with pytest.raises(ConfigFault) as caught:
        parse(text)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize(
    ("text", "meant"), [("00:00", time(0, 0)), ("3:05", time(3, 5)), ("23:59", time(23, 59))]
)
def test_a_good_time_is_taken(text: str, meant: time) -> None:
    """One figure of the hour is enough."""
    assert parse(text) == meant


def test_an_ordinary_night() -> None:
    """The last is the one just reached, the next is a day later."""
    now = utc("2001-02-05 03:00")
    assert last_due(time(3, 0), now, UTC) == now
    assert next_due(time(3, 0), now, UTC) == utc("2001-02-06 03:00")
    assert last_due(time(3, 0), now - timedelta(minutes=1), UTC) == utc("2001-02-04 03:00")


def test_a_time_the_clock_leaps_over() -> None:
    """On 2026-03-29 Berlin goes from 02:00 to 03:00: 02:30 comes at 03:30, or not at all."""
    now = utc("2026-03-28 11:00")
    shifted = next_due(HALF_PAST_TWO, now, BERLIN)
    assert f"{shifted.astimezone(BERLIN):%d %H:%M}" == "29 03:30"
    assert shifted == utc("2026-03-29 01:30")
    skipped = next_due(HALF_PAST_TWO, now, BERLIN, skips_gap=True)
    assert skipped == utc("2026-03-30 00:30")
    assert last_due(HALF_PAST_TWO, utc("2026-03-29 01:29"), BERLIN) == utc("2026-03-28 01:30")
    assert last_due(HALF_PAST_TWO, utc("2026-03-29 01:30"), BERLIN) == utc("2026-03-29 01:30")


def test_a_time_the_clock_passes_twice() -> None:
    """On 2026-10-25 Berlin goes from 03:00 back to 02:00: 02:30 is due the first time alone."""
    first, second = utc("2026-10-25 00:30"), utc("2026-10-25 01:30")
    assert next_due(HALF_PAST_TWO, utc("2026-10-24 10:00"), BERLIN) == first
    assert next_due(HALF_PAST_TWO, first, BERLIN) == utc("2026-10-26 01:30")
    assert last_due(HALF_PAST_TWO, second + timedelta(minutes=15), BERLIN) == first
    assert nights(HALF_PAST_TWO, first, second + timedelta(hours=1), BERLIN) == 0


def test_a_clock_that_leaps_half_an_hour() -> None:
    """On 2026-10-04 Lord Howe goes from 02:00 to 02:30 (+11): 02:15 comes at 02:45."""
    due = next_due(time(2, 15), utc("2026-10-03 10:00"), ZoneInfo("Australia/Lord_Howe"))
    assert due == utc("2026-10-03 15:45")


def test_nights_are_counted() -> None:
    """From a success on Monday to Thursday noon three nights were due; none before it."""
    since = utc("2001-02-05 03:10")
    assert nights(time(3, 0), since, utc("2001-02-08 12:00"), UTC) == 3
    assert nights(time(3, 0), since, utc("2001-02-05 23:00"), UTC) == 0
    assert nights(time(3, 0), since, utc("2000-01-01 00:00"), UTC) == 0


@pytest.fixture
def clocks() -> Iterator[Callable[[str], None]]:
    """Sets the machine's own zone, and sets it back."""
    before = os.environ.get("TZ")

    def show(zone: str | None) -> None:
        if zone is None:
            os.environ.pop("TZ", None)
        else:
            os.environ["TZ"] = zone
        tzset()

    yield show
    show(before)


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe"])
def test_the_machines_own_zone_is_no_other(zone: str, clocks: Callable[[str], None]) -> None:
    """Every quarter of an hour of the days around each change, with and without naming the zone."""
    clocks(zone)
    at = [time(hour, minute) for hour in (0, 1, 2, 3, 12) for minute in (0, 15, 30)]
    for day in ("2026-03-07", "2026-03-28", "2026-04-04", "2026-10-03", "2026-10-24", "2026-10-31"):
        for quarter in range(4 * 48):
            now = utc(f"{day} 00:00") + quarter * timedelta(minutes=15)
            hour = at[quarter % len(at)]
            assert last_due(hour, now) == last_due(hour, now, ZoneInfo(zone))
            assert next_due(hour, now) == next_due(hour, now, ZoneInfo(zone))


@given(
    at=st.times().map(lambda t: t.replace(second=0, microsecond=0)),
    now=st.datetimes(datetime(2020, 1, 1), datetime(2035, 1, 1)),
    zone=st.sampled_from(
        ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "Africa/Cairo"]
    ),
)
def test_last_and_next_are_neighbours(at: time, now: datetime, zone: str) -> None:
    """The last is not after now, the next is; no other lies between; a day holds one."""
    where, moment = ZoneInfo(zone), now.replace(tzinfo=UTC)
    last, then = last_due(at, moment, where), next_due(at, moment, where)
    assert last <= moment < then
    assert next_due(at, last, where) == then
    assert nights(at, last, then, where) == 1
    assert timedelta(hours=22) <= then - last <= timedelta(hours=26)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd here")
@pytest.mark.parametrize("zone", ["Europe/Berlin", "Europe/Athens", "America/New_York"])
@pytest.mark.parametrize("at", ["02:30", "03:00", "03:30"])
@pytest.mark.parametrize("day", ["2026-03-07", "2026-03-28", "2026-10-24", "2026-10-31"])
def test_systemd_holds_the_same_next_run(zone: str, at: str, day: str) -> None:
    """Before each change of the clock systemd itself names the moment that we do."""
    base = datetime.fromisoformat(f"{day} 12:00").replace(tzinfo=ZoneInfo(zone))
    said = subprocess.run(
        ["systemd-analyze", "calendar", f"*-*-* {at}:00", f"--base-time={day} 12:00"],
        env={**os.environ, "TZ": zone, "LC_ALL": "C"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    found = re.search(r"in UTC\): \w+ (\S+ \S+) UTC", said)
    assert found, said
    assert next_due(parse(at), base, ZoneInfo(zone), skips_gap=True) == utc(found[1])
