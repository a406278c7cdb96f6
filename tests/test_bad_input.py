"""Bad input: told of, counted, tried again, never fatal, and no reason not to read the rest."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import SourceFault
from pipeline.projects import Projects
from pipeline.reading import session as reading_session
from pipeline.records import Done, Skipped
from pipeline.sources.chatgpt import ChatGpt
from pipeline.sources.claude_ai import ClaudeAi
from pipeline.sources.claude_code import ClaudeCode
from pipeline.sources.codex import Codex
from pipeline.sources.fields import time_of
from pipeline.sources.jsonl import JsonLines, find, fingerprint_of
from pipeline.sources.pi import Pi
from pipeline.stages import ingest
from tests.support_ingest import BEGAN, NOW, TALK, V4, House, said, sound_house
from tests.support_transcripts import write_lines

OTHER = "7a7a7a7a-5b6d-4e7f-8a9b-0c1d2e3f4a5b"


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """With one sound session, which every test must find read."""
    yield from sound_house(tmp_path)


def raw(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


# ------------------------------------------------------------------ lines


BROKEN_LINES: dict[str, tuple[bytes, int]] = {
    # what stands between two sound lines, and how many bad lines that is
    "not JSON": (b"{nope}\n", 1),
    "cut": (b'{"type":"user","mess\n', 1),
    "no object": (b"42\n[]\nnull\n", 3),
    "NULs": (b"\0" * 4096 + b"\n", 0),
    "blank": (b"\n  \n\t\n", 0),
    "CRLF": (b"\r\n\r\n", 0),
    "bytes of no script": (b"\xff\xfe\x80\n", 1),
    "nested deep": (b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"\n", 1),
    "nested lists": (b"[" * 1_000_000 + b"\n", 1),
    "a lone surrogate": (b'{"type":"user","uuid":"\\ud800"}\n', 0),
    "a number too long": (b'{"a":' + b"9" * 10_000 + b"}\n", 1),
    "not a number": (b'{"timestamp":NaN,"type":"user"}\n', 0),
    "a BOM in the middle": (b"\xef\xbb\xbf\n", 1),
}


@pytest.mark.parametrize("kind", BROKEN_LINES)
def test_a_broken_line_costs_itself_alone(house: House, kind: str) -> None:
    """The lines around it are read; it is counted, and told of with its file and place."""
    between, count = BROKEN_LINES[kind]
    first, last = (json.dumps(entry).encode() for entry in TALK)
    path = raw(house.claude / "p" / f"{V4}.jsonl", first + b"\n" + between + last + b"\n")
    house.night()
    assert house.texts()[V4] == ["How deep do I sow?", "Three fingers deep."]
    told = [problem for problem in house.desk.results.problems if str(path) in problem]
    assert len(told) == bool(count)
    if count:
        assert f"{count} unreadable line(s)" in told[0] and "line 2 " in told[0]
    assert ingest.pending(house.desk) == []


@pytest.mark.parametrize("ends", [b"\r\n", b"\n\n", b"\n"])
def test_line_ends_and_marks_of_windows(house: House, ends: bytes) -> None:
    """With a BOM in front, and no end behind the last line."""
    data = ends.join(json.dumps(entry).encode() for entry in TALK)
    raw(house.claude / "p" / f"{V4}.jsonl", b"\xef\xbb\xbf" + data)
    house.night()
    assert house.texts()[V4] == ["How deep do I sow?", "Three fingers deep."]
    assert house.desk.results.problems == []


def test_broken_lines_alone_are_told_of(house: House) -> None:
    """In a file where nobody says anything, too."""
    summary = {"type": "summary", "summary": "x", "leafUuid": "y"}
    path = write_lines(house.claude / "p" / f"{V4}.jsonl", [summary, "{nope", "{nope"])
    house.night()
    assert any(str(path) in p and "2 unreadable" in p for p in house.desk.results.problems)


def test_a_line_of_a_hundred_megabytes(house: House) -> None:
    """Passed over in pieces, and told of; what stands before and behind it is read."""
    path = house.claude / "p" / f"{V4}.jsonl"
    first, last = (json.dumps(entry).encode() for entry in TALK)
    path.parent.mkdir(exist_ok=True)
    with path.open("wb") as file:
        file.write(first + b"\n")
        file.seek(100 * 1024 * 1024, os.SEEK_CUR)  # sparse: NULs
        file.write(b"\n" + last + b"\n")
    house.night()
    assert house.texts()[V4] == ["How deep do I sow?", "Three fingers deep."]
    assert any("line 2 (longer than" in problem for problem in house.desk.results.problems)


MANY = 1_000_000


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        ("[" + ",".join(["1"] * MANY) + ',{"type":"text","text":"end"}]', ["end"]),
        ("[" + ",".join(['"x"'] * MANY) + ',{"type":"text","text":"end"}]', ["end"]),
        # each of these takes hundreds of bytes: the line is too much for the memory we allow
        ("[" + ",".join(['{"type":"text","text":"x"}'] * MANY) + "]", []),
        ("[" + ",".join(["{}"] * (4 * MANY)) + "]", []),
    ],
)  # fmt: skip
def test_a_million_blocks(house: House, content: str, kept: list[str]) -> None:
    """Read, or told of as too large; never more memory than is allowed."""
    line = f'{{"type":"user","uuid":"u","message":{{"role":"user","content":{content}}}}}'
    path = write_lines(house.claude / "p" / f"{V4}.jsonl", [TALK[0], line, TALK[1]])
    house.night()
    assert house.texts()[V4] == ["How deep do I sow?", *kept, "Three fingers deep."]
    told = [problem for problem in house.desk.results.problems if str(path) in problem]
    assert bool(told) == (not kept)


def test_a_message_longer_than_anybody_writes(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its beginning is kept, up to a word's end, and that is told; a secret is never halved."""
    monkeypatch.setattr(reading_session, "_LONGEST", 1000)
    secret = "gh" + "p_" + "A1b2C3d4" * 5
    dump = "Look at this: " + "word " * 195 + secret + " more"
    path = write_lines(house.claude / "p" / f"{V4}.jsonl", [said("user", 0, dump), TALK[1]])
    house.night()
    assert house.texts()[V4] == [("Look at this: " + "word " * 195).strip(), "Three fingers deep."]
    assert any(str(path) in p and "1000" in p for p in house.desk.results.problems)


