"""From a citation back to what was said: the cited message in its conversation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.archive import Archive
from pipeline.errors import ConfigFault
from pipeline.records import Conversation, Message
from pipeline.store import Store

_CITATION = re.compile(
    r"`?(?:conv:)?(?P<conv>[0-9a-f]{8,32})(?:[#,]?\s*(?:messages?\s*)?(?P<first>\d+)"
    r"(?:\s*[-–]\s*(?P<last>\d+))?)?`?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Passage:
    """Messages of a conversation. cited: positions of those meant, none for all of it."""

    conversation: Conversation
    messages: tuple[Message, ...]
    cited: frozenset[int]


def find(citation: str, context: int, store: Store | None, archive: Archive) -> Passage:
    """What `conv:HASH`, `conv:HASH#12` or `conv:HASH#12-14` cites; messages are counted from 1.

    context: so many messages on either side of the cited ones. Without a message number it is the
    whole conversation. The archive answers for what the store has lost. Raises ConfigFault when
    the citation cannot be read or names what is not there.
    """
    found = _CITATION.fullmatch(citation.strip())
    if found is None:
        raise ConfigFault(
            f"{citation!r} is no citation",
            mend="write it as it stands in a footnote: conv:HASH, or conv:HASH#MESSAGE",
        )
    conversation, messages = _read(found["conv"].lower(), store, archive)
    if found["first"] is None:
        return Passage(conversation, tuple(messages), frozenset())
    first, last = int(found["first"]) - 1, int(found["last"] or found["first"]) - 1
    cited = frozenset(m.position for m in messages if first <= m.position <= last)
    if not cited:
        raise ConfigFault(
            f"conversation {conversation.conv} has no message {found['first']}",
            mend=f"it has messages 1 to {len(messages)}",
        )
    shown = [m for m in messages if first - context <= m.position <= last + context]
    return Passage(conversation, tuple(shown), cited)


def lines(passage: Passage, when: Sequence[str]) -> list[str]:
    """The passage for a reader; `when` has a local time for each message. `>` marks the cited."""
    told = passage.conversation
    shown = [f"conv:{told.conv} · {told.source} · {told.title}"]
    if told.project:
        shown.append(told.project)
    for message, at in zip(passage.messages, when, strict=True):
        mark = ">" if message.position in passage.cited else " "
        shown += ["", f"{mark} {message.position + 1} {message.role} {at}"]
        shown += [f"{mark}   {line}" for line in message.text.splitlines()]
        shown += [f"{mark}   [{action.tool} {action.path}]" for action in message.actions]
    return shown


def _read(conv: str, store: Store | None, archive: Archive) -> tuple[Conversation, list[Message]]:
    known = store.conversations.find(conv) if store else None
    if known is not None and store is not None:
        return known, store.conversations.messages(conv)
    if archive.has(conv):
        return archive.read(conv)
    raise ConfigFault(
        f"no conversation conv:{conv} was ever read",
        mend="`memory sources` shows what is read; a footnote names what it cites",
    )
