"""How changes are told to the user, in the changelog and on the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import tzinfo

from pipeline.footnotes import short_title
from pipeline.prose import plain
from pipeline.records import Change
from pipeline.store import Store

CHANGELOG = "Meta/Changelog.md"
_CONVS_SHOWN = 3
_HANDED = "- handed part of the topic "


def change_line(change: Change, store: Store, zone: tzinfo | None) -> str:
    """One change as a line of a list: where, what came, and from which conversations."""
    if change.kind == "tidied":
        return f"- tidied [[{change.article}]]: {', '.join(_tidied(change))}"
    told = [counted(change.claims, "claim", "+" if change.kind == "updated" else "")]
    if change.citations:
        told.append(counted(change.citations, "citation") + " added")
    if change.superseded:
        told.append(f"{change.superseded} superseded")
    sections = [f"[[{change.article}#{section}]]" for section in dict.fromkeys(change.sections)]
    where = (
        ", ".join(sections) if change.kind == "updated" and sections else f"[[{change.article}]]"
    )
    sources = _sources(change.convs, store, zone)
    return f"- {change.kind} {where}: {', '.join(told)}" + (f" from {sources}" if sources else "")


def _tidied(change: Change) -> list[str]:
    told = [counted(change.merged, "repeat") + " merged"] if change.merged else []
    return told + (["lead refreshed"] if change.led else [])


def joined_line(one: str, other: str) -> str:
    """A topic that went into another one, as a line of a list."""
    return f"- joined the topic {plain(one)} to {plain(other)}"


def handed_line(one: str, other: str, chunks: int, staying: Sequence[str]) -> str:
    """Part of a topic that went over to another, as a line of a list. staying: why each other
    chunk of that part did not.
    """
    told = [f"{counted(chunks, 'chunk')} went over"]
    told += [f"{number} stayed ({plain(why)})" for why, number in Counter(staying).items()]
    return f"{_HANDED}{plain(one)} to {plain(other)}: {', '.join(told)}"


def tells_where(line: str, topic: str) -> bool:
    """Whether a line of a list tells where this topic went, or part of it, or part of another."""
    if line.startswith(joined_line(topic, "")):
        return True
    return line.startswith(f"{_HANDED}{plain(topic)} to ") or (
        line.startswith(_HANDED) and f" to {plain(topic)}: " in line
    )


def said(reasons: Sequence[str]) -> str:
    """Reasons quote what was refused: as plain text, which runs and links nothing."""
    return plain("; ".join(reasons))


def counted(number: int, noun: str, sign: str = "") -> str:
    """ "3 claims", "1 claim"."""
    return f"{sign}{number} {noun}" + ("" if number == 1 else "s")


def _sources(convs: Sequence[str], store: Store, zone: tzinfo | None) -> str:
    """The conversations by name; "" where all of them are forgotten."""
    named = []
    for conv in convs[:_CONVS_SHOWN]:
        conversation = store.conversations.find(conv)
        if conversation is None:  # its part of the archive is lost
            named.append(f"`conv:{conv}`")
            continue
        date = conversation.started_at.astimezone(zone).date().isoformat()
        title = plain(short_title(conversation.title))
        named.append(f'`conv:{conv}` ({date}, {conversation.source}, "{title}")')
    if more := len(convs) - _CONVS_SHOWN:
        named += [f"{more} more"] if more > 0 else []
    return ", ".join(named)
