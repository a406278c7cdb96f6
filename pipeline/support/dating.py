"""Which dates a message says: written out, relative to its own day, or by being sent that day."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta

import regex

from pipeline.records import Message
from pipeline.text import quantities

_DAYS = {
    0: r"today|tonight|this (?:morning|afternoon|evening)|just now|heute|aujourd'hui|hoy|сегодня"
    r"|今日|今天|اليوم|आज",
    -1: r"yesterday|last night|gestern|hier|ayer|вчера|昨日|昨天|أمس|कल",
    1: r"tomorrow|morgen|demain|mañana|завтра|明日|明天|غدا|غدًا|कल",
    -2: r"the day before yesterday|vorgestern|avant-hier|anteayer|前天|一昨日",
    2: r"the day after tomorrow|übermorgen|après-demain|pasado mañana|后天|明後日",
}
_RELATIVE = {
    shift: regex.compile(
        rf"(?<![\p{{Latin}}\p{{Cyrillic}}\p{{Arabic}}])(?:{names})(?!\p{{Latin}})", regex.I
    )
    for shift, names in _DAYS.items()
}
_AGO = regex.compile(
    r"\b(\d{1,3}) (day|week)s? ago\b|\bin (\d{1,3}) (day|week)s?\b", regex.IGNORECASE
)
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_WEEKDAY = regex.compile(rf"\b({'|'.join(_WEEKDAYS)})\b", regex.IGNORECASE)


def days_said(messages: Sequence[Message]) -> frozenset[str]:
    """ISO dates the messages say or stand for, and partial ones ("--03-05") as written."""
    found = set(days_told(messages))
    for message in messages:
        found.update(day.isoformat() for day in _own(message))
    return frozenset(found)


def days_told(messages: Sequence[Message]) -> frozenset[str]:
    """Like `days_said`, without the days the messages were merely sent on."""
    found: set[str] = set()
    for message in messages:
        own = _own(message)
        found.update(day.isoformat() for day in _resolved(message.text, min(own)))
        for quantity in quantities(message.text):
            if quantity.kind == "date":
                found.add(quantity.value)
                if quantity.value.startswith("--"):
                    found.update(
                        f"{day.year + years:04d}-{quantity.value[2:]}"
                        for day in own
                        for years in (-1, 0, 1)
                        if abs(_apart(day, years, quantity.value[2:])) <= 190
                    )
    return frozenset(found)


def day_is_said(value: str, said: frozenset[str]) -> bool:
    """Whether a claim's date (full, month or day without year) agrees with one that was said."""
    if value.startswith("--"):
        return any(day.endswith(value[1:]) for day in said)
    if len(value) == len("2024-03"):
        return any(day == value or day.startswith(value + "-") for day in said)
    return value in said


def year_is_said(value: str, said: frozenset[str]) -> bool:
    """Whether a bare number is the year of a date that was said."""
    return len(value) == 4 and any(day.startswith(value + "-") for day in said)


def _own(message: Message) -> set[date]:
    """A conversation at night has two dates, the clock's and the user's own."""
    return {message.at.date(), message.at.astimezone().date()}


def _resolved(text: str, own: date) -> set[date]:
    found = {own + timedelta(days=shift) for shift, name in _RELATIVE.items() if name.search(text)}
    for match in _AGO.finditer(text):
        count, unit = (match.group(1), match.group(2)) if match.group(1) else match.groups()[2:]
        days = int(count) * (7 if unit.casefold() == "week" else 1)
        found.add(own + timedelta(days=-days if match.group(1) else days))
    for match in _WEEKDAY.finditer(text):
        # "on Friday" may be the last or the next one; either is what was said.
        ahead = (_WEEKDAYS.index(match.group(1).casefold()) - own.weekday()) % 7
        found.update({own + timedelta(days=ahead), own + timedelta(days=ahead - 7)})
    return found


def _apart(day: date, years: int, month_day: str) -> int:
    """Days between `day` and the given month and day `years` years on."""
    try:
        return (date.fromisoformat(f"{day.year + years:04d}-{month_day}") - day).days
    except ValueError:
        return 10_000
