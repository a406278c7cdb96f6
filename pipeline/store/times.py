"""Times as the store writes them: ISO 8601 UTC with milliseconds, so that they sort as text."""

from __future__ import annotations

from datetime import UTC, datetime

from pipeline.records import Span

_NEVER = "9999"  # after every time as text


def to_text(at: datetime) -> str:
    """An aware time as "2000-01-01T00:00:00.000Z"; what is finer than a millisecond is cut off.

    Raises ValueError for a naive time: guessing its zone would misfile a whole day.
    """
    if at.tzinfo is None:
        raise ValueError(f"a time without a zone cannot be stored: {at.isoformat()}")
    utc = at if at.tzinfo is UTC else at.astimezone(UTC)
    return f"{utc.isoformat('T', 'milliseconds')[: -len('+00:00')]}Z"


def from_text(text: str) -> datetime:
    """The aware UTC time that `to_text` wrote. Raises ValueError when it is none."""
    return datetime.fromisoformat(text).astimezone(UTC)


def bounds(span: Span) -> tuple[str, str]:
    """The two ends of a span as texts to compare stored times with."""
    return (
        to_text(span.since) if span.since else "",
        to_text(span.until) if span.until else _NEVER,
    )
