"""Times of day, and the moments they stand for on days when the clock is changed.

A time that the clock passes twice (it goes back) is due the first time only. A time that the clock
leaps over (it goes forward) is due as much later as the clock leaps: 02:30 becomes 03:30.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from pipeline.errors import ConfigFault

DAY = timedelta(days=1)


def parse(text: str) -> time:
    """A time of day from `HH:MM`. Raises ConfigFault for anything else: nothing is clamped."""
    found = re.fullmatch(r"([0-9]{1,2}):([0-9]{2})", text)
    if found is None or int(found[1]) > 23 or int(found[2]) > 59:
        raise ConfigFault(
            f"{text!r} is no time of day", mend="write hours and minutes, from 00:00 to 23:59"
        )
    return time(int(found[1]), int(found[2]))


def last_due(at: time, now: datetime, zone: tzinfo | None = None) -> datetime:
    """The latest moment, not after `now`, at which `at` was due.

    zone: None is the machine's own, by which schedulers go. now: aware. The answer is in UTC:
    moments of one zone compare by their wall time, which a change of the clock belies.
    """
    return next(due for due in _moments(at, now, zone, -1) if due <= now.astimezone(UTC))


def next_due(
    at: time, now: datetime, zone: tzinfo | None = None, *, skips_gap: bool = False
) -> datetime:
    """The first moment after `now` at which `at` is due; see `last_due`.

    skips_gap: a day on which the clock leaps over `at` has none, as systemd holds it.
    """
    for due in _moments(at, now, zone, 1):
        leapt = due.astimezone(zone).time() != at
        if due > now.astimezone(UTC) and not (skips_gap and leapt):
            return due
    raise AssertionError("days never end")


def nights(at: time, since: datetime, now: datetime, zone: tzinfo | None = None) -> int:
    """How many times `at` was due after `since` and not after `now`; 0 if the clock went back."""
    count = 0
    for due in _moments(at, now, zone, -1):
        if due <= since.astimezone(UTC):
            return count
        count += due <= now.astimezone(UTC)
    raise AssertionError("days never end")


def _moments(at: time, now: datetime, zone: tzinfo | None, step: int) -> Iterator[datetime]:
    """The moments of the days from next to `now`'s, forwards (1) or backwards (-1), in UTC."""
    day = now.astimezone(zone).date() - step * DAY
    while True:
        yield _moment(day, at, zone)
        day += step * DAY


def _moment(day: date, at: time, zone: tzinfo | None) -> datetime:
    # fold=0, the default, gives what the head of this file promises, in both cases; by way of the
    # timestamp, since astimezone() of a naive time that the clock leaps over is an hour early
    return datetime.fromtimestamp(datetime.combine(day, at, zone).timestamp(), UTC)
