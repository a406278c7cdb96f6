"""What days, weekdays, months and spans are called, in every language the tables know."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from pipeline.late import late
from pipeline.text.tongues import spelt_at

_DAYS = {
    -2: "the day before yesterday",
    -1: "yesterday|last night",
    0: "today|tonight|this (?:morning|afternoon|evening)|just now",
    1: "tomorrow",
    2: "the day after tomorrow",
}
_WEEKDAYS = (
    "mondays?", "tuesdays?", "wednesdays?", "thursdays?", "fridays?", "saturdays?", "sundays?",
)  # fmt: skip
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip
# "may" and "march" are months only where a date could stand.
_BEFORE_MONTH = (
    r"(?:in|of|by|until|till|since|from|for|through|to|before|after|during|early|late|mid|next|last"
    r"|this|every)[ -]"
)
_MONTH_SHIFTS = {-1: "last month|previous month", 0: "this month", 1: "next month"}
_YEAR_SHIFTS = {-1: "last year", 0: "this year", 1: "next year"}


def _either(english: str, field: str, index: int) -> regex.Pattern[str]:
    return late(rf"\b(?:{english})\b|{spelt_at(field, index)}", regex.IGNORECASE)


# The longer phrase holds the shorter one ("the day before yesterday"), so it is looked for first.
RELATIVE_DAYS = {shift: _either(_DAYS[shift], "days", shift) for shift in (-2, 2, -1, 0, 1)}
WEEKDAYS = {number: _either(name, "weekdays", number) for number, name in enumerate(_WEEKDAYS)}
MONTHS = {
    number: _either(
        rf"(?<={_BEFORE_MONTH}){name}" if name in ("march", "may") else name, "months", number - 1
    )
    for number, name in enumerate(_MONTHS, 1)
}
MONTH_SHIFTS = {
    shift: _either(name, "month_shifts", shift) for shift, name in _MONTH_SHIFTS.items()
}
YEAR_SHIFTS = {shift: _either(name, "year_shifts", shift) for shift, name in _YEAR_SHIFTS.items()}

AGO_BEFORE = late(r"(?<!\p{L})(?:vor|hace|قبل|לפני)\s*\Z", regex.IGNORECASE)
AGO_AFTER = late(r"\A\s*(?:ago\b|前)", regex.IGNORECASE)
HENCE_BEFORE = late(r"(?<!\p{L})(?:in|بعد|בעוד|dans|dentro de)\s*\Z", regex.IGNORECASE)
HENCE_AFTER = late(r"\A\s*(?:from now\b|后|後)", regex.IGNORECASE)
# A day of an unnamed month: "on the 19th", "am 19.", 19日.
DAY_ALONE = late(
    r"\b(?:the|on)\s+(?P<day>[12]?\d|3[01])(?:st|nd|rd|th)\b"
    r"|\b(?:am|zum|bis|vom|der|dem|den)\s+(?P<day>[12]?\d|3[01])\.(?!\d)"
    r"|(?<![月\d])(?P<day>[12]?\d|3[01])[日号號](?![間间])",
    regex.IGNORECASE,
)


def named(patterns: dict[int, regex.Pattern[str]], text: str) -> Iterator[tuple[int, str]]:
    """Number and wording of everything of `patterns` that `text` names, each once."""
    for number, pattern in patterns.items():
        match = pattern.search(text)
        if match:
            yield number, match.group()
