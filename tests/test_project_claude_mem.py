"""The memory of claude-mem is taken in whole, from its present form and from older ones."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.project import claude_mem, transfer
from pipeline.project.cleaning import cleaner
from pipeline.project.store import ProjectStore
from tests.support_project import Project, new_project

NO_EXPORT, WRONG = 4, 3
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
AT = 1_767_323_045_678  # 2026-01-02T03:04:05.678Z

NEW = """
CREATE TABLE schema_versions (version INTEGER);
INSERT INTO schema_versions VALUES (49);
CREATE TABLE sdk_sessions (
    id INTEGER PRIMARY KEY, content_session_id TEXT NOT NULL, memory_session_id TEXT UNIQUE,
    project TEXT NOT NULL, platform_source TEXT NOT NULL DEFAULT 'claude', user_prompt TEXT,
    started_at TEXT, started_at_epoch INTEGER, completed_at TEXT, completed_at_epoch INTEGER,
    status TEXT, worker_port INTEGER, prompt_counter INTEGER, custom_title TEXT,
    UNIQUE (platform_source, content_session_id));
CREATE TABLE observations (
    id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT, text TEXT, type TEXT, title TEXT,
    subtitle TEXT, facts TEXT, narrative TEXT, concepts TEXT, files_read TEXT, files_modified TEXT,
    prompt_number INTEGER, discovery_tokens INTEGER, created_at TEXT, created_at_epoch INTEGER,
    content_hash TEXT, merged_into_project TEXT);
CREATE TABLE session_summaries (
    id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT, request TEXT, investigated TEXT,
    learned TEXT, completed TEXT, next_steps TEXT, files_read TEXT, files_edited TEXT, notes TEXT,
    prompt_number INTEGER, discovery_tokens INTEGER, created_at TEXT, created_at_epoch INTEGER);
CREATE TABLE user_prompts (
    id INTEGER PRIMARY KEY, session_db_id INTEGER, content_session_id TEXT, prompt_number INTEGER,
    prompt_text TEXT, created_at TEXT, created_at_epoch INTEGER);
"""
OLD = """
CREATE TABLE sdk_sessions (
    id INTEGER PRIMARY KEY, claude_session_id TEXT, sdk_session_id TEXT, project TEXT,
    user_prompt TEXT, started_at TEXT, started_at_epoch INTEGER);
CREATE TABLE observations (
    id INTEGER PRIMARY KEY, sdk_session_id TEXT, project TEXT, text TEXT NOT NULL, type TEXT,
    concepts TEXT, created_at TEXT, created_at_epoch INTEGER);
