"""recall.sqlite: the articles' sections as a full-text index, which may be lost at any time.

A file that looks as it did when it was read is not read again, one whose bytes are the same is not
parsed again, and of one that changed only the sections that are others are indexed again. Where the
file cannot be written the index is worked on as a copy in memory.
"""

from __future__ import annotations

import hashlib
import json
import marshal
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pipeline import ordinary
from pipeline.errors import VaultFault
from pipeline.evicted import is_evicted
from pipeline.recall.listing import Pages, Stamp, day_of, is_settled, listed, looked, stamp_of
from pipeline.recall.terms import spaced
from pipeline.sqlite import files_of, make_file, transaction

NAME = "recall.sqlite"
_VERSION = 7  # another number when anything is kept in another way
_NAMING = re.compile(r"[^\W\d_]{3,}")
_PATIENCE = 1.0  # seconds to wait for another search that brings the index up to date
_AT_ONCE = 12  # sections that are looked up together; most are never told
_MANY = 20  # articles after which the full-text index is put into one piece again
_SCHEMA = f"""
BEGIN IMMEDIATE;
CREATE TABLE files (
    path    TEXT PRIMARY KEY,
    stem    TEXT NOT NULL,
    title   TEXT NOT NULL,
    aliases TEXT NOT NULL,           -- JSON list
    stamp   TEXT NOT NULL,           -- JSON list: a Stamp
    digest  TEXT NOT NULL            -- sha256 of the bytes
);
CREATE TABLE sections (
    id       INTEGER PRIMARY KEY,
    path     TEXT NOT NULL,
    ordinal  INTEGER NOT NULL,
    anchor   TEXT NOT NULL,
    headings TEXT NOT NULL,          -- JSON list of [text, [[conv, first, last], …]]
    lines    TEXT NOT NULL,          -- the same
    days     TEXT NOT NULL,          -- JSON: conv → ISO day
    digest   TEXT NOT NULL           -- sha256 of all that is indexed of it
);
CREATE INDEX sections_path ON sections (path);
CREATE VIRTUAL TABLE sections_fts USING fts5 (
    names, heading, body, tokenize='porter unicode61 remove_diacritics 2'
);
CREATE VIRTUAL TABLE heads_fts USING fts5 (  -- again by themselves, for few words stand in any
    names, heading, tokenize='porter unicode61 remove_diacritics 2'
);
CREATE TABLE pages (
    path  TEXT PRIMARY KEY,
    stamp TEXT NOT NULL,             -- as in files
    value TEXT NOT NULL              -- JSON list: what was read in it
);
CREATE TABLE seen (                  -- one row while the articles stand as they are indexed
    digest TEXT NOT NULL,            -- of how their files look
    words  TEXT                      -- JSON list: the words that name them, once they were wanted
);
PRAGMA user_version = {_VERSION};
COMMIT;
"""


Line = tuple[str, tuple[tuple[str, int, int], ...]]


@dataclass(frozen=True, slots=True)
class Found:
    """A section as it is indexed.

    headings, lines: each with what it cites, as (conv, first, last). days: of what is cited, by
    conversation. changed: the day on which the file was changed.
    """

    path: str
    stem: str
    title: str
    aliases: tuple[str, ...]
    anchor: str
    headings: tuple[Line, ...]
    lines: tuple[Line, ...]
    days: Mapping[str, str]
    changed: str