ODD: list[object] = [
    None, True, 0, -1, 1e308, "", "x", "\ud800", "\0", [], [[]], {}, {"a": 1}, [None, 1, "x", {}],
]  # fmt: skip


@pytest.mark.parametrize("source", ["pi", "claude", "codex", "exports"])
def test_every_field_may_be_anything(house: House, source: str) -> None:
    """Each field of a sound session in turn becomes a value of each type: never fatal."""
    sessions: dict[str, list[dict[str, Any]]] = {
        "pi": [
            {"type": "session", "version": 3, "id": "a", "timestamp": "2025-03-04T09:00:00Z",
             "cwd": "/x", "parentSession": "/x/1_b.jsonl"},
            {"type": "message", "id": "1", "parentId": None, "timestamp": "2025-03-04T09:00:00Z",
             "message": {"role": "assistant", "timestamp": 1, "content": [
                 {"type": "toolCall", "name": "read", "arguments": {"path": "x"}}]}},
            {"type": "session_info", "name": "x"},
        ],
        "claude": [
            *TALK,
            {"type": "summary", "summary": "x", "leafUuid": "user-0"},
            {"type": "ai-title", "aiTitle": "x"},
            {"type": "queue-operation", "operation": "enqueue", "content": "x", "timestamp": "x"},
            {"type": "queue-operation", "operation": "remove"},
            {"type": "attachment", "attachment": {"type": "queued_command", "prompt": "x",
                                                  "commandMode": "prompt"}},
        ],
        "codex": [
            {"type": "session_meta", "timestamp": "x", "payload": {
                "id": "a", "cwd": "/x", "source": {"subagent": {}}, "forked_from_id": "b"}},
            {"type": "turn_context", "timestamp": "x", "payload": {"cwd": "/x", "turn_id": "t"}},
            {"type": "event_msg", "payload": {"type": "user_message", "message": "x"}},
            {"type": "response_item", "payload": {"type": "message", "role": "assistant",
                                                  "content": [{"type": "text", "text": "x"}]}},
            {"type": "response_item", "payload": {"type": "function_call", "name": "x",
                                                  "arguments": "{}"}},
        ],
        "exports": [
            {"id": "a", "title": "x", "current_node": "n", "mapping": {"n": {
                "id": "n", "parent": None, "message": {
                    "id": "m", "author": {"role": "user"}, "create_time": 1.5, "metadata": {},
                    "recipient": "all", "content": {"content_type": "text", "parts": ["x"]}}}}},
        ],
    }  # fmt: skip
    for number, entries in enumerate(_odd(sessions[source])):
        if source == "exports":
            raw(house.exports / f"{number}.json", json.dumps(entries).encode())
        else:
            lines = [json.dumps(entry) for entry in entries]
            write_lines(house.root / source / f"rollout-{number}.jsonl", lines)
    outcomes = house.night()
    assert len(outcomes) == number + 2
    assert all(isinstance(outcome, Done | Skipped) for outcome in outcomes)


