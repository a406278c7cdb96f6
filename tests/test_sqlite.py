"""SQLite is opened one way, migrated one way, and refuses what it cannot trust."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.errors import StoreFault
from pipeline.sqlite import connect, migrate, transaction


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    """A folder with one migration."""
    folder = tmp_path / "sql"
    folder.mkdir()
    (folder / "0001_first.sql").write_text("CREATE TABLE things (name TEXT PRIMARY KEY);")
    return folder


def test_the_file_is_private(tmp_path: Path) -> None:
    """Nobody else on the machine may read what was said to an assistant."""
    path = tmp_path / "new" / "memory.sqlite"
    connect(path).close()
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_what_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    """A file of another kind is named in the fault and keeps its bytes."""
    path = tmp_path / "memory.sqlite"
    path.write_bytes(b"these are my notes, not a database" * 40)
    with pytest.raises(StoreFault, match=r"memory\.sqlite"):
        connect(path)
    assert path.read_bytes() == b"these are my notes, not a database" * 40


def test_migrating_twice_changes_nothing(tmp_path: Path, scripts: Path) -> None:
    """A migration runs once, however often the program starts."""
    connection = connect(tmp_path / "a.sqlite")
    migrate(connection, scripts)
    connection.execute("INSERT INTO things VALUES ('kept')")
    migrate(connection, scripts)
    assert [row["name"] for row in connection.execute("SELECT name FROM things")] == ["kept"]
    connection.close()


def test_a_failed_migration_leaves_no_trace(tmp_path: Path, scripts: Path) -> None:
    """Half a migration is none: the tables it made are gone, and it is not recorded."""
    connection = connect(tmp_path / "a.sqlite")
    (scripts / "0002_broken.sql").write_text("CREATE TABLE more (x); CREATE TABLE things (y);")
    with pytest.raises(StoreFault, match="0002_broken"):
        migrate(connection, scripts)
    names = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
    assert "things" in names and "more" not in names
    (scripts / "0002_broken.sql").write_text("CREATE TABLE more (x);")
    migrate(connection, scripts)
    connection.close()


def test_a_changed_or_unknown_migration_stops_the_program(tmp_path: Path, scripts: Path) -> None:
    """A database from a newer version, or one whose history was rewritten, is not guessed at."""
    connection = connect(tmp_path / "a.sqlite")
    migrate(connection, scripts)
    (scripts / "0001_first.sql").write_text("CREATE TABLE others (name TEXT);")
    with pytest.raises(StoreFault, match="changed"):
        migrate(connection, scripts)
    (scripts / "0001_first.sql").unlink()
    with pytest.raises(StoreFault, match="newer"):
        migrate(connection, scripts)
    connection.close()


def test_a_transaction_is_all_or_nothing(tmp_path: Path, scripts: Path) -> None:
    """An exception takes back what its block wrote, nested blocks included."""
    connection = connect(tmp_path / "a.sqlite")
    migrate(connection, scripts)
    with pytest.raises(KeyError), transaction(connection):
        with transaction(connection):
            connection.execute("INSERT INTO things VALUES ('inner')")
        raise KeyError
    assert connection.execute("SELECT count(*) FROM things").fetchone()[0] == 0
    connection.close()
