"""The store of one project: opened, migrated, and its parts."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pipeline.errors import NoStoreFault, StoreFault
from pipeline.project import times
from pipeline.project.checkpoints import Checkpoints
from pipeline.project.iterations import Iterations
from pipeline.project.observations import Observations
from pipeline.project.sessions import Sessions
from pipeline.project.vocabulary import Clean
from pipeline.sqlite import files_of, make_file, migrate, transaction

PATIENCE = 5.0  # seconds that a command waits for another's write
_SCRIPTS = Path(__file__).parents[1] / "sql" / "project"


class ProjectStore:
    """`memory.db` of a project. Everything is cleaned before it is written.

    observations, sessions, checkpoints, iterations: its parts. Close it after use.
    """

    def __init__(
        self,
        path: Path,
        clean: Clean,
        *,
        make: bool = False,
        patience: float = PATIENCE,
        clock: times.Clock = times.now,
    ) -> None:
        """Open the store; with `make` it comes to be. Raises NoStoreFault where there is none, and
        StoreFault where it cannot be opened or is no store. patience: seconds to wait for others.
        """
        self.path = path
        self.clean = clean
        self.clock = clock
        if not make and not path.is_file():
            raise NoStoreFault(
                f"there is no project memory at {path}",
                mend="`anvil-memory init` begins one in this project",
            )
        with faults(path):
            self.connection = _connection(path, patience)
            try:
                migrate(self.connection, _SCRIPTS)
            except BaseException:
                self.connection.close()
                raise
        self.observations = Observations(self.connection, clean, clock)
        self.sessions = Sessions(self.connection, clean, clock)
        self.checkpoints = Checkpoints(self.connection, clean, clock, self.observations)
        self.iterations = Iterations(self.connection, clean, clock, self.observations)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All of the block or nothing; what the database refuses is a StoreFault."""
        with faults(self.path), transaction(self.connection):
            yield

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """What the database refuses in the block is a StoreFault."""
        with faults(self.path):
            yield

    def has(self, table: str, session: int) -> bool:
        """Whether the session has a row in the table, prompts or checkpoints, of this moment."""
        found = self.connection.execute(
            f"SELECT 1 FROM {table} WHERE session_id = ? AND created_at = ?",
            (session, times.iso(self.clock())),
        )
        return found.fetchone() is not None

    def stats(self) -> dict[str, Any]:
        """Rows of each table, observations of each type, their tokens, and bytes on disk."""
        tables = ("observations", "sessions", "checkpoints", "ralph_iterations", "prompts")
        counts = {
            table: self.connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in tables
        }
        types = self.connection.execute(
            "SELECT type, count(*) FROM observations GROUP BY type ORDER BY 2 DESC, 1"
        )
        read, work, first, last = self.connection.execute(
            """SELECT coalesce(sum(tokens_read), 0), coalesce(sum(tokens_work), 0),
                      min(created_at), max(created_at) FROM observations"""
        ).fetchone()
        return {
            "database": str(self.path),
            "bytes": sum(file.stat().st_size for file in files_of(self.path) if file.is_file()),
            **counts,
            "types": {row[0]: row[1] for row in types},
            "tokens_read": read,
            "tokens_work": work,
            "first": first,
            "last": last,
        }

    def problems(self) -> list[str]:
        """What is wrong in the file: damage, and full-text indexes that are out of step."""
        found = [
            f"damaged: {row[0]}"
            for row in self.connection.execute("PRAGMA integrity_check(20)")
            if row[0] != "ok"
        ]
        for table in ("observations", "sessions", "prompts"):
            try:
                self.connection.execute(
                    f"INSERT INTO {table}_fts ({table}_fts, rank) VALUES ('integrity-check', 1)"
                )
            except sqlite3.DatabaseError as error:
                if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_READONLY:
                    return [*found, "the disk is read-only: nothing new can be kept"]
                found.append(f"the search index of {table} is out of step: {error}")
        return found

    def scrub(self) -> bool:
        """Leave nothing of what was deleted in the file: neither in the index nor in the log.

        The index keeps the words of a deleted row until its parts are merged. False if something
        stays, since another program reads what was there before, or writes.
        """
        with faults(self.path):
            try:
                for table in ("observations", "sessions", "prompts"):
                    self.connection.execute(
                        f"INSERT INTO {table}_fts ({table}_fts) VALUES ('optimize')"
                    )
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                    raise
                return False
            busy, *_ = self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return not busy

    def close(self) -> None:
        """Give the file back."""
        self.connection.close()


@contextmanager
def faults(path: Path) -> Iterator[None]:
    """What SQLite and the disk raise in the block, as a StoreFault that names the file."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        locked = isinstance(error, sqlite3.OperationalError) and "locked" in str(error)
        raise StoreFault(
            f"the project memory {path} cannot be used: {error}",
            mend="another session is writing to it: try again"
            if locked
            else "check permissions and free space; if the file is damaged, move it aside, begin "
            "anew with `anvil-memory init` and import your last export",
        ) from error


def _connection(path: Path, patience: float) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    make_file(path)
    # nobody writes there, so it may be read without the files of its log, which cannot be made
    read_only = bool(os.statvfs(path).f_flag & os.ST_RDONLY)
    place = f"{path.absolute().as_uri()}?mode=ro&immutable=1" if read_only else str(path)
    connection = sqlite3.connect(place, isolation_level=None, timeout=patience, uri=read_only)
    try:
        connection.row_factory = sqlite3.Row
        # asked for each time: on a file that is in this mode already it takes no lock
        connection.execute("PRAGMA journal_mode=WAL")
        # A write is on the disk when its call ends, since the last to close the file writes the log
        # back; syncing each commit besides makes sessions that write at once wait for seconds.
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("PRAGMA checkpoint_fullfsync=ON")  # for a Mac: see durable.py
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute("PRAGMA secure_delete=ON")
    except sqlite3.Error:
        connection.close()
        raise
    return connection
