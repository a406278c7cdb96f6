"""Which rows changed since they were last written down.

Triggers in the database itself keep the marks, so no writer can forget one and none has to know.
Every table with a primary key is watched, those of later migrations too.
"""

from __future__ import annotations

import base64
import json
import sqlite3
from collections.abc import Iterator
from typing import Any

# Messages stand in the archive; calls of the model are accounts of the past that nothing rests on;
# what is derived is derived again.
_NOT_WATCHED = frozenset({"messages", "model_calls", "derived", "_migrations"})
_OWN = "journal_"  # what the journal itself needs
# A mark like the others, so that a kill cannot lose it: without it, rows that are gone and no
# longer named would come back from what was written before.
_WHOLE = ("", "[]")

Row = dict[str, Any]


class Marks:
    """The marked rows of one database. A key is the row's primary key as a JSON list."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.tables = _tables(connection)
        self._watch()

    def all(self) -> list[tuple[str, str]]:
        """(table, key) of every row that changed; rows that are gone as well."""
        rows = self._connection.execute("SELECT tab, key FROM journal_marks ORDER BY tab, key")
        return [(row["tab"], row["key"]) for row in rows if row["tab"] != _WHOLE[0]]

    @property
    def any(self) -> bool:
        """Whether there is something to write down."""
        found = self._connection.execute("SELECT 1 FROM journal_marks LIMIT 1").fetchone()
        return found is not None

    @property
    def whole(self) -> bool:
        """Whether the marked rows are all there is, and overrule what was written before."""
        found = self._connection.execute(
            "SELECT 1 FROM journal_marks WHERE tab = ? AND key = ?", _WHOLE
        ).fetchone()
        return found is not None

    def mark_everything(self) -> None:
        """Every row is to be written down anew, and what was written before overruled."""
        self._connection.execute("INSERT OR IGNORE INTO journal_marks VALUES (?, ?)", _WHOLE)
        for table, keys in self.tables.items():
            listed = ", ".join(f'"{key}"' for key in keys)
            self._connection.execute(
                f"""INSERT OR IGNORE INTO journal_marks
                    SELECT '{table}', json_array({listed}) FROM "{table}" """
            )

    def clear(self) -> None:
        """All that changed is written down."""
        self._connection.execute("DELETE FROM journal_marks")

    def rows(self, marks: list[tuple[str, str]]) -> Iterator[Row]:
        """Each marked row as `{"table", "key", "row"}`: those that are gone first, as None.

        The rest follow table by table in the order they were made, which some queries go by.
        """
        there: list[tuple[str, int, Row]] = []
        for table, key in marks:
            keys = self.tables.get(table)
            if keys is None:
                continue  # the table of a version that is no longer installed
            wanted = " AND ".join(f'"{name}" = ?' for name in keys)
            row = self._connection.execute(
                f'SELECT rowid AS "_made", * FROM "{table}" WHERE {wanted}', json.loads(key)
            ).fetchone()
            entry: Row = {"table": table, "key": json.loads(key), "row": None}
            if row is None:
                yield entry
                continue
            values = {name: _to_json(row[name]) for name in row.keys() if name != "_made"}  # noqa: SIM118
            there.append((table, row["_made"], entry | {"row": values}))
        yield from (entry for _, _, entry in sorted(there, key=lambda found: found[:2]))

    def _watch(self) -> None:
        known = {
            row["name"]
            for row in self._connection.execute(
                "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name LIKE ?",
                (f"{_OWN}%",),
            )
        }
        for table, keys in self.tables.items():
            for event, sides in (("INSERT", "new"), ("DELETE", "old"), ("UPDATE", "old new")):
                name = f"{_OWN}{table}_{event.lower()}"
                if name in known:
                    continue
                marking = "".join(_marking(table, keys, side) for side in sides.split())
                self._connection.execute(
                    f'CREATE TRIGGER IF NOT EXISTS "{name}" AFTER {event} ON "{table}" '
                    f"BEGIN\n{marking}END"
                )


def restored(row: Row) -> Row:
    """The values of a row as they were before `Marks.rows` made JSON of them."""
    return {
        name: base64.b64decode(value["base64"]) if isinstance(value, dict) else value
        for name, value in row.items()
    }


def _marking(table: str, keys: list[str], side: str) -> str:
    """The statement that marks the row on this side of a change.

    Not INSERT OR IGNORE: within a trigger the conflict clause of the outer statement is in force.
    """
    listed = ", ".join(f'{side}."{name}"' for name in keys)
    key = f"json_array({listed})"
    return (
        f"INSERT INTO journal_marks SELECT '{table}', {key} WHERE NOT EXISTS "
        f"(SELECT 1 FROM journal_marks WHERE tab = '{table}' AND key = {key});\n"
    )


def _to_json(value: Any) -> Any:
    return {"base64": base64.b64encode(value).decode()} if isinstance(value, bytes) else value


def _tables(connection: sqlite3.Connection) -> dict[str, list[str]]:
    """Each watched table with the columns of its primary key."""
    found = {}
    for row in connection.execute("PRAGMA main.table_list").fetchall():
        name = row["name"]
        if row["type"] != "table" or name.startswith(("sqlite_", _OWN)) or name in _NOT_WATCHED:
            continue
        columns = connection.execute(f'PRAGMA main.table_info("{name}")').fetchall()
        keys = sorted((column for column in columns if column["pk"]), key=lambda c: c["pk"])
        if keys:
            found[name] = [column["name"] for column in keys]
    return found
