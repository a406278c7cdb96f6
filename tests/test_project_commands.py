"""The commands of a project's memory, as `anvil-memory` and as `memory project`."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main
from typer.testing import CliRunner

from pipeline import anvil, cli
from pipeline.cli.project import app
from pipeline.project import machine, vocabulary
from pipeline.project.commands import COMMANDS
from tests.support_project import Project, git, new_project

USAGE, WRONG, NO_STORE, UNKNOWN, NO_EXPORT = 2, 3, 12, 13, 4


@pytest.fixture
def project(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Project:
    return new_project(tmp_path / "garden", capsys, monkeypatch)


# ------------------------------------------------------------------ both command lines


def test_init_begins_a_memory_and_again_changes_nothing(project: Project, home: Path) -> None:
    """Git leaves it alone, the nightly run reads it, and a second time says it is there."""
    done = subprocess.run(
        ["git", "status", "--porcelain"], cwd=project.root, capture_output=True, check=True
    )
    assert done.stdout == b""
    data = home / ".local" / "share" / "nightly-memory"
    assert machine.registered(data) == [project.database]
    again = project.ask("init")
    assert (again["made"], again["excluded"], again["registered"]) == (False, False, False)


def test_both_command_lines_have_the_same_commands_and_flags() -> None:
    """`memory project X` takes what `anvil-memory X` takes, by the same names."""
    group = typer.main.get_command(app)
    typed = group.commands  # type: ignore[attr-defined]
    assert list(typed) == [command.name for command in COMMANDS]
    for command in COMMANDS:
        options = {
            name
            for parameter in typed[command.name].params
            for name in parameter.opts
            if name.startswith("--")
        }
        named = {flag.name for flag in command.flags if flag.is_option}
        assert options - {"--help"} == named | {"--json"}


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_example_is_a_command_line(command: object) -> None:
    """What help shows can be typed: both command lines take it."""
    example = shlex.split(command.example)  # type: ignore[attr-defined]
    for word in ("FILE", "LOOP"):
        example = [word if one == word else one for one in example]
    assert example[0] == command.name  # type: ignore[attr-defined]
    anvil.parser(command).parse_args(example[1:])  # type: ignore[arg-type]
    module, _, function = command.run.partition(".")  # type: ignore[attr-defined]
    assert hasattr(__import__(f"pipeline.project.{module}", fromlist=[function]), function)


def test_memory_project_does_the_same(project: Project) -> None:
    """Written by one, read by the other; faults have the same codes."""
    runner = CliRunner()
    made = runner.invoke(
        cli.app,
        ["project", "observe", "--type", "decision", "--title", "By Typer", "--concept", "gotcha",
         "--concept", "pattern", "--json"],
    )  # fmt: skip
    assert made.exit_code == 0, made.output
    row = json.loads(made.stdout)
    assert (row["title"], row["concepts"]) == ("By Typer", ["gotcha", "pattern"])
    assert project.titles("typer") == ["By Typer"]
    found = runner.invoke(cli.app, ["project", "get", "1", "--json"])
    assert json.loads(found.stdout) == project.ask("get", "1")
    missing = runner.invoke(cli.app, ["project", "get", "99"])
    assert missing.exception is not None
    assert missing.exception.exit_code == UNKNOWN  # type: ignore[attr-defined]


def test_help_shows_an_example_and_completion_is_there(home: Path) -> None:
    """Of all commands and of each; nothing of it needs a store."""

    def said(*arguments: str) -> str:
        argv = [sys.executable, "-m", "pipeline.anvil", *arguments]
        return subprocess.run(argv, check=True, capture_output=True, text=True).stdout

    assert all(command.name in said("--help") for command in COMMANDS)
    assert "Example:" in said("observe", "--help")
    # asked from a shell, which is what it looks for; `exit` keeps bash from making way for it
    asked = f"{shlex.quote(sys.executable)} -m pipeline.anvil --show-completion; exit $?"
    shown = subprocess.run(["bash", "-c", asked], check=True, capture_output=True, text=True)
    assert "_ANVIL_MEMORY_COMPLETE" in shown.stdout


# ------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["obsreve"], USAGE, ["obsreve", "observe"]),
        (["observe", "--type", "change"], USAGE, ["--title"]),
        (["observe", "--type", "cahnge", "--title", "x"], WRONG, ["cahnge", *vocabulary.TYPES]),
        (["search", "x", "--type", "cahnge"], WRONG, ["cahnge", *vocabulary.TYPES]),
        (["search", "x", "--since", "yesterday"], WRONG, ["--since", "yesterday", "7d"]),
        (["search", "x", "--limit", "0"], WRONG, ["--limit", "0"]),
        (["search", "x", "--linear", "nokey"], WRONG, ["nokey", "TEAM-123"]),
        (["get", "x7"], WRONG, ["x7"]),
        (["get", "7"], UNKNOWN, ["7"]),
        (["edit", "7", "--title", "x"], UNKNOWN, ["7"]),
        (["delete", "7"], UNKNOWN, ["7"]),
        (["timeline", "--anchor", "7"], UNKNOWN, ["7"]),
        (["timeline"], WRONG, ["--anchor", "--issue", "--file"]),
        (["context", "--format", "xml"], WRONG, ["xml", *vocabulary.CONTEXT_FORMATS]),
        (["checkpoint", "--level", "L4"], WRONG, ["L4", *vocabulary.LEVELS]),
        (["checkpoint", "--level", "L1", "--percent", "187"], WRONG, ["187", "100"]),
        (["checkpoint", "--level", "L1", "--trigger", "x"], WRONG, [*vocabulary.TRIGGERS]),
        (["checkpoint", "--level", "L1", "--files", "{}"], WRONG, ["--files", "lines"]),
        (["checkpoint", "--level", "L1", "--handoff", "no.md"], WRONG, ["no.md"]),
        (["ralph-iteration", "--session", "l", "--iteration", "1", "--status", "x"], WRONG,
         [*vocabulary.STATUSES]),
        (["ralph-iteration", "--session", "l", "--iteration", "1", "--status", "error",
          "--checkpoint", "5"], UNKNOWN, ["5"]),
        (["ralph-history", "--session", "none"], UNKNOWN, ["none"]),
        (["session", "--end"], WRONG, ["--session"]),
        (["session", "--end", "--list"], WRONG, ["--list", "--end"]),
        (["session", "--session", "44"], UNKNOWN, ["44"]),
        (["observe", "--type", "change", "--title", "x", "--session", "44"], UNKNOWN, ["44"]),
        (["observe", "--type", "change", "--title", "x", "--content-file", "no"], WRONG, ["no"]),
        (["export", "--format", "xml"], WRONG, ["xml", *vocabulary.EXPORT_FORMATS]),
        (["export", "--output", "no/such/folder"], WRONG, ["no/such/folder"]),
        (["import"], WRONG, ["file"]),
        (["import", "no.json"], NO_EXPORT, ["no.json"]),
        (["search", "x", "--limit", "9" * 20], WRONG, ["--limit", "number"]),
        (["context", "--budget", "9" * 20], WRONG, ["--budget"]),
        (["ralph-iteration", "--session", "l", "--iteration", "9" * 20, "--status", "error"], WRONG,
         ["--iteration"]),
        (["ralph-iteration", "--session", "l", "--iteration", "-1", "--status", "error"], WRONG,
         ["--iteration", "0"]),
        (["ralph-iteration", "--session", " ", "--iteration", "1", "--status", "error"], WRONG,
         ["--session"]),
        (["ralph-iteration", "--session", "l", "--iteration", "1", "--status", "error",
          "--todo-end", "-1"], WRONG, ["--todo-end", "0"]),
        (["checkpoint", "--level", "L1", "--files", '[{"path": "a", "lines": {"b": 1}}]'], WRONG,
         ["lines"]),
        (["timeline", "--file", "a", "--before", "3"], WRONG, ["--before", "--anchor"]),
        (["session", "--summary", "x"], WRONG, ["--summary", "--end"]),
        (["session", "--list", "--session", "1"], WRONG, ["--session", "--list"]),
        (["session", "--current", "--summary", "x"], WRONG, ["--summary", "--current"]),
        (["hooks", "status", "--dry-run"], WRONG, ["--dry-run", "status"]),
        (["observe", "--type", "change", "--title", "x", "--content-file", "~nosuchuser/x"], WRONG,
         ["~nosuchuser"]),
        (["checkpoint", "--level", "L1", "--handoff", "a" * 5000], WRONG, ["handoff"]),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(
    project: Project, arguments: list[str], code: int, words: list[str]
) -> None:
    """What is wrong, and what would have been accepted; nothing is stored."""
    got, out, err = project.call(*arguments)
    assert got == code, (out, err)
    assert all(word in err for word in words), err
    assert project.ask("stats")["observations"] == 0


@pytest.mark.parametrize(
    "command", [one for one in COMMANDS if one.name not in ("init", "hooks")], ids=lambda c: c.name
)
def test_without_a_store_every_command_says_so(
    command: object, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """With the code of its own and the way to begin; no file comes to be."""
    (tmp_path / "FILE").write_text('{"format": "anvil-memory", "version": 1}')
    project = Project(tmp_path, capsys, monkeypatch)
    code, _, err = project.call(*shlex.split(command.example))  # type: ignore[attr-defined]
    assert code == NO_STORE
    assert "init" in err
    assert not project.database.exists()


# ------------------------------------------------------------------ what they do


def test_an_observation_has_what_was_said_of_it(project: Project) -> None:
    """Every flag ends in its column; files are told from the project's folder."""
    (project.root / "notes.txt").write_text("From a file")
    row = project.ask(
        "observe", "--type", "bugfix", "--title", "A title", "--subtitle", "More",
        "--content-file", "notes.txt", "--file", f"{project.root}/src/a.py", "--file", "b.py",
        "--concept", "gotcha", "--linear", "eng-7", "--session", "agent-1",
    )  # fmt: skip
    expected = {
        "id": 1, "type": "bugfix", "title": "A title", "subtitle": "More",
        "content": "From a file", "file_path": "src/a.py", "files": ["src/a.py", "b.py"],
        "concepts": ["gotcha"], "project": "garden", "session_id": 1, "checkpoint_id": None,
        "linear_issue": "ENG-7",
    }  # fmt: skip
    assert {name: row[name] for name in expected} == expected
    assert project.ask("session", "--current")["claude_session_id"] == "agent-1"


