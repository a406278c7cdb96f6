"""What was worked out from a text, kept until the text is another: never true, only quick."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from pipeline.sqlite import transaction


@dataclass(frozen=True, slots=True)
class Worked:
    """A value and the sha256 (hex) of the text it was worked out from.

    stamp: by what a file that still holds this text is known without being read, "" for nothing.
    """

    digest: str
    value: bytes
    stamp: str = ""


class Derived:
    """The derived table. It may be lost at any time, and written at any time but within a
    transaction of others.

    A kind names what is worked out, and by what: another way to do it is another kind.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def all(self, kind: str) -> dict[str, Worked]:
        """Everything of this kind, by name."""
        rows = self._connection.execute(
            "SELECT name, digest, value, stamp FROM derived WHERE kind = ?", (kind,)
        )
        return {name: Worked(digest, value, stamp) for name, digest, value, stamp in rows}

    def get(self, kind: str, name: str) -> Worked | None:
        """What is kept under this name."""
        row = self._connection.execute(
            "SELECT digest, value, stamp FROM derived WHERE kind = ? AND name = ?", (kind, name)
        ).fetchone()
        return Worked(*row) if row else None

    def put(self, kind: str, fresh: Mapping[str, Worked], gone: Iterable[str] = ()) -> None:
        """Keep these in place of what stood under their names; drop what is gone.

        On a full disk or a store that nobody may write nothing is kept: who only reads goes on.
        """
        with suppress(sqlite3.OperationalError), transaction(self._connection):
            self._connection.executemany(
                "DELETE FROM derived WHERE kind = ? AND name = ?", [(kind, name) for name in gone]
            )
            self._connection.executemany(
                """INSERT OR REPLACE INTO derived (kind, name, digest, value, stamp)
                   VALUES (?, ?, ?, ?, ?)""",
                [(kind, name, w.digest, w.value, w.stamp) for name, w in fresh.items()],
            )
