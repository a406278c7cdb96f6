"""What is read to answer: the vault, the store and an index over the articles' sections.

The store is only looked at, as it stands: a night may be writing it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.errors import StoreFault
from pipeline.recall.index import NAME, SectionIndex
from pipeline.recall.marking import marking
from pipeline.sqlite import is_busy

if TYPE_CHECKING:  # what searches need not load what parses settings and pages
    from pipeline.config import Config
    from pipeline.vault import Vault

_HELD_KIB = 32_000  # of the store's pages that are kept at hand
_PATIENCE = 1.0  # seconds to wait for a store that is locked


@dataclass(frozen=True)
class Library:
    """Opened by `library` or `opened`.

    root: the vault's folder, there or not. store: memory.sqlite to be read, None without one.
    sections: the index over the articles. marking: what the words of a search are marked with.
    redaction: keyword arguments for `redact`. zone: of the days, None for the machine's own.
    """

    root: Path
    store: sqlite3.Connection | None
    sections: SectionIndex
    marking: sqlite3.Connection
    redaction: Mapping[str, Any]
    zone: tzinfo | None = None
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))

    @cached_property
    def vault(self) -> Vault:
        """The vault, to read articles from."""
        from pipeline.vault import Vault

        return Vault(self.root)


@contextmanager
def library(config: Config) -> Iterator[Library]:
    """Open what there is; neither a vault nor a store need be there."""
    with opened(config.vault, config.cache_dir, config.ingest.redaction, config.zone) as found:
        yield found


@contextmanager
def opened(
    vault: Path, cache_dir: Path, redaction: Mapping[str, Any], zone: tzinfo | None = None
) -> Iterator[Library]:
    """As `library`, from the few settings it needs.

    Raises StoreFault for what cannot be read in a store that is there.
    """
    store_path = cache_dir / "memory.sqlite"
    try:
        store = _looked_at(store_path) if store_path.is_file() else None
        sections = SectionIndex(cache_dir / NAME, vault)
        with closing(marking()) as apart:
            try:
                yield Library(vault, store, sections, apart, redaction, zone)
            finally:
                sections.close(damaged=False)
                if store is not None:
                    store.close()
    except sqlite3.Error as error:
        raise StoreFault(
            f"cannot read {store_path}: {error}", mend="`memory doctor` says what is wrong with it"
        ) from error


def _looked_at(path: Path) -> sqlite3.Connection | None:
    """The store, to be read as it is; also on a disk on which nothing may be written.

    None for one without tables.
    """
    for mode in ("mode=rw", "mode=ro&immutable=1"):
        if "immutable" in mode and _has_more(path.with_name(f"{path.name}-wal")):
            break
        # not mode=ro alone, which leaves the files of the WAL behind
        found = sqlite3.connect(f"{path.as_uri()}?{mode}", uri=True, timeout=_PATIENCE)
        try:
            found.execute("PRAGMA query_only=ON")
            found.execute(f"PRAGMA cache_size=-{_HELD_KIB}")
            made = found.execute("SELECT 1 FROM sqlite_master WHERE name = 'messages'").fetchone()
        except sqlite3.OperationalError as error:
            found.close()
            if is_busy(error):  # past the lock the newest is not seen, as what is forgotten
                raise
            continue
        except BaseException:
            found.close()
            raise
        found.row_factory = sqlite3.Row
        if made is None:  # not filled yet
            found.close()
            return None
        return found
    raise sqlite3.OperationalError("unable to open the file")


def _has_more(wal: Path) -> bool:
    """Whether the newest stands there, which `immutable` passes over, as what is forgotten."""
    try:
        return wal.stat().st_size > 0
    except OSError:
        return False