def _odd(value: Any) -> Iterator[Any]:
    """The value with each part of it replaced by each odd value, one at a time."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from ({**value, key: other} for other in (*ODD, *_odd(part)))
    elif isinstance(value, list):
        for n, part in enumerate(value):
            yield from ([*value[:n], other, *value[n + 1 :]] for other in _odd(part))


# ------------------------------------------------------------------ times and names inside


@pytest.mark.parametrize(
    "value",
    [
        float("nan"), float("inf"), -float("inf"), -1, 0, -1e12, 1e300, 10**400, "never", "",
        "1969-12-31T23:59:59Z", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00",
        "10000-01-01T00:00:00Z", True, None, [], {},
    ],
)  # fmt: skip
def test_no_time_at_all(value: object) -> None:
    """Before the clocks of computers, behind the calendar, no number: not known, never an error."""
    assert time_of(value) is None


def test_a_clock_that_is_wrong_dates_nothing(house: House) -> None:
    """What is said years from now was said when the message before it was; it comes once, and
    holds back nothing that comes later."""
    ahead = {**said("user", 2, "And how far apart?"), "timestamp": "2061-01-01T00:00:00Z"}
    path = write_lines(house.claude / "p" / f"{V4}.jsonl", [*TALK, ahead])
    house.night()
    assert [m.at for m in house.talks()[V4]] == [
        BEGAN, BEGAN + timedelta(minutes=1), BEGAN + timedelta(minutes=1),
    ]  # fmt: skip
    write_lines(path, [*TALK, ahead, said("assistant", 3, "A hand.")])
    house.night()
    assert house.texts()[V4][2:] == ["And how far apart?", "A hand."]
    assert max(house.desk.store.conversations.watermarks().values()) < NOW


def test_a_folder_longer_than_any_path_is_none(house: House) -> None:
    """A million folders in one another are a mistake of whoever wrote them."""
    deep = said("user", 0, "deep", cwd="/a" * 1_000_000)
    write_lines(
        house.claude / "p" / f"{V4}.jsonl", [deep, said("user", 1, "x", cwd="/" + "b" * 999)]
    )
    house.night()
    assert [m.project for m in house.talks()[V4]] == ["", "/" + "b" * 999]


def test_a_folder_that_may_not_be_looked_at_is_a_project(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is in it may be another user's; the message is kept under its name."""

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "stat", refuse)
    monkeypatch.setattr(Path, "stat", refuse)
    assert Projects({}, Path("/home/dev")).of("/home/other/garden") == "/home/other/garden"


# ------------------------------------------------------------------ files that are none


def test_what_is_no_file_is_not_waited_for(house: House) -> None:
    """A pipe, a socket, a device and a folder named like transcripts; also where one takes the
    place of a file that was found."""
    folder = house.claude / "p"
    os.mkfifo(folder / "pipe.jsonl")
    (folder / "folder.jsonl").mkdir()
    (folder / "zero.jsonl").symlink_to("/dev/zero")
    (folder / "loop.jsonl").symlink_to(folder / "loop.jsonl")
    (folder / "gone.jsonl").symlink_to(folder / "nowhere.jsonl")
    with socket.socket(socket.AF_UNIX) as bound:
        place = os.open(folder, os.O_RDONLY)
        bound.bind(f"/proc/self/fd/{place}/socket.jsonl" if os.path.isdir("/proc") else "s")  # noqa: PTH112
        os.close(place)
    assert [type(outcome) for outcome in house.night()] == [Done]
    for source in (ClaudeCode([]), Pi([]), Codex([]), ChatGpt([]), ClaudeAi([])):
        with pytest.raises(SourceFault, match=r"pipe\.jsonl"):
            list(source.read(folder / "pipe.jsonl"))
    assert fingerprint_of(folder / "pipe.jsonl", 9) == ""


