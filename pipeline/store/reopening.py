"""What was folded once and is to be folded again: the records forget that it was."""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

from pipeline.sqlite import transaction


class Written(NamedTuple):
    """A chunk that a commit folded into an article."""

    run: str
    article: str
    chunk: str
    commit: str


class Reopening:
    """What the ledger knows of single chunks, and how it is made to forget them."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def foldings(self) -> list[Written]:
        """Every chunk that went into an article and was not taken back, the oldest first."""
        rows = self._connection.execute(
            """SELECT run, article, chunk_id, "commit" FROM synthesized_bucket_chunks
               WHERE outcome = 'folded' AND "commit" <> '' ORDER BY at, run, article"""
        )
        return [Written(*row) for row in rows]

    def written_by(self, run: str, stem: str) -> frozenset[str]:
        """The sentences that this run was the first to write into the article, without marks."""
        rows = self._connection.execute(
            "SELECT text FROM written_sentences WHERE run = ? AND stem = ?", (run, stem)
        )
        return frozenset(row["text"] for row in rows)

    def reopen(self, run: str, stem: str, *, gone: bool) -> None:
        """Forget that the run wrote into the article: its chunks are to be folded once more.

        gone: whether the article itself is not there, so that its topic has none.
        """
        with transaction(self._connection):
            for statement in (
                "DELETE FROM synthesized_bucket_chunks WHERE run = ? AND article = ?",
                "UPDATE changes SET undone = 1, reported = 1 WHERE run = ? AND article = ?",
                "DELETE FROM written_sentences WHERE run = ? AND stem = ?",
                "DELETE FROM article_words WHERE run = ? AND stem = ?",
                "DELETE FROM merged WHERE run = ? AND stem = ?",
            ):
                self._connection.execute(statement, (run, stem))
            if gone:
                self._connection.execute("DELETE FROM articles WHERE stem = ?", (stem,))
                self._connection.execute(
                    """UPDATE buckets SET article = '',
                           state = CASE state WHEN 'article' THEN 'captured' ELSE state END
                       WHERE article = ?""",
                    (stem,),
                )
