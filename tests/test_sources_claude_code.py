"""Sessions of Claude Code: the person's own words, whole, and none that were put in their mouth."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pipeline.errors import SourceFault
from pipeline.records import Action, Role, Session
from pipeline.sources.claude_code import ClaudeCode, default_roots
from tests.support_transcripts import FIXTURES, index, samples, write_lines

CLAUDE = FIXTURES / "claude-code"
MAIN = "d2719c84-5a60-4b3e-9f18-7c0e6a1b2d35"
QUEUE = "8f3e1a6b-2c4d-4e5f-a071-b2c3d4e5f607"
U, A = Role.USER, Role.ASSISTANT


def read(path: Path) -> Session:
    (session,) = ClaudeCode([]).read(path)
    return session


def said(session: Session) -> list[tuple[Role, str]]:
    return [(utterance.role, utterance.text) for utterance in session.utterances]


def test_only_what_was_said_is_kept_and_all_of_it() -> None:
    """Blocks of one message are one; reminders, results, commands, helpers and summaries go; words
    typed beside a tool result, and those glued behind another entry, stay."""
    session = read(CLAUDE / f"{MAIN}.jsonl")
    assert said(session) == [
        (U, "Rename the beds, please."),
        (A, "I rename them."),
        (A, ""),
        (U, "and make sure this is tested"),
        (A, "It is tested.\n\nAll green."),
        (U, ""),  # an image
        (U, "The tag <system-reminder> stays when I only name it."),
        (A, "It does."),
    ]
    assert session.utterances[1].actions == (Action("Edit", "/home/dev/garden/beds.py"),)
    assert session.utterances[2].actions == (Action("Bash", ""),)
    assert session.utterances[0].at == datetime(2025, 3, 4, 9, 0, tzinfo=UTC)
    assert session.utterances[6].cwd == "/home/dev/orchard"
    assert [bad.line for bad in session.bad_lines] == [28]
    assert (session.session_id, session.title) == (MAIN, "Beds get names")
    assert session.interactive


def test_queued_words_are_said_once() -> None:
    """Those only in the queue stand where they were typed; those that stand elsewhere, were put
    back, were no person's or were never delivered are not added."""
    assert said(read(CLAUDE / f"{QUEUE}.jsonl")) == [
        (U, "Start the tests."),
        (U, "only in the queue"),
        (A, "They run."),
        (U, "begins a turn"),
        (A, "It does."),
        (U, "stands in an attachment"),
        (A, "Done."),
    ]


def test_a_sub_agents_file_has_no_person_in_it() -> None:
    """Its prompt was written by the agent that called it; its session is its own."""
    session = read(CLAUDE / MAIN / "subagents" / "agent-7f3a.jsonl")
    assert said(session) == [(A, "There are four beds.")]
    assert not session.interactive
    assert session.session_id == f"{MAIN}/agent-7f3a"


def test_sessions_are_found_but_not_helpers_of_memory(tmp_path: Path) -> None:
    """Sub-agents are listed; the compaction helper and another memory tool's observer are not."""
    found = [path.relative_to(CLAUDE) for path in ClaudeCode([CLAUDE]).discover()]
    assert [str(path) for path in found if path.parts[0] != "rows"] == [
        "1c9d7e50-6b82-4f3a-8e14-a5b6c7d8e9f0.jsonl",
        f"{QUEUE}.jsonl",
        f"{MAIN}/subagents/agent-7f3a.jsonl",
        f"{MAIN}.jsonl",
    ]


@pytest.mark.parametrize(
    ("titles", "expected"),
    [
        (["custom", "ai", "summary"], "Mine"),
        (["summary", "ai"], "Its"),
        (["summary"], "Short"),
        (["foreign"], ""),
    ],
)
def test_a_title_is_the_best_there_is(tmp_path: Path, titles: list[str], expected: str) -> None:
    """The user's own, else the assistant's, else a summary, but of this very session only."""
    lines = {
        "custom": {"type": "custom-title", "customTitle": "Mine"},
        "ai": {"type": "ai-title", "aiTitle": "Its"},
        "summary": {"type": "summary", "summary": "Short", "leafUuid": "u1"},
        "foreign": {"type": "summary", "summary": "Other", "leafUuid": "u2"},
    }
    first = {"type": "user", "uuid": "u1", "message": {"content": "hello"}}
    path = write_lines(tmp_path / "a.jsonl", [*(lines[name] for name in titles), first])
    assert read(path).title == expected