class SectionIndex:
    """The index of one vault. `fresh` first, each time: it holds what the articles say by then."""

    def __init__(self, file: Path, root: Path) -> None:
        self._file = file
        self._root = root
        self._connection: sqlite3.Connection | None = None
        self._looked: tuple[list[tuple[str, Pages]], str] = ([], "")  # last time, and its digest

    def fresh(self) -> sqlite3.Connection:
        """A connection to the index as the articles stand now. Damage and locks are got over."""
        for again in (False, True):
            try:
                if self._connection is None:
                    self._connection = _opened(self._file)
                self._update(self._connection)
                return self._connection
            except sqlite3.DatabaseError as error:
                if again:
                    break
                self.drop(damaged=not isinstance(error, sqlite3.OperationalError))
        try:
            self._connection = self._in_memory()
            self._update(self._connection)
        except sqlite3.Error:  # damage that is not called so, and is in the copy too
            self.drop(damaged=True)
            self._connection = self._in_memory()
            self._update(self._connection)
        return self._connection

    def drop(self, *, damaged: bool) -> None:
        """Close it; a damaged one is deleted, to be made anew."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None
        if damaged:
            for path in files_of(self._file):
                with suppress(OSError):
                    path.unlink(missing_ok=True)

    close = drop

    @property
    def connection(self) -> sqlite3.Connection:
        """The index as `fresh` left it."""
        assert self._connection is not None
        return self._connection

    def each(self, rows: Sequence[int]) -> Iterator[tuple[int, Found]]:
        """Row and section of those of the rows that are there, in this order, worked out lazily."""
        for start in range(0, len(rows), _AT_ONCE):
            some = rows[start : start + _AT_ONCE]
            there = self.connection.execute(
                f"""SELECT id, path, stem, title, anchor,
                           '[' || aliases || ',' || headings || ',' || lines || ','
                               || days || ',' || stamp || ']'
                    FROM sections JOIN files USING (path)
                    WHERE id IN ({", ".join("?" * len(some))})""",
                some,
            )
            found = {row: told for row, *told in there}
            yield from ((row, _found(*found[row])) for row in some if row in found)

    def places(self, rows: Sequence[int]) -> dict[int, tuple[str, int]]:
        """The article's path and the number in it of each of these sections."""
        found = self.connection.execute(
            """SELECT id, path, ordinal FROM sections
               WHERE id IN (SELECT value FROM json_each(?))""",
            (json.dumps(rows),),
        )
        return {row: (path, ordinal) for row, path, ordinal in found}

    def days(self, rows: Sequence[int]) -> dict[int, str]:
        """The latest day that each of these sections cites, "" for one that cites none."""
        found = self.connection.execute(
            "SELECT id, days FROM sections WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(rows),),
        )
        return {row: max(json.loads(days).values(), default="") for row, days in found}

    def words(self) -> list[str]:
        """The words that name articles and their sections, in lower case, each once."""
        kept = self.connection.execute("SELECT digest, words FROM seen").fetchone()
        if kept is not None and kept[1] is not None:
            return [str(word) for word in json.loads(kept[1])]
        names = self.connection.execute(
            """SELECT DISTINCT json_extract(value, '$[0]') FROM sections, json_each(headings)
               UNION SELECT title || aliases FROM files"""
        )
        said = " ".join(row[0] for row in names).casefold()
        words = sorted(set(_NAMING.findall(said)))
        if kept is not None:
            with suppress(sqlite3.OperationalError):
                self.connection.execute(
                    "UPDATE seen SET words = ? WHERE digest = ?", (json.dumps(words), kept[0])
                )
        return words

    def listed_in(self, page: str, read: Callable[[str], list[str]]) -> list[str]:
        """What `read` makes of a page of the vault ("" without it), read again when it changed.

        Raises VaultFault for a page that is there and cannot be read.
        """
        connection = self.connection
        path = self._root / page
        stamp = stamp_of(path)
        kept = connection.execute(
            "SELECT stamp, value FROM pages WHERE path = ?", (page,)
        ).fetchone()
        if kept is not None and is_settled(stamp) and kept[0] == json.dumps(stamp):
            return [str(one) for one in json.loads(kept[1])]
        try:
            text = ordinary.content(path).decode("utf-8")
        except (FileNotFoundError, NotADirectoryError):
            return []
        except (OSError, UnicodeDecodeError) as error:  # nobody knows then what must not be told
            raise VaultFault(
                f"{path} cannot be read", mend="make it readable, and save it as UTF-8"
            ) from error
        found: list[str] = read(text) if text else []
        with suppress(sqlite3.OperationalError):
            connection.execute(
                "INSERT OR REPLACE INTO pages VALUES (?, ?, ?)",
                (page, json.dumps(stamp), json.dumps(found)),
            )
        return found

    # ------------------------------------------------------------------ keeping it

    def _update(self, connection: sqlite3.Connection) -> None:
        found = looked(self._root)
        if found != self._looked[0]:
            # without the references of later formats, which are not the same each time
            self._looked = found, hashlib.sha256(marshal.dumps(found, 2)).hexdigest()
        digest = self._looked[1]
        seen = connection.execute("SELECT digest FROM seen").fetchone()
        if seen is not None and seen[0] == digest:  # nearly always
            return
        there, known = listed(found), _known(connection)
        if there == known:
            with suppress(sqlite3.OperationalError), transaction(connection):
                connection.execute("DELETE FROM seen")
                connection.execute("INSERT INTO seen (digest) VALUES (?)", (digest,))
            return
        changed = {path: there[path] for path in there if known.get(path) != there[path]}
        gone = known.keys() - there.keys()
        texts: dict[str, tuple[str, bytes]] = {}
        touched: list[tuple[str, str]] = []
        for path, (stem, stamp) in changed.items():
            try:
                content = ordinary.content(self._root / path)
                content.decode("utf-8")
            except (OSError, UnicodeDecodeError):  # whoever reads this very page is told
                if not is_evicted(self._root / path):  # else it is found as it was
                    gone = gone | ({path} & known.keys())
                continue
            kept = connection.execute("SELECT stem, digest FROM files WHERE path = ?", (path,))
            if kept.fetchone() == (stem, hashlib.sha256(content).hexdigest()):
                if is_settled(stamp):  # only touched, or settled since
                    touched.append((json.dumps(stamp), path))
                continue
            texts[path] = (stem, content)
        if not (texts or touched or gone):
            return
        with transaction(connection):
            connection.execute("DELETE FROM seen")
            connection.executemany("UPDATE files SET stamp = ? WHERE path = ?", touched)
            for path in gone:
                self._replace(connection, path, {})
                connection.execute("DELETE FROM files WHERE path = ?", (path,))
            for path, (stem, content) in texts.items():
                self._write(connection, path, stem, changed[path][1], content)
            if len(texts) > _MANY:
                for table in ("sections_fts", "heads_fts"):
                    connection.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")

    def _write(
        self, connection: sqlite3.Connection, path: str, stem: str, stamp: Stamp, content: bytes
    ) -> None:
        from pipeline.recall.sections import article_of

        article = article_of(stem, content.decode("utf-8"))
        names = "\n".join((article.title, *article.aliases, stem))
        rows: dict[str, tuple[Any, ...]] = {}
        for ordinal, part in enumerate(article.parts):
            told = json.dumps(["" if ordinal else names, asdict(part)], ensure_ascii=False)
            digest = hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()
            headings, lines = (
                json.dumps([[line.text, line.cites] for line in some], ensure_ascii=False)
                for some in (part.headings, part.lines)
            )
            # of two that are the same only one is found, and that is enough
            rows.setdefault(
                digest,
                (
                    ordinal,
                    part.anchor,
                    headings,
                    lines,
                    json.dumps(part.days),
                    "" if ordinal else names,
                    " ".join(line.text for line in part.headings),
                    "\n".join(line.text for line in part.lines),
                ),
            )
        self._replace(connection, path, rows)
        connection.execute(
            "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?)",
            (
                path,
                stem,
                article.title,
                json.dumps(article.aliases, ensure_ascii=False),
                json.dumps(stamp),
                hashlib.sha256(content).hexdigest(),
            ),
        )

    def _replace(
        self, connection: sqlite3.Connection, path: str, rows: Mapping[str, tuple[Any, ...]]
    ) -> None:
        """Leave those sections of a file that are as they were, put in and take out the others."""
        kept: set[str] = set()
        old = connection.execute("SELECT id, digest FROM sections WHERE path = ?", (path,))
        for row, digest in old.fetchall():
            if digest in rows and digest not in kept:
                kept.add(digest)
                connection.execute(
                    "UPDATE sections SET ordinal = ? WHERE id = ?", (rows[digest][0], row)
                )
                continue
            connection.execute("DELETE FROM sections_fts WHERE rowid = ?", (row,))
            connection.execute("DELETE FROM heads_fts WHERE rowid = ?", (row,))
            connection.execute("DELETE FROM sections WHERE id = ?", (row,))
        for digest in rows:  # in the page's order: of hits that are worth the same it decides
            if digest in kept:
                continue
            ordinal, anchor, headings, lines, days, names, heading, body = rows[digest]
            row = connection.execute(
                """INSERT INTO sections (path, ordinal, anchor, headings, lines, days, digest)
                   VALUES (?, ?, ?, ?, ?, ?, ?)""",
                (path, ordinal, anchor, headings, lines, days, digest),
            ).lastrowid
            connection.execute(
                "INSERT INTO sections_fts (rowid, names, heading, body) VALUES (?, ?, ?, ?)",
                (row, spaced(names), spaced(heading), spaced(body)),
            )
            connection.execute(
                "INSERT INTO heads_fts (rowid, names, heading) VALUES (?, ?, ?)",
                (row, spaced(names), spaced(heading)),
            )

    def _in_memory(self) -> sqlite3.Connection:
        """A copy of what can be read of it, else an empty one."""
        self.drop(damaged=False)
        made = sqlite3.connect(":memory:", isolation_level=None)
        try:
            kept = sqlite3.connect(f"{self._file.as_uri()}?mode=ro&immutable=1", uri=True)
            try:
                kept.backup(made)
                if _is_usable(made):
                    return made
            finally:
                kept.close()
        except sqlite3.Error:
            pass
        made.close()
        made = sqlite3.connect(":memory:", isolation_level=None)
        made.executescript(_SCHEMA)
        return made


