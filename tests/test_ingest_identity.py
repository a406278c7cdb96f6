"""Which session a message is of: forks, resumes, late files, ids that collide; and when it was."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from pipeline.config import load_config
from pipeline.reading.discovery import there_since
from pipeline.records import Skipped
from tests.support_ingest import BEGAN, TALK, V4, House, new_house, said
from tests.support_transcripts import write_lines

OTHER = "7a7a7a7a-5b6d-4e7f-8a9b-0c1d2e3f4a5b"
Build = Callable[..., House]


@pytest.fixture
def build(tmp_path: Path) -> Iterator[Build]:
    made: list[House] = []

    def new(**settings: object) -> House:
        made.append(new_house(tmp_path / f"house{len(made)}", **settings))
        return made[-1]

    yield new
    for house in made:
        house.desk.store.close()


@pytest.fixture
def house(build: Build) -> House:
    return build()


def copied(entries: list[dict[str, object]], session: str) -> list[dict[str, object]]:
    """As an old resume copies them: under another session, with new bookkeeping."""
    return [{**e, "sessionId": session, "version": "2.1.42", "gitBranch": None} for e in entries]


MORE = [said("user", 2, "And how far apart?"), said("assistant", 3, "A hand.")]


@pytest.mark.parametrize("nights", [1, 2])
def test_a_resume_that_copies_its_history_adds_only_what_is_new(house: House, nights: int) -> None:
    """Read in one night or in two: the file that was there first has what both hold."""
    house.touch(write_lines(house.claude / "p" / f"{V4}.jsonl", TALK), age=50)
    if nights == 2:
        house.night()
    resumed = copied([*TALK, *MORE], OTHER)
    house.touch(write_lines(house.claude / "p" / f"{OTHER}.jsonl", resumed), age=40)
    house.night()
    assert house.texts() == {
        V4: ["How deep do I sow?", "Three fingers deep."],
        OTHER: ["And how far apart?", "A hand."],
    }


def test_a_resume_read_before_what_it_resumes_loses_and_doubles_nothing(house: House) -> None:
    """The first file could not be read at first: what was stored stays where it is, so that
    citations of it hold, and the first file adds the rest of what it has."""
    first = house.touch(write_lines(house.claude / "p" / f"{V4}.jsonl", ["{nope"]), age=50)
    resumed = copied([*TALK, *MORE], OTHER)
    house.touch(write_lines(house.claude / "p" / f"{OTHER}.jsonl", resumed), age=40)
    house.night()
    before = house.talks()[OTHER]
    house.touch(write_lines(first, [*TALK, said("user", 9, "Only here.")]), age=45)
    house.night()
    assert house.talks()[OTHER] == before
    assert house.texts()[V4] == ["Only here."]
    assert len(set(house.all_texts())) == 5


def test_a_session_that_goes_on_after_its_fork_still_came_first() -> None:
    """The file that came to be first goes first, where the system tells; a file that was put
    back keeps its time of change."""
    origin = SimpleNamespace(st_mtime_ns=90 * 10**9, st_birthtime=10.0)
    fork = SimpleNamespace(st_mtime_ns=50 * 10**9, st_birthtime=40.0)
    restored = SimpleNamespace(st_mtime_ns=5 * 10**9, st_birthtime=99.0)
    elsewhere = SimpleNamespace(st_mtime_ns=60 * 10**9)
    found = [elsewhere, fork, restored, origin]
    assert sorted(found, key=there_since) == [restored, origin, fork, elsewhere]  # type: ignore[arg-type]


def test_a_fork_that_kept_writing_to_the_old_file(house: House) -> None:
    """pi did once: what stands in both files is said once, and nothing of either is lost."""

    def entry(ident: str, minute: int, text: str) -> dict[str, object]:
        at = (BEGAN + timedelta(minutes=minute)).isoformat()
        message = {"role": "user", "content": text}
        return {"type": "message", "id": ident, "timestamp": at, "message": message}

    old = [entry("a", 0, "one"), entry("b", 5, "of the fork, in the old file")]
    new = [entry("a", 0, "one"), entry("c", 6, "of the fork")]
    house.touch(
        write_lines(house.pi / "1_old.jsonl", [{"type": "session", "id": "old"}, *old]), age=9
    )
    fork = {"type": "session", "id": "new", "parentSession": "/x/1_old.jsonl"}
    house.touch(write_lines(house.pi / "2_new.jsonl", [fork, *new, old[1]]), age=8)
    house.night()
    assert house.texts() == {"old": ["one", "of the fork, in the old file"], "new": ["of the fork"]}


def test_sessions_begun_within_a_minute_are_two(house: House) -> None:
    """The first digits of their ids are a clock of 65 seconds and the same: both are kept, under
    ids of their own that do not depend on which was read first."""
    ids = [f"0195600a-1c00-7a3b-9d41-5be2c4a8{n:04x}" for n in range(60)]
    for number, ident in enumerate(ids):
        path = house.claude / "p" / f"{ident}.jsonl"
        write_lines(path, [said("user", 0, f"session {number}", uuid=ident)])
    house.night()
    assert house.texts() == {ident: [f"session {n}"] for n, ident in enumerate(ids)}
    convs = {c.session_id: c.conv for c in house.desk.store.conversations.to_chunk()}
    assert convs == {ident: ident[-8:] for ident in ids}


def test_a_file_older_than_what_was_read_last_is_read(house: House) -> None:
    """It came late, from another machine or a backup: no newer one keeps it out."""
    newer = write_lines(house.claude / "p" / f"{OTHER}.jsonl", [said("user", 99, "newer")])
    house.touch(newer, age=1)
    house.night()
    house.touch(write_lines(house.claude / "p" / f"{V4}.jsonl", TALK), age=500_000)
    house.night()
    assert house.texts()[V4] == ["How deep do I sow?", "Three fingers deep."]


def test_what_a_compaction_left_behind_stays(house: House) -> None:
    """Read before and after: the earlier turns are still there, at the same places."""
    path = write_lines(house.claude / "p" / f"{V4}.jsonl", TALK)
    house.night()
    before = house.talks()[V4]
    boundary = {"type": "system", "subtype": "compact_boundary", "uuid": "b", "parentUuid": None}
    summary = {**said("user", 2, "This session is being continued"), "isCompactSummary": True}
    write_lines(path, [*TALK, boundary, summary, *MORE])
    house.night()
    assert house.talks()[V4][:2] == before
    assert house.texts()[V4][2:] == ["And how far apart?", "A hand."]


def test_the_folder_of_the_transcript_says_nothing_of_the_project(house: House) -> None:
    """Its name stands for several folders; what the messages say counts."""
    folder = house.claude / "-home-dev-my-garden"
    entries = [
        said("user", n, f"in {cwd}", cwd=cwd)
        for n, cwd in enumerate(("/home/dev/my.garden", "/home/dev/my/garden"))
    ]
    write_lines(folder / f"{V4}.jsonl", entries)
    house.night()
    assert [m.project for m in house.talks()[V4]] == ["/home/dev/my.garden", "/home/dev/my/garden"]


def test_what_an_editor_puts_in_front_is_no_title(house: House) -> None:
    """The first words that are the person's are."""
    context = "# Context from my IDE setup:\n\n## Open tabs:\n- x\n\n"
    said_so = {"type": "user_message", "message": f"{context}## My request for Codex:\nSow it."}
    rows = [
        {"type": "session_meta", "timestamp": BEGAN.isoformat(), "payload": {"id": "c"}},
        {"type": "event_msg", "timestamp": BEGAN.isoformat(), "payload": said_so},
    ]
    write_lines(house.codex / "rollout-c.jsonl", rows)
    house.night()
    (talk,) = house.desk.store.conversations.to_chunk()
    assert talk.title == "Sow it."


