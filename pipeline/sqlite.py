"""SQLite, opened one way and migrated one way.

Forward-only numbered scripts; each is applied and recorded, with its hash, in one transaction.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.errors import StoreFault

if TYPE_CHECKING:  # hooks load this file, and the module takes longer to load than they may take
    from importlib.resources.abc import Traversable

Error = sqlite3.Error
BUSY_SECONDS = 10.0  # waited for another program to let go of the database
_MEND = "check the folder's permissions and free space; `memory doctor` says what is wrong with it"


def connect(path: Path) -> sqlite3.Connection:
    """Open (or create) the database at `path`: WAL, foreign keys, 10 s busy timeout, autocommit.

    The folder is made 0700 and the file 0600: a transcript is nobody else's business.
    Raises StoreFault if it cannot be opened or is not a database.
    """
    connection: sqlite3.Connection | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        make_file(path)
        connection = sqlite3.connect(path, isolation_level=None, timeout=BUSY_SECONDS)
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA fullfsync=ON")  # for a Mac: see durable.py
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute("PRAGMA secure_delete=ON")
        problem = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    except (sqlite3.Error, OSError) as error:
        if connection is not None:
            connection.close()
        raise StoreFault(f"cannot open the store {path}: {error}", mend=_MEND) from error
    if problem != "ok":
        connection.close()
        raise StoreFault(f"the store {path} is damaged: {problem}", mend=_MEND)
    return connection


def is_busy(error: BaseException) -> bool:
    """Whether the database refused because another program holds it."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # an extended code's first byte
    return code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


@contextmanager
def reading(path: Path, *, patience: float = 1.0) -> Iterator[sqlite3.Connection]:
    """A database to look at in passing: nothing is made, checked, migrated or written.

    patience: seconds to wait for one that is locked.

    Raises StoreFault for one that is not there, and for whatever the block cannot read in it.
    """
    try:
        # not mode=ro, which leaves the files of the WAL behind
        with closing(
            sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, timeout=patience)
        ) as looked:
            looked.row_factory = sqlite3.Row
            looked.execute("PRAGMA query_only=ON")
            yield looked
    except sqlite3.Error as error:
        raise StoreFault(
            f"cannot read {path}: {error}", mend="`memory doctor` says what is wrong with it"
        ) from error


def make_file(path: Path) -> None:
    """Have the file be there, closed to others. Raises OSError.

    One that is there is left alone: whoever only looks into a database has not written to it, as
    its time of change would say; and closing a file gives up the locks that SQLite holds on it.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def files_of(path: Path) -> tuple[Path, Path, Path]:
    """The files a database consists of; the last two are there only while it is open."""
    return path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")


def migrate(connection: sqlite3.Connection, scripts: Traversable) -> None:
    """Apply every `NNNN_*.sql` under `scripts` that `connection` has not seen, in order.

    Raises StoreFault when an applied script was changed since, or the database is newer than this
    program.
    """
    connection.execute(
        "CREATE TABLE IF NOT EXISTS _migrations (name TEXT PRIMARY KEY, sha256 TEXT NOT NULL)"
    )
    applied = dict(connection.execute("SELECT name, sha256 FROM _migrations").fetchall())
    known = {
        entry.name: entry.read_text(encoding="utf-8")
        for entry in sorted(scripts.iterdir(), key=lambda entry: entry.name)
        if entry.name.endswith(".sql")
    }
    if unknown := sorted(applied.keys() - known.keys()):
        raise StoreFault(
            f"the store was written by a newer version (it has {unknown[-1]})",
            mend="upgrade nightly-memory",
        )
    for name, script in known.items():
        digest = hashlib.sha256(script.encode()).hexdigest()
        if name in applied:
            if applied[name] != digest:
                raise StoreFault(f"migration {name} was changed after it was applied")
            continue
        # executescript() commits first, so the transaction has to be part of the script itself
        try:
            connection.executescript(
                f"BEGIN IMMEDIATE;\n{script}\n"
                f"INSERT INTO _migrations VALUES ('{name}', '{digest}');\nCOMMIT;"
            )
        except sqlite3.Error as error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise StoreFault(f"migration {name} failed: {error}", mend=_MEND) from error


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All of the block or nothing. Inside another transaction it is a part of that one."""
    if connection.in_transaction:
        yield
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