def _known(connection: sqlite3.Connection) -> dict[str, tuple[str, Stamp | None]]:
    """Stem and stamp by path, of every article that is indexed."""
    rows = connection.execute("SELECT path, stem, stamp FROM files").fetchall()
    stamps = json.loads(f"[{','.join(stamp for _, _, stamp in rows)}]")
    return {
        # one that may still have been changing is like none
        path: (stem, tuple(stamp) if is_settled(stamp) else None)
        for (path, stem, _), stamp in zip(rows, stamps, strict=True)
    }


def _found(path: str, stem: str, title: str, anchor: str, rest: str) -> Found:
    """What stands in these columns, the last of which has all that is JSON."""
    aliases, headings, lines, days, stamp = json.loads(rest)
    return Found(
        path=path,
        stem=stem,
        title=title,
        aliases=tuple(aliases),
        anchor=anchor,
        headings=_lines(headings),
        lines=_lines(lines),
        days=days,
        changed=day_of(stamp),
    )


def _lines(told: list[tuple[str, list[tuple[str, int, int]]]]) -> tuple[Line, ...]:
    return tuple(
        (text, tuple((conv, first, last) for conv, first, last in cites)) for text, cites in told
    )


def _opened(path: Path) -> sqlite3.Connection:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        make_file(path)
    except OSError as error:
        raise sqlite3.OperationalError(str(error)) from error
    connection = sqlite3.connect(path, isolation_level=None, timeout=_PATIENCE)
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA cache_size=-16000")  # KiB: all of it, of a usual wiki
        connection.execute("PRAGMA synchronous=OFF")  # what a power cut damages is made anew
        connection.execute("PRAGMA secure_delete=ON")
        if not _is_usable(connection):
            if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                raise sqlite3.DatabaseError("it was made by another version")
            connection.executescript(_SCHEMA)
    except BaseException:
        connection.close()
        raise
    return connection


def _is_usable(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute("PRAGMA user_version").fetchone()[0] == _VERSION)
