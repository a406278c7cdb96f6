"""A small vault by hand, and a store beside it, for tests of what reads them."""

from __future__ import annotations

from pathlib import Path

from pipeline.config import Config, load_config
from pipeline.store import Store
from tests.support_store import fill

LANTERN = """\
---
title: Lantern
aliases: [The Lantern project, session store]
tags: [memory/decision, storage]
created: 2026-11-01
updated: 2026-11-27
---
# Lantern

The user keeps sessions in Postgres.[^1] See [[Harbor importer|the importer]] and [[Nowhere]].

## Retention

The retention job keeps sessions for 45 days.[^2] It runs at 02:30.[^1][^2]

### Limits

No limit is known.[^knuth]

## Café at Noon

Only for lunch.

## History

- 2026-10-02: Sessions were files.[^2]

## References

[^1]: `conv:aaaaaaaa` (2026-11-26, pi, message 1) — Sessions
[^2]: `conv:bbbbbbbb` (2026-11-27, pi, messages 1–2) — Retention
[^knuth]: A book of the user's.
"""

HARBOR = """\
---
title: The Harbor importer
aliases:
  - Importer
tags:
  - importing
updated: 2026-11-20
---
# The Harbor importer

It reads files in blocks of 64 MB.[^1]

## See also

- [[Lantern]]

## References

[^1]: `conv:aaaaaaaa` (2026-11-26, pi, message 2) — Sessions
"""

PLAIN = "No frontmatter here, only `[[Lantern]]` in code.\n"


def write_article(config: Config, stem: str, text: str) -> Path:
    """Put an article's file into the vault."""
    path = config.vault / "articles" / f"{stem}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def write_meta(config: Config, name: str, text: str) -> None:
    """Put a Meta page into the vault."""
    path = config.vault / "Meta" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def small_vault() -> Config:
    """Three articles: Lantern, Harbor importer and Plain notes."""
    config = load_config()
    write_article(config, "Lantern", LANTERN)
    write_article(config, "Harbor importer", HARBOR)
    write_article(config, "Plain notes", PLAIN)
    return config


def small_store(config: Config) -> Store:
    """The two conversations that the articles cite."""
    store = Store(config.store_path)
    fill(store, "aaaaaaaa", ["We keep sessions in Postgres.", "Good."])
    fill(store, "bbbbbbbb", ["Sessions are kept for 45 days.", "Noted."])
    return store
