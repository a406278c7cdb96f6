"""Who is who: ids that are pure functions of what they name, so the same thing keeps its id.

SENTINEL opens the system line of every session this program starts in another agent; ingest leaves
those out, or the wiki would eat itself.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from pipeline.records import Role

SENTINEL = "nightly-memory: this session was started by a program, not by a person"

_UUID = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-(?P<version>[0-9a-f])[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
)
_RANDOM_TAIL = 15  # hex digits at the end of a UUIDv7 that are random through and through
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def conv_id(session_id: str, length: int = 8) -> str:
    """`length` hex digits (1..32) naming a session; a longer id tells two that collide apart.

    A UUIDv4 gives its first digits. A UUIDv7 begins with a clock, so that sessions begun within 65
    seconds would share them: it gives its last digits. Anything else is hashed.
    """
    match = _UUID.fullmatch(session_id.lower())
    version = match["version"] if match else ""
    digits = session_id.lower().replace("-", "")
    if version == "4":
        return digits[:length]
    if version == "7" and length <= _RANDOM_TAIL:
        return digits[-length:]
    return _digest(session_id)[:length]


def message_id(
    source: str, at: datetime | None, role: Role, redacted_text: str, native_id: str
) -> str:
    """16 hex digits naming a message by when it was said, by whom, and what.

    A fork copies messages with time and text but some agents give the copies, or a file they
    migrate, fresh ids: so `native_id` counts only where the format has no time.
    """
    when = f"id {native_id}" if at is None else str((at - _EPOCH) // _MILLISECOND)
    return _digest(source, when, role.value, redacted_text)[:16]


def chunk_id(message_ids: Iterable[str]) -> str:
    """16 hex digits naming a chunk by the messages in it, in order."""
    return _digest(*message_ids)[:16]


def claim_id(chunk_id: str, ordinal: int) -> str:
    """16 hex digits naming the claim at this place among its chunk's claims."""
    return _digest(chunk_id, str(ordinal))[:16]


def _digest(*parts: str) -> str:
    # the lengths keep ("a", "bc") and ("ab", "c") apart; lone surrogates must not raise
    joined = "".join([f"{len(part)}:{part}" for part in parts])
    return hashlib.sha256(joined.encode("utf-8", "surrogatepass")).hexdigest()
