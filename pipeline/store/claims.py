"""Claims, stored once per chunk."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from pipeline.records import Claim, ClaimKind
from pipeline.sqlite import transaction


def _claim(row: sqlite3.Row) -> Claim:
    return Claim(
        id=row["id"],
        chunk_id=row["chunk_id"],
        ordinal=row["ordinal"],
        text=row["text"],
        kind=ClaimKind(row["kind"]),
        messages=tuple(json.loads(row["messages"])),
        support=row["support"],
        dropped_reason=row["dropped_reason"],
    )


class Claims:
    """The claims table."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def save(self, chunk_id: str, claims: Sequence[Claim]) -> None:
        """Record what was extracted from a chunk, dropped claims too; none is an answer as well."""
        with transaction(self._connection):
            self._connection.executemany(
                """INSERT INTO claims (id, chunk_id, ordinal, text, messages, kind, support,
                                       dropped_reason) VALUES (?, ?, ?, ?, ?, ?, ?, ?)""",
                [
                    (
                        claim.id,
                        claim.chunk_id,
                        claim.ordinal,
                        claim.text,
                        json.dumps(claim.messages),
                        claim.kind,
                        claim.support,
                        claim.dropped_reason,
                    )
                    for claim in claims
                ],
            )
            self._connection.execute("UPDATE chunks SET claimed = 1 WHERE id = ?", (chunk_id,))

    def refuse(self, chunks: Sequence[str], text: str, reason: str) -> None:
        """The gate let this claim of these chunks in nowhere."""
        self._connection.executemany(
            "UPDATE claims SET dropped_reason = ? WHERE chunk_id = ? AND text = ?",
            [(reason, chunk, text) for chunk in chunks],
        )

    def of(self, chunk_id: str) -> list[Claim]:
        """The supported claims of a chunk, in order."""
        rows = self._connection.execute(
            "SELECT * FROM claims WHERE chunk_id = ? AND dropped_reason = '' ORDER BY ordinal",
            (chunk_id,),
        )
        return [_claim(row) for row in rows]
