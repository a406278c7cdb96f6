"""An article with everything a user may keep in one, what was said, and the gate over it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from pipeline.gates import Context, judge
from pipeline.markdown import parse
from pipeline.policy import load_policy
from pipeline.records import (
    Citation,
    Draft,
    Edit,
    Message,
    Role,
    SentenceRef,
)

POLICY = load_policy().gate

ARTICLE = """\
---
title: Session store
aliases: [sessions]
tags: [memory/decision]
created: 2026-03-02
updated: 2026-03-02
mine: keep this
---
# Session store

The session store keeps logins in Postgres.[^1]

## Background

The cleanup job runs every 10 minutes.[^2] Expired rows are deleted in batches of 500.[^2]

My own note has no source, and it stays.[^knuth]

```c
x[^9] = 1; /* based on the source material */
```

### Details

- an item of mine with a source[^1]

> I cannot do that, said the old server.

## Operations

The store is backed up to Oslo every night.[^1]

## History

- 2026-03-01: The cleanup job ran every hour.[^1]

## See also

- [[Login page]]

## References

[^1]: `conv:1a2b3c4d` (2026-03-02, pi, message 1) — first talk
[^2]: `conv:1a2b3c4d` (2026-03-02, pi, messages 3–4) — first talk
[^knuth]: Knuth, volume 1; see conv:1a2b3c4d and conv:99999999.
"""

SAID = {
    ("1a2b3c4d", 0): (
        "The session store keeps logins in Postgres. The cleanup job ran every hour. "
        "The store is backed up to Oslo every night."
    ),
    ("1a2b3c4d", 2): "The cleanup job runs every 10 minutes.",
    ("1a2b3c4d", 3): "Expired rows are deleted in batches of 500.",
    ("5e6f7a8b", 0): "Sessions expire after 30 days. The table has an index on `expires_at`.",
    ("5e6f7a8b", 1): "The cleanup job runs every 5 minutes now instead of every 10 minutes.",
    ("5e6f7a8b", 2): "Before 2026 the store was a Redis server in Turku.",
    ("5e6f7a8b", 3): "Yes, the session store keeps logins in Postgres.",
    ("5e6f7a8b", 4): "The store is backed up to Oslo, every night as I said.",
    ("5e6f7a8b", 5): "The nightly backup of the store keeps every row, of every table there is.",
}
EXPIRY = "Sessions expire after 30 days."
INDEX = "The table has an index on `expires_at`."
FASTER = "The cleanup job runs every 5 minutes."
OLDER = "Before 2026 the store was a Redis server in Turku."


def cite(position: int, conv: str = "5e6f7a8b") -> Citation:
    return Citation(conv, position, position, "2026-03-09", "pi", "second talk")


def definition(label: str, position: int) -> str:
    return f"[^{label}]: `conv:5e6f7a8b` (2026-03-09, pi, message {position + 1}) — second talk\n"


def said(citation: Citation) -> Sequence[Message]:
    return [
        Message(
            f"{citation.conv}{position}", citation.conv, position, Role.USER,
            datetime(2026, 3, 9, tzinfo=UTC), SAID[citation.conv, position],
        )
        for position in range(citation.first, citation.last + 1)
        if (citation.conv, position) in SAID
    ]  # fmt: skip


def draft(*edits: Edit, words: int = 40, new: bool = False) -> Draft:
    return Draft(
        article="Session store",
        title="Session store",
        base_hash="" if new else "0" * 64,
        bucket="session store",
        chunks=("c1",),
        edits=edits,
        claims_words=words,
    )


CONTEXT = Context(
    baseline_words={}, evidence=said, taken_stems=frozenset({"Session store", "Login page"})
)


def sentence_of(text: str, beginning: str) -> SentenceRef:
    return next(
        SentenceRef(block.index, index)
        for block in parse(text).blocks
        for index, sentence in enumerate(block.sentences)
        if sentence.text.startswith(beginning) and block.section == "Operations"
    )


def gate(
    after: str, made: Draft, before: str = ARTICLE, context: Context = CONTEXT
) -> tuple[str, ...]:
    verdict = judge(before, after, made, POLICY, context)
    return verdict.refused + verdict.doubts


def changed(text: str, *swaps: tuple[str, str]) -> str:
    """`text` with each part replaced, which must be there exactly once."""
    for old, new in swaps:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


REDATED = ("updated: 2026-03-02", "updated: 2026-03-10")
KNUTH = "[^knuth]: Knuth, volume 1; see conv:1a2b3c4d and conv:99999999.\n"


def refused(after: str, made: Draft, word: str, **given: object) -> None:
    reasons = gate(after, made, **given)  # type: ignore[arg-type]
    assert any(word in reason for reason in reasons), reasons
