"""The full-text indexes, in few pieces: a search asks each piece of an index for every word."""

from __future__ import annotations

import sqlite3

_TABLES = ("messages_fts", "claims_fts", "chunks_fts")
_MOST = 3  # pieces an index may be in; by itself FTS5 leaves up to sixteen of one size


class FullText:
    """What is done to the indexes as a whole; rows are put in where their text is."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def gather(self) -> list[str]:
        """Put indexes that are in many pieces into one each: a third of a second for 60 MB.

        Returns what is wrong with those that cannot be read: only searches rest on them, and what
        a night has done is done.
        """
        problems = []
        for table in _TABLES:
            try:
                (pieces,) = self._connection.execute(
                    f"SELECT count(DISTINCT segid) FROM {table}_idx"
                ).fetchone()
                if pieces > _MOST:
                    self._connection.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")
            except sqlite3.OperationalError:
                break  # no room, or locked: another night
            except sqlite3.DatabaseError as error:
                problems.append(
                    f"the full-text index {table} is damaged ({error}): `memory doctor --fix` "
                    "makes it anew"
                )
        return problems