def test_a_constant_message_id_does_not_melt_turns_together(tmp_path: Path) -> None:
    """Some gateways give every reply one id; a person in between ends the message."""

    def reply(text: str) -> dict[str, object]:
        content = [{"type": "text", "text": text}]
        return {"type": "assistant", "message": {"id": "same", "content": content}}

    def ask(text: str) -> dict[str, object]:
        return {"type": "user", "message": {"content": text}}

    lines = [ask("a"), reply("b"), reply("c"), ask("d"), reply("e")]
    session = read(write_lines(tmp_path / "a.jsonl", lines))
    assert [text for _, text in said(session)] == ["a", "b\n\nc", "d", "e"]


def test_one_file_is_one_session_whatever_it_says(tmp_path: Path) -> None:
    """Two session ids in one file: its name decides; without a telling name, the first id."""
    lines = [
        {"type": "user", "sessionId": "one", "message": {"content": "a"}},
        {"type": "user", "sessionId": "two", "message": {"content": "b"}},
    ]
    named = write_lines(tmp_path / f"{MAIN}.jsonl", lines)
    assert (read(named).session_id, len(read(named).utterances)) == (MAIN, 2)
    assert read(write_lines(tmp_path / "copy.jsonl", lines)).session_id == "one"


def test_wrong_types_are_survived(tmp_path: Path) -> None:
    """Fields of any type in any place; the sound message among them is read."""
    odd: list[object] = [None, 1, "x", [], {}, [1, None, {"type": "text", "text": 1}], True]
    kinds = ["user", "assistant", "attachment", "queue-operation", "summary", "ai-title", "system"]
    lines: list[dict[str, object]] = []
    for value in odd:
        lines.append({"type": value})
        for kind in kinds:
            lines += [
                {"type": kind, "message": value, "attachment": value, "operation": value},
                {"type": kind, "uuid": value, "sessionId": value, "message": {"content": value}},
                {"type": kind, "message": {"id": value, "model": value, "content": value}},
                {"type": kind, "operation": "enqueue", "content": value, "timestamp": value},
                {"type": kind, "operation": "remove", "leafUuid": value, "summary": value},
                {"type": kind, "attachment": {"type": "queued_command", "prompt": value}},
            ]
    lines.append({"type": "user", "message": {"role": "user", "content": "sound"}})
    assert (U, "sound") in said(read(write_lines(tmp_path / "odd.jsonl", lines)))


def test_a_file_of_another_format_is_refused(tmp_path: Path) -> None:
    """Not one line of Claude Code's: a fault that names the file. An empty file is no fault."""
    with pytest.raises(SourceFault, match=r"other\.jsonl"):
        read(write_lines(tmp_path / "other.jsonl", [{"type": "response_item"}, {"a": 1}]))
    (tmp_path / "empty.jsonl").touch()
    assert read(tmp_path / "empty.jsonl").utterances == ()


def test_the_usual_place_follows_the_environment() -> None:
    """Projects of the configuration folder."""
    home = Path("/home/u")
    assert default_roots({}, home) == [home / ".claude" / "projects"]
    assert default_roots({"CLAUDE_CONFIG_DIR": "/c"}, home) == [Path("/c/projects")]


REFUSED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was "
    "a file edit, the new_string was NOT written to the file). "
)
HOW = "To tell you how to proceed, the user said:\n"
ADVICE = (
    "\n\nNote: The user's next message may contain a correction or preference. Pay close attention."
)


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (f"{REFUSED}{HOW}Sow it deeper.\n\nAnd later.", "Sow it deeper.\n\nAnd later."),
        (f"{REFUSED}{HOW}Sow it deeper.{ADVICE}", "Sow it deeper."),
        (f"{REFUSED}{HOW}He asked what the user said: all of it.", None),
        (f"{REFUSED}STOP what you are doing.{ADVICE}", ""),
        ("Exit code 1\nthe user said:\nnot a refusal", ""),
    ],
)
@pytest.mark.parametrize("as_blocks", [False, True])
@pytest.mark.parametrize("again", [False, True])
def test_what_is_typed_in_refusing_a_tool_is_said(
    tmp_path: Path, result: str, words: str | None, as_blocks: bool, again: bool
) -> None:
    """It stands in the result alone; what the client writes around it is nobody's."""
    content = [{"type": "text", "text": result}] if as_blocks else result
    block = {"type": "tool_result", "content": content, "is_error": True, "tool_use_id": "t"}
    entry = {"type": "user", "uuid": "u", "message": {"role": "user", "content": [block]}}
    if again:
        entry["toolUseResult"] = f"Error: {result}"
    line = json.dumps(entry, separators=(",", ":"))
    session = read(write_lines(tmp_path / "a.jsonl", [line]))
    expected = "He asked what the user said: all of it." if words is None else words
    assert said(session) == ([(U, expected)] if expected else [])
    block["is_error"] = False  # what a tool shows of another transcript
    assert said(read(write_lines(tmp_path / "b.jsonl", [entry]))) == []


