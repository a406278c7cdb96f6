"""What is deleted or edited in a project's memory leaves every table that told of it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pipeline.cli.project import app
from pipeline.errors import EXIT_PARTIAL, ConfigFault
from pipeline.project.store import ProjectStore
from tests.support_hook import bash, context, edit, fire, rows
from tests.support_project import Project, new_project

WORD = "zebrafish"


@pytest.fixture
def project(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Project:
    return new_project(tmp_path / "garden", capsys, monkeypatch)


def _exported(project: Project, table: str) -> list[dict[str, Any]]:
    return list(json.loads(project.call("export")[1]).get(table, []))


def _summary(project: Project) -> list[str]:
    return str(_exported(project, "sessions")[0]["summary"]).splitlines()


def _commit(project: Project, subject: str) -> None:
    bash(project, f'git commit -m "{subject}"')


def _is_gone(project: Project) -> bool:
    project.ask("stats")
    return WORD.encode() not in project.bytes_on_disk().lower()


def _leave(project: Project, way: str, identity: int) -> None:
    if way == "delete":
        project.ask("delete", str(identity))
    else:
        plain = ("--title", "plain", "--subtitle", "plain", "--content", "plain")
        project.ask("edit", str(identity), *plain, "--file", "plain.py")


@pytest.mark.parametrize("way", ["delete", "edit"])
def test_the_summary_of_the_session_tells_it_no_longer(project: Project, way: str) -> None:
    """Title, file and next step go, also from the index; what else was done stays in it."""
    _commit(project, "add soil")
    edit(project, "soil.py", 1, 2)
    fire(project, "Stop", last_assistant_message="ok")
    _commit(project, f"add {WORD} ledger")
    edit(project, f"{WORD}.py", 1, 2)
    project.ask("observe", "--type", "change", "--title", f"a tank for {WORD}", "--session", "1")
    fire(project, "Stop", last_assistant_message=f"Next steps:\n- a tank for {WORD}")
    assert any(WORD in line for line in _summary(project))
    for row in rows(project):
        if WORD in json.dumps(row):
            _leave(project, way, row["id"])
    assert _is_gone(project)
    assert _summary(project)[0] == "Committed: add soil"
    assert "soil.py" in _summary(project)[-1]
    fire(project, "Stop", last_assistant_message="ok")
    assert _is_gone(project) and project.ask("doctor")["problems"] == []


def test_what_another_observation_says_too_stays_in_the_summary(project: Project) -> None:
    """One of two of the same title is deleted: the session still did it. A next step stays."""
    _commit(project, "water")
    _commit(project, "water")
    fire(project, "Stop", last_assistant_message="Next steps:\n- prune")
    project.ask("delete", str(rows(project)[0]["id"]))
    assert _summary(project) == ["Committed: water", "Committed: water", "Next: prune"]


@pytest.mark.parametrize("way", ["delete", "edit"])
def test_a_checkpoint_goes_with_what_tells_of_it(project: Project, way: str) -> None:
    """An agent is not told of it again, and the session's other observations do not touch it."""
    fire(project, "SessionStart")
    _commit(project, "soil")
    given = ("--task", f"feed {WORD}", "--progress", f"one {WORD}", "--summary", f"more {WORD}")
    files = json.dumps([{"path": f"{WORD}.py", "lines": "1-2"}])
    made = project.ask("checkpoint", "--level", "L2", *given, "--files", files, "--session", "1")
    project.ask("delete", str(rows(project)[0]["id"]))
    assert len(_exported(project, "checkpoints")) == 1
    _leave(project, way, made["observation"])
    assert _is_gone(project) and WORD not in context(project)
    left = [
        (row["current_task"], row["task_progress"]) for row in _exported(project, "checkpoints")
    ]
    assert left == ([] if way == "delete" else [("plain", "plain")])


@pytest.mark.parametrize("way", ["delete", "edit"])
def test_an_iteration_goes_with_what_tells_of_it(project: Project, way: str) -> None:
    """That of its last telling; another iteration, and an earlier telling, do not touch it."""

    def iterate(number: str, *items: str) -> int:
        given = ("--status", "completed", "--items-completed", json.dumps(items))
        told = project.ask("ralph-iteration", "--session", "L", "--iteration", number, *given)
        return int(told["observation"])

    first, early, last = iterate("1", "soil"), iterate("2", "sow"), iterate("2", f"feed {WORD}")
    project.ask("delete", str(early))
    assert [row["iteration"] for row in _exported(project, "ralph_iterations")] == [1, 2]
    _leave(project, way, last)
    assert _is_gone(project)
    left = [row["items_completed"] for row in _exported(project, "ralph_iterations")]
    assert left == ([["soil"]] if way == "delete" else [["soil"], ["plain"]])
    assert project.ask("get", str(first))[0]["title"].startswith("Iteration 1")


