"""Rollouts of Codex: each prompt and each answer once, and nothing that Codex put in."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
import zstandard

from pipeline.errors import SourceFault
from pipeline.records import Action, Role, Session
from pipeline.sources.codex import Codex, default_roots
from tests.support_transcripts import samples, write_lines

U, A = Role.USER, Role.ASSISTANT
META: dict[str, object] = {
    "timestamp": "2025-03-04T09:00:00Z",
    "type": "session_meta",
    "payload": {"id": "0199-own", "cwd": "/home/dev/garden", "source": "cli"},
}


def row(kind: str, minute: int, **payload: object) -> dict[str, object]:
    return {"timestamp": f"2025-03-04T09:{minute:02}:00Z", "type": kind, "payload": payload}


def completed(text: str) -> dict[str, object]:
    """A prompt as newer versions tell of it."""
    item = {"type": "UserMessage", "content": [{"type": "text", "text": text}]}
    return row("event_msg", 1, type="item_completed", item=item)


def sent(role: str, minute: int, *texts: str) -> dict[str, object]:
    """A message as it goes to or comes from the model."""
    kind = "output_text" if role == "assistant" else "input_text"
    content = [{"type": kind, "text": text} for text in texts]
    return row("response_item", minute, type="message", role=role, content=content)


def event(kind: str, minute: int, text: str) -> dict[str, object]:
    return row("event_msg", minute, type=kind, message=text)


def read(path: Path, *roots: Path, start: int = 0) -> Session:
    (session,) = Codex(roots).read(path, start)
    return session


def said(session: Session) -> list[tuple[Role, str]]:
    return [(u.role, u.text) for u in session.utterances if u.text]


def test_a_prompt_that_stands_there_three_times_is_one(tmp_path: Path) -> None:
    """As sent, as a completed item and as an event; context that was put in is none."""
    path = write_lines(
        tmp_path / "rollout-a.jsonl",
        [
            META,
            sent("user", 1, "<environment_context>\n<cwd>/home/dev</cwd></environment_context>"),
            sent("user", 1, "# AGENTS.md instructions for /home/dev\nBe kind."),
            sent("user", 1, "Which beds are dry?"),
            completed("Which beds are dry?"),
            event("user_message", 1, "Which beds are dry?"),
            row("response_item", 2, type="reasoning", summary=["secret thought"]),
            event("agent_message", 2, "Beds two and three."),
            sent("assistant", 2, "Beds two and three."),
        ],
    )  # fmt: skip
    session = read(path)
    assert said(session) == [(U, "Which beds are dry?"), (A, "Beds two and three.")]
    assert session.session_id == "0199-own" and session.interactive
    assert {u.cwd for u in session.utterances} == {"/home/dev/garden"}


def test_without_events_the_next_best_is_taken(tmp_path: Path) -> None:
    """Completed items, else what was sent without what was put in; answers from events alone."""
    item = completed("Water bed two.")
    answer = event("agent_message", 2, "Done.")
    for prompts in ([item, sent("user", 1, "Water bed two.")], [sent("user", 1, "Water bed two.")]):
        path = write_lines(tmp_path / "rollout-b.jsonl", [META, *prompts, answer])
        assert said(read(path)) == [(U, "Water bed two."), (A, "Done.")]


def test_the_prompt_behind_an_editors_context(tmp_path: Path) -> None:
    """What the editor tells of open files is not the person's; what follows is."""
    text = (
        "# Context from my IDE setup:\n\n## Open tabs:\n- beds.md\n\n"
        "## My request for Codex:\nSow the beans.\n"
    )
    path = write_lines(tmp_path / "rollout-c.jsonl", [META, event("user_message", 1, text)])
    assert said(read(path)) == [(U, "Sow the beans.")]


def test_actions_name_the_tool_and_the_file(tmp_path: Path) -> None:
    """Arguments are JSON in a string; a patch names its files in its text."""
    patch = "*** Begin Patch\n*** Update File: beds/two.md\n@@\n*** End Patch"
    path = write_lines(
        tmp_path / "rollout-d.jsonl",
        [
            META,
            event("user_message", 1, "Change bed two."),
            row("response_item", 2, type="function_call", name="read", arguments='{"path":"a.md"}'),
            row("response_item", 2, type="custom_tool_call", name="apply_patch", input=patch),
            row("response_item", 2, type="function_call", name="shell", arguments="not JSON"),
            row("response_item", 2, type="function_call_output", output="secret output"),
            sent("assistant", 3, "Changed."),
        ],
    )
    session = read(path)
    actions = [action for u in session.utterances for action in u.actions]
    assert actions == [
        Action("read", "a.md"),
        Action("apply_patch", "beds/two.md"),
        Action("shell"),
    ]
    assert said(session) == [(U, "Change bed two."), (A, "Changed.")]


