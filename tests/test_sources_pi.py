"""Sessions of pi: what the person and the assistant said, all of it, and nothing else."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from pipeline.errors import SourceFault
from pipeline.identity import SENTINEL
from pipeline.records import Action, Role, Session
from pipeline.sources.pi import Pi, default_roots
from tests.support_transcripts import FIXTURES, index, samples, write_lines

PI = FIXTURES / "pi"
U, A = Role.USER, Role.ASSISTANT


def said(session: Session) -> list[tuple[Role, str]]:
    return [(utterance.role, utterance.text) for utterance in session.utterances]


V1 = [
    (U, "Plan the watering of the beds."),
    (A, "I look at the plan."),
    (A, "Four beds, ten minutes each."),
    (U, "Make it twelve minutes."),
    (A, "Twelve minutes it is."),
]


def read(path: Path) -> Session:
    """The one session of the file."""
    (session,) = Pi([]).read(path)
    return session


def test_the_first_format_is_read() -> None:
    """Entries without ids, a header later than its messages, a compaction in between."""
    session = read(PI / "v1.jsonl")
    assert said(session) == V1
    assert session.session_id == "6b1f0f5e-93c4-4d2a-8d56-0f4c1b7a9e21"
    assert session.utterances[0].at == datetime(2025, 3, 4, 9, 1, tzinfo=UTC)
    assert session.utterances[1].actions == (Action("read", "plan.md"),)
    assert {u.cwd for u in session.utterances} == {"/home/dev/garden"}
    assert (session.title, session.parent, session.interactive) == ("", "", True)


def test_a_migrated_file_says_the_same_at_the_same_times() -> None:
    """pi rewrites old files with new ids; times, texts and order are as they were."""
    old, new = read(PI / "v1.jsonl"), read(PI / "v1-migrated.jsonl")
    assert said(new) == said(old)
    assert [u.at for u in new.utterances] == [u.at for u in old.utterances]
    assert new.session_id == old.session_id


def test_all_branches_are_kept_and_nothing_put_in() -> None:
    """Abandoned branches were said too; summaries and what extensions put in were not."""
    session = read(PI / "tree.jsonl")
    assert said(session) == [
        (U, "Which seeds first?"),
        (A, "Beans."),
        (U, "Abandoned: try peas."),
        (A, ""),
        (U, "Live branch: beans then."),
        (A, "Beans are sown. 完了 ✅"),
    ]
    assert session.utterances[3].actions == (Action("bash", ""),)
    assert session.title == "Seeds — 设计"
    assert session.bad_lines == ()


def test_a_fork_names_its_parent() -> None:
    """The parent's session id is taken from the path it was forked from, also on Windows."""
    assert read(PI / "fork.jsonl").parent == "0195600a-1c00-7a3b-9d41-5be2c4a86f10"


def test_a_parent_path_of_windows_is_understood(tmp_path: Path) -> None:
    """Backslashes separate folders there."""
    header = {"type": "session", "id": "s", "parentSession": r"C:\pi\2025-03-04T09_abc-1.jsonl"}
    assert read(write_lines(tmp_path / "a.jsonl", [header])).parent == "abc-1"


def test_wrong_types_are_survived(tmp_path: Path) -> None:
    """Fields of any type in any place; the sound message among them is read."""
    sound = {"type": "message", "message": {"role": "user", "content": "sound"}}
    odd: list[object] = [None, 1, "x", [], {}, [1, None, {"type": "text"}]]
    entries: list[object] = [{"type": "session", "id": 7, "cwd": 7, "parentSession": 7}]
    for value in odd:
        entries += [
            {"type": value, "message": value},
            {"type": "message", "timestamp": value, "message": value},
            {"type": "message", "timestamp": 1e300, "message": {"role": value, "content": "x"}},
            {"type": "message", "message": {"role": "toolResult", "content": value}},
            {"type": "message", "message": {"role": "assistant", "content": value}},
            {"type": "session_info", "name": value},
        ]
    session = read(write_lines(tmp_path / "odd.jsonl", [*entries, sound]))
    assert (U, "sound") in said(session)
    assert session.session_id == "odd"


def test_a_session_we_started_says_nothing(tmp_path: Path) -> None:
    """A system line with the sentinel marks a session of this program."""
    lines = [
        {"type": "session", "id": "s"},
        {"type": "message", "message": {"role": "system", "content": f"{SENTINEL}\nFold."}},
        {"type": "message", "message": {"role": "user", "content": "Fold this."}},
    ]
    assert read(write_lines(tmp_path / "a.jsonl", lines)).utterances == ()


def test_a_file_of_another_format_is_refused(tmp_path: Path) -> None:
    """Not one line of pi's: a fault that names the file. An empty file is no fault."""
    other = write_lines(tmp_path / "other.jsonl", [{"type": "response_item"}, {"a": 1}])
    with pytest.raises(SourceFault, match=r"other\.jsonl"):
        read(other)
    (tmp_path / "empty.jsonl").touch()
    assert read(tmp_path / "empty.jsonl").utterances == ()


def test_sessions_are_found_flat_and_in_folders(tmp_path: Path) -> None:
    """Artifacts of sub-agents are no sessions; a missing root is no fault."""
    for name in ("b.jsonl", "--p--/a.jsonl", "--p--/subagent-artifacts/x.jsonl", "c.json"):
        write_lines(tmp_path / name, [])
    found = list(Pi([tmp_path, tmp_path / "missing"]).discover())
    assert found == [tmp_path / "--p--" / "a.jsonl", tmp_path / "b.jsonl"]


def test_the_usual_places_follow_the_environment() -> None:
    """pi's folders and both of mlx-bun; variables move pi's."""
    home = Path("/home/u")
    bun = [home / ".mlx-bun" / "sessions", home / ".mlx-bun" / "pi" / "sessions"]
    assert default_roots({}, home) == [home / ".pi" / "agent" / "sessions", *bun]
    moved = {"PI_CODING_AGENT_DIR": "/a"}
    assert default_roots(moved, home)[0] == Path("/a/sessions")
    moved["PI_CODING_AGENT_SESSION_DIR"] = "/b"
    assert default_roots(moved, home)[0] == Path("/b")


def test_counts_of_the_samples_are_met() -> None:
    """Users' and assistants' messages of every sample, as counted independently."""
    wrong = {}
    for row in index("pi/"):
        session = read(samples() / row["file"])
        roles = [utterance.role for utterance in session.utterances]
        got = (roles.count(U), roles.count(A), len(session.bad_lines))
        if got != (int(row["n_user"]), int(row["n_assistant"]), int(row["malformed"])):
            wrong[row["file"]] = got
    assert wrong == {}
