"""Exports of claude.ai and ChatGPT: every conversation once, from a zip or from JSON."""

from __future__ import annotations

import csv
import json
import zipfile
from pathlib import Path

import pytest

from pipeline.errors import SourceFault
from pipeline.records import Action, Role, Session
from pipeline.sources import Source
from pipeline.sources.chatgpt import ChatGpt
from pipeline.sources.claude_ai import ClaudeAi
from tests.support_command import memory
from tests.support_transcripts import samples

U, A = Role.USER, Role.ASSISTANT


def said(session: Session) -> list[tuple[Role, str]]:
    return [(u.role, u.text) for u in session.utterances if u.text]


def node(key: str, parent: str | None, role: str, text: str, at: float, **more: object) -> dict:  # type: ignore[type-arg]
    message = {
        "id": f"m-{key}",
        "author": {"role": role},
        "create_time": at,
        "content": {"content_type": "text", "parts": [text]},
    } | more
    return {"id": key, "parent": parent, "message": message}


def chat(ident: str, *nodes: dict, **more: object) -> dict:  # type: ignore[type-arg]
    return {"id": ident, "title": "Beds", "mapping": {n["id"]: n for n in nodes}} | more


HIDDEN = {"is_visually_hidden_from_conversation": True}
CHAT = chat(
    "c1",
    {"id": "root", "parent": None, "message": None},
    node("sys", "root", "system", "You are kind.", 1.0),
    node("hidden", "sys", "user", "About me.", 1.5, metadata=HIDDEN),
    node("q", "hidden", "user", "Which beds are dry?", 2.0),
    node("old", "q", "assistant", "None.", 3.0),
    node("call", "q", "assistant", '{"q": 1}', 4.0, recipient="browser.search"),
    node("tool", "call", "tool", "secret result", 5.0),
    node("a", "tool", "assistant", "Two and three.", None),  # type: ignore[arg-type]
    current_node="a",
)  # fmt: skip
CLAUDE = {
    "uuid": "37f8a88b-17fc-495a-87a0-ca6e0822e8f3",
    "name": "Beds\nand beans",
    "chat_messages": [
        {
            "uuid": "m1", "sender": "human", "text": "old", "created_at": "2025-03-04T09:00:00Z",
            "content": [{"type": "text", "text": "Sow what?"}],
            "attachments": [{"extracted_content": "a long file"}],
        },
        {
            "uuid": "m2", "sender": "assistant", "text": "", "created_at": "2025-03-04T09:01:00Z",
            "content": [
                {"type": "thinking", "thinking": "hm"},
                {"type": "tool_use", "name": "search", "input": {"path": "beds.md"}},
                {"type": "tool_result", "text": "secret result"},
                {"type": "text", "text": "Beans."},
            ],
        },
        {"uuid": "m3", "sender": "human", "text": "Thanks.", "content": []},
    ],
}  # fmt: skip


def test_a_chat_is_the_path_to_its_current_message(tmp_path: Path) -> None:
    """Answers tried again, hidden and system messages, calls and results are not on it."""
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([CHAT]))
    (session,) = ChatGpt([path]).read(path)
    assert said(session) == [(U, "Which beds are dry?"), (A, "Two and three.")]
    assert [a for u in session.utterances for a in u.actions] == [Action("browser.search")]
    assert (session.session_id, session.title) == ("c1", "Beds")


def test_without_a_current_message_the_newest_counts(tmp_path: Path) -> None:
    """Links to children are not needed, and a link that goes in a circle ends the path."""
    path = tmp_path / "conversations.json"
    newest = [node("q", None, "user", "Q", 1.0), node("x", "q", "assistant", "X", 2.0)]
    newest.append(node("y", "q", "assistant", "Y", 3.0))
    circle = [node("a", "b", "user", "A", 1.0), node("b", "a", "assistant", "B", 2.0)]
    path.write_text(json.dumps([chat("c1", *newest), chat("c2", *circle, current_node="b")]))
    one, two = ChatGpt([path]).read(path)
    assert said(one) == [(U, "Q"), (A, "Y")]
    assert said(two) == [(U, "A"), (A, "B")]


def test_a_claude_conversation(tmp_path: Path) -> None:
    """Text blocks, else the plain text; no thinking, results or attached files; tools as traces."""
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([CLAUDE, {"uuid": "empty", "name": "", "chat_messages": []}]))
    full, empty = ClaudeAi([path]).read(path)
    assert said(full) == [(U, "Sow what?"), (A, "Beans."), (U, "Thanks.")]
    assert [a for u in full.utterances for a in u.actions] == [Action("search", "beds.md")]
    assert empty.utterances == ()


