"""Chunks of conversations, and what is still to be done with each."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from pipeline.records import ALWAYS, Chunk, Span
from pipeline.sqlite import transaction
from pipeline.store.times import bounds

# CROSS JOIN: from the few chunks that are left, never from all conversations
_OLDEST_FIRST = """
    SELECT chunks.* FROM chunks
    CROSS JOIN conversations USING (conv)
    JOIN messages ON messages.conv = chunks.conv AND messages.position = chunks.first
"""


def chunk_of(row: sqlite3.Row) -> Chunk:
    """The chunk in a row of the chunks table."""
    return Chunk(
        id=row["id"],
        conv=row["conv"],
        ordinal=row["ordinal"],
        first=row["first"],
        last=row["last"],
        label=row["label"],
        keep=bool(row["keep"]),
        project=row["project"],
    )


class Chunks:
    """The chunks table. A chunk is named by its messages, so the same span is the same row."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def of(self, conv: str) -> list[Chunk]:
        """All chunks of a conversation, in order."""
        rows = self._connection.execute(
            "SELECT * FROM chunks WHERE conv = ? ORDER BY ordinal", (conv,)
        )
        return [chunk_of(row) for row in rows]

    def get(self, chunk_id: str) -> Chunk | None:
        """The chunk with this id."""
        row = self._connection.execute("SELECT * FROM chunks WHERE id = ?", (chunk_id,)).fetchone()
        return chunk_of(row) if row else None

    def frozen(self, conv: str) -> list[Chunk]:
        """The chunks up to and including the last one that something hangs on: never cut again.

        That is a row of the ledger, a held draft, or a topic that the user chose for it.
        """
        row = self._connection.execute(
            """SELECT max(ordinal) FROM chunks WHERE conv = ? AND (
                   EXISTS (SELECT 1 FROM synthesized_bucket_chunks AS ledger
                           WHERE ledger.chunk_id = chunks.id)
                   OR EXISTS (SELECT 1 FROM chunk_buckets
                              WHERE chunk_buckets.chunk_id = chunks.id AND chosen = 1)
                   OR EXISTS (SELECT 1 FROM holds, json_each(holds.chunks) AS held
                              WHERE decided = '' AND held.value = chunks.id))""",
            (conv,),
        ).fetchone()
        if row[0] is None:
            return []
        return [chunk for chunk in self.of(conv) if chunk.ordinal <= row[0]]

    def cut_elsewhere(self) -> frozenset[str]:
        """Ids of chunks in the ledger that were not cut here, or before the records were lost."""
        rows = self._connection.execute(
            """SELECT DISTINCT chunk_id FROM synthesized_bucket_chunks AS ledger
               WHERE NOT EXISTS (SELECT 1 FROM chunks WHERE chunks.id = ledger.chunk_id)"""
        )
        return frozenset(row[0] for row in rows)

    def replace_tail(self, conv: str, chunks: Sequence[Chunk]) -> None:
        """Put `chunks` after the frozen ones, in place of those that stood there.

        A chunk whose span did not change keeps its row, and with it its label, claims and buckets.
        """
        fresh = {chunk.id for chunk in chunks}
        kept = {chunk.id for chunk in self.frozen(conv)}
        with transaction(self._connection):
            for old in self.of(conv):
                if old.id not in kept | fresh:
                    self._connection.execute("DELETE FROM chunks WHERE id = ?", (old.id,))
            self._connection.executemany(
                """INSERT INTO chunks (id, conv, ordinal, first, last, label, keep, project)
                   VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                   ON CONFLICT (id) DO UPDATE SET ordinal = excluded.ordinal""",
                [
                    (c.id, c.conv, c.ordinal, c.first, c.last, c.label, int(c.keep), c.project)
                    for c in chunks
                ],
            )

    def to_cluster(self, span: Span = ALWAYS) -> list[Chunk]:
        """Kept chunks that were never routed, oldest message first."""
        return self._todo("clustered = 0", span)

    def to_claim(self, span: Span = ALWAYS) -> list[Chunk]:
        """Routed chunks whose claims were never extracted, oldest message first.

        A chunk in ignored buckets only is left alone.
        """
        return self._todo(
            """claimed = 0 AND clustered = 1 AND EXISTS (
                   SELECT 1 FROM chunk_buckets JOIN buckets ON buckets.name = bucket
                   WHERE chunk_id = chunks.id AND state IN ('captured', 'article'))""",
            span,
        )

    def _todo(self, condition: str, span: Span) -> list[Chunk]:
        rows = self._connection.execute(
            f"""{_OLDEST_FIRST} WHERE keep = 1 AND {condition}
                  AND updated_at BETWEEN ? AND ?
                ORDER BY messages.at, chunks.conv, ordinal""",
            bounds(span),
        )
        return [chunk_of(row) for row in rows]

    def counts(self) -> dict[str, int]:
        """How many chunks there are, and how many were dropped."""
        row = self._connection.execute(
            "SELECT count(*) AS chunks, coalesce(sum(keep = 0), 0) AS dropped FROM chunks"
        ).fetchone()
        return {"chunks": row["chunks"], "dropped": row["dropped"]}