def test_a_fork_holds_only_what_is_new(tmp_path: Path) -> None:
    """The parent's rows are copied under new times: they go, up to the first turn of its own."""
    day = tmp_path / "sessions" / "2025" / "03" / "04"
    parent = [
        {**META, "payload": {"id": "0199-parent", "cwd": "/home/dev/garden"}},
        row("turn_context", 1, turn_id="t1", cwd="/home/dev/garden"),
        event("user_message", 1, "Old prompt."),
        sent("assistant", 2, "Old answer."),
    ]
    write_lines(day / "rollout-2025-03-04T09-00-00-0199-parent.jsonl", parent)
    copied = [{**line, "timestamp": "2025-03-04T10:00:00Z"} for line in parent]
    own = {**META, "payload": {"id": "0199-fork", "forked_from_id": "0199-parent", "cwd": "/x"}}
    path = write_lines(
        day / "rollout-2025-03-04T10-00-00-0199-fork.jsonl",
        [
            own,
            *copied,
            row("turn_context", 11, turn_id="t2", cwd="/home/dev/garden"),
            event("user_message", 12, "New prompt."),
            sent("assistant", 13, "New answer."),
        ],
    )
    session = read(path, tmp_path / "sessions")
    assert said(session) == [(U, "New prompt."), (A, "New answer.")]
    assert (session.session_id, session.parent) == ("0199-fork", "0199-parent")
    # a parent that is gone leaves the copies as all there is of what was said
    assert said(read(path))[0] == (U, "Old prompt.")


def test_a_sub_agents_rollout_is_not_interactive(tmp_path: Path) -> None:
    """It was another agent that spoke to it."""
    source = {"subagent": {"thread_spawn": {"parent_thread_id": "p"}}}
    meta = {**META, "payload": {"id": "child", "source": source}}
    path = write_lines(tmp_path / "rollout-e.jsonl", [meta, event("user_message", 1, "Goal: x.")])
    assert not read(path).interactive


def test_the_first_format(tmp_path: Path) -> None:
    """A bare header, states, and messages that are not wrapped and have no time."""
    path = write_lines(
        tmp_path / "rollout-f.jsonl",
        [
            {"id": "old-1", "timestamp": "2025-06-01T08:00:00Z", "instructions": None, "git": {}},
            {"record_type": "state"},
            sent("user", 1, "Hi bed.")["payload"],
            sent("assistant", 2, "Dry.")["payload"],
        ],
    )
    session = read(path)
    assert said(session) == [(U, "Hi bed."), (A, "Dry.")] and session.session_id == "old-1"


def test_packed_rollouts_and_titles(tmp_path: Path) -> None:
    """An idle rollout is packed: the plain one goes before it. Titles stand in an index beside."""
    root = tmp_path / "sessions"
    plain = write_lines(root / "rollout-a.jsonl", [META, event("user_message", 1, "Plain.")])
    packed = root / "rollout-b.jsonl.zst"
    packed.write_bytes(zstandard.compress(plain.read_bytes()))
    (root / "rollout-a.jsonl.zst").write_bytes(packed.read_bytes())
    write_lines(
        tmp_path / "session_index.jsonl",
        [{"id": "0199-own", "thread_name": n} for n in ("First", "Beds and beans", "")],
    )
    assert list(Codex([root]).discover()) == [plain, packed]
    session = read(packed, root)
    assert said(session) == [(U, "Plain.")] and session.title == "Beds and beans"
    packed.write_bytes(b"no longer packed")
    with pytest.raises(SourceFault, match=r"rollout-b"):
        read(packed, root)


