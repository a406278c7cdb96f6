"""JSON text changed in one place: a part cut out or put in, every other byte as it was.

Positions are offsets into the text. What is no JSON raises ValueError or IndexError.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


class Part(NamedTuple):
    """A member of an object or an item of a list. name: "" for an item. start: of the whole."""

    name: str
    start: int
    value: int
    end: int


def parts(text: str, at: int) -> tuple[list[Part], int]:
    """The parts of the object or list that opens at `at`, and where it closes."""
    named = text[at] == "{"
    found = []
    at = _past(text, at + 1)
    while text[at] not in "}]":
        start, name = at, ""
        if named:
            name, at = _DECODER.raw_decode(text, at)
            at = _past(text, at)
            if text[at] != ":":
                raise ValueError("a member has no value")
            at = _past(text, at + 1)
        value = at
        _, at = _DECODER.raw_decode(text, at)
        found.append(Part(name, start, value, at))
        at = _past(text, at)
        if text[at] == ",":
            at = _past(text, at + 1)
    return found, at


def without(text: str, at: int, index: int) -> str:
    """The text without one part of what opens at `at`, and without the comma that parts it off."""
    found, close = parts(text, at)
    part = found[index]
    if index + 1 < len(found):
        return text[: part.start] + text[found[index + 1].start :]
    if index:
        return text[: found[index - 1].end] + text[part.end :]
    return text[: at + 1] + text[close:]


def with_one_more(text: str, at: int, entry: str, step: str, depth: int) -> str:
    """The text with a part more at the end of what opens at `at`, in lines that end as its own do.

    entry: the part as `json.dumps` writes it with `step` as indentation. depth: how deep its parts
    stand, 1 for those of the outermost.
    """
    found, close = parts(text, at)
    newline = "\r\n" if "\r\n" in text else "\n"
    pad = newline + step * depth
    shifted = entry.replace("\n", pad)
    if not found:
        return f"{text[: at + 1]}{pad}{shifted}{newline}{step * (depth - 1)}{text[close:]}"
    end = found[-1].end
    return f"{text[:end]},{pad}{shifted}{text[end:]}"


def _past(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at
