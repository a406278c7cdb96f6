"""A store goes to a file and comes back the same; nothing is taken in twice."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.errors import ConfigFault
from pipeline.project import transfer
from pipeline.project.checkpoints import FileInProgress, NewCheckpoint
from pipeline.project.cleaning import cleaner
from pipeline.project.observations import NewObservation
from pipeline.project.store import ProjectStore
from tests.support_project import Project, new_project

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
NO_EXPORT = 4


@pytest.fixture
def full(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Project:
    """A project with something in every table, a gap in its ids, and all sorts of text."""
    made = new_project(tmp_path / "full", capsys, monkeypatch)
    made.observe("gone")
    made.observe('Ünïcode "quotes"\t→ \U0001f331', "--content", "two\n\nlines\u2028and one more",
                 "--file", "a b.py", "--concept", "own", "--session", "agent")  # fmt: skip
    made.ask("delete", "1")
    store = made.store()
    store.sessions.ask(1, "What was asked?", "full", "ENG-1")
    store.close()
    made.ask("checkpoint", "--level", "L3", "--percent", "12.5", "--files", '["x.py"]')
    made.ask("ralph-iteration", "--session", "l", "--iteration", "1", "--status", "checkpoint",
             "--checkpoint", "1", "--items-completed", '["a", "ü"]')  # fmt: skip
    made.ask("session", "--end", "--summary", "done")
    return made


@pytest.fixture
def empty(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Project:
    return new_project(tmp_path / "empty", capsys, monkeypatch)


def _export(project: Project, form: str) -> str:
    return project.call("export", "--format", form)[1]


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_a_round_trip_is_exact(full: Project, empty: Project, form: str) -> None:
    """Ids, times, links and text: the export of what was imported is the same to the byte."""
    out = full.root / "out"
    full.ask("export", "--format", form, "--output", str(out))
    assert out.stat().st_mode & 0o777 == 0o600
    empty.ask("import", str(out))
    assert _export(empty, form) == out.read_text("utf-8") == _export(full, form)
    assert empty.titles("quotes") == full.titles("quotes") != []
    assert empty.ask("doctor")["problems"] == []


_TEXT = st.text(max_size=20) | st.sampled_from(
    ("<private>a</private>b", "</private>", " x ", "a\r\nb\u2028c", "\0\ud800", "'\"\\", "é" * 400)
)
_OBSERVED = st.builds(
    NewObservation,
    type=st.sampled_from(("change", "own kind")),
    title=_TEXT, subtitle=_TEXT, content=_TEXT, project=_TEXT,
    files=st.lists(_TEXT, max_size=3).map(tuple),
    concepts=st.lists(_TEXT, max_size=3).map(tuple),
    linear_issue=st.sampled_from(("", "ENG-1")),
    session_id=st.none(),
    checkpoint_id=st.none(),
    tokens_work=st.integers(0, 9),
    at=st.integers(0, 5) | st.integers(0, 2**41),
)  # fmt: skip


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(_OBSERVED, max_size=6), st.lists(_TEXT, max_size=4), st.booleans())
def test_any_store_comes_back_the_same(
    tmp_path_factory: pytest.TempPathFactory,
    observed: list[NewObservation],
    tasks: list[str],
    as_one: bool,
) -> None:
    """Any text in any column, also two rows that say the same in the same moment."""
    folder = tmp_path_factory.mktemp("stores")
    stores = [
        ProjectStore(folder / name, cleaner({}), make=True, clock=lambda: 1_700_000_000_000)
        for name in ("one.db", "two.db")
    ]
    for new in observed:
        try:
            stores[0].observations.add(new)
        except ConfigFault:  # nothing is left of its title
            continue
    for task in tasks:
        files = (FileInProgress(task or "a", task),)
        stores[0].checkpoints.add(NewCheckpoint("L2", "manual", 1.5, task, task, task, files))
    write = transfer.as_json if as_one else transfer.as_lines
    exported = "".join(write(stores[0].connection))
    (folder / "out").write_text(exported, encoding="utf-8", newline="")
    for _ in range(2):
        with stores[1].transaction():
            transfer.load(stores[1], transfer.read(folder / "out"), folder / "out")
        assert "".join(write(stores[1].connection)) == exported
    for store in stores:
        store.close()


def test_an_empty_store_goes_and_comes(empty: Project) -> None:
    """Its exports are JSON too, and importing them changes nothing."""
    for form in ("json", "jsonl"):
        (empty.root / form).write_text(_export(empty, form))
        assert json.loads(_export(empty, form))["format"] == "anvil-memory"
        assert empty.ask("import", form)["counts"] == {}


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_an_export_is_of_one_moment(
    full: Project, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """What a session writes meanwhile is in it whole or not at all."""
    rows = transfer.rows

    def slowly(connection: sqlite3.Connection) -> Iterator[tuple[str, dict[str, Any]]]:
        told = rows(connection)
        yield next(told)
        store = full.store()
        store.observations.add(NewObservation("change", "meanwhile"))
        store.close()
        yield from told

    monkeypatch.setattr(transfer, "rows", slowly)
    assert "meanwhile" not in _export(full, form)
    assert full.titles("meanwhile") == ["meanwhile"]


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_importing_again_takes_in_nothing(full: Project, empty: Project, form: str) -> None:
    """Into the store it came from, and twice into another."""
    out = full.root / "out"
    full.ask("export", "--format", form, "--output", str(out))
    known = {
        "sessions known": 1,
        "checkpoints known": 1,
        "observations known": 3,
        "ralph_iterations known": 1,
        "prompts known": 1,
    }
    assert full.ask("import", str(out))["counts"] == known
    empty.ask("import", str(out))
    assert empty.ask("import", str(out))["counts"] == known


def test_an_older_export_doubles_nothing_that_changed_since(
    tmp_path: Path, full: Project, empty: Project
) -> None:
    """Into the store it came from, and into one where its rows have got other ids."""
    out = str(tmp_path / "older.json")
    full.ask("export", "--output", out)
    for number in range(2):
        empty.observe(f"mine {number}", "--session", "other")
    empty.ask("import", out)
    for project in (full, empty):
        quoted = project.ask("search", "quotes")[0]["id"]
        project.ask("edit", str(quoted), "--title", "edited", "--content", "better")
        before = _export(project, "json")
        assert project.ask("import", out)["counts"]["observations known"] == 3
        assert _export(project, "json") == before


def test_another_ones_row_of_the_same_moment_is_taken_in(full: Project) -> None:
    """Two machines may observe in one millisecond; a moment alone makes no row known."""
    whole = json.loads(_export(full, "json"))
    whole["sessions"][0]["claude_session_id"] = "elsewhere"
    whole["observations"] = [{**whole["observations"][0], "id": 99, "title": "foreign"}]
    (full.root / "in.json").write_text(json.dumps(whole))
    assert full.ask("import", "in.json")["counts"]["observations new"] == 1
    assert full.titles("foreign") == ["foreign"] and len(full.titles("quotes")) == 1


def test_a_dry_run_counts_and_changes_nothing(full: Project, empty: Project) -> None:
    """What it says is what the import then does."""
    out = full.root / "out"
    full.ask("export", "--output", str(out))
    would = empty.ask("import", str(out), "--dry-run")["counts"]
    assert empty.ask("stats")["observations"] == 0
    assert empty.ask("import", str(out))["counts"] == would
    assert would["observations new"] == 3


def test_what_is_taken_in_beside_other_rows_keeps_its_links(full: Project, empty: Project) -> None:
    """Ids that are taken give way, and what refers to them follows."""
    for number in range(4):
        empty.observe(f"mine {number}", "--session", "other")
    out = full.root / "out"
    full.ask("export", "--output", str(out))
    empty.ask("import", str(out))
    found = empty.ask("search", "quotes", "--full")[0]
    sessions = {row["id"]: row for row in empty.ask("session", "--list")}
    assert sessions[found["session_id"]]["claude_session_id"] == "agent"
    assert sessions[found["session_id"]]["observations"] == 3
    assert empty.titles("mine", "--limit", "9") == ["mine 3", "mine 2", "mine 1", "mine 0"]


def test_an_import_is_cleaned_too(empty: Project) -> None:
    """A file from elsewhere brings no secret onto the disk."""
    row: dict[str, Any] = {
        "id": 1,
        "type": "change",
        "title": f"with {SECRET}",
        "content": "<private>Brunnenfrosch</private>",
        "created_at": "2026-01-02T03:04:05.678Z",
    }
    (empty.root / "in.jsonl").write_text(
        '{"format": "anvil-memory", "version": 1}\n'
        + json.dumps({"table": "observations", "row": row})
    )
    empty.ask("import", "in.jsonl")
    (empty.root / "in.jsonl").unlink()
    kept = empty.ask("get", "1")[0]
    assert (kept["title"], kept["content"]) == ("with [REDACTED:github]", "")
    assert kept["created_at_epoch"] == 1767323045678
    assert b"Brunnenfrosch" not in empty.bytes_on_disk()
    assert SECRET.encode() not in empty.bytes_on_disk()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "not json",
        "[]",
        '{"format": "other", "version": 1}',
        '{"format": "anvil-memory", "version": 99}',
        '{"format": "anvil-memory", "version": 1, "observations": {}}',
        '{"format": "anvil-memory", "version": 1, "observations": [3]}',
        '{"format": "anvil-memory", "version": 1, "observations": [{"title": "no type"}]}',
        '{"format": "anvil-memory", "version": 1}\n{"table": "sqlite_master", "row": {}}',
        '{"format": "anvil-memory", "version": 1}\n{"table": "observations", "row": 1}',
        '{"format": "anvil-memory", "version": 1, "checkpoints": '
        '[{"level": "L9", "trigger": "manual", "created_at": "2026-01-01T00:00:00Z"}]}',
    ],
)
def test_what_is_no_export_is_refused_whole(empty: Project, text: str) -> None:
    """The file and the reason are named, and not even a sound part of it is taken in."""
    sound = '{"type": "change", "title": "sound", "created_at": "2026-01-01T00:00:00Z"}'
    (empty.root / "in").write_text(text.replace("[{", f"[{sound}, {{", 1))
    code, _, err = empty.call("import", "in")
    assert code == NO_EXPORT
    assert str(empty.root / "in") in err
    assert empty.ask("stats")["observations"] == 0


def test_markdown_is_for_reading(full: Project) -> None:
    """By day, with what a reader needs."""
    page = _export(full, "markdown")
    assert page.startswith("# Observations of full\n\n## 2")
    assert "`a b.py`" in page and "two\n\nlines" in page


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("observations", "files", [1]),
        ("observations", "concepts", [{"a": 1}]),
        ("observations", "created_at_epoch", 10**18),
        ("observations", "created_at", "soon"),
        ("checkpoints", "files_in_progress", ["a"]),
        ("checkpoints", "files_in_progress", [{"path": 1, "lines": ""}]),
        ("ralph_iterations", "items_completed", [None]),
        ("sessions", "ended_at", "late"),
        ("sessions", "id", 0),
        ("checkpoints", "id", -1),
        ("observations", "id", 2**63 - 1),
        ("prompts", "id", "one"),
        ("prompts", "session_id", "one"),
        ("observations", "tokens_read", 2**63 - 1),
        ("observations", "tokens_work", 1.5),
        ("checkpoints", "context_percent", float("nan")),
        ("ralph_iterations", "context_peak_percent", "most"),
        ("ralph_iterations", "iteration", "last"),
    ],
)
def test_what_nobody_could_read_is_refused(
    full: Project, empty: Project, table: str, column: str, value: Any
) -> None:
    """A row that would trouble every session's start is not taken in, nor is the rest."""
    whole = json.loads(_export(full, "json"))
    whole[table][0][column] = value
    (empty.root / "in.json").write_text(json.dumps(whole))
    code, _, err = empty.call("import", "in.json")
    assert (code, f"row 1 of {table}" in err) == (NO_EXPORT, True), err
    assert empty.ask("stats")["sessions"] == 0
