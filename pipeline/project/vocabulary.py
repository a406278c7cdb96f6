"""The words a store knows: kinds, concepts, levels; and text made fit to be stored."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pipeline.errors import ConfigFault
from pipeline.redact import redact
from pipeline.spans import without_spans

TYPES = (
    "bugfix",
    "feature",
    "refactor",
    "discovery",
    "decision",
    "change",
    "checkpoint",
    "ralph_iteration",
    "handoff",
    "shard",
    "linear_sync",
)
CRITICAL = "context-critical"
CONTINUATION = "ralph-continuation"
CONCEPTS = (
    "how-it-works",
    "why-it-exists",
    "what-changed",
    "problem-solution",
    "gotcha",
    "pattern",
    "trade-off",
    CRITICAL,
    CONTINUATION,
)
LEVELS = ("L1", "L2", "L3")
TRIGGERS = ("automatic", "manual", "ralph", "auto-compact")
STATUSES = ("completed", "checkpoint", "error")

_NEVER_STORED = re.compile("[\0\ud800-\udfff]")
_BYTES_PER_TOKEN = 3.2

Clean = Callable[[str], str]


def cleaner(redaction: Mapping[str, Any]) -> Clean:
    """What takes out of a text whatever must not reach the disk: private spans, then secrets.

    redaction: keyword arguments of `redact`.
    """

    def clean(text: str) -> str:
        return redact(without_spans(_NEVER_STORED.sub("", text)), **redaction).text.strip()

    return clean


def tokens(text: str) -> int:
    """About how many tokens a model reads the text as; rather too many than too few.

    An estimate by bytes, since no tokenizer loads as fast as a hook must end.
    """
    return int(len(text.encode("utf-8", "replace")) / _BYTES_PER_TOKEN + 0.999)


def one_of(what: str, value: str, accepted: Iterable[str]) -> str:
    """`value`, if it is accepted. Raises ConfigFault, which names all that are."""
    names = tuple(accepted)
    if value not in names:
        raise ConfigFault(f"{what} cannot be {value!r}", mend=f"it is one of: {', '.join(names)}")
    return value


def percent(what: str, value: float | None) -> float | None:
    """`value`, if it is a share. Raises ConfigFault otherwise."""
    if value is not None and not 0 <= value <= 100:
        raise ConfigFault(f"{what} cannot be {value:g}", mend="it is a number from 0 to 100")
    return value