@pytest.mark.parametrize(("source", "item"), [(ChatGpt, CHAT), (ClaudeAi, CLAUDE)])
def test_zips_and_parts(source: type[ChatGpt], item: dict[str, object], tmp_path: Path) -> None:
    """The zip as it was downloaded, its conversations in one file or in several, in a folder."""
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("users.json", "[]")
        packed.writestr("data/conversations-000.json", json.dumps([item]))
        packed.writestr("data/conversations-001.json", "\ufeff" + json.dumps([item, item]))
    export: Source = source([tmp_path])
    assert list(export.discover()) == [path]
    assert len({said(session)[0] for session in export.read(path)}) == 1
    assert sum(1 for _ in export.read(path)) == 3


def test_what_is_broken_loses_nothing_before_it(tmp_path: Path) -> None:
    """A file cut off in the middle gives the conversations before, and says which is broken."""
    path = tmp_path / "conversations.json"
    whole = json.dumps([CHAT, CHAT | {"id": "c2"}, CHAT | {"id": "c3"}])
    path.write_text(whole[: whole.rindex("mapping")])
    *sessions, last = ChatGpt([path]).read(path)
    assert [s.session_id for s in [*sessions, last]] == ["c1", "c2"]
    assert "conversation 3" in last.bad_lines[0].reason


@pytest.mark.parametrize("content", ["", "[]", "{}", "null", "[1, 2]", "not JSON", '[{"a": 1}]'])
def test_what_is_no_export_is_refused(content: str, tmp_path: Path) -> None:
    """By both, naming the file; and by the command, with how to go on, exit 4."""
    path = tmp_path / "conversations.json"
    path.write_text(content)
    for source in (ChatGpt([path]), ClaudeAi([path])):
        with pytest.raises(SourceFault, match="no export"):
            list(source.read(path))


def test_odd_zips(tmp_path: Path) -> None:
    """A zip without conversations, and one that is damaged."""
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("photos/a.json", "[]")
    with pytest.raises(SourceFault, match=r"conversations\.json"):
        list(ChatGpt([path]).read(path))
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("conversations.json", json.dumps([CHAT] * 50))
    damaged = bytearray(path.read_bytes())
    damaged[60:90] = b"\0" * 30
    path.write_bytes(damaged)
    with pytest.raises(SourceFault):
        list(ChatGpt([path]).read(path))


def test_counts_of_the_samples() -> None:
    """Every sample gives as many turns of either side as the index of the samples says."""
    with (samples() / "INDEX.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    checked = 0
    for row in rows:
        sources: dict[str, Source] = {"chatgpt/": ChatGpt([]), "claude-ai/": ClaudeAi([])}
        source = next((s for start, s in sources.items() if row["file"].startswith(start)), None)
        if source is None:
            continue
        if "wrapper" in row["oddity"]:
            with pytest.raises(SourceFault):
                list(source.read(samples() / row["file"]))
            continue
        turns = [u for s in source.read(samples() / row["file"]) for u in s.utterances]
        found = [sum(u.role is role for u in turns) for role in (U, A)]
        assert found == [int(row["n_user"]), int(row["n_assistant"])], row["file"]
        checked += 1
    assert checked == 11


def test_import_is_remembered_and_reads_nothing_twice(home: Path) -> None:
    """Again: nothing new. A newer export at the same place: what is new in it, at night too."""
    memory("init")
    path = home / "Downloads" / "conversations.json"
    path.parent.mkdir()
    path.write_text(json.dumps([CHAT]))
    done = memory("import", str(path))
    assert done.returncode == 0, done.stderr
    assert done.stdout == "1 new conversations, 2 new messages\n"
    assert memory("import", str(path)).stdout.startswith("0 new conversations, 0 new")
    again = CHAT | {"id": "c2", "mapping": {"q": node("q", None, "user", "More beds?", 9.0)}}
    path.write_text(json.dumps([CHAT, again]))
    found = json.loads(memory("import", "--json", str(path)).stdout)
    assert (found["counts"]["conversations"], found["counts"]["messages"]) == (1, 1)
    assert found["imported"] == {str(path): "chatgpt"}
    told = {one["source"]: one for one in json.loads(memory("sources", "--json").stdout)}
    assert (told["chatgpt"]["sessions"], told["chatgpt"]["read"]) == (1, 1)
    path.unlink()
    assert json.loads(memory("sources", "--json").stdout)


def test_import_of_what_is_none(home: Path) -> None:
    """The file and the way on are named; exit 4; nothing is remembered."""
    memory("init")
    path = home / "notes.json"
    path.write_text("[]")
    done = memory("import", str(path))
    assert done.returncode == 4 and str(path) in done.stderr and "zip" in done.stderr
    gone = memory("import", str(home / "gone.zip"))
    assert gone.returncode == 4 and "gone.zip" in gone.stderr
    assert all(one["sessions"] == 0 for one in json.loads(memory("sources", "--json").stdout))
