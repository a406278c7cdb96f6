"""What was folded, and what a run was about to publish."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from pipeline.records import Change
from pipeline.sqlite import transaction
from pipeline.store.attempts import Attempts
from pipeline.store.times import to_text


@dataclass(frozen=True, slots=True)
class PageFile:
    """A file to be written: its path in the vault, the hash it must have now, its new text.

    content: None to delete it.
    """

    path: str
    before_hash: str
    content: str | None


@dataclass(frozen=True, slots=True)
class Folding:
    """What the ledger gets with a commit.

    bucket, chunks: the pairs that are folded by it. change: without its commit; None for a commit
    the changelog does not speak of. stem, written_hash, sentences, words: the article as written.
    linked: wikify has seen these bytes. reports: with it all changes so far stand in the changelog.
    accepts: number of the hold this publishes, 0 for none. undoes: the run that it takes back in
    this article, "" for none.
    merged: sentences that went into others: missing, but not deleted by the user. led: the
    sentence that made way for another lead, "" for none. told: (stem, entry) of entries on Talk
    pages, as read.
    """

    bucket: str = ""
    chunks: tuple[str, ...] = ()
    change: Change | None = None
    stem: str = ""
    written_hash: str = ""
    sentences: tuple[str, ...] = ()
    words: Mapping[str, int] = field(default_factory=dict)
    linked: bool = False
    reports: bool = False
    accepts: int = 0
    undoes: str = ""
    merged: tuple[str, ...] = ()
    led: str = ""
    told: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Intent:
    """A publication announced before its file is touched."""

    id: int
    run: str
    file: PageFile
    subject: str
    trailers: Mapping[str, str]
    folding: Folding


def change_from(data: dict[str, Any]) -> Change:
    """The change in its JSON form."""
    return Change(**data | {key: tuple(data[key]) for key in ("sections", "convs")})


def folding_to_text(folding: Folding) -> str:
    """The folding as JSON."""
    return json.dumps(asdict(folding), ensure_ascii=False)


def folding_from_text(text: str) -> Folding:
    """The folding that `folding_to_text` wrote; a field that an older version lacked is empty."""
    data = json.loads(text)
    change = change_from(data["change"]) if data["change"] else None
    for key in ("chunks", "sentences", "merged"):
        data[key] = tuple(data.get(key, ()))
    data["told"] = tuple((stem, entry) for stem, entry in data.get("told", ()))
    return Folding(**data | {"change": change})


def _change(row: sqlite3.Row) -> Change:
    """A row of changes; the article as it is called now, for the user may have renamed it."""
    return change_from(json.loads(row["change"]) | {"article": row["article"]})


class Ledger:
    """The synthesized_bucket_chunks, changes, articles, attempts, holds and intents tables."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    # -------------------------------------------------------------- publishing

    def announce(
        self,
        run: str,
        file: PageFile,
        subject: str,
        trailers: Mapping[str, str],
        folding: Folding,
    ) -> Intent:
        """Record what is about to be published, before any of it is."""
        cursor = self._connection.execute(
            "INSERT INTO intents (run, file, subject, trailers, folding) VALUES (?, ?, ?, ?, ?)",
            (
                run,
                json.dumps(asdict(file), ensure_ascii=False),
                subject,
                json.dumps(dict(trailers), ensure_ascii=False),
                folding_to_text(folding),
            ),
        )
        assert cursor.lastrowid is not None
        return Intent(cursor.lastrowid, run, file, subject, dict(trailers), folding)

    def intents(self) -> list[Intent]:
        """Publications that were announced and never settled, oldest first."""
        rows = self._connection.execute("SELECT * FROM intents ORDER BY id")
        return [
            Intent(
                id=row["id"],
                run=row["run"],
                file=PageFile(**json.loads(row["file"])),
                subject=row["subject"],
                trailers=json.loads(row["trailers"]),
                folding=folding_from_text(row["folding"]),
            )
            for row in rows
        ]

    def withdraw(self, intent: Intent) -> None:
        """Forget an announcement that will not be carried out."""
        self._connection.execute("DELETE FROM intents WHERE id = ?", (intent.id,))

    def settle(self, intent: Intent, commit: str, at: datetime) -> None:
        """The announced file is committed as `commit`: write everything that follows from it."""
        folding = intent.folding
        with transaction(self._connection):
            self.record(
                folding.bucket,
                folding.chunks,
                run=intent.run,
                article=folding.stem,
                commit=commit,
                outcome="folded",
                at=at,
            )
            if folding.undoes:
                self.undo(folding.undoes, folding.stem, folding.written_hash)
                self.withdraw(intent)
                return
            if folding.bucket:
                # a publication finished after a kill never comes back to the job that began it
                Attempts(self._connection).succeed("synthesize", f"bucket {folding.bucket}")
                # here and not in the stage: a kill after the commit must not leave it captured
                self._connection.execute(
                    """UPDATE buckets SET article = ?,
                           state = CASE state WHEN 'captured' THEN 'article' ELSE state END
                       WHERE name = ?""",
                    (folding.stem, folding.bucket),
                )
            if folding.change is not None:
                change = asdict(folding.change) | {"commit": commit}
                self._connection.execute(
                    'INSERT INTO changes (run, article, "commit", change) VALUES (?, ?, ?, ?)',
                    (intent.run, folding.stem, commit, json.dumps(change, ensure_ascii=False)),
                )
            if folding.stem:
                self._connection.execute(
                    """INSERT INTO articles (stem, written_hash, run, linked) VALUES (?, ?, ?, ?)
                       ON CONFLICT (stem) DO UPDATE SET written_hash = excluded.written_hash,
                           run = excluded.run, linked = excluded.linked""",
                    (folding.stem, folding.written_hash, intent.run, int(folding.linked)),
                )
                self._connection.executemany(
                    "INSERT OR IGNORE INTO written_sentences (stem, text, run) VALUES (?, ?, ?)",
                    [(folding.stem, text, intent.run) for text in folding.sentences],
                )
                self._connection.execute(
                    """INSERT OR REPLACE INTO article_words (stem, run, at, words)
                       VALUES (?, ?, ?, ?)""",
                    (folding.stem, intent.run, to_text(at), json.dumps(dict(folding.words))),
                )
                self._connection.executemany(
                    "DELETE FROM merged WHERE stem = ? AND text = ? AND undone = 0",
                    [(folding.stem, text) for text in folding.sentences],
                )
                self._connection.executemany(
                    "INSERT OR REPLACE INTO merged (stem, text, run) VALUES (?, ?, ?)",
                    [(folding.stem, text, intent.run) for text in folding.merged],
                )
            if folding.led:
                self._connection.execute(
                    "INSERT OR IGNORE INTO led (stem, text) VALUES (?, ?)",
                    (folding.stem, folding.led),
                )
            self._connection.executemany(
                "INSERT OR IGNORE INTO told (stem, entry) VALUES (?, ?)", folding.told
            )
            if folding.accepts:
                self._connection.execute(
                    "UPDATE holds SET decided = 'accepted', decided_at = ? WHERE id = ?",
                    (to_text(at), folding.accepts),
                )
            if folding.reports:
                self._connection.execute("UPDATE changes SET reported = 1 WHERE reported = 0")
            self.withdraw(intent)

    def standing(self, run: str, stem: str) -> str:
        """The article into which a run wrote, as it is called now; "" if nothing of it stands.

        stem: its name when the run wrote it.
        """
        row = self._connection.execute(
            "SELECT article FROM changes WHERE run = ? AND json_extract(change, '$.article') = ?",
            (run, stem),
        ).fetchone()
        article: str = row["article"] if row else stem
        stands = self._connection.execute(
            """SELECT 1 FROM changes WHERE run = :run AND article = :article AND undone = 0
               UNION ALL
               SELECT 1 FROM synthesized_bucket_chunks
               WHERE run = :run AND article = :article AND outcome = 'folded'""",
            {"run": run, "article": article},
        ).fetchone()
        return article if stands else ""

    def undo(self, run: str, stem: str, written_hash: str) -> None:
        """The article stands as before a run. Its chunks stay done with: they do not come back.

        written_hash: of the page as it is since, "" if it is gone.
        """
        self._connection.execute(
            """UPDATE synthesized_bucket_chunks SET outcome = 'undone', "commit" = ''
               WHERE run = ? AND article = ?""",
            (run, stem),
        )
        self._connection.execute(
            "UPDATE changes SET undone = 1, reported = 1 WHERE run = ? AND article = ?", (run, stem)
        )
        self._connection.execute(
            "DELETE FROM article_words WHERE run = ? AND stem = ?", (run, stem)
        )
        self._connection.execute(
            "UPDATE merged SET undone = 1 WHERE run = ? AND stem = ?", (run, stem)
        )
        if not written_hash:
            self._connection.execute("DELETE FROM articles WHERE stem = ?", (stem,))
            # the topic goes on, and the user has spoken; of the old claims none is written again
            self._connection.execute(
                """UPDATE buckets SET article = '', ours = 0,
                       state = CASE state WHEN 'article' THEN 'captured' ELSE state END
                   WHERE article = ?""",
                (stem,),
            )
        else:
            self._connection.execute(
                "UPDATE articles SET written_hash = ?, linked = 1 WHERE stem = ?",
                (written_hash, stem),
            )

    def record(
        self,
        bucket: str,
        chunks: Sequence[str],
        *,
        run: str,
        article: str,
        commit: str,
        outcome: str,
        at: datetime,
    ) -> None:
        """Note that these chunks are done with in this bucket.

        outcome: folded, nothing new, dropped (by the user); undone comes with `undoes`.
        """
        self._connection.executemany(
            """INSERT OR IGNORE INTO synthesized_bucket_chunks
                   (bucket, chunk_id, run, article, "commit", outcome, at)
               VALUES (?, ?, ?, ?, ?, ?, ?)""",
            [(bucket, chunk, run, article, commit, outcome, to_text(at)) for chunk in chunks],
        )

    # -------------------------------------------------------------- what stands in articles

    def written_sentences(self, stem: str) -> frozenset[str]:
        """Every sentence the pipeline ever wrote into this article, without footnote marks."""
        rows = self._connection.execute(
            "SELECT text FROM written_sentences WHERE stem = ?", (stem,)
        )
        return frozenset(row["text"] for row in rows)

    def shut_out(self, stem: str, texts: Sequence[str], run: str) -> None:
        """Treat these sentences as written once and deleted by the user: they do not come back."""
        self._connection.executemany(
            "INSERT OR IGNORE INTO written_sentences (stem, text, run) VALUES (?, ?, ?)",
            [(stem, text, run) for text in texts],
        )

    def articles_that_said(self, text: str) -> frozenset[str]:
        """Stems of the articles into which this very sentence was once written."""
        rows = self._connection.execute(
            "SELECT stem FROM written_sentences WHERE text = ?", (text,)
        )
        return frozenset(row["stem"] for row in rows)

    def told(self, stem: str) -> frozenset[str]:
        """Every entry ever written to the Talk page of this article, as read."""
        rows = self._connection.execute("SELECT entry FROM told WHERE stem = ?", (stem,))
        return frozenset(row["entry"] for row in rows)

    def merged(self, stem: str, *, undone: bool = False) -> frozenset[str]:
        """Sentences of this article that went into others; the undone ones stand there again."""
        rows = self._connection.execute(
            "SELECT text FROM merged WHERE stem = ? AND undone = ?", (stem, int(undone))
        )
        return frozenset(row["text"] for row in rows)

    def led(self, stem: str) -> frozenset[str]:
        """Every sentence that made way for another lead of this article."""
        rows = self._connection.execute("SELECT text FROM led WHERE stem = ?", (stem,))
        return frozenset(row["text"] for row in rows)

    def unlinked(self) -> list[str]:
        """Stems of articles that were written since wikify last saw them, in the order written."""
        rows = self._connection.execute("SELECT stem FROM articles WHERE linked = 0 ORDER BY rowid")
        return [row["stem"] for row in rows]

    def mark_linked(self, stem: str) -> None:
        """Wikify has seen this article and has nothing to write."""
        self._connection.execute("UPDATE articles SET linked = 1 WHERE stem = ?", (stem,))

    def neighbours(self, stem: str) -> list[str]:
        """Stems of other articles that rest on the same conversations, most shared first."""
        rows = self._connection.execute(
            """SELECT other.article AS stem, count(DISTINCT theirs.conv) AS shared
               FROM synthesized_bucket_chunks AS own
               JOIN chunks AS mine ON mine.id = own.chunk_id
               JOIN chunks AS theirs ON theirs.conv = mine.conv
               JOIN synthesized_bucket_chunks AS other ON other.chunk_id = theirs.id
               WHERE own.article = ? AND other.article NOT IN (?, '') AND other."commit" != ''
               GROUP BY other.article ORDER BY shared DESC, stem""",
            (stem, stem),
        )
        return [row["stem"] for row in rows]

    def baseline_words(self, stem: str, since: datetime) -> dict[str, int]:
        """Words per section ("" = lead) as written by the last run before `since`, else the first.

        Empty when the pipeline never wrote the article.
        """
        row = self._connection.execute(
            """SELECT words FROM article_words WHERE stem = ?
               ORDER BY at > ?, CASE WHEN at > ? THEN at END, at DESC LIMIT 1""",
            (stem, to_text(since), to_text(since)),
        ).fetchone()
        return dict(json.loads(row["words"])) if row else {}

    def rename(self, old: str, new: str) -> None:
        """The user gave an article's file another name: everything known of it goes along."""
        with transaction(self._connection):
            for table in (
                "articles",
                "article_words",
                "written_sentences",
                "told",
                "led",
                "merged",
            ):
                self._connection.execute(
                    f"UPDATE OR REPLACE {table} SET stem = ? WHERE stem = ?", (new, old)
                )
            for table in ("synthesized_bucket_chunks", "buckets", "changes", "holds"):
                self._connection.execute(
                    f"UPDATE {table} SET article = ? WHERE article = ?", (new, old)
                )

    def article_of(self, commit: str) -> str:
        """Stem of the article this commit changed, as it is called now; "" if unknown."""
        row = self._connection.execute(
            'SELECT article FROM changes WHERE "commit" = ?', (commit,)
        ).fetchone()
        return row["article"] if row else ""

    def last_commit(self, stem: str) -> str:
        """The commit that last changed an article, "" if none did."""
        row = self._connection.execute(
            'SELECT "commit" FROM changes WHERE article = ? ORDER BY id DESC LIMIT 1', (stem,)
        ).fetchone()
        return row["commit"] if row else ""

    def known_articles(self) -> frozenset[str]:
        """Stems of the articles the pipeline has written and the user has not taken back."""
        rows = self._connection.execute("SELECT stem FROM articles")
        return frozenset(row["stem"] for row in rows)

    # -------------------------------------------------------------- changes and the changelog

    def count_as_told(self, run: str) -> None:
        """The changelog has this run's changes already."""
        self._connection.execute("UPDATE changes SET reported = 1 WHERE run = ?", (run,))

    def unreported_changes(self) -> list[Change]:
        """Changes that do not stand in the changelog yet, oldest first."""
        rows = self._connection.execute(
            "SELECT article, change FROM changes WHERE reported = 0 AND undone = 0 ORDER BY id"
        )
        return [_change(row) for row in rows]

    def changes(self, *, run: str = "", article: str = "") -> list[tuple[Change, bool]]:
        """What a run did, or what was done to an article, or both; oldest first.

        True: the user has taken it back.
        """
        rows = self._connection.execute(
            """SELECT article, change, undone FROM changes
               WHERE ? IN ('', run) AND ? IN ('', article) ORDER BY id""",
            (run, article),
        )
        return [(_change(row), bool(row["undone"])) for row in rows]
