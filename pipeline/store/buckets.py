"""Buckets, and which chunks belong to them."""

from __future__ import annotations

import json
import sqlite3
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from pipeline.errors import StoreFault
from pipeline.records import ALWAYS, Assignment, Bucket, BucketState, Chunk, Span
from pipeline.sqlite import transaction
from pipeline.store.chunks import chunk_of
from pipeline.store.times import bounds, from_text, to_text

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


@dataclass(frozen=True, slots=True)
class Tally:
    """What a bucket holds. folded: of its chunks, those its ledger knows. last: of their messages.

    last: aware UTC, None without chunks.
    """

    chunks: int = 0
    conversations: int = 0
    folded: int = 0
    last: datetime | None = None


@dataclass(frozen=True, slots=True)
class Placed:
    """A chunk of a bucket. at: of its last message, aware UTC.

    outcome: of the ledger, "" while it waits. article: into which it was folded, "" if into none.
    held: an open draft of this bucket is made of it. chosen: the user put it there.
    """

    chunk: Chunk
    at: datetime
    outcome: str
    article: str
    held: bool
    chosen: bool


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

    def now_called(self, name: str) -> str:
        """Under what name a bucket goes on that was called so once; the same if nothing is known.

        A commit tells the name as it was then.
        """
        every = self.all()
        known = next((bucket for bucket in every if bucket.name == name), None)
        if known is None:
            wanted = normalised(name)
            known = next((b for b in every if wanted in map(normalised, b.aliases)), None)
        return (known.merged_into or known.name) if known else name

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

    def found(self, bucket: Bucket, at: datetime, *, conv: str = "") -> None:
        """Insert a bucket that a night founded, not the user. conv: what it is named after."""
        with transaction(self._connection):
            self.save(bucket, at)
            self._connection.execute(
                "UPDATE buckets SET ours = 1, founder = ? WHERE name = ?", (conv, bucket.name)
            )

    def decided(self, names: Iterable[str]) -> None:
        """The user said something of these: they are not joined to others any more."""
        self._connection.executemany(
            "UPDATE buckets SET ours = 0 WHERE name = ?", [(name,) for name in names]
        )

    def movable(self) -> list[str]:
        """Buckets that may be joined to others: nothing is written of them, or waits to be, and
        the user said nothing of them nor of a draft.
        """
        rows = self._connection.execute(
            """SELECT name FROM buckets WHERE state = 'captured' AND ours = 1
               AND NOT EXISTS (SELECT 1 FROM chunk_buckets WHERE bucket = name AND chosen = 1)
               AND NOT EXISTS (SELECT 1 FROM holds WHERE bucket = name AND decided != 'stale')
               ORDER BY created_at, rowid"""
        )
        return [row["name"] for row in rows]

    def grown(self) -> list[str]:
        """Buckets that got chunks since they were last compared with the others, oldest first."""
        rows = self._connection.execute(
            "SELECT name FROM buckets WHERE grown = 1 ORDER BY created_at, rowid"
        )
        return [row["name"] for row in rows]

    def compared(self, names: Iterable[str]) -> None:
        """These were compared with the others."""
        self._connection.executemany(
            "UPDATE buckets SET grown = 0 WHERE name = ?", [(name,) for name in names]
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
            self._connection.execute("DELETE FROM attempts WHERE job = ?", (f"bucket {name}",))

    def rename(self, name: str, new: str) -> None:
        """Give a bucket another name, which no other has; all that is known of it goes along."""
        with transaction(self._connection):
            # its chunks follow by the reference
            self._connection.execute("UPDATE buckets SET name = ? WHERE name = ?", (new, name))
            for table, column in (
                ("buckets", "merged_into"),
                ("synthesized_bucket_chunks", "bucket"),
                ("holds", "bucket"),
                ("objections", "bucket"),
            ):
                self._connection.execute(
                    f"UPDATE {table} SET {column} = ? WHERE {column} = ?", (new, name)
                )
            self._connection.execute(
                "UPDATE OR REPLACE attempts SET job = ? WHERE job = ?",
                (f"bucket {new}", f"bucket {name}"),
            )

    def part(self, name: str, host: str) -> None:
        """Take a bucket out of the one it was merged into, with what its own article has.

        Chunks that were not folded when it was merged, or into the other's article, stay there.
        """
        own, other = self.get(name).article, self.get(host).article
        if own in ("", other):
            return
        with transaction(self._connection):
            rows = self._connection.execute(
                "SELECT chunk_id FROM synthesized_bucket_chunks WHERE bucket = ? AND article = ?",
                (host, own),
            ).fetchall()
            for table in ("chunk_buckets", "synthesized_bucket_chunks"):
                self._connection.executemany(
                    f"UPDATE {table} SET bucket = ? WHERE bucket = ? AND chunk_id = ?",
                    [(name, host, row["chunk_id"]) for row in rows],
                )

    def move(self, chunks: Sequence[str], name: str, into: str) -> None:
        """Hand chunks that are not folded over to another bucket, as the user chose."""
        with transaction(self._connection):
            self.share(chunks, into)
            self._connection.executemany(
                "DELETE FROM chunk_buckets WHERE bucket = ? AND chunk_id = ?",
                [(name, chunk) for chunk in chunks],
            )

    def share(self, chunks: Sequence[str], into: str) -> None:
        """Let these chunks belong to another bucket as well, as the user chose."""
        self._connection.executemany(
            """INSERT INTO chunk_buckets (chunk_id, bucket, score, chosen) VALUES (?, ?, 1.0, 1)
               ON CONFLICT (chunk_id, bucket) DO UPDATE SET chosen = 1""",
            [(chunk, into) for chunk in chunks],
        )

    def tallies(self) -> dict[str, Tally]:
        """What each bucket with chunks holds, by name."""
        rows = self._connection.execute(
            """SELECT bucket, count(*) AS chunks, count(DISTINCT chunks.conv) AS convs,
                      count(ledger.run) AS folded, max(messages.at) AS last
               FROM chunk_buckets JOIN chunks ON chunks.id = chunk_buckets.chunk_id
               LEFT JOIN messages ON messages.conv = chunks.conv AND position = chunks.last
               LEFT JOIN synthesized_bucket_chunks AS ledger USING (bucket, chunk_id)
               GROUP BY bucket"""
        )
        return {
            row["bucket"]: Tally(
                row["chunks"],
                row["convs"],
                row["folded"],
                from_text(row["last"]) if row["last"] else None,
            )
            for row in rows
        }

    def placed(self, name: str) -> list[Placed]:
        """The chunks of a bucket, oldest first."""
        rows = self._connection.execute(
            """SELECT chunks.*, messages.at, chosen, ledger.outcome, ledger.article AS folded_into,
                      EXISTS (SELECT 1 FROM holds, json_each(holds.chunks) AS held
                              WHERE decided = '' AND holds.bucket = chunk_buckets.bucket
                                AND held.value = chunks.id) AS held
               FROM chunk_buckets JOIN chunks ON chunks.id = chunk_buckets.chunk_id
               JOIN messages ON messages.conv = chunks.conv AND position = chunks.last
               LEFT JOIN synthesized_bucket_chunks AS ledger USING (bucket, chunk_id)
               WHERE chunk_buckets.bucket = ? ORDER BY messages.at, chunks.conv, ordinal""",
            (name,),
        )
        return [
            Placed(
                chunk_of(row),
                from_text(row["at"]),
                row["outcome"] or "",
                row["folded_into"] or "",
                bool(row["held"]),
                bool(row["chosen"]),
            )
            for row in rows
        ]

    def assign(self, chunk_id: str, assignments: Sequence[Assignment]) -> None:
        """Record where a chunk belongs; with none it belongs nowhere and is not asked again."""
        with transaction(self._connection):
            self._connection.executemany(
                "INSERT OR REPLACE INTO chunk_buckets (chunk_id, bucket, score) VALUES (?, ?, ?)",
                [(a.chunk_id, a.bucket, a.score) for a in assignments],
            )
            self._connection.executemany(
                "UPDATE buckets SET grown = 1 WHERE name = ?", [(a.bucket,) for a in assignments]
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

    def that_took(self, chunk_id: str) -> list[Bucket]:
        """The buckets in which the ledger has this chunk, oldest first."""
        rows = self._connection.execute(
            f"""SELECT {_COLUMNS} FROM buckets
               WHERE merged_into = '' AND EXISTS (
                   SELECT 1 FROM synthesized_bucket_chunks
                   WHERE bucket = buckets.name AND chunk_id = ?)
               ORDER BY created_at, rowid""",
            (chunk_id,),
        )
        return [_bucket(row) for row in rows]

    def of_project(self, project: str) -> set[str]:
        """Names of the buckets that chunks of this project belong to; none for no project."""
        rows = self._connection.execute(
            """SELECT DISTINCT bucket FROM chunks CROSS JOIN chunk_buckets ON chunk_id = chunks.id
               WHERE project = ? AND project != ''""",
            (project,),
        )
        return {row["bucket"] for row in rows}

    def telling(self, *, first: int, newest: int) -> list[tuple[str, str, str]]:
        """Bucket, chunk and label of the first and the newest chunks of each bucket, so many at
        most; oldest first.
        """
        chunks: dict[str, list[tuple[int, str, str]]] = {}
        for number, (bucket, chunk, label) in enumerate(
            self._connection.execute(
                """SELECT bucket, chunk_id, label FROM chunk_buckets
                   JOIN chunks ON chunks.id = chunk_id ORDER BY chunks.rowid"""
            )
        ):
            chunks.setdefault(bucket, []).append((number, chunk, label))
        found = [
            (number, bucket, chunk, label)
            for bucket, own in chunks.items()
            for number, chunk, label in (
                own if len(own) <= first + newest else own[:first] + own[-newest:]
            )
        ]
        return [row[1:] for row in sorted(found)]

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
