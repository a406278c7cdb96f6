"""A wiki and a store with something in them, to be searched."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

import pytest

from pipeline.config import Config, load_config
from pipeline.recall.library import library
from pipeline.recall.searching import Filters, Hit, search
from pipeline.records import Assignment, Bucket, Chunk, Claim, ClaimKind
from pipeline.store import Store
from tests.support_store import START, chunk, fill

LONG_AGO = 1_000_000_000  # seconds; a file of that age has settled
HARBOR = """---
title: Harbor importer
aliases: [ingest tool]
---
# Harbor importer

The Harbor importer reads files in blocks of 64 MB.[^1]

## Archives

Archives are packed with zstd.[^2] The owner likes it.

### Limits

- No file may be larger than 2 GB

## References

[^1]: `conv:1a2b3c4d` (2026-11-26, pi, message 2) — title
[^2]: `conv:1a2b3c4d` (2026-11-27, pi, messages 3–4) — title
"""
SAID = [
    "How does the Harbor importer read files?",
    "The Harbor importer reads files in blocks of 64 MB now.",
    "Then let us pack the archives with zstd, it is fast.",
    "Done: archive.py packs with zstd.",
]
CLAIMS = [("The Harbor importer reads files in blocks of 64 MB.", 1), ("archive.py packs.", 3)]


def article(config: Config, stem: str, text: str, *, at: float = LONG_AGO) -> None:
    """An article's file, as it was saved at `at`."""
    path = config.vault / "articles" / f"{stem}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    os.utime(path, (at, at))


def meta(config: Config, name: str, text: str) -> None:
    """A page of Meta."""
    path = config.vault / "Meta" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


@contextmanager
def store(config: Config) -> Iterator[Store]:
    """The store, to put something in."""
    opened = Store(config.store_path)
    try:
        yield opened
    finally:
        opened.close()


def claimed(
    opened: Store,
    conv: str,
    texts: Sequence[str],
    claims: Sequence[tuple[str, int]],
    *,
    bucket: str = "",
    keep: bool = True,
    start: datetime = START,
) -> Chunk:
    """A conversation that is one chunk, with claims that rest on one message each."""
    fill(opened, conv, texts, start=start)
    made = chunk(opened, conv, 0, len(texts) - 1, keep=keep)
    opened.chunks.replace_tail(conv, [made])
    opened.claims.save(
        made.id,
        [
            Claim(f"{conv}-{number}", made.id, number, text, ClaimKind.FACT, (position,), 1.0)
            for number, (text, position) in enumerate(claims)
        ],
    )
    if bucket:
        opened.buckets.save(Bucket(bucket), start)
        opened.buckets.assign(made.id, [Assignment(made.id, bucket, 1.0)])
    return made


def found(config: Config, query: str, limit: int = 10, **filters: object) -> list[Hit]:
    """What a search in a process of its own finds."""
    with library(config) as lib:
        return search(lib, query, Filters(**filters), limit)  # type: ignore[arg-type]


def places(hits: Sequence[Hit]) -> list[tuple[str, str]]:
    """Of each hit its place, and where in it: the article and heading, or the citation."""
    return [
        (hit.place, f"{hit.article}#{hit.anchor}" if hit.article else hit.citation) for hit in hits
    ]


@pytest.fixture
def config() -> Config:
    """A home with one article and the conversation it came of."""
    config = load_config(timezone="UTC")
    article(config, "Harbor importer", HARBOR)
    with store(config) as opened:
        claimed(opened, "1a2b3c4d", SAID, CLAIMS, bucket="Harbor project")
    return config
