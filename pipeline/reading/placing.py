"""What was read, placed among what is known: new messages, and in which conversation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace

from pipeline.desk import Desk
from pipeline.identity import conv_id
from pipeline.reading.leaving import most_frequent
from pipeline.reading.session import Reading
from pipeline.records import Conversation, Message, Role

_LENGTHS = (8, 12, 15)  # of a conversation's id; the longer ones for those that collide


@dataclass(frozen=True, slots=True)
class Placed:
    """A conversation as it is to be kept.

    messages: all of them, in order. fresh: the new ones. changed: those that stood there before and
    now read otherwise. new: the conversation was not known before.
    """

    conversation: Conversation
    messages: list[Message]
    fresh: list[Message]
    changed: list[Message]
    new: bool


def place(reading: Reading, desk: Desk) -> Placed | str:
    """Where the reading belongs; the id of its conversation if it says nothing new.

    "" if all of it stands in other conversations. A message stays where it first came, positions
    never move.
    """
    store = desk.store.conversations
    own = store.by_session(reading.job.source, reading.session_id)
    stored = store.messages(own.conv) if own else []
    fresh, changed = _news(reading, stored, desk)
    if own is None and not fresh:
        return ""
    conv = own.conv if own else _free_conv(reading, desk)
    start = len(stored)
    fresh = [_at(conv, start + n, message) for n, message in enumerate(fresh)]
    everything = {m.position: m for m in (*stored, *changed, *fresh)}
    messages = [everything[position] for position in sorted(everything)]
    conversation = _conversation(conv, reading, messages)
    if own is not None and reading.resumed:
        conversation = replace(conversation, title=reading.title or own.title)
    if conversation == own and not fresh and not changed:
        return conv
    return Placed(conversation, messages, fresh, changed, new=own is None)


def _news(
    reading: Reading, stored: Sequence[Message], desk: Desk
) -> tuple[list[Message], list[Message]]:
    """What was read and is new, and stored messages of this conversation as they read now.

    A stored message that is no longer in the file, where another by the same speaker at the same
    time now stands, is that one: it was read while its last blocks were still being written, or
    redaction has learnt since. What stands before the place where a resumed reading began is not
    looked at: it is in the file all the same.
    """
    messages = reading.messages
    known = desk.store.conversations.find_message_ids(m.message_id for m in messages)
    fresh = [m for m in messages if m.message_id not in known] if known else list(messages)
    if not stored:
        return fresh, []
    in_file = {m.message_id: m for m in messages}
    moments = Counter((m.role, m.at) for m in fresh)
    by_moment = {(m.role, m.at): m for m in fresh}
    rewritten = []
    for old in stored[_first_read(stored, in_file) if reading.resumed else 0 :]:
        now = in_file.get(old.message_id)
        if now is None and moments[old.role, old.at] == 1:
            now = by_moment[old.role, old.at]
            moments[old.role, old.at] = 0
            fresh.remove(now)
        if now and (now.message_id, now.actions) != (old.message_id, old.actions):
            rewritten.append(_at(old.conv, old.position, now))
    return fresh, rewritten


def _first_read(stored: Sequence[Message], in_file: Container[str]) -> int:
    """The index of the first stored message that a resumed reading may have met again.

    It began with the person's last turn; where that stands no more as it did, only what follows it
    may be another now.
    """
    known = next((n for n, old in enumerate(stored) if old.message_id in in_file), None)
    if known is not None:
        return known
    asked = [n for n, old in enumerate(stored) if old.role is Role.USER]
    return asked[-1] if asked else 0


def _at(conv: str, position: int, m: Message) -> Message:
    if m.position == position and m.conv == conv:
        return m
    # spelled out, since every message comes by here and `replace` takes three times as long
    return Message(m.message_id, conv, position, m.role, m.at, m.text, m.actions, m.project)


def _free_conv(reading: Reading, desk: Desk) -> str:
    """The session's id, longer if a session that came earlier has it."""
    for length in _LENGTHS:
        conv = conv_id(reading.session_id, length)
        if desk.store.conversations.find(conv) is None:
            return conv
    # the same session id in two sources
    return conv_id(f"{reading.job.source}/{reading.session_id}", _LENGTHS[-1])


def _conversation(conv: str, reading: Reading, messages: Sequence[Message]) -> Conversation:
    return Conversation(
        conv=conv,
        source=reading.job.source,
        session_id=reading.session_id,
        title=reading.title,
        project=most_frequent(m.project for m in messages),
        started_at=min(m.at for m in messages),
        updated_at=max(m.at for m in messages),
    )
