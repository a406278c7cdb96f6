"""The store of a project: its form, what never gets into it, and what leaves it for good."""

from __future__ import annotations

import json
import multiprocessing
import shutil
import sqlite3
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.errors import ConfigFault, NoStoreFault, StoreFault, UnknownIdFault
from pipeline.project import place
from pipeline.project.cleaning import cleaner
from pipeline.project.observations import NewObservation
from pipeline.project.searching import Filters
from pipeline.project.store import ProjectStore
from tests.support_project import Project, new_project

# Names and columns as users' own queries expect them.
COLUMNS = {
    "observations": "id type title subtitle content file_path files concepts project session_id "
    "checkpoint_id linear_issue tokens_read tokens_work content_hash created_at created_at_epoch",
    "sessions": "id claude_session_id request summary project branch worktree linear_issue "
    "context_peak_percent checkpoint_triggered created_at ended_at",
    "checkpoints": "id session_id level context_percent trigger handoff_file resume_summary "
    "files_in_progress current_task task_progress linear_issue created_at",
    "ralph_iterations": "id ralph_session_id iteration context_peak_percent checkpoint_triggered "
    "checkpoint_id todo_items_start todo_items_end items_completed status created_at ended_at",
    "lists": "observation_id changed_at_epoch",
    "prompts": "id session_id prompt project created_at",
    "observations_fts": "title subtitle content file_path concepts",
    "sessions_fts": "request summary",
    "prompts_fts": "prompt",
}
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"


@pytest.fixture
def project(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Project:
    return new_project(tmp_path / "garden", capsys, monkeypatch)


@pytest.fixture
def store(tmp_path: Path) -> ProjectStore:
    ticks = iter(range(1_800_000_000_000, 1_900_000_000_000, 1000))
    return ProjectStore(
        tmp_path / "s" / "memory.db", cleaner({}), make=True, clock=lambda: next(ticks)
    )


def _new(title: str, **more: object) -> NewObservation:
    return NewObservation(type="change", title=title, **more)  # type: ignore[arg-type]


def test_tables_have_the_documented_columns(store: ProjectStore) -> None:
    """Each table and each column, by name."""
    for table, columns in COLUMNS.items():
        found = [row["name"] for row in store.connection.execute(f"PRAGMA table_info({table})")]
        assert found == columns.split()
    store.close()


def test_the_file_is_private_and_opens_again(tmp_path: Path, store: ProjectStore) -> None:
    """Nobody else may read it; what was written is there after it was closed."""
    store.observations.add(_new("kept"))
    store.close()
    assert store.path.stat().st_mode & 0o777 == 0o600
    again = ProjectStore(store.path, cleaner({}))
    assert [row["title"] for row in again.observations.recent(Filters(), 5)] == ["kept"]
    again.close()


def test_what_is_missing_or_damaged_is_named(tmp_path: Path) -> None:
    """A store that is not there has its own fault; a file of another kind keeps its bytes."""
    with pytest.raises(NoStoreFault, match=r"memory\.db"):
        ProjectStore(tmp_path / "memory.db", cleaner({}))
    other = tmp_path / "notes.db"
    other.write_bytes(b"these are notes, and no database" * 200)
    with pytest.raises(StoreFault, match=r"notes\.db"):
        ProjectStore(other, cleaner({}))
    assert other.read_bytes() == b"these are notes, and no database" * 200


def test_every_observation_has_a_moment_of_its_own(tmp_path: Path) -> None:
    """Two in one millisecond can still be told apart by time."""
    store = ProjectStore(tmp_path / "m.db", cleaner({}), make=True, clock=lambda: 1_800_000_000_000)
    for title in ("a", "b", "c"):
        store.observations.add(_new(title))
    rows = store.observations.recent(Filters(), 5)
    assert [row["created_at_epoch"] - 1_800_000_000_000 for row in rows] == [2, 1, 0]
    assert rows[-1]["created_at"] == "2027-01-15T08:00:00.000Z"
    store.close()


def test_ids_are_never_given_twice(store: ProjectStore) -> None:
    """An id that was cited does not come to name another observation."""
    first = store.observations.add(_new("a"))
    store.observations.delete([first])
    assert store.observations.add(_new("b")) == first + 1
    with pytest.raises(UnknownIdFault, match=str(first)):
        store.observations.get([first])
    store.close()


def test_one_unknown_id_deletes_nothing(store: ProjectStore) -> None:
    """All of the ids or none of them."""
    first = store.observations.add(_new("a"))
    with pytest.raises(UnknownIdFault, match="99"):
        store.observations.delete([first, 99])
    assert store.observations.get([first])
    store.close()


# ------------------------------------------------------------------ secrets


def test_nothing_secret_or_private_is_ever_on_disk(project: Project) -> None:
    """In whichever field it stands: not in the database, its log, or its search index."""
    private = "Brunnenfrosch"
    both = f"{SECRET} <private>{private}</private> fine"
    identity = project.observe(
        f"T {both}", "--subtitle", both, "--content", both, "--file", both,
        "--concept", f"c {both}",
    )  # fmt: skip
    files = json.dumps([{"path": both, "lines": both}])
    project.ask(
        "checkpoint", "--level", "L1", "--task", both, "--progress", both, "--summary", both,
        "--files", files, "--session", f"s {both}",
    )  # fmt: skip
    project.ask(
        "ralph-iteration", "--session", f"r {both}", "--iteration", "1", "--status", "completed",
        "--items-completed", json.dumps([both]),
    )  # fmt: skip
    project.ask("session", "--end", "--summary", both)
    project.ask("edit", str(identity), "--subtitle", f"again {both}")
    store = project.store()
    session = store.sessions.open("asked", project_place(project))
    store.sessions.ask(session, both, "p")
    on_disk = project.bytes_on_disk()
    store.close()
    for kept in (on_disk, project.bytes_on_disk()):
        assert SECRET.encode() not in kept
        assert private.encode() not in kept
    assert project.ask("get", str(identity))[0]["content"] == "[REDACTED:github]  fine"


def project_place(project: Project) -> place.Place:
    return place.find(project.root, {}, Path("/nowhere"))


def test_a_title_that_is_all_private_is_refused(store: ProjectStore) -> None:
    """Nothing is stored that nobody could tell."""
    with pytest.raises(ConfigFault, match="title"):
        store.observations.add(_new("<private>only this</private>"))
    assert not store.observations.recent(Filters(), 5)
    store.close()


def test_the_users_own_patterns_are_obeyed(project: Project, home: Path) -> None:
    """What the configuration has taken out of transcripts is taken out here too."""
    config = home / ".config" / "nightly-memory" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text("[ingest]\nredact_patterns = {badge = 'B-[0-9]{4}'}\n")
    assert project.observe("The badge B-1234 opens it") == 1
    assert project.ask("get", "1")[0]["title"] == "The badge [REDACTED:badge] opens it"


@pytest.mark.parametrize("way", ["delete", "edit"])
def test_what_is_deleted_is_gone_from_the_file(project: Project, way: str) -> None:
    """Neither the row, nor the words of its index, nor the log keep it."""
    for number in range(30):
        project.observe(f"filler {number}", "--content", f"words of filler {number}")
    identity = project.observe("Quittenmarmelade", "--content", "Zwetschgenkuchen " * 400)
    assert b"uittenmarmelade" in project.bytes_on_disk()
    if way == "delete":
        project.ask("delete", f"#{identity}")
    else:
        project.ask("edit", str(identity), "--title", "plain", "--content", "plain")
    kept = project.bytes_on_disk().lower()
    assert b"uittenmarmelade" not in kept
    assert b"wetschgenkuchen" not in kept
    assert project.titles("filler 7") == ["filler 7"]
    assert project.titles("Quittenmarmelade") == []


# ------------------------------------------------------------------ many at once


def _write(path: Path, number: int, count: int) -> None:
    for one in range(count):
        store = ProjectStore(path, cleaner({}), patience=30)
        store.observations.add(_new(f"writer {number} item {one}"))
        store.close()


def test_many_writers_lose_nothing(tmp_path: Path, store: ProjectStore) -> None:
    """Four processes at once, each opening the store anew: every row, and the index in step."""
    store.close()
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write, args=(store.path, n, 40)) for n in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0, 0, 0]
    again = ProjectStore(store.path, cleaner({}))
    assert again.stats()["observations"] == 160
    assert again.problems() == []
    assert len(again.observations.search("writer", Filters(), 500)) == 160
    again.close()


words = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=30)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from("aaed"), words, words), max_size=12))
def test_the_index_keeps_in_step(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str, str]]
) -> None:
    """Whatever is added, edited and deleted, the index says what the table says."""
    folder = tmp_path_factory.mktemp("steps")
    store = ProjectStore(folder / "memory.db", cleaner({}), make=True)
    ids: list[int] = []
    for step, title, content in steps:
        if step == "a" or not ids:
            ids.append(store.observations.add(_new(f"t {title}", content=content)))
        elif step == "e":
            store.observations.edit(ids[0], {"title": f"e {title}", "content": content})
        else:
            store.observations.delete([ids.pop(0)])
    assert store.problems() == []
    store.close()
    shutil.rmtree(folder)


def test_migrating_a_store_again_changes_nothing(store: ProjectStore) -> None:
    """A store that is opened a second time has the schema and the rows it had."""
    store.observations.add(_new("a"))
    before = list(map(tuple, store.connection.execute("SELECT * FROM sqlite_master")))
    store.close()
    again = ProjectStore(store.path, cleaner({}))
    assert list(map(tuple, again.connection.execute("SELECT * FROM sqlite_master"))) == before
    again.close()


def test_a_damaged_index_is_told_of(project: Project) -> None:
    """`doctor` says which index is out of step; a sound store has nothing to tell."""
    project.observe("one")
    assert project.ask("doctor")["problems"] == []
    connection = sqlite3.connect(project.database)
    connection.execute("INSERT INTO observations_fts (observations_fts) VALUES ('delete-all')")
    connection.commit()
    connection.close()
    assert "observations" in project.ask("doctor")["problems"][0]
