"""memory.sqlite: one connection, one small class per family of tables.

Derived state: the archive and the vault's commits can rebuild it. Text stands in one place.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from importlib.resources import files
from pathlib import Path

from pipeline.sqlite import connect, migrate, transaction
from pipeline.store.buckets import Buckets
from pipeline.store.chunks import Chunks
from pipeline.store.claims import Claims
from pipeline.store.conversations import Conversations
from pipeline.store.holds import Holds
from pipeline.store.ledger import Ledger
from pipeline.store.runs import Runs


class Store:
    """The open database. Raises StoreFault when it cannot be opened, read or migrated."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection = connect(path)
        migrate(self._connection, files("pipeline") / "sql" / "memory")
        self.conversations = Conversations(self._connection)
        self.chunks = Chunks(self._connection)
        self.buckets = Buckets(self._connection)
        self.claims = Claims(self._connection)
        self.ledger = Ledger(self._connection)
        self.holds = Holds(self._connection)
        self.runs = Runs(self._connection)

    def together(self) -> AbstractContextManager[None]:
        """What is written within the block is there as a whole or not at all."""
        return transaction(self._connection)

    def copy_to(self, path: Path) -> None:
        """Write a consistent copy of the whole database to `path`."""
        copy = connect(path)
        self._connection.backup(copy)
        copy.close()

    def close(self) -> None:
        """Close the connection; the WAL is folded into the file."""
        self._connection.close()