def test_a_pipe_named_like_the_parent_of_a_fork(tmp_path: Path) -> None:
    """The fork is read as if its parent were gone."""
    os.mkfifo(tmp_path / "rollout-0199-parent.jsonl")
    meta = {"id": "0199-own", "forked_from_id": "0199-parent"}
    rows = [
        {"type": "session_meta", "payload": meta},
        {"type": "event_msg", "payload": {"type": "user_message", "message": "Which beds?"}},
    ]
    (session,) = Codex([tmp_path]).read(write_lines(tmp_path / "rollout-0199-own.jsonl", rows))
    assert [u.text for u in session.utterances] == ["Which beds?"]


def test_titles_that_cannot_be_read_cost_only_the_title(tmp_path: Path) -> None:
    """The index beside the rollouts is broken: they are read all the same."""
    index = tmp_path / "session_index.jsonl"
    index.write_bytes(b"\xff\xfe\n[1]\n")
    rows = [
        {"type": "session_meta", "payload": {"id": "a"}},
        {"type": "event_msg", "payload": {"type": "user_message", "message": "Which beds?"}},
    ]
    path = write_lines(tmp_path / "sessions" / "rollout-a.jsonl", rows)
    (session,) = Codex([tmp_path / "sessions"]).read(path)
    assert [u.text for u in session.utterances] == ["Which beds?"]


def test_links_do_not_lead_out_or_round(house: House, tmp_path: Path) -> None:
    """A link out of the root brings in nothing; one to a folder above is not walked again."""
    outside = write_lines(tmp_path / "outside" / f"{V4}.jsonl", TALK)
    (house.claude / "p" / "away.jsonl").symlink_to(outside)
    (house.claude / "q").symlink_to(outside.parent)
    (house.claude / "p" / "round").symlink_to(house.claude)
    house.night()
    assert list(house.texts()) == ["s"]


@pytest.mark.parametrize(
    "name", ["a\nb # c", "🌱 beans", "-rf", "'; DROP TABLE x; --", "%s", "a" * 249]
)
def test_odd_names(house: House, name: str) -> None:
    """Any name a file can have; what is told of it is one line of the page."""
    path = house.claude / "p" / f"{name}.jsonl"
    write_lines(path, [*TALK, "{nope"])
    house.night()
    assert house.texts()[V4] == ["How deep do I sow?", "Three fingers deep."]
    assert ingest.pending(house.desk) == []


def test_a_name_that_is_no_text(house: House) -> None:
    """Told of once, counted, and looked for again every night; named properly, it is read."""
    path = Path(os.fsdecode(os.fsencode(house.claude / "p") + b"/\xff.jsonl"))
    try:
        write_lines(path, TALK)
    except OSError:
        pytest.skip("this file system has no such names")
    for _ in range(2):
        house.night()
    (told,) = house.desk.results.problems
    told.encode()
    assert "rename" in told
    assert house.desk.store.conversations.counts()["unreadable"] == 1
    path.rename(path.with_name("proper.jsonl"))
    house.night()
    assert house.desk.store.conversations.counts()["unreadable"] == 0
    assert V4 in house.texts()


# ------------------------------------------------------------------ files that cannot be read


def _refuse(monkeypatch: pytest.MonkeyPatch, call: str, forbidden: Path) -> None:
    """Nobody may do this with this path: rights do not bind those who run tests as root."""
    real: Callable[..., Any] = getattr(os, call)

    def guarded(path: Any, *rest: Any, **named: Any) -> Any:
        if str(path) == str(forbidden):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *rest, **named)

    monkeypatch.setattr(os, call, guarded)


