"""Buckets, and which chunks belong to them."""

from __future__ import annotations

import json
import sqlite3
import unicodedata
from collections.abc import Sequence
from datetime import datetime

from pipeline.errors import StoreFault
from pipeline.records import ALWAYS, Assignment, Bucket, BucketState, Chunk, Span
from pipeline.sqlite import transaction
from pipeline.store.chunks import chunk_of
from pipeline.store.times import bounds, to_text

_COLUMNS = "name, article, description, aliases, state, merged_into"


def _bucket(row: Sequence[str]) -> Bucket:
    """The bucket in a row of these columns."""
    name, article, description, aliases, state, merged_into = row
    # most have none, and there are as many as there are topics
    named = () if aliases == "[]" else tuple(json.loads(aliases))
    return Bucket(name, article, description, named, BucketState(state), merged_into)


def normalised(name: str) -> str:
    """The form under which two names are the same bucket: case, width and spacing do not count."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


class Buckets:
    """The buckets and chunk_buckets tables."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def all(self) -> list[Bucket]:
        """Every bucket, oldest first."""
        rows = self._connection.execute(
            f"SELECT {_COLUMNS} FROM buckets ORDER BY created_at, rowid"
        )
        return [_bucket(row) for row in rows]

    def get(self, name: str) -> Bucket:
        """The bucket of this name. Raises StoreFault when there is none."""
        row = self._connection.execute(
            f"SELECT {_COLUMNS} FROM buckets WHERE name = ?", (name,)
        ).fetchone()
        if row is None:
            raise StoreFault(f"there is no bucket named {name!r}")
        return _bucket(row)

    def save(self, bucket: Bucket, at: datetime) -> None:
        """Insert the bucket, or give it these values."""
        self._connection.execute(
            """INSERT INTO buckets
                   (name, article, description, aliases, state, merged_into, created_at)
               VALUES (?, ?, ?, ?, ?, ?, ?)
               ON CONFLICT (name) DO UPDATE SET article = excluded.article,
                   description = excluded.description, aliases = excluded.aliases,
                   state = excluded.state, merged_into = excluded.merged_into""",
            (
                bucket.name,
                bucket.article,
                bucket.description,
                json.dumps(bucket.aliases, ensure_ascii=False),
                bucket.state,
                bucket.merged_into,
                to_text(at),
            ),
        )

    def merge(self, name: str, into: str) -> None:
        """Hand the chunks of a bucket, and what its ledger knows of them, over to another."""
        with transaction(self._connection):
            for table in ("chunk_buckets", "synthesized_bucket_chunks"):
                self._connection.execute(
                    f"UPDATE OR IGNORE {table} SET bucket = ? WHERE bucket = ?", (into, name)
                )
                # left over where the other bucket had the chunk already
                self._connection.execute(f"DELETE FROM {table} WHERE bucket = ?", (name,))
            # a held draft was for the article of the old bucket: it is made anew for the other
            self._connection.execute(
                "UPDATE holds SET decided = 'stale' WHERE bucket = ? AND decided = ''", (name,)
            )
            self._connection.execute(
                "UPDATE objections SET bucket = ? WHERE bucket = ?", (into, name)
            )

    def assign(self, chunk_id: str, assignments: Sequence[Assignment]) -> None:
        """Record where a chunk belongs; with none it belongs nowhere and is not asked again."""
        with transaction(self._connection):
            self._connection.executemany(
                "INSERT OR REPLACE INTO chunk_buckets (chunk_id, bucket, score) VALUES (?, ?, ?)",
                [(a.chunk_id, a.bucket, a.score) for a in assignments],
            )
            self._connection.execute("UPDATE chunks SET clustered = 1 WHERE id = ?", (chunk_id,))

    def of_conversation(self, conv: str) -> list[str]:
        """Names of the buckets that this conversation's chunks belong to, in its order."""
        rows = self._connection.execute(
            """SELECT bucket, min(ordinal) FROM chunk_buckets JOIN chunks ON chunks.id = chunk_id
               WHERE conv = ? GROUP BY bucket ORDER BY 2""",
            (conv,),
        )
        return [row["bucket"] for row in rows]

    def newest_labels(self, limit: int) -> dict[str, list[str]]:
        """The labels of each bucket's newest chunks, newest first, so many at most."""
        found: dict[str, list[str]] = {}
        for bucket, label in self._connection.execute(
            """SELECT bucket, label FROM chunk_buckets JOIN chunks ON chunks.id = chunk_id
               ORDER BY chunks.rowid DESC"""
        ):
            own = found.setdefault(bucket, [])
            if len(own) < limit:
                own.append(label)
        return found

    def ripe(self, *, min_conversations: int, min_claims: int) -> list[Bucket]:
        """Captured buckets that have earned an article, counted over the whole store."""
        rows = self._connection.execute(
            f"""SELECT {_COLUMNS} FROM buckets
               JOIN chunk_buckets ON bucket = buckets.name
               JOIN chunks ON chunks.id = chunk_buckets.chunk_id
               LEFT JOIN claims ON claims.chunk_id = chunks.id AND dropped_reason = ''
               WHERE state = 'captured'
               GROUP BY buckets.name
               HAVING count(claims.id) > 0
                  AND (count(DISTINCT conv) >= ? OR count(DISTINCT claims.id) >= ?)
               ORDER BY buckets.created_at, buckets.rowid""",
            (min_conversations, min_claims),
        )
        return [_bucket(row) for row in rows]

    def to_fold(self) -> int:
        """How many articles have chunks that are not folded into them yet."""
        articles = [b.name for b in self.all() if b.state is BucketState.ARTICLE]
        return len(self.unfolded(articles))

    def unfolded(self, names: Sequence[str], span: Span = ALWAYS) -> dict[str, list[Chunk]]:
        """By bucket the chunks with extracted claims that neither ledger nor an open hold has.

        Of these buckets only; one without such chunks is left out. Oldest message first.
        """
        found: dict[str, list[Chunk]] = {}
        # CROSS JOIN: from what the ledger lacks, never from all conversations
        for row in self._connection.execute(
            """SELECT chunk_buckets.bucket, chunks.* FROM json_each(?) AS wanted
               CROSS JOIN chunk_buckets ON chunk_buckets.bucket = wanted.value
               LEFT JOIN synthesized_bucket_chunks AS ledger USING (bucket, chunk_id)
               CROSS JOIN chunks ON chunks.id = chunk_buckets.chunk_id
               CROSS JOIN conversations USING (conv)
               JOIN messages ON messages.conv = chunks.conv AND messages.position = chunks.first
               WHERE ledger.run IS NULL AND claimed = 1 AND updated_at BETWEEN ? AND ?
                 AND NOT EXISTS (SELECT 1 FROM holds, json_each(holds.chunks) AS held
                                 WHERE decided = '' AND holds.bucket = chunk_buckets.bucket
                                   AND held.value = chunks.id)
               ORDER BY messages.at, chunks.conv, ordinal""",
            (json.dumps(names), *bounds(span)),
        ):
            found.setdefault(row["bucket"], []).append(chunk_of(row))
        return found
