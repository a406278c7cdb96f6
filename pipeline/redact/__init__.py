"""Secrets out of text, before anything is written: each becomes `[REDACTED:kind]`.

Three tables: shapes that only a key has (`shapes`), places where a secret stands and names that
announce one (`places`), whose value is judged (`judging`). Standard library only, since hooks load
it. Every pattern is bounded, or starts where its own characters cannot reach back, so time grows
with the length of the text alone, whatever the text is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from pipeline.redact.again import Remembered
from pipeline.redact.blocks import private_keys
from pipeline.redact.lines import Lines, may_join
from pipeline.redact.personal import EMAIL, PAYMENTS, PHONE
from pipeline.redact.places import PLACES
from pipeline.redact.rules import SHORTEST_WORD, Rule, Table, Text
from pipeline.redact.shapes import SHAPES

__all__ = ["Redacted", "Remembered", "redact"]


class Redacted(NamedTuple):
    """The text without its secrets, how many of each kind were taken out, and each with its kind.

    taken: to find them again where nothing announces them; never to be written anywhere.
    """

    text: str
    counts: dict[str, int]
    taken: dict[str, str]


def redact(
    text: str,
    *,
    emails: bool = False,
    phones: bool = False,
    payments: bool = False,
    patterns: Mapping[str, str] | None = None,
) -> Redacted:
    """Take every secret out of `text`; doing it twice changes nothing more.

    emails, phones, payments: take addresses, numbers to call, and numbers of accounts and cards
    out too. patterns: a user's own, kind to regular expression, of a form `patterns.checked` lets
    pass; they come first.
    """
    if not patterns and len(text) < SHORTEST_WORD and text.isidentifier():
        return Redacted(text, {}, {})  # the name of a tool: no key is so short, no place so bare
    table = _table(emails, phones, payments, tuple(patterns.items()) if patterns else ())
    if not may_join(text) and not _holds_any(Text(text), table):
        return Redacted(text, {}, {})
    counts: Counter[str] = Counter()
    taken: dict[str, str] = {}
    # What one rule takes out may bring another's secret to light. Each round that finds something
    # leaves less outside the marks, so this ends.
    while True:
        before = counts.total()
        lines = Lines.joined(text)
        text = _swept(lines, table, counts, taken)
        if lines.joints:  # a break that was joined by mistake hides what ends at it
            text = _swept(Lines(text), table, counts, taken)
        if counts.total() == before:
            return Redacted(text, dict(sorted(counts.items())), taken)


def _holds_any(text: Text, table: Table) -> bool:
    return next(private_keys(text.plain), None) is not None or table.finds(text)


def _swept(lines: Lines, table: Table, counts: Counter[str], taken: dict[str, str]) -> str:
    counts.update(lines.take_out(private_keys(lines.text.plain), taken))
    waiting = table.candidates(lines.text)
    while waiting:
        number, *waiting = waiting
        found = lines.take_out(table.rules[number].spans(lines.text), taken)
        if found:
            counts.update(found)
            waiting = [later for later in table.candidates(lines.text) if later > number]
    return lines.broken()


@lru_cache(maxsize=16)
def _table(
    emails: bool, phones: bool, payments: bool, patterns: tuple[tuple[str, str], ...]
) -> Table:
    return Table(
        (
            *(Rule(name, (), re.compile(pattern)) for name, pattern in patterns),
            *SHAPES,
            *PLACES,
            *([EMAIL] if emails else []),
            *(PAYMENTS if payments else []),
            *([PHONE] if phones else []),
        )
    )
