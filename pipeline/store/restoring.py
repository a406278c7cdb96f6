"""A database filled anew: from the journal's rows, then from the archive's conversations."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from pipeline.records import Conversation, Message
from pipeline.sqlite import transaction
from pipeline.store.conversations import Conversations
from pipeline.store.journal import Frame
from pipeline.store.marks import Marks, Row, restored

# What cannot stand without a row of another table, and that other table: children come later.
_RESTS_ON = (
    ("chunks", "conv", "conversations", "conv"),
    ("chunk_buckets", "chunk_id", "chunks", "id"),
    ("chunk_buckets", "bucket", "buckets", "name"),
    ("claims", "chunk_id", "chunks", "id"),
)
_COUNTED = {
    "conversations": "conversations",
    "messages": "messages",
    "chunks": "chunks",
    "claims": "claims",
    "buckets": "buckets",
    "synthesized_bucket_chunks": "folded chunks",
    "holds": "drafts held or decided",
    "changes": "changes",
    "runs": "runs",
    "source_files": "files read",
}


class Restoring:
    """Writes rows as they were. References are not enforced until `close_ranks`."""

    def __init__(self, connection: sqlite3.Connection, marks: Marks) -> None:
        self._connection = connection
        self._marks = marks
        self._conversations = Conversations(connection)
        self._columns: dict[str, frozenset[str]] = {}

    def replay(self, frame: Frame) -> None:
        """Put the rows of one write in place; what it says is gone goes first."""
        self._connection.execute("PRAGMA foreign_keys=OFF")
        with transaction(self._connection):
            if frame.whole:
                for table in self._marks.tables:
                    self._connection.execute(f'DELETE FROM "{table}"')
            for entry in frame.rows:
                keys = self._marks.tables.get(entry["table"])
                if keys is None:
                    continue  # of a version with other tables
                if entry["row"] is None:
                    wanted = " AND ".join(f'"{key}" = ?' for key in keys)
                    self._connection.execute(
                        f'DELETE FROM "{entry["table"]}" WHERE {wanted}', entry["key"]
                    )
                else:
                    self._put(entry["table"], keys, restored(entry["row"]))

    def conversation(self, conversation: Conversation, messages: Sequence[Message]) -> bool:
        """Record a conversation as the archive has it; return whether it is news to the journal.

        One that the journal knows as it is keeps what was noted of it; another is due for chunking.
        """
        conv = conversation.conv
        with transaction(self._connection):
            known = self._connection.execute(
                "SELECT * FROM conversations WHERE conv = ?", (conv,)
            ).fetchone()
            mark = self._connection.execute(
                "SELECT * FROM watermarks WHERE source = ?", (conversation.source,)
            ).fetchone()
            at = messages[-1].at if messages else conversation.updated_at
            self._conversations.save(conversation, messages, None, archived_at=at)
            now = self._connection.execute(
                "SELECT * FROM conversations WHERE conv = ?", (conv,)
            ).fetchone()
            as_known = known is not None and known["content_hash"] == now["content_hash"]
            if as_known:
                self._put("conversations", ["conv"], dict(known))
            if as_known and mark is not None:
                self._put("watermarks", ["source"], dict(mark))
        return not as_known

    def unheld(self) -> list[str]:
        """Conversations of which the archive gave no message."""
        rows = self._connection.execute(
            """SELECT conv FROM conversations
               WHERE NOT EXISTS (SELECT 1 FROM messages WHERE messages.conv = conversations.conv)"""
        )
        return [row["conv"] for row in rows]

    def read_again(self, convs: Sequence[str]) -> None:
        """Let the transcripts of these conversations be read once more, if they are still there."""
        self._connection.executemany(
            "DELETE FROM source_files WHERE conv = ?", [(conv,) for conv in convs]
        )

    def close_ranks(self) -> int:
        """Take out what rests on a row that is missing; return how many rows that were."""
        lost = 0
        for table, column, other, key in _RESTS_ON:
            lost += self._connection.execute(
                f'DELETE FROM "{table}" WHERE "{column}" NOT IN (SELECT "{key}" FROM "{other}")'
            ).rowcount
        self._connection.execute("PRAGMA foreign_keys=ON")
        return lost

    def folded(self, chunk_id: str, run: str, bucket: str) -> bool:
        """Whether the ledger has this chunk, of this run or in this bucket.

        Or a publication of the run that was announced.
        """
        row = self._connection.execute(
            """SELECT 1 FROM synthesized_bucket_chunks
               WHERE chunk_id = ? AND (run = ? OR bucket = ?)""",
            (chunk_id, run, bucket),
        ).fetchone()
        if row is not None:
            return True
        intents = self._connection.execute("SELECT folding FROM intents WHERE run = ?", (run,))
        return any(chunk_id in json.loads(intent["folding"])["chunks"] for intent in intents)

    def counts(self) -> dict[str, int]:
        """How much there is, by what it is called to the user."""
        return {
            name: int(self._connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
            for table, name in _COUNTED.items()
        }

    def _put(self, table: str, keys: Sequence[str], row: Row) -> None:
        """The row as it is; one of the same key keeps its place among the others."""
        if table not in self._columns:
            found = self._connection.execute(f'PRAGMA table_info("{table}")').fetchall()
            self._columns[table] = frozenset(column["name"] for column in found)
        values = {name: value for name, value in row.items() if name in self._columns[table]}
        names = ", ".join(f'"{name}"' for name in values)
        marks = ", ".join("?" * len(values))
        same = ", ".join(f'"{key}"' for key in keys)
        update = ", ".join(f'"{name}" = excluded."{name}"' for name in values if name not in keys)
        action = f"UPDATE SET {update}" if update else "NOTHING"
        insert = f'INTO "{table}" ({names}) VALUES ({marks})'
        try:
            self._connection.execute(
                f"INSERT {insert} ON CONFLICT ({same}) DO {action}", list(values.values())
            )
        except sqlite3.IntegrityError:
            # another row has its place, whose end a damaged file told of
            self._connection.execute(f"INSERT OR REPLACE {insert}", list(values.values()))