"""


@pytest.fixture
def project(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Project:
    return new_project(tmp_path / "garden", capsys, monkeypatch)


def _insert(database: sqlite3.Connection, table: str, **values: Any) -> None:
    names = ", ".join(values)
    marks = ", ".join("?" * len(values))
    database.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", list(values.values()))


@pytest.fixture
def theirs(home: Path) -> Path:
    """A database in the present form, in its usual place: two projects."""
    path = home / ".claude-mem" / "claude-mem.db"
    path.parent.mkdir()
    database = sqlite3.connect(path)
    database.executescript(NEW)
    for number, project in ((1, "garden"), (2, "kitchen")):
        _insert(
            database, "sdk_sessions", id=number, content_session_id=f"agent-{number}",
            memory_session_id=f"memory-{number}", project=project, user_prompt=f"Ask {number}",
            started_at_epoch=AT, completed_at_epoch=AT + 60_000, status="completed",
        )  # fmt: skip
        _insert(
            database, "observations", memory_session_id=f"memory-{number}", project=project,
            type="security_note", title=f"Title {number}", subtitle="Sub",
            facts='["One fact", "Another"]', narrative=f"What {SECRET} was",
            concepts='["gotcha", "how-it-works: because"]', files_read='["b.py"]',
            files_modified='["a.py"]', discovery_tokens=321, created_at_epoch=AT + number,
        )  # fmt: skip
        _insert(
            database, "session_summaries", memory_session_id=f"memory-{number}", project=project,
            request="Sow peas", learned="Sand dries", next_steps="Water",
            files_edited='["a.py"]', created_at_epoch=AT + 100 + number,
        )  # fmt: skip
        _insert(
            database, "user_prompts", session_db_id=number, content_session_id=f"agent-{number}",
            prompt_number=1, prompt_text=f"Please {number}", created_at_epoch=AT,
        )  # fmt: skip
    database.commit()
    database.close()
    return path


def _exported(project: Project) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = json.loads(project.call("export")[1])
    return found


def test_what_belongs_to_this_project_is_taken_in(project: Project, theirs: Path) -> None:
    """Sessions, observations, summaries and prompts, with their times and links, cleaned."""
    before = theirs.read_bytes()
    counts = project.ask("import", "--from", "claude-mem")["counts"]
    assert counts == {"sessions new": 1, "observations new": 2, "prompts new": 1}
    assert theirs.read_bytes() == before
    found = _exported(project)
    (session,) = found["sessions"]
    assert (session["claude_session_id"], session["request"]) == ("agent-1", "Ask 1")
    assert session["created_at"] == "2026-01-02T03:04:05.678Z"
    assert session["ended_at"] == "2026-01-02T03:05:05.678Z"
    seen, summed = found["observations"]
    assert (seen["type"], seen["title"], seen["subtitle"]) == ("security_note", "Title 1", "Sub")
    assert seen["content"] == "What [REDACTED:github] was\n- One fact\n- Another"
    assert (seen["files"], seen["concepts"]) == (["a.py", "b.py"], ["gotcha", "how-it-works"])
    assert (seen["tokens_work"], seen["created_at_epoch"]) == (321, AT + 1)
    assert seen["session_id"] == summed["session_id"] == session["id"]
    assert (summed["type"], summed["title"]) == ("change", "Session: Sow peas")
    assert summed["content"] == "Request: Sow peas\n\nLearned: Sand dries\n\nNext steps: Water"
    assert [row["prompt"] for row in found["prompts"]] == ["Please 1"]
    assert SECRET.encode() not in project.bytes_on_disk()
    assert project.titles("sand dries") == ["Session: Sow peas"]


def test_again_nothing_and_a_dry_run_changes_nothing(project: Project, theirs: Path) -> None:
    """The dry run's counts are those of the import; the second import knows all of it."""
    would = project.ask("import", "--from", "claude-mem", "--dry-run")["counts"]
    assert project.ask("stats")["observations"] == 0
    assert project.ask("import", "--from", "claude-mem")["counts"] == would
    known = project.ask("import", "--from", "claude-mem")["counts"]
    assert known == {name.replace("new", "known"): count for name, count in would.items()}


def test_other_projects_come_by_name_or_all(project: Project, theirs: Path) -> None:
    """And where there is nothing of this one, those that there are are named."""
    counts = project.ask("import", "--from", "claude-mem", "--project", "kitchen")["counts"]
    assert counts["observations new"] == 2
    counts = project.ask("import", "--from", "claude-mem", "--project", "*")["counts"]
    assert (counts["observations new"], counts["observations known"]) == (2, 2)
    out = project.call("import", "--from", "claude-mem", "--project", "cellar")[1]
    assert "garden, kitchen" in out


