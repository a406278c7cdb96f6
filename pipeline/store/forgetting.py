"""What the user had forgotten: taken out of every table, known afterwards by hashes alone."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from pipeline.errors import StoreFault
from pipeline.identity import conv_id
from pipeline.sqlite import transaction
from pipeline.store.buckets import normalised
from pipeline.store.times import to_text

_PIECE = 1 << 23  # bytes
_MANY = 500  # parameters of one statement; SQLite allows 999 at least
_SHORTEST, _LONGEST = 8, 32  # digits of a conversation's id
_INDEXES = ("messages_fts", "chunks_fts", "claims_fts")
_TOLD_OF = ("refused", "rejected", "held", "joined", "handed", "problems")  # of a run's results

Said = Callable[[str], bool]


class Forgetting:
    """The forgotten and forgetting tables, and whatever holds text of a conversation."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    # ------------------------------------------------------------------ for whoever reads sources

    def session(self, source: str, session_id: str) -> bool:
        """Whether the user had this session forgotten."""
        if not self._any:
            return False
        named = (conv_id(session_id, length) for length in range(_SHORTEST, _LONGEST + 1))
        return bool(self._known([_hash(source, session_id), *(_hash("named", n) for n in named)]))

    def messages(self, ids: Iterable[str]) -> frozenset[str]:
        """Those of these messages that were in a conversation the user had forgotten."""
        return self._of("message", ids)

    # ------------------------------------------------------------------ for whoever reads commits

    def convs(self, ids: Iterable[str]) -> frozenset[str]:
        """Those of these conversations that the user had forgotten."""
        return self._of("conv", ids)

    def chunks(self, ids: Iterable[str]) -> frozenset[str]:
        """Those of these chunks that were of a conversation the user had forgotten."""
        return self._of("chunk", ids)

    def learn(self, convs: Iterable[str], at: datetime) -> None:
        """Conversations that were forgotten, of which the ids alone are left to tell so.

        A session that would get such an id is not read: that another one has it by chance is rare.
        """
        names = set(convs)
        hashes = [_hash("conv", c) for c in names] + [
            _hash("named", conv) for conv in names - self.convs(names)
        ]
        self._connection.executemany(
            "INSERT OR IGNORE INTO forgotten VALUES (?, ?)", [(one, to_text(at)) for one in hashes]
        )

    # ------------------------------------------------------------------ what it is about

    def containing(self, text: str, folded: Callable[[str], str]) -> list[str]:
        """Conversations in whose messages or title this text stands.

        folded: what is the same for all writings of the same words.
        """
        wanted = folded(text)
        rows = self._connection.execute(
            """SELECT conv, title AS text FROM conversations
               UNION ALL SELECT conv, text FROM messages"""
        )
        return sorted({row["conv"] for row in rows if wanted in folded(row["text"])})

    def of_project(self, project: str) -> list[str]:
        """Conversations of a project: its folder, one below it, or the folder's name."""
        rows = self._connection.execute("SELECT conv, project FROM conversations ORDER BY conv")
        folder = project.rstrip("/")
        if not folder:
            return []  # the root of all of them; and what is of no project has no folder
        return [
            row["conv"]
            for row in rows
            if row["project"] == folder
            or row["project"].startswith(f"{folder}/")
            or ("/" not in folder and row["project"].rpartition("/")[2] == folder)
        ]

    def topics_of(self, convs: Collection[str]) -> frozenset[str]:
        """Buckets without an article in which there is nothing but these conversations.

        Also those without a chunk, as after a merge or a split, that were founded by these or are
        spoken of by name in these alone. None into which another one is merged that stays.
        """
        rows = self._connection.execute(
            """SELECT bucket, conv FROM chunk_buckets JOIN chunks ON chunks.id = chunk_id
               JOIN buckets ON buckets.name = bucket
               WHERE article = '' AND state = 'captured'"""
        ).fetchall()
        others = {row["bucket"] for row in rows if row["conv"] not in convs}
        own = frozenset(row["bucket"] for row in rows) - others
        found = own | self._spoken_of_only_in(convs)
        merged = self._connection.execute("SELECT name, merged_into FROM buckets").fetchall()
        return found - {row["merged_into"] for row in merged if row["name"] not in found}

    def described(self, topics: Collection[str]) -> dict[str, str]:
        """What a night wrote of each of these; "" where the user said anything of it."""
        rows = self._connection.execute("SELECT name, description FROM buckets WHERE ours = 1")
        ours = {row["name"]: row["description"] for row in rows}
        return {topic: ours.get(topic, "") for topic in topics}

    def _spoken_of_only_in(self, convs: Collection[str]) -> frozenset[str]:
        """Of the buckets that hold nothing: no chunk tells any more what they were named after."""
        rows = self._connection.execute(
            """SELECT name, founder FROM buckets
               WHERE article = '' AND state IN ('captured', 'merged')
                 AND NOT EXISTS (SELECT 1 FROM chunk_buckets WHERE bucket = name)"""
        ).fetchall()
        found = [(row["name"], row["founder"]) for row in rows]
        if not found:
            return frozenset()
        said = [normalised(text) for text in self.texts(sorted(convs))]
        names = {
            name: words
            for name, founder in found
            if (words := normalised(name)) and (founder in convs or any(words in s for s in said))
        }
        for text in self.other_texts(convs) if names else ():
            heard = normalised(text)
            names = {name: words for name, words in names.items() if words not in heard}
        return frozenset(names)

    def texts(self, convs: Sequence[str]) -> list[str]:
        """Every text that is of these conversations or was made of them alone."""
        found: list[str] = []
        for conv in convs:
            for query in (
                "SELECT text FROM messages WHERE conv = ?",
                "SELECT title FROM conversations WHERE conv = ?",
                "SELECT label FROM chunks WHERE conv = ?",
                """SELECT claims.text FROM claims JOIN chunks ON chunks.id = chunk_id
                   WHERE conv = ?""",
            ):
                found += [row[0] for row in self._connection.execute(query, (conv,))]
        return found

    def other_texts(self, convs: Collection[str]) -> Iterator[str]:
        """Every text of the other conversations."""
        rows = self._connection.execute(
            """SELECT conv, text FROM messages
               UNION ALL SELECT conv, title FROM conversations
               UNION ALL SELECT conv, label FROM chunks
               UNION ALL SELECT conv, text FROM claims JOIN chunks ON chunks.id = chunk_id"""
        )
        return (row["text"] for row in rows if row["conv"] not in convs)

    def transcripts(self, convs: Sequence[str]) -> list[str]:
        """Paths of the files that these conversations were read from, or may have been.

        An export holds many, and it is not known of each in which it stood.
        """
        paths: list[str] = []
        for conv in convs:
            rows = self._connection.execute(
                """SELECT path FROM source_files WHERE conv = ?1 UNION
                   SELECT path FROM imported JOIN conversations USING (source) WHERE conv = ?1
                   ORDER BY path""",
                (conv,),
            )
            paths += [row["path"] for row in rows]
        return list(dict.fromkeys(paths))

    # ------------------------------------------------------------------ forgetting

    def unfinished(self) -> list[str]:
        """Conversations whose forgetting was begun and not ended."""
        rows = self._connection.execute("SELECT conv FROM forgetting ORDER BY conv")
        return [row["conv"] for row in rows]

    def begin(self, convs: Sequence[str], at: datetime) -> None:
        """Before anything is taken out: none of these is ever read from its source again."""
        with transaction(self._connection):
            for conv in convs:
                row = self._connection.execute(
                    "SELECT source, session_id FROM conversations WHERE conv = ?", (conv,)
                ).fetchone()
                hashes = [_hash(row["source"], row["session_id"])] if row else []
                ids = self._connection.execute(
                    "SELECT message_id FROM messages WHERE conv = ?", (conv,)
                )
                hashes += [_hash("message", row["message_id"]) for row in ids]
                hashes += [_hash("chunk", chunk) for chunk in self._chunks([conv])]
                hashes.append(_hash("conv", conv))
                self._connection.executemany(
                    "INSERT OR IGNORE INTO forgotten VALUES (?, ?)",
                    [(one, to_text(at)) for one in hashes],
                )
                self._connection.execute("INSERT OR IGNORE INTO forgetting VALUES (?)", (conv,))

    def erase(self, convs: Sequence[str], said: Said, standing: Callable[[str], str]) -> None:
        """Take these conversations out of every table, and whatever quotes them.

        said: whether a text quotes them. standing: an article's text by its stem; what stands there
        is still the article's, and stays known as written by us.
        """
        with transaction(self._connection):
            chunks, topics = self._chunks(convs), self.topics_of(convs)
            self._erase_holds(chunks, convs, said)
            self._erase_written(said, standing)
            self._erase_reports(chunks, convs, topics, said)
            # worked out of pages and chunks, whose words are in it; it is worked out again
            self._connection.execute("DELETE FROM derived")
            # a chunk that is never read again cannot be folded twice
            self._connection.executemany(
                "DELETE FROM synthesized_bucket_chunks WHERE chunk_id = ?",
                [(chunk,) for chunk in chunks],
            )
            for conv in convs:
                self._connection.execute(
                    "UPDATE source_files SET conv = NULL WHERE conv = ?", (conv,)
                )
                self._connection.execute("DELETE FROM conversations WHERE conv = ?", (conv,))
                self._connection.execute(
                    "UPDATE buckets SET founder = '' WHERE founder = ?", (conv,)
                )
            # named after what was said there, and once empty only that name is left of them
            self._connection.executemany(
                "DELETE FROM buckets WHERE name = ?", [(topic,) for topic in topics]
            )

    def cut_down(self, stem: str) -> None:
        """The article is about to be cut on purpose: how long it was is no measure any more."""
        self._connection.execute("DELETE FROM article_words WHERE stem = ?", (stem,))

    def clean(self) -> None:
        """Overwrite what is free, make the search indexes anew, empty the WAL.

        Raises StoreFault when there is no room for it, or somebody holds the store.
        """
        try:
            self._connection.execute("VACUUM")
            # after it, for it may number the rows anew; and whole, for an index has its own words
            for index in _INDEXES:
                self._connection.execute(f"INSERT INTO {index} ({index}) VALUES ('rebuild')")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except sqlite3.OperationalError as error:
            raise StoreFault(
                f"the store cannot be cleaned: {error}",
                mend="free some space, or end the program that reads it; then do it again",
            ) from error

    def finish(self, convs: Sequence[str]) -> None:
        """Nothing of these conversations is left here."""
        self._connection.executemany(
            "DELETE FROM forgetting WHERE conv = ?", [(conv,) for conv in convs]
        )

    def cells(self) -> Iterator[tuple[str, str]]:
        """Every text in the database, with the name of its table."""
        for row in self._connection.execute("PRAGMA main.table_list").fetchall():
            if row["type"] != "table" or row["name"].startswith("sqlite_"):
                continue
            for values in self._connection.execute(f'SELECT * FROM "{row["name"]}"'):
                for value in values:
                    if isinstance(value, bytes):
                        yield row["name"], value.decode("utf-8", "replace")
                    elif isinstance(value, str):
                        yield row["name"], value

    def pages(self) -> Iterator[bytes]:
        """The database as it stands in its file, what is free in it included, a piece at a time.

        Read through the connection: to open and close the file beside it would give up the locks
        that SQLite holds on it, and another program might take the log of changes away.
        """
        whole = memoryview(self._connection.serialize())
        for start in range(0, len(whole), _PIECE):
            yield bytes(whole[start : start + _PIECE])

    # ------------------------------------------------------------------ table by table

    def _erase_holds(self, chunks: frozenset[str], convs: Sequence[str], said: Said) -> None:
        """Drafts made of it, or for a page that cites it: they are made anew of what is left."""
        for row in self._connection.execute("SELECT * FROM holds").fetchall():
            text = f"{row['draft']} {row['reasons']} {row['decision_reason']}"
            cites = any(f"conv:{conv}" in text or f'"{conv}"' in text for conv in convs)
            if cites or chunks & set(json.loads(row["chunks"])) or _quotes(row["draft"], said):
                self._connection.execute("DELETE FROM holds WHERE id = ?", (row["id"],))

    def _erase_written(self, said: Said, standing: Callable[[str], str]) -> None:
        for table, column in (
            ("written_sentences", "text"),
            ("merged", "text"),
            ("led", "text"),
            ("told", "entry"),
        ):
            for row in self._connection.execute(f"SELECT * FROM {table}").fetchall():
                text = row[column]
                if said(text) and text not in standing(row["stem"]):
                    self._connection.execute(
                        f"DELETE FROM {table} WHERE stem = ? AND {column} = ?", (row["stem"], text)
                    )

    def _erase_reports(
        self, chunks: frozenset[str], convs: Sequence[str], topics: frozenset[str], said: Said
    ) -> None:
        for row in self._connection.execute("SELECT id, results FROM runs").fetchall():
            results: dict[str, Any] = json.loads(row["results"])
            kept = {
                name: [
                    told
                    for told in value
                    if not (
                        _quotes(json.dumps(told), said)
                        or (name == "joined" and told[0] in topics)
                        or (name == "handed" and not topics.isdisjoint(told[:2]))
                    )
                ]
                if name in _TOLD_OF
                else value
                for name, value in results.items()
            }
            if said(str(kept.get("failure", ""))):
                kept["failure"] = "(forgotten)"
            if kept != results:
                self._connection.execute(
                    "UPDATE runs SET results = ? WHERE id = ?",
                    (json.dumps(kept, ensure_ascii=False), row["id"]),
                )
        for row in self._connection.execute("SELECT id, change FROM changes").fetchall():
            change = json.loads(row["change"])
            if set(convs) & set(change["convs"]):
                change["convs"] = [conv for conv in change["convs"] if conv not in convs]
                self._connection.execute(
                    "UPDATE changes SET change = ? WHERE id = ?",
                    (json.dumps(change, ensure_ascii=False), row["id"]),
                )
        for row in self._connection.execute("SELECT * FROM attempts").fetchall():
            if row["job"] in chunks or row["job"] in convs or said(row["last_reason"]):
                self._connection.execute(
                    "DELETE FROM attempts WHERE stage = ? AND job = ?", (row["stage"], row["job"])
                )
        for row in self._connection.execute("SELECT id, reason FROM objections").fetchall():
            if said(row["reason"]):
                self._connection.execute("DELETE FROM objections WHERE id = ?", (row["id"],))
        for row in self._connection.execute("SELECT name, description FROM buckets").fetchall():
            if said(row["description"]):
                self._connection.execute(
                    "UPDATE buckets SET description = '' WHERE name = ?", (row["name"],)
                )

    def _chunks(self, convs: Sequence[str]) -> frozenset[str]:
        return frozenset(
            row["id"]
            for conv in convs
            for row in self._connection.execute("SELECT id FROM chunks WHERE conv = ?", (conv,))
        )

    @property
    def _any(self) -> bool:
        row = self._connection.execute("SELECT 1 FROM forgotten LIMIT 1").fetchone()
        return row is not None

    def _of(self, kind: str, names: Iterable[str]) -> frozenset[str]:
        if not self._any:
            return frozenset()
        hashes = {_hash(kind, name): name for name in names}
        return frozenset(hashes[found] for found in self._known(list(hashes)))

    def _known(self, hashes: Sequence[str]) -> list[str]:
        found: list[str] = []
        for start in range(0, len(hashes), _MANY):
            some = hashes[start : start + _MANY]
            rows = self._connection.execute(
                f"SELECT hash FROM forgotten WHERE hash IN ({', '.join('?' * len(some))})", some
            )
            found += [row["hash"] for row in rows]
        return found


def _quotes(text: str, said: Said) -> bool:
    """Whether a text, which may be JSON with JSON in it, quotes what is to be forgotten."""
    if said(text):
        return True
    try:
        value = json.loads(text)
    except ValueError:
        return False
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(_quotes(one if isinstance(one, str) else json.dumps(one), said) for one in inner)


def _hash(kind: str, name: str) -> str:
    return hashlib.sha256(f"{len(kind)}:{kind}{name}".encode("utf-8", "surrogatepass")).hexdigest()
