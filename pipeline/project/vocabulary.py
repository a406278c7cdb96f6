"""The words a store knows: kinds, concepts, levels, forms; and how many tokens a text has."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from math import ceil

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
ALL_PROJECTS = "*"
IMPORT_ORIGINS = ("claude-mem",)
HOOK_ACTIONS = ("install", "remove", "status")
HOOK_SCOPES = ("local", "project", "user")
AGENTS = ("claude-code",)
EXPORT_FORMATS = ("json", "jsonl", "markdown")

LIMIT = 5  # observations in a list of the context
BUDGET = 2000  # tokens of the context

# Measured on a current tokenizer; see the test of it.
_SIGNS = re.compile(rb"[\d_!-/:-@\[-`{-~]")
_LETTERS = 3.3  # of a token
_BYTES = 2.2  # of a token, in what is not ASCII

Clean = Callable[[str], str]


def tokens(text: str) -> int:
    """About how many tokens a model reads the text as; rather too many than too few.

    An estimate, since no tokenizer loads as fast as a hook must end: each digit and sign one, and
    words by their length. The parts of a text have at least as many as the whole.
    """
    plain = text.encode("ascii", "ignore")
    signs, gaps = len(_SIGNS.findall(plain)), len(plain.split()) + plain.count(b"\n")
    letters = len(plain) - signs - gaps
    beyond = len(text.encode("utf-8", "replace")) - len(plain)
    return ceil(signs + max(0, letters) / _LETTERS + beyond / _BYTES + plain.count(b"\n") / 2)


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
