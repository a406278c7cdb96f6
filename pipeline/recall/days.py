"""The days and months that a query names, as people name them: what was said then is meant."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_YEAR = "january february march april may june july august september october november december"
_NAMES = _YEAR.split()
_MONTHS = {name: number for number, name in enumerate(_NAMES, 1)}
_MONTHS |= {name[:3]: number for name, number in _MONTHS.items()} | {"sept": 9}
_WORDS_TOO = ("may", "march")
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_TOLD = re.compile(
    rf"(?<![\w-])(?:{_DAY}(?:\s+of)?\s+)?({'|'.join(sorted(_MONTHS, key=len, reverse=True))})\b\.?"
    rf"(?:\s+{_DAY}(?![\w:-]))?(?:,?\s+(\d{{4}})(?![\w-]))?",
    re.IGNORECASE,
)
_ISO = re.compile(r"(?<![\w-])(\d{4})-(\d\d)(?:-(\d\d))?(?![\w-])")


@dataclass(frozen=True, slots=True)
class Days:
    """Days by how ISO writes them. told: (year, "-MM" or "-MM-DD"), the year "" for any."""

    told: tuple[tuple[str, str], ...]

    def __bool__(self) -> bool:
        return bool(self.told)

    def cover(self, day: str) -> bool:
        """Whether this ISO day is one of them; none is "", an unknown one."""
        return any(day.startswith(year) and day[4:].startswith(rest) for year, rest in self.told)


def days(query: str) -> Days:
    """The days and months in a query: `2000-01-31`, `31 January`, `Jan 31, 2000`, `January`.

    A year alone is a number as others are, and so is what is no day of any month.
    """
    return Days(tuple(dict.fromkeys((*_iso(query), *_told(query)))))


def _iso(query: str) -> Iterator[tuple[str, str]]:
    for found in _ISO.finditer(query):
        year, month, day = found.groups()
        if 1 <= int(month) <= 12 and (not day or 1 <= int(day) <= 31):
            yield year, f"-{month}-{day}" if day else f"-{month}"


def _told(query: str) -> Iterator[tuple[str, str]]:
    for found in _TOLD.finditer(query):
        before, name, after, year = found.groups()
        month, day = _MONTHS[name.lower()], before or after
        if not day and not year and not _is_month(query, found.start(2), name):
            continue
        if not day or 1 <= int(day) <= 31:
            yield year or "", f"-{month:02}-{int(day):02}" if day else f"-{month:02}"


def _is_month(query: str, start: int, name: str) -> bool:
    """Whether a name that stands alone is a month's: short ones are not, two are words as well."""
    if name.lower() in _WORDS_TOO:
        return name[0].isupper() and bool(query[:start].strip())
    return name.lower() in _NAMES
