"""The days and months that a query names, as people name them: what was said then is meant."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_YEAR = "january february march april may june july august september october november december"
_NAMES = _YEAR.split()
_SHORT = tuple(name[:3] for name in _NAMES)
_MONTHS = {name: number for names in (_NAMES, _SHORT) for number, name in enumerate(names, 1)}
_MONTHS["sept"] = 9
_WORDS_TOO = ("may", "march")
# Compiled where a query may hold a day at all: that takes a tenth of the time of a whole search.
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_TOLD = (
    rf"(?i)(?<![\w-])(?:{_DAY}(?:\s+of)?\s+)?((?:{'|'.join(_SHORT)})[a-z]*)\b\.?"
    rf"(?:\s+{_DAY}(?![\w:-]))?(?:,?\s+(\d{{4}})(?![\w-]))?"
)
_ISO = r"(?<![\w-])(\d{4})-(\d\d)(?:-(\d\d))?(?![\w-])"


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
    found = [*_iso(query)] if "-" in query else []
    lowered = query.lower()
    if any(name in lowered for name in _SHORT):
        found += _told(query)
    return Days(tuple(dict.fromkeys(found)))


def _iso(query: str) -> Iterator[tuple[str, str]]:
    for found in re.finditer(_ISO, query):
        year, month, day = found.groups()
        if 1 <= int(month) <= 12 and (not day or 1 <= int(day) <= 31):
            yield year, f"-{month}-{day}" if day else f"-{month}"


def _told(query: str) -> Iterator[tuple[str, str]]:
    for found in re.finditer(_TOLD, query):
        before, name, after, year = found.groups()
        month, day = _MONTHS.get(name.lower()), before or after
        if not day and not year and not _is_month(query, found.start(2), name):
            continue
        if month and (not day or 1 <= int(day) <= 31):
            yield year or "", f"-{month:02}-{int(day):02}" if day else f"-{month:02}"


def _is_month(query: str, start: int, name: str) -> bool:
    """Whether a name that stands alone is a month's: short ones are not, two are words as well."""
    if name.lower() in _WORDS_TOO:
        return name[0].isupper() and bool(query[:start].strip())
    return name.lower() in _NAMES