@pytest.mark.parametrize("call", ["stat", "open", "scandir"])
def test_what_may_not_be_read_is_told_of_and_tried_again(
    house: House, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file, and a folder: once in the report, counted each night, read when it may be."""
    path = house.touch(write_lines(house.claude / "q" / f"{V4}.jsonl", TALK), age=99)
    forbidden = path.parent if call == "scandir" else path
    with monkeypatch.context() as patched:
        _refuse(patched, call, forbidden)
        _refuse(patched, "open", forbidden)
        for _ in range(3):
            house.night()
    (told,) = house.desk.results.problems
    assert str(forbidden) in told and "Permission denied" in told
    assert house.desk.store.conversations.files()[forbidden].failures == 3
    house.night()
    assert house.desk.store.conversations.counts()["unreadable"] == 0
    assert house.texts()[V4] == ["How deep do I sow?", "Three fingers deep."]


def test_a_broken_file_that_is_taken_away_is_no_longer_counted(house: House) -> None:
    """Nothing is left to mend."""
    path = write_lines(house.claude / "p" / "broken.jsonl", ["{nope"])
    house.night()
    assert house.desk.store.conversations.counts()["unreadable"] == 1
    path.unlink()
    assert len(ingest.pending(house.desk)) == 1
    assert house.desk.store.conversations.counts()["unreadable"] == 1  # looking changes nothing
    assert house.night() == [Skipped("it is not there any more")]
    assert house.desk.store.conversations.counts()["unreadable"] == 0
    assert ingest.pending(house.desk) == []


def test_a_root_that_is_not_there_or_is_a_file(tmp_path: Path) -> None:
    """Nobody has all of these programs: nothing is found, and nothing is told."""
    raw(tmp_path / "file.jsonl", b"{}\n")
    assert find([tmp_path / "none", tmp_path / "file.jsonl"]) == []


# ------------------------------------------------------------------ files that change meanwhile


def test_a_file_that_is_replaced_while_it_is_read_is_read_again_whole(house: House) -> None:
    """Nobody knows which of its bytes were read; the next night misses nothing."""
    turns = [said("user", 2 * n, f"How deep in bed {n}?") for n in range(40)]
    path = write_lines(house.claude / "p" / f"{V4}.jsonl", turns[20:30])
    (batch,) = (
        b for b in ingest.work(ingest.pending(house.desk), house.desk) if b.job.path == path
    )
    sessions = list(batch.read(batch.start))
    write_lines(path, turns)
    ingest.keep(replace(batch, read=lambda start: iter(sessions)), house.desk)
    house.night()
    assert sorted(house.texts()[V4]) == sorted(f"How deep in bed {n}?" for n in range(40))


def test_a_file_that_shrinks_keeps_what_was_read(house: House) -> None:
    """Cut while it is read, and cut the night after: nothing stored is lost, nothing doubled."""
    path = write_lines(house.claude / "p" / f"{V4}.jsonl", [*TALK, said("user", 2, "And apart?")])
    lines = iter(JsonLines(path))
    next(lines)
    os.truncate(path, path.stat().st_size // 2)
    assert len(list(lines)) <= 2
    write_lines(path, [*TALK, said("user", 2, "And apart?")])
    house.night()
    write_lines(path, TALK[:1])
    house.night()
    write_lines(path, [*TALK, said("user", 2, "And apart?"), said("assistant", 3, "A hand.")])
    house.night()
    assert house.texts()[V4] == [
        "How deep do I sow?", "Three fingers deep.", "And apart?", "A hand.",
    ]  # fmt: skip


def test_a_file_that_vanishes_while_it_is_read(house: House) -> None:
    """What was open is read to its end; what was not is a fault of that file."""
    path = write_lines(house.claude / "p" / f"{V4}.jsonl", TALK)
    lines = iter(JsonLines(path))
    next(lines)
    path.unlink()
    assert len(list(lines)) == 1
    house.night()


def test_the_same_session_in_two_files(house: House) -> None:
    """A copy put aside and then continued: one conversation, each message once."""
    write_lines(house.claude / "p" / f"{V4}.jsonl", TALK)
    more = [*TALK, said("user", 2, "And apart?")]
    write_lines(house.claude / "copy of p" / f"{V4}.jsonl", more)
    house.night()
    assert house.texts()[V4] == ["How deep do I sow?", "Three fingers deep.", "And apart?"]
    assert house.night() == []


def test_a_folder_of_ten_thousand_files(house: House) -> None:
    """All are found by one walk; empty ones and strangers hold nobody up."""
    folder = house.claude / "many"
    folder.mkdir()
    for number in range(10_000):
        (folder / f"{number}.jsonl").touch()
    assert len(ingest.pending(house.desk)) == 10_001
    for number in range(9_990):
        (folder / f"{number}.jsonl").unlink()
    assert len(house.night()) == 11
    assert house.night() == []


def test_the_date_of_a_wrong_clock_is_utc() -> None:
    """Any zone is understood; no zone is UTC."""
    assert time_of("2025-03-04T10:00:00+01:00") == datetime(2025, 3, 4, 9, tzinfo=UTC)
    assert time_of("2025-03-04T09:00:00") == datetime(2025, 3, 4, 9, tzinfo=UTC)
