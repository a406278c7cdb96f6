"""memory.sqlite: one connection, one small class per family of tables.

Derived state: `memory rebuild` makes it anew from the archive and its journal. Text stands in one
place.
"""

from __future__ import annotations

import sqlite3
from contextlib import AbstractContextManager
from importlib.resources import files
from pathlib import Path

from pipeline.errors import StoreFault
from pipeline.sqlite import connect, migrate, transaction
from pipeline.store.attempts import Attempts
from pipeline.store.buckets import Buckets
from pipeline.store.chunks import Chunks
from pipeline.store.claims import Claims
from pipeline.store.conversations import Conversations
from pipeline.store.derived import Derived
from pipeline.store.forgetting import Forgetting
from pipeline.store.fulltext import FullText
from pipeline.store.holds import Holds
from pipeline.store.journal import Journal
from pipeline.store.ledger import Ledger
from pipeline.store.reopening import Reopening
from pipeline.store.restoring import Restoring
from pipeline.store.runs import Runs
from pipeline.store.soundness import Soundness

_MEND = (
    "check the folder's permissions and free space; if it is damaged, `memory rebuild` makes it "
    "anew from the archive and keeps the damaged one aside"
)
_LOCKED = "another program holds it: end that program, or try again when it is done"


class Store:
    """The open database. Raises StoreFault when it cannot be opened, read or migrated.

    journal: the folder where whoever holds the run lock writes down what changed; None to write
    nothing down, as a reader or a rehearsal does.
    """

    def __init__(self, path: Path, journal: Path | None = None) -> None:
        self.path = path
        try:
            self._connection = connect(path)
        except StoreFault as fault:
            mend = _LOCKED if "locked" in str(fault) else _MEND
            raise StoreFault(str(fault), mend=mend) from fault
        try:
            migrate(self._connection, files("pipeline") / "sql" / "memory")
            self.journal = Journal(self._connection, journal)
        except sqlite3.DatabaseError as error:
            self._connection.close()
            raise StoreFault(f"the store {path} is damaged: {error}", mend=_MEND) from error
        self.restoring = Restoring(self._connection, self.journal.marks)
        self.forgetting = Forgetting(self._connection)
        self.conversations = Conversations(self._connection)
        self.chunks = Chunks(self._connection)
        self.buckets = Buckets(self._connection)
        self.claims = Claims(self._connection)
        self.ledger = Ledger(self._connection)
        self.attempts = Attempts(self._connection)
        self.reopening = Reopening(self._connection)
        self.holds = Holds(self._connection)
        self.runs = Runs(self._connection)
        self.derived = Derived(self._connection)
        self.soundness = Soundness(self._connection)
        self.fulltext = FullText(self._connection)

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
