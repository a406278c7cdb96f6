"""Points in time: milliseconds since 1970 inside, ISO 8601 in UTC in the columns."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from datetime import UTC, datetime

from pipeline.errors import ConfigFault

Clock = Callable[[], int]
DAY = 86_400_000  # milliseconds
_AGO = re.compile(r"(\d{1,5})\s*([hdw])")
_UNITS = {"h": DAY // 24, "d": DAY, "w": 7 * DAY}


def now() -> int:
    """The clock of real calls, in milliseconds."""
    return time.time_ns() // 1_000_000


def iso(moment: int) -> str:
    """The column's form, to the millisecond."""
    at = datetime.fromtimestamp(moment // 1000, UTC)
    return f"{at:%Y-%m-%dT%H:%M:%S}.{moment % 1000:03d}Z"


def epoch(text: str) -> int:
    """Milliseconds of an ISO time; UTC if it names no zone. Raises ValueError."""
    at = datetime.fromisoformat(text)
    seconds = (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    return round(seconds * 1000)


def limit(flag: str, text: str, clock: Clock, *, end: bool = False) -> int:
    """The moment a flag names: a date, an ISO time, or so long ago ("7d", "12h", "2w").

    Dates and times without a zone are the user's own. end: a date means its last moment. Raises
    ConfigFault, which says what is accepted.
    """
    if ago := _AGO.fullmatch(text.strip()):
        return clock() - int(ago[1]) * _UNITS[ago[2]]
    try:
        at = datetime.fromisoformat(text.strip()).astimezone()
        moment = round(at.timestamp() * 1000)
    except (ValueError, OverflowError, OSError) as error:
        raise ConfigFault(
            f"{flag} cannot be {text!r}",
            mend="it is a date (2000-01-31), a time (2000-01-31T09:00) or an age (12h, 7d, 2w)",
        ) from error
    return moment + DAY - 1 if end and len(text.strip()) == len("2000-01-31") else moment