def test_a_text_leaves_every_table(project: Project) -> None:
    """Wherever it stands, prompts and what they are known by too; the rest stays."""
    fire(project, "UserPromptSubmit", prompt=f"please\nrotate the {WORD.title()} certificate")
    fire(project, "UserPromptSubmit", prompt="water the beds")
    _commit(project, f"rotate the {WORD} certificate")
    _commit(project, "water")
    fire(project, "PreCompact")
    items = json.dumps([f"rotate the {WORD} certificate"])
    loop = ("ralph-iteration", "--session", "L", "--iteration", "1", "--status", "completed")
    project.ask(*loop, "--items-completed", items)
    fire(project, "Stop", last_assistant_message=f"Next steps:\n- rotate the {WORD} certificate")
    kept = project.call("export")[1]
    match = ("delete", "--match", f"rotate the  {WORD} certificate")
    code, out, _ = project.call(*match)
    assert code == 0 and f"prompts 1  please rotate the {WORD.title()}" in out
    assert project.call("export")[1] == kept
    gone = project.ask(*match, "--yes")
    assert [gone[table] for table in ("prompts", "sessions", "ralph_iterations")] == [[1]] * 3
    assert _is_gone(project) and project.ask("doctor")["problems"] == []
    assert [row["prompt"] for row in _exported(project, "prompts")] == ["water the beds"]
    assert "Committed: water" in _summary(project)
    assert project.call(*match, "--yes")[1] == "nothing found\n"


def test_of_a_long_prompt_its_beginning_goes_too(project: Project) -> None:
    """A session is known by the first 2,000 characters of it, in which the text does not stand."""
    fire(project, "UserPromptSubmit", prompt=f"{WORD} " + "soil " * 1000 + "secret garden")
    project.ask("delete", "--match", "SECRET garden", "--yes")
    assert _is_gone(project)


@pytest.mark.parametrize("given", [(), ("1", "--match", "x"), ("1", "--yes"), ("--match", " ")])
def test_what_to_delete_must_be_said(project: Project, given: tuple[str, ...]) -> None:
    """Ids, or a text; nothing is deleted otherwise."""
    project.observe("soil")
    assert project.call("delete", *given)[0] == ConfigFault.exit_code
    assert project.titles("soil") == ["soil"]


@pytest.mark.parametrize("doing", ["SELECT * FROM observations", "UPDATE sessions SET branch = ''"])
def test_what_another_program_keeps_in_the_file_is_told(
    project: Project, monkeypatch: pytest.MonkeyPatch, doing: str
) -> None:
    """By both command lines, with the code of a partial result; once it ends, it can be mended."""
    told = f"still in {project.database}"
    first, second = project.observe(WORD), project.observe(f"{WORD} again")
    project.observe("soil")
    done = ProjectStore.scrub

    def beside(store: ProjectStore) -> bool:
        """What another program does that began after the deletion, and goes on."""
        if doing.startswith("UPDATE"):
            other.execute("BEGIN IMMEDIATE")
            other.execute(doing)
        return done(store)

    monkeypatch.setitem(ProjectStore.__init__.__kwdefaults__ or {}, "patience", 0.1)
    monkeypatch.setattr(ProjectStore, "scrub", beside)
    with closing(sqlite3.connect(project.database, isolation_level=None)) as other:
        if doing.startswith("SELECT"):
            other.execute("BEGIN")
            other.execute(doing).fetchall()
        code, out, err = project.call("delete", str(first))
        assert (code, out) == (EXIT_PARTIAL, f"deleted {first}\n") and told in err
        other.execute("ROLLBACK")
        if doing.startswith("SELECT"):
            other.execute("BEGIN")
            other.execute(doing).fetchall()
        ran = CliRunner().invoke(app, ["edit", str(second), "--title", "plain"])
        assert ran.exit_code == EXIT_PARTIAL and told in ran.stderr
    monkeypatch.setattr(ProjectStore, "scrub", done)
    assert project.call("delete", "--match", WORD, "--yes")[::2] == (0, "")
    assert _is_gone(project) and project.titles("soil") == ["soil"]
