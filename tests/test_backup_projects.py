"""The memories of projects: in a backup, back from it, named where they hold what is forgotten."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipeline.config import load_config
from pipeline.errors import EXIT_PARTIAL, StoreFault
from pipeline.keeping.backing_up import digest_of
from tests import support_command
from tests.support_command import printed as memory
from tests.support_night import make_vault, run_night, write_sessions
from tests.support_project import Project, new_project

FOUND = "The Lantern dashboard shows the queue length of each worker."


@pytest.fixture
def told(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Project:
    """A project's memory with what a conversation says too, beside a vault after a night."""
    write_sessions(home)
    project = new_project(home / "garden", capsys, monkeypatch)
    project.observe(FOUND, "--content", "Seen while “reading” metrics.json.")
    project.observe("The importer is tested with 12 customers.")
    run_night(make_vault())
    return project


def test_what_a_project_remembers_comes_back(told: Project, tmp_path: Path) -> None:
    """All of it, by the very command that `restore` names; and what came since stays."""
    titles = sorted(told.titles("the"))
    whole = told.call("export", "--format", "jsonl")[1]
    made = json.loads(memory("backup", str(tmp_path / "disk"), "--json"))
    assert made["lacks"] == []
    for path in told.database.parent.iterdir():
        path.unlink()
    told.call("init")
    told.observe("The newest thing.")
    said = memory("restore", made["backup"], "--force")
    (line,) = [line for line in said.splitlines() if str(told.database) in line]
    file = line.rpartition("anvil-memory import ")[2]
    assert told.titles("the") == ["The newest thing."]  # nothing was put over it
    told.ask("import", file)
    assert sorted(told.titles("the")) == sorted([*titles, "The newest thing."])
    (listed,) = [
        part
        for part in json.loads(memory("restore", made["backup"], "--force", "--json"))
        if part["part"] == "project"
    ]
    assert listed == {"part": "project", "place": str(told.database), "import": file}
    assert Path(file).read_text(encoding="utf-8") == whole


def test_a_changed_export_is_a_damaged_backup(told: Project, tmp_path: Path) -> None:
    """It is among the files that are checked."""
    made = Path(json.loads(memory("backup", str(tmp_path / "disk"), "--json"))["backup"])
    manifest = json.loads((made / "manifest.json").read_text())
    (name,) = manifest["projects"]
    assert manifest["files"][name]["sha256"] == digest_of(made / name)
    (made / name).write_text("{}")
    done = support_command.memory("restore", str(made), "--force")
    assert done.returncode == StoreFault.exit_code and name in done.stderr


def test_a_damaged_one_costs_nothing_but_itself(told: Project, tmp_path: Path) -> None:
    """It is named, the exit code tells, and everything else is in the backup."""
    told.database.write_bytes(b"no database" * 1000)
    for beside in ("-wal", "-shm"):
        told.database.with_name(told.database.name + beside).unlink(missing_ok=True)
    made = json.loads(memory("backup", str(tmp_path / "disk"), "--json", code=EXIT_PARTIAL))
    assert [str(told.database) in problem for problem in made["lacks"]] == [True]
    there = Path(made["backup"])
    assert (there / "store" / "memory.sqlite").is_file()
    assert list((there / "projects").iterdir()) == []


def test_what_is_forgotten_is_named_where_a_project_holds_it(told: Project) -> None:
    """Until it is deleted there; the file is not said to be an agent's transcript to be deleted."""
    said = memory("forget", "--match", "dashboard shows the queue", "--yes", code=EXIT_PARTIAL)
    about = [line for line in said.splitlines() if str(told.database) in line]
    assert len(about) == 1
    assert "anvil-memory delete --match TEXT" in about[0]
    told.ask("delete", "--match", "dashboard shows the queue", "--yes")
    said = memory("forget", "--match", "dashboard shows the queue", "--yes", code=EXIT_PARTIAL)
    assert str(told.database) not in said


def test_without_a_project_nothing_is_said_of_any(home: Path, tmp_path: Path) -> None:
    """Neither when a backup is made nor when it is put back."""
    write_sessions(home)
    run_night(make_vault())
    made = json.loads(memory("backup", str(tmp_path / "disk"), "--json"))["backup"]
    assert not (Path(made) / "projects").exists()
    assert "project" not in memory("restore", made, "--force")
    assert load_config().vault.is_dir()
