"""Records by the handful, for tests that need a store with something in it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pipeline.identity import chunk_id, message_id
from pipeline.records import Chunk, Conversation, Message, Role
from pipeline.store import Store
from pipeline.store.conversations import FileState

START = datetime(2001, 2, 3, 4, 5, 6, tzinfo=UTC)


def conversation(conv: str, *, start: datetime = START, length: int = 4) -> Conversation:
    """A conversation of `length` messages a minute apart."""
    return Conversation(
        conv=conv,
        source="pi",
        session_id=f"session-{conv}",
        title=f"Title of {conv}",
        project="/home/somebody/project",
        started_at=start,
        updated_at=start + timedelta(minutes=length - 1),
    )


def messages(conv: str, texts: Sequence[str], *, start: datetime = START) -> list[Message]:
    """User and assistant in turn, a minute apart."""
    found = []
    for position, text in enumerate(texts):
        role = Role.ASSISTANT if position % 2 else Role.USER
        at = start + timedelta(minutes=position)
        identity = message_id("pi", at, role, f"{conv} {text}", "")
        found.append(Message(identity, conv, position, role, at, text))
    return found


def fill(store: Store, conv: str, texts: Sequence[str], *, start: datetime = START) -> None:
    """Save a conversation with these messages."""
    store.conversations.save(
        conversation(conv, start=start, length=len(texts)),
        messages(conv, texts, start=start),
        FileState(Path(f"/sessions/{conv}.jsonl"), "pi", 1, 1, 1, conv),
        archived_at=start,
    )


def chunk(
    store: Store, conv: str, first: int, last: int, *, ordinal: int = 0, keep: bool = True
) -> Chunk:
    """A chunk over stored messages (not saved)."""
    span = store.conversations.messages(conv, first=first, last=last)
    return Chunk(
        id=chunk_id([message.message_id for message in span]),
        conv=conv,
        ordinal=ordinal,
        first=first,
        last=last,
        label=f"label of {conv} {first}",
        keep=keep,
    )


def opened(tmp_path: Path) -> Store:
    """A fresh store."""
    return Store(tmp_path / "cache" / "memory.sqlite")
