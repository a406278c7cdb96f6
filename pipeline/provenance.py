"""From a citation back to what was said: the cited message in its conversation."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pipeline.archive import Archive
from pipeline.errors import ConfigFault
from pipeline.records import Conversation, Message
from pipeline.redact import redact
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


def find(
    citation: str,
    context: int,
    store: Store | None,
    archive: Archive,
    redaction: Mapping[str, Any],
) -> Passage:
    """What `conv:HASH`, `conv:HASH#12` or `conv:HASH#12-14` cites; messages are counted from 1.

    context: so many messages on either side of the cited ones. Without a message number it is the
    whole conversation. The archive answers for what the store has lost. redaction: keyword
    arguments for `redact`, which looks once more, by the rules in force now. Raises ConfigFault
    when the citation cannot be read or names what is not there, or what was forgotten.
    """
    found = _CITATION.fullmatch(citation.strip())
    if found is None:
        raise ConfigFault(
            f"{citation!r} is no citation",
            mend="write it as it stands in a footnote: conv:HASH, or conv:HASH#MESSAGE",
        )
    conversation, messages = _cleaned(*_read(found["conv"].lower(), store, archive), redaction)
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


def _cleaned(
    conversation: Conversation, messages: Sequence[Message], redaction: Mapping[str, Any]
) -> tuple[Conversation, list[Message]]:
    def clean(text: str) -> str:
        return redact(text, **redaction).text

    return replace(conversation, title=clean(conversation.title)), [
        message._replace(
            text=clean(message.text),
            actions=tuple(action._replace(path=clean(action.path)) for action in message.actions),
        )
        for message in messages
    ]


def _read(conv: str, store: Store | None, archive: Archive) -> tuple[Conversation, list[Message]]:
    # what a killed `memory forget` has not taken out yet is there still, and is not told
    if store is not None and conv in store.forgetting.unfinished():
        raise ConfigFault(
            f"conversation conv:{conv} is being forgotten",
            mend="`memory forget` again takes out what is left of it",
        )
    known = store.conversations.find(conv) if store else None
    if known is not None and store is not None:
        return known, store.conversations.messages(conv)
    if archive.has(conv):
        return archive.read(conv)
    if store is not None and store.forgetting.convs([conv]):
        raise ConfigFault(
            f"you had conversation conv:{conv} forgotten",
            mend="only the agent's own transcript may still hold it",
        )
    raise ConfigFault(
        f"no conversation conv:{conv} was ever read here",
        mend="it may have been read on another machine that writes to this vault, or before this "
        "store was made: ask there; `memory sources` shows what is read here",
    )