def test_words_beside_a_result_are_found_whatever_repeats_the_result(tmp_path: Path) -> None:
    """The client's copy of a result may hold blocks of text; the person's stand in the message."""
    result = {"type": "tool_result", "tool_use_id": "t", "content": "NOT-SAID"}
    copy = {"type": "text", "text": "NOT-SAID"}
    words = {"type": "text", "text": "Deeper."}
    plain, beside = (
        {"role": "user", "content": content} for content in ([result], [result, words])
    )
    entries: list[dict[str, object]] = [
        {"type": "user", "uuid": "a", "message": plain, "toolUseResult": copy},
        {"type": "user", "uuid": "b", "message": beside, "toolUseResult": copy},
        {"type": "user", "uuid": "c", "toolUseResult": copy, "message": beside},
    ]
    for separators in ((",", ":"), (", ", ": ")):
        lines = [json.dumps(entry, separators=separators) for entry in entries]
        session = read(write_lines(tmp_path / "a.jsonl", lines))
        assert said(session) == [(U, "Deeper."), (U, "Deeper.")]


def test_a_broken_byte_in_what_nobody_said_loses_nothing(tmp_path: Path) -> None:
    """Not even in the id of a line that is passed over."""
    path = tmp_path / "a.jsonl"
    silent = b'{"type":"progress","data":{},"uuid":"0\xae0"}\n'
    spoken = {"type": "user", "uuid": "a", "message": {"role": "user", "content": "Deeper."}}
    path.write_bytes(silent + json.dumps(spoken).encode() + b"\n")
    assert said(read(path)) == [(U, "Deeper.")]


# Where we count otherwise than the index, and why: (users, assistants).
_OTHERWISE = {
    # slash command typed into the queue, never delivered any other way: a user's message of ours
    "claude-code/entire/71_69f9710768_0.jsonl": (5, 18),
    # what was typed in refusing a tool, four times, which the index takes for results
    "claude-code/entire/c7_f7b48fb868_0.jsonl": (16, 76),
    # a task typed behind a slash command, which the index counts apart
    "claude-code/spotter/subagent.jsonl": (2, 12),
    # one placeholder id stands for many entries, which the index takes for copies; side chains
    "claude-code/agent-sessions/small.jsonl": (2, 2),
    # a broken entry and a sound one share an id; the sound one is kept
    "claude-code/daaain-edge_cases.jsonl": (3, 4),
    # an id repeated with other words is not a copy; the side chain's answer is left out
    "claude-code/polylogue-claude-normalization-main.jsonl": (3, 3),
    # all of it is a side chain
    "claude-code/polylogue-normalization-lineage-subagent-acompact.jsonl": (0, 0),
}
# Its only line is no entry of the format: refused, where the index counts nothing.
_REFUSED = "claude-code/cass-empty_session.jsonl"


def test_counts_of_the_samples_are_met() -> None:
    """Users' and assistants' messages of every sample, as counted independently."""
    wrong = {}
    for row in index("claude-code/"):
        file = row["file"]
        if file == _REFUSED:
            with pytest.raises(SourceFault):
                read(samples() / file)
            continue
        roles = [utterance.role for utterance in read(samples() / file).utterances]
        got = (roles.count(U), roles.count(A))
        if got != _OTHERWISE.get(file, (int(row["n_user"]), int(row["n_assistant"]))):
            wrong[file] = got
    assert wrong == {}


def test_bad_lines_of_the_samples_are_counted() -> None:
    """As many as the index has; a cut last line is not bad, it is still being written."""
    for row in index("claude-code/"):
        if row["file"] == _REFUSED:
            continue
        path = samples() / row["file"]
        cut = "last line cut" in row["oddity"] and not path.read_bytes().endswith(b"\n")
        assert len(read(path).bad_lines) == (0 if cut else int(row["malformed"])), row["file"]


def test_no_person_speaks_in_wrappers() -> None:
    """In no sample does a user's message begin with what the client writes there."""
    starts = ("<command-", "<local-command", "<bash-", "<task-notification", "Caveat: The messages")
    for row in index("claude-code/"):
        if row["file"] != _REFUSED:
            for utterance in read(samples() / row["file"]).utterances:
                assert utterance.role is A or not utterance.text.startswith(starts), row["file"]