def test_torn_and_doubled_rows_of_a_rollout(house: House) -> None:
    """Each row that is whole is there once."""

    def row(kind: str, minute: int, **payload: object) -> str:
        at = (BEGAN + timedelta(minutes=minute)).isoformat()
        return json.dumps({"type": kind, "timestamp": at, "payload": payload})

    prompts = [row("event_msg", n, type="user_message", message=f"prompt {n}") for n in range(4)]
    rows = [row("session_meta", 0, id="c"), *prompts]
    torn = [*rows[:3], rows[3][:40], rows[2], rows[3], rows[3] + rows[4], rows[4][40:]]
    write_lines(house.codex / "rollout-c.jsonl", torn)
    house.night()
    assert house.texts()["c"] == [f"prompt {n}" for n in range(4)]


def test_a_once_unreadable_export_is_read_when_it_is_whole(house: House) -> None:
    """Half downloaded at night, whole the next: told of, then read."""
    message = {
        "author": {"role": "user"},
        "create_time": BEGAN.timestamp(),
        "content": {"parts": ["x"]},
    }
    chat = {"id": "c1", "title": "", "mapping": {"n": {"parent": None, "message": message}}}
    path = house.exports / "conversations.json"
    path.parent.mkdir()
    whole = json.dumps([chat])
    path.write_text(whole[:-20])
    assert [type(outcome) for outcome in house.night()] == [Skipped]
    assert any(str(path) in problem for problem in house.desk.results.problems)
    path.write_text(whole)
    house.night()
    assert house.texts() == {"c1": ["x"]}


@pytest.mark.parametrize(
    ("zone", "at", "shown"),
    [
        ("Europe/Berlin", "2025-03-29T23:30:00Z", "2025-03-30 00:30"),  # over midnight
        ("Europe/Berlin", "2025-03-30T00:59:59Z", "2025-03-30 01:59"),  # before summer time begins
        ("Europe/Berlin", "2025-03-30T01:00:00Z", "2025-03-30 03:00"),
        ("Europe/Berlin", "2025-10-26T00:30:00Z", "2025-10-26 02:30"),  # the hour there is twice
        ("Europe/Berlin", "2025-10-26T01:30:00Z", "2025-10-26 02:30"),
        ("America/Los_Angeles", "2025-03-10T06:59:00Z", "2025-03-09 23:59"),
        ("Pacific/Kiritimati", "2025-03-10T10:00:00Z", "2025-03-11 00:00"),
        ("UTC", "2025-03-10T23:59:59.999Z", "2025-03-10 23:59"),
        ("Asia/Kathmandu", "2025-03-10T18:15:00+00:00", "2025-03-11 00:00"),
        ("Europe/Berlin", "2025-03-10T23:30:00-05:00", "2025-03-11 05:30"),  # told in a third zone
    ],
)
def test_times_are_kept_in_utc_and_shown_where_the_user_lives(
    house: House, zone: str, at: str, shown: str
) -> None:
    """Over midnight, and over the changes to and from summer time."""
    write_lines(house.claude / "p" / f"{V4}.jsonl", [{**said("user", 0, "x"), "timestamp": at}])
    house.night()
    (message,) = house.talks()[V4]
    assert message.at.utcoffset() == timedelta(0)
    given = datetime.fromisoformat(at)
    assert message.at == given.astimezone(UTC)
    config = load_config(vault=str(house.desk.config.vault), timezone=zone)
    assert message.at.astimezone(config.zone).strftime("%Y-%m-%d %H:%M") == shown
