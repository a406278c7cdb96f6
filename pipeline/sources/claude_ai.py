"""Exports of claude.ai.

Every branch of a conversation is kept: an answer that was tried again was given all the same.
Thinking, tool results and attached files are dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pipeline.records import Role, Session, Utterance
from pipeline.sources import exports
from pipeline.sources.fields import blocks_of, mapping_of, text_of, time_of, trace

NAME = "claude-ai"
_ROLES = {"human": Role.USER, "assistant": Role.ASSISTANT}
_NOT_SAID = frozenset({"thinking", "redacted_thinking", "tool_use", "tool_result", "token_budget"})


def is_conversation(item: object) -> bool:
    """Whether this is how claude.ai exports a conversation."""
    return isinstance(item, dict) and "uuid" in item and "mapping" not in item


def _session(item: Mapping[str, object], path: Path) -> Session:
    messages = item.get("chat_messages")
    return Session(
        source=NAME,
        session_id=text_of(item.get("uuid")),
        path=path,
        title=text_of(item.get("name")) or text_of(item.get("title")),
        utterances=tuple(
            utterance
            for message in (messages if isinstance(messages, list) else ())
            if (utterance := _utterance(mapping_of(message)))
        ),
        read_offset=0,
    )


def _utterance(message: Mapping[str, object]) -> Utterance | None:
    role = _ROLES.get(text_of(message.get("sender")))
    if role is None:
        return None
    blocks = blocks_of(message.get("content"))
    said = [block for block in blocks if text_of(block.get("type")) not in _NOT_SAID]
    texts = [text_of(block.get("text")) for block in said]
    return Utterance(
        native_id=text_of(message.get("uuid")),
        role=role,
        at=time_of(message.get("created_at")),
        text="\n\n".join(filter(None, texts)) or ("" if blocks else text_of(message.get("text"))),
        actions=tuple(
            trace(block.get("name"), block.get("input"))
            for block in blocks
            if block.get("type") == "tool_use"
        ),
    )


class ClaudeAi(exports.Exports):
    """Exports of claude.ai."""

    name = NAME
    program = "claude.ai"
    is_conversation = staticmethod(is_conversation)
    session = staticmethod(_session)
