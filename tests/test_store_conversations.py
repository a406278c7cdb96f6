"""The store of conversations: whole or not at all, and honest about what was read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from pipeline.errors import StoreFault
from pipeline.records import Action, Conversation, Message, Role, Span
from pipeline.sqlite import connect, migrate
from pipeline.store import Store
from pipeline.store.conversations import Conversations, FileState
from pipeline.store.times import from_text, to_text

SQL = Path(__file__).parents[1] / "pipeline" / "sql" / "memory"
BEGUN = datetime(2024, 3, 1, 9, 0, tzinfo=UTC)
NOW = datetime(2024, 3, 2, 3, 0, tzinfo=UTC)
TALK = Conversation("aaaa1111", "pi", "s-1", "A title", "/home/u/p", BEGUN, BEGUN)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Conversations]:
    connection = connect(tmp_path / "memory.sqlite")
    migrate(connection, SQL)
    yield Conversations(connection)
    connection.close()


def said(position: int, conv: str = "aaaa1111", text: str = "words") -> Message:
    return Message(
        message_id=f"{conv}-{position}",
        conv=conv,
        position=position,
        role=Role.USER if position % 2 == 0 else Role.ASSISTANT,
        at=BEGUN + timedelta(minutes=position),
        text=text,
        actions=(Action("Edit", "/home/u/p/ä.py"),) if position % 2 else (),
        project="/home/u/p",
    )


def file(conv: str = "aaaa1111", size: int = 10) -> FileState:
    return FileState(Path("/t/one.jsonl"), "pi", size, 1_000, size, conv)


def test_times_sort_as_text_and_come_back() -> None:
    """Times are stored in UTC to the millisecond and read back as the same instant."""
    eastern = datetime(2024, 1, 1, 1, 0, 0, 999_900, tzinfo=timezone(timedelta(hours=2)))
    assert to_text(eastern) == "2023-12-31T23:00:00.999Z"
    assert from_text("2023-12-31T23:00:00.999Z") == datetime(
        2023, 12, 31, 23, 0, 0, 999_000, tzinfo=UTC
    )
    with pytest.raises(ValueError, match="zone"):
        to_text(datetime(2024, 1, 1))


def test_what_was_saved_is_read_back(store: Conversations) -> None:
    """A conversation, its messages with roles, times, actions and projects, and its file."""
    talk = replace(TALK, updated_at=BEGUN + timedelta(minutes=2))
    store.save(talk, [said(0), said(1), said(2)], file(), archived_at=NOW)
    assert store.get("aaaa1111") == talk
    assert store.by_session("pi", "s-1") == talk
    assert store.by_session("claude-code", "s-1") is None
    assert store.find("bbbb2222") is None
    assert store.messages("aaaa1111") == [said(0), said(1), said(2)]
    assert store.messages("aaaa1111", 1, 1) == [said(1)]
    assert store.messages("aaaa1111", first=1) == [said(1), said(2)]
    assert store.files() == {Path("/t/one.jsonl"): file()}
    assert store.watermarks() == {"pi": BEGUN + timedelta(minutes=2)}
    assert store.find_message_ids(["aaaa1111-1", "nowhere"]) == {"aaaa1111-1": "aaaa1111"}
    assert store.counts() == {"conversations": 1, "messages": 3, "files": 1, "unreadable": 0}


def test_many_ids_are_looked_up_at_once(store: Conversations) -> None:
    """More ids than one SQLite statement takes are no trouble."""
    store.save(TALK, [said(0)], file(), archived_at=NOW)
    ids = [f"x{number}" for number in range(40_000)] + ["aaaa1111-0"]
    assert store.find_message_ids(ids) == {"aaaa1111-0": "aaaa1111"}


def test_an_unknown_conversation_is_a_fault(store: Conversations) -> None:
    """Asking for a conversation that is not there names it."""
    with pytest.raises(StoreFault, match="ffff0000"):
        store.get("ffff0000")


def test_a_message_of_another_conversation_is_never_stolen(store: Conversations) -> None:
    """Saving it again elsewhere fails, and nothing of that save is left behind."""
    store.save(TALK, [said(0)], file(), archived_at=NOW)
    thief = replace(TALK, conv="bbbb2222", session_id="s-2")
    stolen = said(0)._replace(conv="bbbb2222")
    with pytest.raises(StoreFault, match="bbbb2222"):
        store.save(thief, [stolen], replace(file(), path=Path("/t/two.jsonl")), archived_at=NOW)
    assert store.find("bbbb2222") is None
    assert list(store.files()) == [Path("/t/one.jsonl")]
    assert store.find_message_ids(["aaaa1111-0"]) == {"aaaa1111-0": "aaaa1111"}


def test_a_conversation_is_chunked_again_only_when_it_grew(store: Conversations) -> None:
    """It is due when new, not after chunking, and due again with any message it gains."""
    store.save(TALK, [said(0)], file(), archived_at=NOW)
    assert [c.conv for c in store.to_chunk()] == ["aaaa1111"]
    store.mark_chunked("aaaa1111", TALK.updated_at)
    assert store.to_chunk() == []
    store.save(TALK, [], file(size=11), archived_at=NOW)
    assert store.to_chunk() == []
    # a message that is no newer than those chunked: a branch of the tree, or a late file
    store.save(TALK, [said(1)._replace(at=BEGUN)], file(size=12), archived_at=NOW)
    assert [c.conv for c in store.to_chunk()] == ["aaaa1111"]
    store.mark_chunked("aaaa1111", TALK.updated_at)
    store.save(replace(TALK, updated_at=said(2).at), [said(2)], file(size=13), archived_at=NOW)
    assert [c.conv for c in store.to_chunk()] == ["aaaa1111"]


def test_conversations_come_oldest_first_and_from_a_day_on(store: Conversations) -> None:
    """Chunking starts with the conversation begun first; `since` goes by the last message."""
    later = Conversation(
        "bbbb2222", "pi", "s-2", "", "", BEGUN + timedelta(days=1), BEGUN + timedelta(days=2)
    )
    store.save(later, [said(0, "bbbb2222")], file("bbbb2222"), archived_at=NOW)
    store.save(TALK, [said(0)], file(), archived_at=NOW)
    assert [c.conv for c in store.to_chunk()] == ["aaaa1111", "bbbb2222"]
    assert [c.conv for c in store.to_chunk(Span(since=BEGUN + timedelta(days=2)))] == ["bbbb2222"]


def test_a_failed_read_is_counted_and_forgotten_after_a_good_one(store: Conversations) -> None:
    """Failures add up with the last reason; what an earlier read knew stays until it succeeds."""
    path = Path("/t/one.jsonl")
    store.record_failure(path, "pi", "permission denied")
    assert store.files()[path].size != 10
    store.record_failure(path, "pi", "is gone")
    assert (store.files()[path].failures, store.files()[path].last_error) == (2, "is gone")
    assert store.counts()["unreadable"] == 1
    store.save(TALK, [said(0)], file(), archived_at=NOW)
    assert store.files()[path] == file()
    store.record_failure(path, "pi", "is gone")
    assert store.files()[path] == replace(file(), failures=1, last_error="is gone")


def test_the_watermark_never_goes_back(store: Conversations) -> None:
    """A late file with old messages leaves the watermark at the newest message read."""
    store.save(TALK, [said(5)], file(), archived_at=NOW)
    late = replace(TALK, conv="bbbb2222", session_id="s-2")
    store.save(late, [said(0, "bbbb2222")], file("bbbb2222"), archived_at=NOW)
    assert store.watermarks() == {"pi": said(5).at}


def test_stored_words_are_found_by_search(store: Conversations, tmp_path: Path) -> None:
    """The full-text index follows new and replaced messages."""
    store.save(TALK, [said(0, text="purple heron")], file(), archived_at=NOW)
    store.save(TALK, [said(0, text="grey heron")], file(), archived_at=NOW)

    other = connect(tmp_path / "memory.sqlite")
    query = "SELECT count(*) FROM messages_fts WHERE messages_fts MATCH ?"
    hits = [other.execute(query, (word,)).fetchone()[0] for word in ("purple", "grey")]
    other.close()
    assert hits == [0, 1]


def test_the_index_holds_what_the_table_holds(tmp_path: Path) -> None:
    """New conversations, one that goes on, and one of whose messages some are replaced."""
    store = Store(tmp_path / "memory.sqlite")
    other = replace(TALK, conv="bbbb2222", session_id="s-2")
    for conversation, messages in (
        (TALK, [said(0, text="purple heron"), said(1, text="a nest")]),
        (other, [said(0, "bbbb2222", "grey heron")]),
        (TALK, [said(1, text="two nests"), said(2, text="an egg"), said(3, text="a reed")]),
        (TALK, []),
    ):
        store.conversations.save(conversation, messages, None, archived_at=NOW)
        assert store.soundness.indexes_out_of_step() == []
    store.close()