def test_a_session_of_the_first_version_is_read(tmp_path: Path) -> None:
    """All of it is one object, printed or not, in a `.json`; other such files are left alone."""
    items = [
        {"role": "user", "content": [{"type": "input_text", "text": "yes"}], "type": "message"},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "NOT-SAID"}]},
        {
            "type": "function_call",
            "name": "shell",
            "arguments": json.dumps({"command": ["sed", "-n", "1p"], "path": "beds.md"}),
        },
        {"type": "function_call_output", "call_id": "c", "output": "NOT-SAID"},
        {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Sown."}],
        },
        {"role": "user", "content": [{"type": "input_text", "text": "yes"}], "type": "message"},
        {"role": "user", "content": "of a wrong type", "type": 7},
        "nothing",
    ]
    session = {
        "timestamp": "2025-05-01T10:00:00.000Z",
        "id": "0c1d-own",
        "instructions": "NOT-SAID",
    }
    folder = tmp_path / "sessions"
    folder.mkdir()
    for name, indent in (("rollout-2025-05-01-0c1d-own.json", 2), ("rollout-b.json", None)):
        path = folder / name
        path.write_text(json.dumps({"session": session, "items": items}, indent=indent), "utf-8")
    (folder / "settings.json").write_text("{}")
    codex = Codex([folder])
    assert list(codex.discover()) == [folder / "rollout-2025-05-01-0c1d-own.json", path]
    for path in codex.discover():
        found = read(path, folder)
        assert said(found) == [(U, "yes"), (A, "Sown."), (U, "yes")]
        assert found.session_id == "0c1d-own"
        assert found.read_offset == 0
        assert [action for u in found.utterances for action in u.actions] == [
            Action("shell", "beds.md")
        ]
        times = [utterance.at for utterance in found.utterances]
        assert {at.date().isoformat() for at in times if at} == {"2025-05-01"}
        assert len({*times}) == 4  # each its own


def test_a_session_of_the_first_version_may_lack_everything(tmp_path: Path) -> None:
    """No id, no time, no items: its name stands for it, and no time is made up."""
    path = tmp_path / "rollout-a.json"
    entry = {"role": "user", "content": "Sow it.", "type": "message"}
    path.write_text(json.dumps({"session": {}, "items": [entry]}))
    (utterance,) = read(path).utterances
    assert (read(path).session_id, utterance.text, utterance.at) == ("rollout-a", "Sow it.", None)
    path.write_text(json.dumps({"session": {}, "items": []}))
    assert read(path).utterances == ()


def test_reading_on_equals_reading_at_once(tmp_path: Path) -> None:
    """From the last prompt on, the rest of the file says the same as when all of it is read."""
    rows: list[dict[str, object]] = [META]
    for turn in range(4):
        rows += [
            sent("user", turn, f"Prompt {turn}."),
            event("user_message", turn, f"Prompt {turn}."),
            sent("assistant", turn, f"Answer {turn}."),
        ]
    path = write_lines(tmp_path / "rollout-g.jsonl", rows[:7])
    offset = read(path).read_offset
    write_lines(path, rows)
    rest = read(path, start=offset)
    whole = read(path)
    assert rest.resumed and rest.session_id == whole.session_id
    assert said(rest) == said(whole)[2:]


def test_what_is_no_rollout_is_refused(tmp_path: Path) -> None:
    """A file of another program, and the sample that only looks like one; an empty one is none."""
    path = write_lines(tmp_path / "rollout-h.jsonl", [{"type": "user", "message": "x"}])
    with pytest.raises(SourceFault, match="not a rollout"):
        read(path)
    with pytest.raises(SourceFault, match="not a rollout"):
        read(samples() / "codex" / "cass-codex_api_design.jsonl")
    assert read(write_lines(tmp_path / "rollout-i.jsonl", [])).utterances == ()


def test_counts_of_the_samples() -> None:
    """Every official rollout of the samples gives as many prompts and answers as its index says."""
    with (samples() / "INDEX.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    checked = 0
    for index in rows:
        official = index["format"] != "codex (legacy flat)" and "NOT a" not in index["oddity"]
        if not index["file"].startswith("codex/") or not official:
            continue
        try:
            session = read(samples() / index["file"])
        except SourceFault:
            assert index["n_user"] == "0" and "unknown types" in index["oddity"], index["file"]
            continue
        users = sum(u.role is U for u in session.utterances)
        answers = sum(u.role is A and bool(u.text) for u in session.utterances)
        assert (users, answers) == (int(index["n_user"]), int(index["n_assistant"])), index["file"]
        checked += 1
    assert checked >= 15


def test_where_codex_keeps_them() -> None:
    """The usual place, and the one its variable names."""
    home = Path("/home/dev")
    assert default_roots({}, home)[0] == home / ".codex" / "sessions"
    assert default_roots({"CODEX_HOME": "/srv/codex"}, home) == [
        Path("/srv/codex/sessions"), Path("/srv/codex/archived_sessions"),
    ]  # fmt: skip
