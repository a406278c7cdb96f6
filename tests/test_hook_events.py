"""What a session is about comes from every event that tells of it: failures, tasks, replies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.project_sessions import WRITTEN
from pipeline.project import replies, todo
from tests.support_hook import bash, context, edit, failed, fire, rows, told, tool
from tests.support_project import Project, git, new_project


@pytest.fixture
def project(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Project:
    return new_project(tmp_path / "garden", capsys, monkeypatch)


def _checkpoint(project: Project) -> dict[str, Any]:
    fire(project, "PreCompact", trigger="auto")
    found: dict[str, Any] = json.loads(project.call("export")[1])["checkpoints"][-1]
    return found


# ------------------------------------------------------------------ commands that fail


@pytest.mark.parametrize(
    ("command", "error", "title"),
    [
        ("python run.py", "Exit code 1\nTraceback\n  File x\nKeyError: 'beds'",
         "Error: KeyError: 'beds'"),
        ("make", "Exit code 2\nring.c:8:17: error: no 'x'\nmake: *** [a] Error 1",
         "Error: ring.c:8:17: error: no 'x'"),
        ("npx tsc", "Exit code 2\nsrc/a.ts(1,5): error TS2322: no",
         "Error: src/a.ts(1,5): error TS2322: no"),
        ("terraform plan", "Exit code 1\n│ Error: Unsupported argument\n│",
         "Error: Error: Unsupported argument"),
        ("psql -f a.sql", 'Exit code 3\npsql:a.sql:3: ERROR:  relation "a" does not exist',
         'Error: psql:a.sql:3: ERROR: relation "a" does not exist'),
        ("java A", 'Exit code 1\nException in thread "main" java.io.IOException: gone',
         'Error: Exception in thread "main" java.io.IOException: gone'),
        ("cargo run", "Exit code 101\nthread 'main' panicked at src/a.rs:4:9:\nno bed",
         "Error: thread 'main' panicked at src/a.rs:4:9: no bed"),
        ("bundle exec rake", "Exit code 1\n     NoMethodError:\n       undefined method 'x'",
         "Error: NoMethodError: undefined method 'x'"),
        ("mix run", "Exit code 1\n** (KeyError) key :a not found",
         "Error: ** (KeyError) key :a not found"),
        ("go test ./...", "Exit code 1\n=== RUN TestBed\n--- FAIL: TestBed (0.00s)\nFAIL",
         "Error: tests fail: --- FAIL: TestBed (0.00s)"),
        ("python -m unittest", "Exit code 1\nFAIL: test_bed (t.T)\nRan 1 test",
         "Error: tests fail: FAIL: test_bed (t.T)"),
        ("./deploy.sh", "Exit code 9\nstarting\nthe gate is shut", "Error: the gate is shut"),
    ],
)  # fmt: skip
def test_a_command_that_fails_is_told_of(
    project: Project, command: str, error: str, title: str
) -> None:
    """By the line that says what is wrong; the agent sends another event for it."""
    failed(project, command, error)
    assert told(project) == [("discovery", title)]


@pytest.mark.parametrize(
    ("command", "error", "name"),
    [
        ("grep -rn beds src", "Exit code 1\n", "Bash"),
        ("grep -rn beds src", "Exit code 2\ngrep: src: No such file or directory", "Bash"),
        ("make", "Exit code 1", "Bash"),
        ("make", "The user doesn't want to proceed with this tool use. The tool use was rejected",
         "Bash"),
        ("", "String to replace not found in file.", "Edit"),
    ],
)  # fmt: skip
def test_what_is_no_failure_of_the_work_is_left_out(
    project: Project, command: str, error: str, name: str
) -> None:
    """A search that finds nothing, a refusal of the user, a tool that is called again at once."""
    failed(project, command, error, name)
    assert told(project) == []


def test_tests_that_failed_pass_again(project: Project) -> None:
    """A failure by its own event counts as one."""
    failed(project, "pytest -q", "Exit code 1\n1 failed, 3 passed")
    bash(project, "pytest -q", "4 passed")
    assert [kind for kind, _ in told(project)] == ["discovery", "bugfix"]


# ------------------------------------------------------------------ the list of things to do


def _task(project: Project, number: int, **given: str) -> None:
    if "subject" in given and "status" not in given:
        tool(project, "TaskCreate", given, {"task": {"id": str(number), **given}})
    else:
        tool(project, "TaskUpdate", {"taskId": str(number), **given}, {"success": True})


def test_tasks_are_a_list_of_things_to_do(project: Project) -> None:
    """Put on it, begun, done, renamed and taken off one by one, they are one observation."""
    for number, subject in enumerate(("Sow", "Water", "Weed", "Rest"), 1):
        _task(project, number, subject=subject)
    _task(project, 1, status="completed")
    _task(project, 2, status="in_progress")
    _task(project, 3, status="deleted")
    _task(project, 4, status="pending", subject="Rest at noon")
    _task(project, 9, status="in_progress")
    (row,) = rows(project)
    assert (row["title"], row["subtitle"]) == ("To do: Water", "1 of 3 done")
    assert row["content"].splitlines() == [
        "[x] task 1: Sow", "[>] task 2: Water", "[ ] task 4: Rest at noon",
    ]  # fmt: skip


def test_the_list_goes_on_after_a_checkpoint(project: Project) -> None:
    """What was on it is still there, and the checkpoint keeps what it was made of."""
    _task(project, 1, subject="Sow")
    _task(project, 2, subject="Water")
    _task(project, 1, status="in_progress")
    first = _checkpoint(project)
    assert (first["current_task"], first["resume_summary"]) == ("Sow", "Water")
    _task(project, 1, status="completed")
    _task(project, 2, status="in_progress")
    second = _checkpoint(project)
    assert (second["current_task"], second["task_progress"]) == ("Water", "1 of 2 done")
    lists = [row["content"] for row in rows(project) if row["title"].startswith("To do")]
    assert lists == ["[>] task 1: Sow\n[ ] task 2: Water", "[x] task 1: Sow\n[>] task 2: Water"]


def test_what_somebody_observed_in_such_words_stays(project: Project) -> None:
    """Neither a list nor an edit of ours takes the place of an observation that looks like one."""
    project.observe("To do: call the seed shop", "--session", "agent-1", "--content", "at noon")
    project.observe("Edited beds.py", "--session", "agent-1", "--file", "beds.py", "--content", "a")
    tool(project, "TodoWrite", {"todos": [{"content": "Sow", "status": "in_progress"}]})
    edit(project, "beds.py", 1, 2)
    found = rows(project)
    assert [row["content"] for row in found[:2]] == ["at noon", "a"]
    assert [row["title"] for row in found[2:]] == ["To do: Sow", "Edited beds.py"]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(("pending", "in_progress", "completed", "deleted", "odd")),
            st.sampled_from(("", "1", "2", "3")),
            st.text(st.characters(exclude_categories=("C", "Z")), max_size=9),
        )
    )
)
def test_a_list_reads_back(news: list[tuple[str, str, str]]) -> None:
    """Whatever becomes of it, the observation's text is the list."""
    listed: list[todo.Item] = []
    for status, number, text in news:
        listed = todo.changed(listed, todo.item(text, status, number))
    assert todo.items(todo.told(listed).content) == listed
    assert len({one.number for one in listed}) == len(listed)


