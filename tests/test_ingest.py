"""Ingest: every message once, in one conversation, without secrets, whatever the files do."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.identity import SENTINEL
from pipeline.records import Conversation, Done, Role, Skipped
from pipeline.sources.claude_code import ClaudeCode
from pipeline.stages import ingest
from tests.support_ingest import BEGAN, NOW, TALK, V4, House, new_house, said
from tests.support_transcripts import FIXTURES, samples, write_lines

Build = Callable[..., House]


@pytest.fixture
def build(tmp_path: Path) -> Iterator[Build]:
    """Makes houses, each in a folder of its own; settings of the table [ingest] by name."""
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


# ------------------------------------------------------------------ once


def test_a_session_becomes_a_conversation(house: House) -> None:
    """Stored and archived alike, with title, project, times, roles, positions and actions."""
    main = "d2719c84-5a60-4b3e-9f18-7c0e6a1b2d35"
    house.put(FIXTURES / "claude-code" / f"{main}.jsonl", f"claude/p/{main}.jsonl")
    assert house.night() == [Done({"conversations": 1, "messages": 6, "bad lines": 1})]
    store = house.desk.store.conversations
    talk = store.get("d2719c84")
    assert (talk.source, talk.session_id) == ("claude-code", main)
    assert (talk.title, talk.project) == ("Beds get names", "/home/dev/garden")
    assert (talk.started_at, talk.updated_at) == (BEGAN, BEGAN + timedelta(minutes=14))
    messages = store.messages("d2719c84")
    assert [m.position for m in messages] == list(range(6))
    assert [(m.role.value, m.text) for m in messages] == [
        ("user", "Rename the beds, please."),
        ("assistant", "I rename them."),
        ("user", "and make sure this is tested"),
        ("assistant", "It is tested.\n\nAll green."),
        ("user", "The tag <system-reminder> stays when I only name it."),
        ("assistant", "It does."),
    ]
    # a turn without a word leaves its action with the words before it
    assert [(a.tool, a.path) for a in messages[1].actions] == [
        ("Edit", "/home/dev/garden/beds.py"),
        ("Bash", ""),
    ]
    assert messages[4].project == "/home/dev/orchard"
    assert house.desk.archive.read("d2719c84") == (talk, messages)
    assert "line 28" in house.desk.results.problems[0]


def test_a_second_night_opens_no_file_and_changes_nothing(house: House) -> None:
    """Known files are not even looked into."""
    path = write_lines(house.claude / "p" / f"{V4}.jsonl", TALK)
    house.night()
    before = house.talks()
    path.chmod(0o000)
    assert ingest.pending(house.desk) == []
    path.chmod(0o600)
    house.touch(path, age=1)  # only its time differs
    assert house.night() == [Skipped("nothing new in it")]
    assert house.talks() == before
    assert ingest.pending(house.desk) == []


def test_a_killed_run_is_made_good(house: House) -> None:
    """Archived but not stored: the next run does it again and ends the same."""
    write_lines(house.claude / "p" / f"{V4}.jsonl", TALK)
    half = Conversation("3f2a9c10", "claude-code", V4, "Half", "", BEGAN, BEGAN)
    house.desk.archive.write(half, [])
    house.night()
    messages = house.desk.store.conversations.messages("3f2a9c10")
    assert [m.text for m in messages] == ["How deep do I sow?", "Three fingers deep."]
    assert house.desk.archive.read("3f2a9c10")[1] == messages


def test_a_grown_session_equals_one_read_at_once(build: Build) -> None:
    """Read while half written, then whole: the same messages at the same places, chunks due."""
    grown, clean = build(), build()
    entries = [*TALK, said("user", 2, "And how far apart?"), said("assistant", 3, "A hand.")]
    # the reply is cut between two of its blocks at first
    more = said("assistant", 3, "Or two.", uuid="second-block")
    for count in (1, 3, 4):
        write_lines(grown.claude / "p" / f"{V4}.jsonl", entries[:count])
        grown.night()
    store = grown.desk.store.conversations
    store.mark_chunked("3f2a9c10", store.get("3f2a9c10").updated_at)
    for house in (grown, clean):
        write_lines(house.claude / "p" / f"{V4}.jsonl", [*entries, more])
        house.night()
    assert grown.talks() == clean.talks()
    assert grown.texts()[V4][-1] == "A hand.\n\nOr two."
    assert grown.desk.archive.read("3f2a9c10") == clean.desk.archive.read("3f2a9c10")


def test_a_grown_file_is_read_on_from_its_last_turn(house: House) -> None:
    """What stands before the last turn is not read again: a bad line in it is told of once."""
    path = house.claude / "p" / f"{V4}.jsonl"
    turns = [said("user", 2 * n, f"How deep do beans go in bed {n}?") for n in range(200)]
    write_lines(path, [*turns[:100], "not JSON", *turns[100:199]])
    house.night()
    assert len(house.desk.results.problems) == 1
    offset = house.desk.store.conversations.files()[path].read_offset
    assert path.read_bytes()[offset:].count(b"\n") == 1
    with path.open("a") as file:
        file.write(json.dumps(turns[199]) + "\nagain not JSON\n")
    house.night()
    first, second = house.desk.results.problems
    assert "line 101 " in first and "line 202 " in second
    assert house.texts()[V4] == [f"How deep do beans go in bed {n}?" for n in range(200)]
    assert house.desk.store.conversations.get("3f2a9c10").title.endswith("bed 0?")


def test_a_rewritten_file_is_read_from_the_start(house: House) -> None:
    """Larger than before, yet not the old bytes and more: nothing new in it is missed."""
    path = house.claude / "p" / f"{V4}.jsonl"
    turns = [said("user", 2 * n, f"How deep do beans go in bed {n}?") for n in range(50)]
    write_lines(path, turns[1:])
    house.night()
    write_lines(path, turns)
    house.night()
    assert sorted(house.texts()[V4]) == sorted(
        f"How deep do beans go in bed {n}?" for n in range(50)
    )


def test_the_growth_series_of_the_samples(build: Build) -> None:
    """Each step put in the place of the one before equals a clean ingest of it."""
    data = samples()
    series = json.loads((data / "EXPECTED.json").read_text())["growth_series"]
    grown = build()
    for file in series["files"]:
        before = grown.talks()
        for house in (grown, clean := build()):
            house.put(data / file, "claude/p/session.jsonl", age=len(file))
            house.night()
        assert grown.talks() == clean.talks()
        assert len(grown.talks()) == series["sessions"]
        for session, messages in before.items():
            kept = [m.message_id for m in grown.talks()[session][: len(messages)]]
            assert kept == [m.message_id for m in messages]


def test_the_fork_pair_of_the_samples(house: House) -> None:
    """The fork holds only what is new in it, whichever entries its file repeats."""
    data = samples()
    pair = json.loads((data / "EXPECTED.json").read_text())["fork_pair"]
    for age, file in zip((2, 1), pair["files"], strict=True):
        house.put(data / file, f"claude/p/{Path(file).name}", age=age)
    first, second = house.night()
    assert isinstance(first, Done)
    assert isinstance(second, Done)
    own = list(house.talks().values())[1]
    assert [m.role for m in own].count(Role.USER) == 1
    # as parsed, turns without a word included
    old, new = (next(ClaudeCode([]).read(data / file)).utterances for file in pair["files"])
    copied = {(u.at, u.role, u.text) for u in old}
    roles = [u.role for u in new if (u.at, u.role, u.text) not in copied]
    assert (roles.count(Role.USER), roles.count(Role.ASSISTANT)) == (1, 23)
    whole = [m.message_id for said in house.talks().values() for m in said]
    assert len(whole) == len(set(whole))


def test_a_fork_holds_only_what_is_new(house: House) -> None:
    """pi copies entries with their ids, Claude Code with new session ids; both are told."""
    house.put(FIXTURES / "pi" / "tree.jsonl", "pi/tree.jsonl", age=9)
    house.put(FIXTURES / "pi" / "fork.jsonl", "pi/fork.jsonl", age=8)
    house.night()
    assert house.texts()["0195600a-7700-7c1e-8a02-e9d3a1b54c77"] == [
        "In the fork: pumpkins.",
        "Pumpkins need room.",
    ]
    claude = FIXTURES / "claude-code"
    for age, path in ((5, "d2719c84"), (4, "1c9d7e50")):
        (file,) = claude.glob(f"{path}*.jsonl")
        house.put(file, f"claude/p/{file.name}", age=age)
    house.night()
    assert house.texts()["1c9d7e50-6b82-4f3a-8e14-a5b6c7d8e9f0"] == [
        "In the fork: name the paths too.",
        "The paths have names.",
    ]


def test_a_copy_with_nothing_new_is_no_conversation(house: House) -> None:
    """A resumed session that says nothing more leaves no empty shell, and is not read again."""
    write_lines(house.claude / "p" / f"{V4}.jsonl", TALK)
    house.night()
    copy = "7a7a7a7a-5b6d-4e7f-8a9b-0c1d2e3f4a5b"
    write_lines(house.claude / "p" / f"{copy}.jsonl", TALK)
    assert [type(outcome) for outcome in house.night()] == [Skipped]
    assert list(house.texts()) == [V4]
    assert ingest.pending(house.desk) == []


def test_a_rewritten_file_changes_nothing(house: House) -> None:
    """pi migrates old files in place, with new ids for every entry."""
    house.put(FIXTURES / "pi" / "v1.jsonl", "pi/a.jsonl", age=9)
    house.night()
    before = house.talks()
    house.put(FIXTURES / "pi" / "v1-migrated.jsonl", "pi/a.jsonl", age=3)
    assert house.night() == [Skipped("nothing new in it")]
    assert house.talks() == before


def test_migration_of_the_samples_changes_nothing(house: House) -> None:
    """The same for a long real session and its official migration."""
    data = samples() / "pi"
    house.put(data / "v1-large-session.jsonl", "pi/a.jsonl", age=9)
    house.night()
    before = house.talks()
    house.put(data / "v3-migrated-large-session.jsonl", "pi/a.jsonl", age=3)
    house.night()
    assert house.talks() == before


def test_colliding_ids_lengthen_the_later_one(house: House) -> None:
    """Two sessions whose ids share their first digits are two conversations, both whole."""
    other = V4[:9] + "ffff" + V4[13:]
    for age, (name, text) in enumerate(((other, "second"), (V4, "first"))):
        path = write_lines(house.claude / "p" / f"{name}.jsonl", [said("user", age, text)])
        house.touch(path, age=age)
    house.night()
    store = house.desk.store.conversations
    assert store.get("3f2a9c10").session_id == V4
    assert store.get("3f2a9c10ffff").session_id == other
    assert house.texts() == {V4: ["first"], other: ["second"]}


def test_the_same_id_in_two_sources_is_two_conversations(house: House) -> None:
    """However long it is taken, the id is the same; the source tells them apart."""
    write_lines(house.claude / "p" / f"{V4}.jsonl", TALK)
    entry = {"type": "message", "message": {"role": "user", "content": "hello"}}
    write_lines(house.pi / "a.jsonl", [{"type": "session", "id": V4}, entry])
    house.night()
    assert len(house.desk.store.conversations.to_chunk()) == 2


def test_a_message_redacted_otherwise_is_not_doubled(house: House) -> None:
    """When more is taken out than last time, it is the same message and takes the new text."""
    entries = [*TALK, said("user", 2, "Ask jo@example.org.")]
    path = write_lines(house.claude / "p" / f"{V4}.jsonl", entries)
    house.night()
    stricter = house.desk.config.ingest.model_copy(update={"redact_emails": True})
    config = house.desk.config.model_copy(update={"ingest": stricter})
    house.desk = replace(house.desk, config=config)
    house.touch(path, age=1)
    house.night()
    expected = ["How deep do I sow?", "Three fingers deep.", "Ask [REDACTED:email]."]
    assert house.all_texts() == expected


# ------------------------------------------------------------------ left for later, left out


def test_a_session_at_work_is_left_for_the_next_night(build: Build) -> None:
    """Younger than quiet_minutes: not read, not remembered, and read when it has come to rest."""
    house = build(quiet_minutes=10)
    entries = [{**entry, "timestamp": NOW.isoformat()} for entry in TALK]
    path = write_lines(house.claude / "p" / f"{V4}.jsonl", entries)
    house.touch(path)
    house.clock[0] = NOW + timedelta(minutes=9)
    assert house.night() == [Skipped("still being written")]
    assert house.desk.store.conversations.files() == {}
    house.clock[0] = NOW + timedelta(minutes=10)
    assert [type(outcome) for outcome in house.night()] == [Done]


def test_the_policy_says_how_long_if_the_user_does_not(house: House) -> None:
    """The shipped number of quiet minutes holds by default."""
    quiet = house.desk.policy.ingest.quiet_minutes
    entries = [{**entry, "timestamp": NOW.isoformat()} for entry in TALK]
    house.touch(write_lines(house.claude / "p" / f"{V4}.jsonl", entries))
    house.clock[0] = NOW + timedelta(minutes=quiet - 1)
    assert [type(outcome) for outcome in house.night()] == [Skipped]
    house.clock[0] = NOW + timedelta(minutes=quiet)
    assert [type(outcome) for outcome in house.night()] == [Done]


@pytest.mark.parametrize(
    "pattern", ["/home/dev/garden", "*/garden", "/HOME/dev/*", "/home/dev", "~/garden"]
)
def test_excluded_projects_are_not_read(
    build: Build, monkeypatch: pytest.MonkeyPatch, pattern: str
) -> None:
    """By folder or pattern, with all below it, whatever the case; other projects are read."""
    monkeypatch.setenv("HOME", "/home/dev")
    house = build(exclude_projects=[pattern])
    inside = [*TALK, said("user", 5, "deeper", cwd="/home/dev/garden/beds")]
    write_lines(house.claude / "p" / f"{V4}.jsonl", inside)
    write_lines(house.claude / "q" / "other.jsonl", [said("user", 9, "apart", cwd="/srv/x")])
    house.night()
    assert house.all_texts() == ["apart"]
    assert ingest.pending(house.desk) == []


def test_our_own_sessions_are_not_read(house: House) -> None:
    """Those that open with the sentinel, and those held in the vault or the cache folder."""
    write_lines(house.claude / "p" / "a.jsonl", [said("user", 0, f"{SENTINEL}\nFold this.")])
    for n, folder in enumerate((house.desk.config.vault / "Meta", house.desk.config.cache_dir)):
        entry = {**said("user", n, f"own {n}", cwd=str(folder)), "sessionId": f"own-{n}"}
        write_lines(house.claude / "p" / f"b{n}.jsonl", [entry])
    house.night()
    assert house.texts() == {}


def test_sub_agents_are_read_only_when_asked_for(build: Build) -> None:
    """By default they are left out; asked for, each is a conversation of its own."""
    agent = "d2719c84-5a60-4b3e-9f18-7c0e6a1b2d35/subagents/agent-7f3a.jsonl"
    for asked, expected in ((False, []), (True, ["There are four beds."])):
        house = build(subagents=asked)
        house.put(FIXTURES / "claude-code" / agent, f"claude/p/{agent}")
        house.night()
        assert house.all_texts() == expected


# ------------------------------------------------------------------ what cannot be read


def test_an_unreadable_file_holds_nobody_up_and_is_tried_again(house: House) -> None:
    """Counted and told once; the newer ones are read; mended, it is read, though it is older."""
    broken = write_lines(house.claude / "p" / f"{V4}.jsonl", ["no transcript"])
    house.touch(broken, age=60)
    newer = "7a7a7a7a-5b6d-4e7f-8a9b-0c1d2e3f4a5b"
    house.touch(
        write_lines(house.claude / "p" / f"{newer}.jsonl", [said("user", 9, "newer")]), age=1
    )
    assert [type(outcome) for outcome in house.night()] == [Skipped, Done]
    assert [type(outcome) for outcome in house.night()] == [Skipped]
    assert house.desk.store.conversations.files()[broken].failures == 2
    assert len([p for p in house.desk.results.problems if str(broken) in p]) == 1
    house.touch(write_lines(broken, TALK), age=60)
    house.night()
    assert house.texts()[V4] == ["How deep do I sow?", "Three fingers deep."]
    assert house.desk.store.conversations.counts()["unreadable"] == 0


def test_a_file_that_vanishes_keeps_its_conversation(house: House) -> None:
    """Agents purge old transcripts; what was read stays. Gone between walk and read is a fault
    of that file alone."""
    path = write_lines(house.claude / "p" / f"{V4}.jsonl", TALK)
    jobs = ingest.pending(house.desk)
    path.unlink()
    (batch,) = ingest.work(jobs, house.desk)
    outcome = ingest.keep(batch, house.desk)
    assert isinstance(outcome, Skipped) and str(path) in outcome.reason
    assert house.desk.store.conversations.files()[path].failures == 1
    write_lines(path, TALK)
    house.night()
    path.unlink()
    assert house.night() == []
    assert list(house.texts()) == [V4]


def test_text_that_no_file_can_hold_is_stored_without_it(house: House) -> None:
    """NULs and lone surrogates, which JSON can carry."""
    line = json.dumps(said("user", 0, "a\0b\ud800c"))
    write_lines(house.claude / "p" / f"{V4}.jsonl", [line])
    house.night()
    assert house.texts() == {V4: ["ab?c"]}


def test_messages_without_a_time_are_kept_apart_and_in_place(house: House) -> None:
    """They take the time of the one before, and twice the same words are two messages."""
    entries = [said("user", 3, "first"), *({**said("user", n, "again")} for n in (4, 5))]
    for entry in entries[1:]:
        del entry["timestamp"]
    write_lines(house.claude / "p" / f"{V4}.jsonl", entries)
    house.night()
    (messages,) = house.talks().values()
    assert [m.text for m in messages] == ["first", "again", "again"]
    assert {m.at for m in messages} == {BEGAN + timedelta(minutes=3)}


ENTRIES = [said("user" if n % 2 == 0 else "assistant", n, f"turn number {n}") for n in range(8)]


@given(data=st.data())
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_damaged_transcripts_lose_no_sound_message(build: Build, data: st.DataObject) -> None:
    """Lines torn, doubled, corrupted, swapped: each line still whole is there once."""
    lines = [json.dumps(entry) for entry in ENTRIES]
    sound = set(range(len(lines)))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(lines) - 1))
        kind = data.draw(st.sampled_from(["cut", "double", "swap", "garbage", "glue"]))
        if kind == "cut":
            lines[at] = lines[at][: data.draw(st.integers(0, max(0, len(lines[at]) - 1)))]
        elif kind == "double":
            lines.insert(at, lines[at])
        elif kind == "swap":
            other = data.draw(st.integers(0, len(lines) - 1))
            lines[at], lines[other] = lines[other], lines[at]
        elif kind == "garbage":
            lines.insert(at, data.draw(st.text(max_size=30)).replace("\n", " "))
        elif at + 1 < len(lines):
            lines[at] += lines.pop(at + 1)
    whole = [json.dumps(entry) for entry in ENTRIES]
    sound = {n for n, line in enumerate(whole) if line in lines}
    house = build()
    path = house.claude / "p" / f"{V4}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes("".join(f"{line}\n" for line in lines).encode("utf-8", "replace"))
    house.night()
    texts = house.texts().get(V4, [])
    assert len(texts) == len(set(texts))
    assert {f"turn number {n}" for n in sound} <= set(texts)
    assert set(texts) <= {f"turn number {n}" for n in range(8)}


def test_a_title_is_one_short_line(house: House) -> None:
    """The first thing the user says stands for it, flat: a heading must not get into a citation."""
    text = "# Sowing\n\n## References\n" + "very " * 60 + "deep"
    write_lines(house.claude / "p" / f"{V4}.jsonl", [said("user", 0, text)])
    house.night()
    (talk,) = house.desk.store.conversations.to_chunk()
    assert talk.title.startswith("# Sowing ## References very very")
    assert len(talk.title) <= 120
    assert "\n" not in talk.title


def test_the_oldest_file_comes_first(house: House) -> None:
    """Order of work is time, over all sources."""
    for age, path in ((5, house.pi / "b.jsonl"), (9, house.claude / "p" / "a.jsonl")):
        house.touch(write_lines(path, TALK), age=age)
    house.touch(write_lines(house.pi / "c.jsonl", TALK), age=7)
    assert [job.path.name for job in ingest.pending(house.desk)] == [
        "a.jsonl",
        "c.jsonl",
        "b.jsonl",
    ]
