"""Exports of ChatGPT.

A conversation is a tree of messages; what is kept is the path that leads to the current one. Hidden
messages, thoughts, tool calls and their results are dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.records import Action, Role, Session, Utterance
from pipeline.sources import exports
from pipeline.sources.fields import mapping_of, text_of, time_of

NAME = "chatgpt"
_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT}
_NOT_SAID = frozenset(
    {
        "code", "execution_output", "thoughts", "reasoning_recap", "user_editable_context",
        "model_editable_context", "tether_browsing_display", "tether_quote", "system_error",
    }
)  # fmt: skip

Node = Mapping[str, Any]


def is_conversation(item: object) -> bool:
    """Whether this is how ChatGPT exports a conversation."""
    return isinstance(item, dict) and isinstance(item.get("mapping"), dict)


def _session(item: Mapping[str, Any], path: Path) -> Session:
    nodes = {key: mapping_of(node) for key, node in item["mapping"].items()}
    said = [
        utterance
        for node in _path_to(_current(item, nodes), nodes)
        if (utterance := _utterance(mapping_of(node.get("message"))))
    ]
    return Session(
        source=NAME,
        session_id=text_of(item.get("id")) or text_of(item.get("conversation_id")),
        path=path,
        title=text_of(item.get("title")),
        utterances=tuple(said),
        read_offset=0,
    )


def _current(item: Mapping[str, Any], nodes: Mapping[str, Node]) -> str:
    """The node the conversation stands at: as it says, else the newest that has no answer."""
    current = text_of(item.get("current_node"))
    if current in nodes:
        return current
    # by the links to parents: those to children are often missing
    parents = {text_of(node.get("parent")) for node in nodes.values()}
    leaves = [key for key in nodes if key not in parents]
    return max(leaves, key=lambda key: _created(nodes[key]), default="")


def _created(node: Node) -> float:
    at = time_of(mapping_of(node.get("message")).get("create_time"))
    return at.timestamp() if at else 0.0


def _path_to(key: str, nodes: Mapping[str, Node]) -> list[Node]:
    """From the root to this node; a link that goes in a circle ends the path."""
    path: list[Node] = []
    seen: set[str] = set()
    while key in nodes and key not in seen:
        seen.add(key)
        path.append(nodes[key])
        key = text_of(nodes[key].get("parent"))
    return path[::-1]


def _utterance(message: Mapping[str, Any]) -> Utterance | None:
    role = _ROLES.get(text_of(mapping_of(message.get("author")).get("role")))
    hidden = mapping_of(message.get("metadata")).get("is_visually_hidden_from_conversation")
    if role is None or hidden:
        return None
    called = text_of(message.get("recipient"))
    is_call = role is Role.ASSISTANT and called not in ("", "all")
    return Utterance(
        native_id=text_of(message.get("id")),
        role=role,
        at=time_of(message.get("create_time")),
        text="" if is_call else _text(mapping_of(message.get("content"))),
        actions=(Action(called),) if is_call else (),
    )


def _text(content: Mapping[str, Any]) -> str:
    if text_of(content.get("content_type")) in _NOT_SAID:
        return ""
    parts = content.get("parts")
    if not isinstance(parts, list):
        return text_of(content.get("text"))
    texts = [text_of(part) or text_of(mapping_of(part).get("text")) for part in parts]
    return "\n\n".join(filter(None, texts))


class ChatGpt(exports.Exports):
    """Exports of ChatGPT."""

    name = NAME
    program = "ChatGPT"
    is_conversation = staticmethod(is_conversation)
    session = staticmethod(_session)