# ------------------------------------------------------------------ what a reply says


@pytest.mark.parametrize(
    ("reply", "following"),
    [
        ("Done.\n\nNext steps:\n1. Water the beds\n2. Rest", "Water the beds; Rest"),
        ("## Next steps\n\n- Water\n- Rest\n\nBye.", "Water; Rest"),
        ("**Next:** water the beds.", "water the beds."),
        ("Remaining work: the fence", "the fence"),
        ("Nächste Schritte:\n* Gießen", "Gießen"),
        ("Próximos pasos:\n1) Regar", "Regar"),
        ("次のステップ：\n- 水やり", "水やり"),
        ("Next: sow\n\nLater words.\n\nNext: water", "water"),
        ("The next step was hard, but it is done.", ""),
        ("Nothing.", ""),
        ("", ""),
    ],
)
def test_a_reply_says_what_comes_next(reply: str, following: str) -> None:
    """By the words that open a line or a list, in several languages; the last one counts."""
    assert replies.said(reply).following == following


def test_what_comes_next_is_told_until_it_is_done(project: Project) -> None:
    """It outlasts the session's end and a compaction, and not the next reply."""
    fire(project, "UserPromptSubmit", prompt="Tend the beds")
    fire(project, "Stop", last_assistant_message="Sown.\n\nNext: water the beds")
    fire(project, "SessionEnd", reason="other")
    assert "- Next: water the beds" in project.ask("context", "--resume")["text"]
    assert _checkpoint(project)["resume_summary"] == "water the beds"
    fire(project, "Stop", last_assistant_message="Watered.")
    assert _checkpoint(project)["resume_summary"] == ""


def test_a_decision_in_a_reply_is_kept_once(project: Project) -> None:
    """Though the agent is stopped twice with the same reply."""
    for _ in range(2):
        fire(project, "Stop", last_assistant_message="**Decision:** water at noon")
    assert told(project) == [("decision", "water at noon")]


def test_a_plan_tells_what_comes_next_if_nothing_else_does(project: Project) -> None:
    """The items of its list."""
    tool(project, "ExitPlanMode", {"plan": "# Beds\n\n1. Dig\n2. Sow\n\nThat is all."}, "approved")
    assert _checkpoint(project)["resume_summary"] == "Dig; Sow"


# ------------------------------------------------------------------ sessions as a whole


@pytest.mark.parametrize("number", range(len(WRITTEN)))
def test_written_sessions_can_be_taken_up(project: Project, number: int) -> None:
    """Each session of the benchmark that was written by hand: every word that is asked for."""
    written = WRITTEN[number]
    git(project.root, "checkout", "-q", "-B", written.branch)
    for event, fields in written.events:
        fire(project, event, **json.loads(
            json.dumps(fields).replace("@FOLDER@", str(project.root))
        ))  # fmt: skip
    fire(project, "PreCompact", trigger="auto")
    text = context(project, "compact")
    missing = [
        word
        for what, words in written.probes
        for word in words
        if what != "files with lines" and word not in text
    ]
    assert missing == []