def test_an_old_database_is_taken_in_too(project: Project, tmp_path: Path) -> None:
    """Text alone, other names of columns, times in seconds, tables that are not there yet."""
    path = tmp_path / "old.db"
    database = sqlite3.connect(path)
    database.executescript(OLD)
    _insert(database, "sdk_sessions", id=7, claude_session_id="agent-7", sdk_session_id="sdk-7",
            project="garden", started_at="2025-09-01T10:00:00.000Z")  # fmt: skip
    _insert(database, "observations", sdk_session_id="sdk-7", project="garden",
            text="Peas want sand. More of it.", type="discovery", concepts="pattern: x, gotcha: y",
            created_at_epoch=AT // 1000)  # fmt: skip
    _insert(database, "observations", sdk_session_id="gone", project="garden", text="No time",
            type=None, concepts=None)  # fmt: skip
    database.commit()
    database.close()
    project.ask("import", "--from", "claude-mem", "--db", str(path))
    first, second = sorted(_exported(project)["observations"], key=lambda row: -row["id"])[::-1]
    assert (first["title"], first["content"]) == ("Peas want sand", "Peas want sand. More of it.")
    assert first["concepts"] == ["pattern", "gotcha"]
    assert first["created_at"] == "2026-01-02T03:04:05.000Z"
    assert first["session_id"] is not None
    assert (second["title"], second["type"], second["session_id"]) == ("No time", "change", None)


def test_its_own_settings_say_where_it_is(
    project: Project, theirs: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In its settings file, or by its variable."""
    moved = home / "elsewhere"
    moved.mkdir()
    theirs.rename(moved / "claude-mem.db")
    settings = home / ".claude-mem" / "settings.json"
    settings.write_text(json.dumps({"env": {"CLAUDE_MEM_DATA_DIR": str(moved)}}))
    assert project.ask("import", "--from", "claude-mem", "--dry-run")["counts"]
    settings.unlink()
    monkeypatch.setenv("CLAUDE_MEM_DATA_DIR", str(moved))
    assert project.ask("import", "--from", "claude-mem", "--dry-run")["counts"]


def test_what_is_no_database_of_it_is_refused(project: Project, tmp_path: Path) -> None:
    """Missing, damaged, of another program; and flags that do not belong together."""
    other = tmp_path / "other.db"
    sqlite3.connect(other).executescript("CREATE TABLE a (b);")
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(b"damaged" * 1000)
    for path in (tmp_path / "gone.db", other, damaged):
        code, _, err = project.call("import", "--from", "claude-mem", "--db", str(path))
        assert code == NO_EXPORT
        assert str(path) in err
    assert project.call("import", "--from", "other")[0] == WRONG
    assert project.call("import", "x.json", "--from", "claude-mem")[0] == WRONG
    assert project.call("import", "x.json", "--db", "y")[0] == WRONG
    assert project.ask("stats")["observations"] == 0


_ODD = st.sampled_from(
    (None, "", 0, -1, 7, 10**13, 10**18, 2**62, 1.5, float("inf"), b"\xff\x00", "x", "a, b", "[",
     '["a", 1, null, {"b": 2}]', '{"a": 1}', "2026-01-02", "2026-13-01", "agent-1", "garden")
)  # fmt: skip


@settings(max_examples=60)
@given(st.booleans(), st.data())
def test_whatever_stands_in_its_columns_is_taken_in_once(
    tmp_path_factory: pytest.TempPathFactory, new: bool, data: st.DataObject
) -> None:
    """SQLite holds anything in any column: no fault, and a second import takes in nothing."""
    folder = tmp_path_factory.mktemp("odd")
    database = sqlite3.connect(folder / "theirs.db")
    database.executescript(NEW if new else OLD)
    for table in ("sdk_sessions", "observations"):
        columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")][1:]
        for _ in range(2):
            with contextlib.suppress(sqlite3.IntegrityError):
                _insert(database, table, **{one: data.draw(_ODD) for one in columns})
    database.commit()
    database.close()
    store = ProjectStore(folder / "ours.db", cleaner({}), make=True)
    for again in (False, True):
        with store.transaction():
            counts = transfer.load(store, claude_mem.rows(folder / "theirs.db"), folder)
        assert not again or not any(name.endswith("new") for name in counts)
    assert store.problems() == []
    store.close()