def test_an_unusual_concept_is_allowed_with_a_warning(project: Project) -> None:
    """It is stored, and the usual ones are named."""
    code, _, err = project.call(
        "observe", "--type", "change", "--title", "x", "--concept", "my-own"
    )
    assert code == 0
    assert "my-own" in err and "gotcha" in err
    assert project.ask("get", "1")[0]["concepts"] == ["my-own"]


def test_a_kind_of_the_users_own_is_taken(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The setting project.types adds kinds."""
    monkeypatch.setenv("MEMORY_PROJECT__TYPES", '["spike"]')
    project.observe("tried it", kind="spike")
    assert project.titles("tried", "--type", "spike") == ["tried it"]


def test_the_issue_comes_from_the_branch_or_the_session(project: Project) -> None:
    """Where no flag names it."""
    project.observe("none")
    git(project.root, "checkout", "-q", "-b", "amina/eng-9-a-thing")
    project.observe("of the branch")
    rows = project.ask("get", "1", "2")
    assert [row["linear_issue"] for row in rows] == [None, "ENG-9"]
    assert [row["title"] for row in project.ask("timeline", "--issue", "ENG-9")] == [
        "of the branch"
    ]


def test_search_gives_an_index_and_get_the_whole(project: Project) -> None:
    """The text is not in the index, unless asked for with --full."""
    project.observe("A title", "--content", "The text of it")
    assert "content" not in project.ask("search", "title")[0]
    assert project.ask("search", "title", "--full")[0]["content"] == "The text of it"
    assert "The text of it" not in project.call("search", "title")[1]
    assert "The text of it" in project.call("get", "1")[1]
    assert "nothing found" in project.call("search", "absent")[1]


def test_a_timeline_is_in_order(project: Project) -> None:
    """Around an observation, so many to each side; or all about a file."""
    for number in range(1, 7):
        project.observe(f"o{number}", "--file", "a.py" if number % 2 else "b.py")

    def titles(*flags: str) -> list[str]:
        return [row["title"] for row in project.ask("timeline", *flags)]

    assert titles("--anchor", "3", "--before", "1", "--after", "2") == ["o2", "o3", "o4", "o5"]
    assert titles("--anchor", "1", "--before", "0", "--after", "0") == ["o1"]
    assert titles("--file", "b.py") == ["o2", "o4", "o6"]


def test_an_edit_changes_what_it_names(project: Project) -> None:
    """And the search finds the new words, not the old."""
    project.observe("before", "--content", "kept", "--concept", "gotcha", "--linear", "ENG-1")
    row = project.ask("edit", "1", "--title", "after", "--linear", "")
    assert (row["title"], row["content"], row["concepts"]) == ("after", "kept", ["gotcha"])
    assert row["linear_issue"] is None
    assert project.titles("after") == ["after"]
    assert project.titles("before") == []
    assert project.call("edit", "1")[0] == WRONG


def test_a_checkpoint_gathers_its_session(project: Project) -> None:
    """What was observed since the last one belongs to it; the session knows its peak."""
    project.observe("first", "--session", "a")
    (project.root / "HANDOFF.md").write_text("x")
    made = project.ask(
        "checkpoint", "--level", "L2", "--percent", "87.5", "--task", "T", "--progress", "P",
        "--summary", "N", "--handoff", "HANDOFF.md",
        "--files", '[{"path": "a.py", "lines": "1-9"}, "b.py"]',
    )  # fmt: skip
    assert made["files_in_progress"] == [
        {"path": "a.py", "lines": "1-9"},
        {"path": "b.py", "lines": ""},
    ]
    assert (made["level"], made["trigger"], made["handoff_file"]) == ("L2", "manual", "HANDOFF.md")
    project.observe("second")
    rows = project.ask("get", "1", str(made["observation"]), "3")
    assert [row["checkpoint_id"] for row in rows] == [made["id"], made["id"], None]
    assert rows[1]["type"] == "handoff"
    session = project.ask("session")
    assert (session["context_peak_percent"], session["checkpoint_triggered"]) == (87.5, 1)
    assert project.ask("doctor")["notes"] == []
    (project.root / "HANDOFF.md").unlink()
    assert "HANDOFF.md" in project.ask("doctor")["notes"][0]


def test_an_iteration_is_linked_with_its_checkpoint(project: Project) -> None:
    """By its id; the same iteration told again takes the place of the first."""
    made = project.ask("checkpoint", "--level", "L2", "--trigger", "ralph")
    flags = ("ralph-iteration", "--session", "l", "--iteration", "1")
    project.ask(*flags, "--status", "error", "--todo-start", "4")
    project.ask(
        *flags, "--status", "checkpoint", "--checkpoint", str(made["id"]), "--percent", "80",
        "--todo-start", "4", "--todo-end", "3", "--items-completed", '["a"]',
    )  # fmt: skip
    (row,) = project.ask("ralph-history", "--session", "l")
    assert (row["checkpoint_id"], row["checkpoint_triggered"], row["status"]) == (
        made["id"], 1, "checkpoint",
    )  # fmt: skip
    assert (row["todo_items_start"], row["todo_items_end"], row["items_completed"]) == (4, 3, ["a"])
    assert row["context_peak_percent"] == 80


def test_loops_show_their_patterns(project: Project) -> None:
    """Items per iteration, stalls and error streaks, per loop; one told twice counts once."""
    for loop, number, status, items in (
        ("a", 1, "completed", ["x", "y"]),
        ("a", 2, "completed", []),
        ("a", 3, "error", []),
        ("a", 4, "error", []),
        ("a", 5, "checkpoint", ["z"]),
        ("a", 5, "checkpoint", ["z", "q"]),
        ("b", 1, "error", []),
    ):
        project.ask(
            "ralph-iteration", "--session", loop, "--iteration", str(number), "--status", status,
            "--items-completed", json.dumps(items), "--todo-end", "3",
        )  # fmt: skip
    first, second = project.ask("ralph-history", "--pattern")
    assert (first["iterations"], first["items"], first["items_per_iteration"]) == (5, 4, 0.8)
    assert (first["stalls"], first["error_streaks"]) == ([[2, 4]], [[3, 4]])
    assert (first["errors"], first["checkpoints"], first["open_items"]) == (2, 1, 3)
    assert (second["session"], second["stalls"]) == ("b", [])
    assert [row["iteration"] for row in project.ask("ralph-history", "--session", "a")] == [
        1, 2, 3, 4, 5,
    ]  # fmt: skip


def test_sessions_begin_go_on_and_end(project: Project) -> None:
    """The current one is that of the worktree; one that has ended is no longer it."""
    assert project.ask("session") is None
    project.observe("x", "--session", "a")
    assert project.ask("session")["id"] == 1
    project.observe("y")
    assert project.ask("get", "2")[0]["session_id"] == 1
    ended = project.ask("session", "--end", "--summary", "all done")
    assert ended["summary"] == "all done" and ended["ended_at"]
    assert project.ask("session") is None
    project.observe("z", "--session", "a")
    assert [row["observations"] for row in project.ask("session", "--list")] == [3]
    assert project.ask("session")["ended_at"] is None


def test_another_worktree_has_another_session_in_the_same_store(
    project: Project, tmp_path: Path
) -> None:
    """What is observed in one is found in the other."""
    git(project.root, "commit", "-q", "--allow-empty", "-m", "begin")
    git(project.root, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    project.observe("here", "--session", "a")
    project.ask("observe", "--type", "change", "--title", "there", at=tmp_path / "side")
    rows = project.ask("get", "1", "2")
    assert [row["session_id"] for row in rows] == [1, None]
    assert project.ask("session", at=tmp_path / "side") is None


def test_a_reader_that_goes_away_is_no_fault(project: Project) -> None:
    """As with `| head`: no traceback."""
    for number in range(60):
        project.observe(f"peas {number}", "--content", "long " * 400)
    line = f"{sys.executable} -m pipeline.anvil search peas --full --limit 60 | head -1"
    done = subprocess.run(
        line, shell=True, cwd=project.root, capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": str(Path(anvil.__file__).parents[1])},
    )  # fmt: skip
    assert done.stdout.startswith("#60")
    assert done.stderr == ""


def test_stats_count_everything(project: Project) -> None:
    """Rows, kinds, tokens, bytes."""
    project.observe("a")
    project.observe("b", kind="decision")
    found = project.ask("stats")
    assert (found["observations"], found["types"]) == (2, {"change": 1, "decision": 1})
    assert found["bytes"] > 0 and found["tokens_read"] > 0


def test_files_are_told_by_their_path_in_the_project(project: Project, tmp_path: Path) -> None:
    """However they are named and from where; what is not there stays as it was said."""
    folder = project.root / "src"
    folder.mkdir()
    (folder / "beds.py").write_text("x")
    (tmp_path / "link").symlink_to(project.root)
    given = ["beds.py", "./beds.py", "../src/beds.py", str(folder / "beds.py"),
             f"{tmp_path}/link/src/beds.py"]  # fmt: skip
    for name in given:
        row = project.ask("observe", "--type", "change", "--title", "x", "--file", name, at=folder)
        assert row["files"] == ["src/beds.py"], name
    odd = ["src/beds.py", "gone.py", "~nosuchuser/x", "b" * 5000]
    for name in odd:
        row = project.ask("observe", "--type", "change", "--title", "x", "--file", name, at=folder)
        assert row["files"] == [name] or name.startswith("~")
    made = project.ask("checkpoint", "--level", "L1", "--files", '["beds.py"]', at=folder)
    assert made["files_in_progress"] == [{"path": "src/beds.py", "lines": ""}]
