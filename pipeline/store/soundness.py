"""Whether the database agrees with itself, for `memory doctor`."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_ORPHANS = {
    "{} of the ledger without their chunk": """
        SELECT count(*) FROM synthesized_bucket_chunks
        WHERE chunk_id NOT IN (SELECT id FROM chunks)
          AND run IN (SELECT id FROM runs)  -- not of another machine
          -- of what the user had forgotten the ledger alone is left, and does not say so
          AND NOT EXISTS (SELECT 1 FROM forgotten)""",
    "{} of the ledger without their topic": """
        SELECT count(*) FROM synthesized_bucket_chunks
        WHERE bucket NOT IN (SELECT name FROM buckets)
          AND run IN (SELECT id FROM runs)""",
    "{} of the ledger without their article": """
        SELECT count(*) FROM synthesized_bucket_chunks
        WHERE outcome = 'folded' AND article NOT IN (SELECT stem FROM articles)
          AND run IN (SELECT id FROM runs)""",
}


def is_damaged(path: Path) -> bool:
    """Whether there is a file at `path` that is no whole database; one that is locked is."""
    if not path.is_file():
        return False
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True)) as database:
            (said,) = database.execute("PRAGMA quick_check(1)").fetchone()
            return bool(said != "ok")
    except sqlite3.Error as error:
        # an extended code's first byte is the plain one
        return (getattr(error, "sqlite_errorcode", 0) & 0xFF) in _DAMAGE


class Soundness:
    """Questions that no run asks."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def convs(self) -> frozenset[str]:
        """Every conversation's id."""
        rows = self._connection.execute("SELECT conv FROM conversations")
        return frozenset(row["conv"] for row in rows)

    def indexes_out_of_step(self) -> list[str]:
        """Names of the full-text indexes that are damaged or do not hold what their tables hold.

        Reads both in full, in a transaction that is rolled back: to FTS5 the question is a write.
        """
        names = self._connection.execute(
            """SELECT name FROM sqlite_master
               WHERE sql LIKE 'CREATE VIRTUAL TABLE%fts5%' ORDER BY name"""
        )
        return [row["name"] for row in names.fetchall() if not self._in_step(row["name"])]

    def index_again(self, name: str) -> None:
        """Make a full-text index anew from its table."""
        self._connection.execute(f"INSERT INTO {name} ({name}) VALUES ('rebuild')")

    def orphans(self) -> list[str]:
        """Rows that point at what is not there, a clause for each kind."""
        found = []
        for told, query in _ORPHANS.items():
            (count,) = self._connection.execute(query).fetchone()
            if count:
                found.append(told.format(f"{count} row{'' if count == 1 else 's'}"))
        dangling = self._connection.execute("PRAGMA foreign_key_check").fetchall()
        found += [
            f"rows of {table} that point nowhere"
            for table in sorted({row["table"] for row in dangling})
        ]
        return found

    def speeds(self, enough: int) -> list[float]:
        """Tokens written per second in each run of the newest run's model, newest first.

        Only runs that wrote `enough` tokens.
        """
        rows = self._connection.execute(
            """SELECT sum(output_tokens) / sum(seconds) AS speed
               FROM model_calls JOIN runs ON runs.id = model_calls.run
               WHERE output_tokens > 0 AND model = (
                   SELECT model FROM runs WHERE model != '' ORDER BY rowid DESC LIMIT 1)
               GROUP BY runs.rowid HAVING sum(output_tokens) >= ? AND sum(seconds) > 0
               ORDER BY runs.rowid DESC""",
            (enough,),
        )
        return [row["speed"] for row in rows]

    def _in_step(self, name: str) -> bool:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            self._connection.execute(
                f"INSERT INTO {name} ({name}, rank) VALUES ('integrity-check', 1)"
            )
        except sqlite3.DatabaseError:
            return False
        finally:
            self._connection.execute("ROLLBACK")
        return True
