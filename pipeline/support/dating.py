"""Which dates a message says: written out, relative to its own day, or by being sent that day."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from functools import lru_cache

from pipeline.records import Message
from pipeline.support.calendar import (
    AGO_AFTER,
    AGO_BEFORE,
    DAY_ALONE,
    HENCE_AFTER,
    HENCE_BEFORE,
    MONTH_SHIFTS,
    MONTHS,
    RELATIVE_DAYS,
    WEEKDAYS,
    YEAR_SHIFTS,
    named,
)
from pipeline.text import Quantity, quantities

_HALF_A_YEAR = 190  # days; a day without a year is the one nearest to the message
_DAYS_IN = {"d": 1, "week": 7}


def days_told(messages: Sequence[Message]) -> frozenset[str]:
    """ISO dates and months the messages say or stand for, and partial ones ("--03-05") as written.

    Without the days the messages were merely sent on.
    """
    return frozenset().union(*(days_in(message.text, message) for message in messages))


def days_in(text: str, message: Message) -> frozenset[str]:
    """Like `days_told`, of one part of a message."""
    return _days(text, tuple(sorted(own_days(message))))


@lru_cache(maxsize=8192)
def _days(text: str, own: tuple[date, ...]) -> frozenset[str]:
    found: set[str] = set()
    for today in own:
        found |= _months(text, today)
    today = own[0]
    found |= {day.isoformat() for day in _resolved(text, today)}
    for quantity in quantities(text):
        if quantity.kind == "date":
            found.add(quantity.value)
            if quantity.value.startswith("--"):
                found.update(
                    f"{day.year + years:04d}-{quantity.value[2:]}"
                    for day in own
                    for years in (-1, 0, 1)
                    if abs(_apart(day, years, quantity.value[2:])) <= _HALF_A_YEAR
                )
        elif quantity.unit in ("d", "week", "month", "year"):
            found |= _shifted(text, quantity, today)
    return frozenset(found)


def own_days(message: Message) -> set[date]:
    """A conversation at night has two dates, the clock's and the user's own."""
    return {message.at.date(), message.at.astimezone().date()}


def day_is_said(value: str, said: frozenset[str]) -> bool:
    """Whether a claim's date (full, month or day without year) agrees with one that was said."""
    if len(value) == len("--03"):
        return any(day[5:7] == value[2:] or day.startswith(value) for day in said)
    if value.startswith("--"):
        return any(day.endswith(value[1:]) for day in said)
    if len(value) == len("2024-03"):
        return any(day == value or day.startswith(value + "-") for day in said)
    return value in said


def year_is_said(value: str, said: frozenset[str]) -> bool:
    """Whether a bare number is the year of a date that was said."""
    return len(value) == 4 and any(day.startswith(value + "-") for day in said)


def _resolved(text: str, own: date) -> set[date]:
    found = set()
    left = text
    for shift, pattern in RELATIVE_DAYS.items():
        if pattern.search(left):
            found.add(own + timedelta(days=shift))
            left = pattern.sub(" ", left)
    for weekday, _ in named(WEEKDAYS, text):
        # "on Friday" may be the last or the next one; either is what was said.
        ahead = (weekday - own.weekday()) % 7
        found |= {own + timedelta(days=ahead + 7 * week) for week in (-1, 0, 1)}
    for match in DAY_ALONE.finditer(text):
        for month in (-1, 0, 1):
            first = _month_on(own, month)
            try:
                found.add(first.replace(day=int(match.group("day"))))
            except ValueError:
                continue
    return found


def _months(text: str, own: date) -> set[str]:
    """Months named without a year, and "next month": ISO months nearest to `own`."""
    found = {_iso_month(_month_on(own, shift)) for shift, _ in named(MONTH_SHIFTS, text)}
    years = [shift for shift, _ in named(YEAR_SHIFTS, text)]
    found |= {f"{own.year + shift:04d}" for shift in years}
    for month, _ in named(MONTHS, text):
        for year in [own.year + shift for shift in years] or range(own.year - 1, own.year + 2):
            if years or abs((year - own.year) * 12 + month - own.month) < 12:
                found.add(f"{year:04d}-{month:02d}")
    return found


def _shifted(text: str, span: Quantity, own: date) -> set[str]:
    """ "3 days ago", "vor 2 Wochen", 三日前."""
    before, after = text[: span.start], text[span.end :]
    back = AGO_BEFORE.search(before) or AGO_AFTER.match(after)
    ahead = HENCE_BEFORE.search(before) or HENCE_AFTER.match(after)
    if not (back or ahead) or not span.value.isdigit() or len(span.value) > 3:
        return set()
    count = int(span.value) * (-1 if back else 1)
    if span.unit in _DAYS_IN:
        return {(own + timedelta(days=count * _DAYS_IN[span.unit])).isoformat()}
    if abs(count) > 100:
        return set()
    months = count * (12 if span.unit == "year" else 1)
    return {_iso_month(_month_on(own, months))}


def _month_on(own: date, shift: int) -> date:
    """The first of the month `shift` months from `own`."""
    months = own.year * 12 + own.month - 1 + shift
    return date(months // 12, months % 12 + 1, 1)


def _iso_month(day: date) -> str:
    return f"{day.year:04d}-{day.month:02d}"


def _apart(day: date, years: int, month_day: str) -> int:
    """Days between `day` and the given month and day `years` years on."""
    try:
        return (date.fromisoformat(f"{day.year + years:04d}-{month_day}") - day).days
    except ValueError:
        return 10_000
