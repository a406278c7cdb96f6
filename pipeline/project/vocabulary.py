"""The words a store knows: kinds, concepts, levels, forms; and how many tokens a text has."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pipeline.errors import ConfigFault

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
CONTEXT_FORMATS = ("inject", "markdown", "json")
HOOK_ACTIONS = ("install", "remove", "status")
HOOK_SCOPES = ("local", "project", "user")
AGENTS = ("claude-code",)
EXPORT_FORMATS = ("json", "jsonl", "markdown")

LIMIT = 5  # observations in a list of the context
BUDGET = 2000  # tokens of the context

_BYTES_PER_TOKEN = 3.2

Clean = Callable[[str], str]


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
