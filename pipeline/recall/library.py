"""What is read to answer: the vault, the store and an index over the articles' sections.

The store is only looked at, as it stands: a night may be writing it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.sqlite import reading

if TYPE_CHECKING:  # what searches need not load what parses settings and pages
    from pipeline.config import Config
    from pipeline.vault import Vault


@dataclass(frozen=True)
class Library:
    """Opened by `library`.

    root: the vault's folder, there or not. store: memory.sqlite to be read, None without one.
    redaction: keyword arguments for `redact`.
    """

    root: Path
    store: sqlite3.Connection | None
    redaction: Mapping[str, Any]

    @cached_property
    def vault(self) -> Vault:
        """The vault, to read articles from."""
        from pipeline.vault import Vault

        return Vault(self.root)


@contextmanager
def library(config: Config) -> Iterator[Library]:
    """Open what there is; neither a vault nor a store need be there."""
    ingest = config.ingest
    redaction = {
        "emails": ingest.redact_emails,
        "phones": ingest.redact_phones,
        "payments": ingest.redact_payments,
        "patterns": ingest.redact_patterns,
    }
    with ExitStack() as opened:
        store = None
        if config.store_path.is_file():
            store = opened.enter_context(reading(config.store_path))
        yield Library(config.vault, store, redaction)
