"""Drafts that wait for the user, and what the user has against drafts."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from pipeline.records import Draft
from pipeline.store.drafts import draft_from_text, draft_to_text
from pipeline.store.ledger import Folding, folding_from_text, folding_to_text
from pipeline.store.times import to_text


@dataclass(frozen=True, slots=True)
class Hold:
    """A draft that waits.

    before: the article it was made from, None for a new one. after: the article as drafted.
    reasons: the gate's doubts. decided: "" while open, then accepted, rejected, dropped or stale.
    """

    id: int
    run: str
    draft: Draft
    before: str | None
    after: str
    folding: Folding
    reasons: tuple[str, ...]
    at: str
    decided: str
    decision_reason: str


class Holds:
    """The holds and objections tables."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def add(
        self,
        run: str,
        draft: Draft,
        before: str | None,
        after: str,
        folding: Folding,
        reasons: Sequence[str],
        at: datetime,
    ) -> int:
        """Keep a draft for the user; return its number."""
        held = {
            "draft": draft_to_text(draft),
            "before": before,
            "after": after,
            "folding": folding_to_text(folding),
        }
        cursor = self._connection.execute(
            """INSERT INTO holds (run, article, bucket, chunks, draft, reasons, at)
               VALUES (?, ?, ?, ?, ?, ?, ?)""",
            (
                run,
                draft.article,
                draft.bucket,
                json.dumps(draft.chunks),
                json.dumps(held, ensure_ascii=False),
                json.dumps(list(reasons), ensure_ascii=False),
                to_text(at),
            ),
        )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def open(self) -> list[Hold]:
        """Every draft that waits, oldest first."""
        rows = self._connection.execute("SELECT * FROM holds WHERE decided = '' ORDER BY id")
        return [_hold(row) for row in rows]

    def decide(self, hold: int, decision: str, reason: str, at: datetime) -> None:
        """Close a hold: accepted, rejected, dropped or stale."""
        self._connection.execute(
            "UPDATE holds SET decided = ?, decision_reason = ?, decided_at = ? WHERE id = ?",
            (decision, reason, to_text(at), hold),
        )

    def object(self, bucket: str, reason: str, at: datetime) -> None:
        """Remember what the user has against drafts on a bucket."""
        self._connection.execute(
            "INSERT INTO objections (bucket, reason, at) VALUES (?, ?, ?)",
            (bucket, reason, to_text(at)),
        )

    def objections(self, bucket: str, limit: int) -> list[str]:
        """The newest reasons the user gave against drafts on a bucket, newest first, each once."""
        rows = self._connection.execute(
            """SELECT reason FROM objections WHERE bucket = ?
               GROUP BY reason ORDER BY max(id) DESC LIMIT ?""",
            (bucket, limit),
        )
        return [row["reason"] for row in rows]


def _hold(row: sqlite3.Row) -> Hold:
    held = json.loads(row["draft"])
    return Hold(
        id=row["id"],
        run=row["run"],
        # the row follows a file or a bucket that the user renamed
        draft=replace(draft_from_text(held["draft"]), article=row["article"], bucket=row["bucket"]),
        before=held["before"],
        after=held["after"],
        folding=replace(
            folding_from_text(held["folding"]), stem=row["article"], bucket=row["bucket"]
        ),
        reasons=tuple(json.loads(row["reasons"])),
        at=row["at"],
        decided=row["decided"],
        decision_reason=row["decision_reason"],
    )
