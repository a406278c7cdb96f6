"""Private keys: blocks of lines between two edges."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pipeline.redact.rules import Span, mark

_EDGE = re.compile(
    r"-{4,5} ?(?P<what>BEGIN|END) (?:[A-Z0-9]{2,10} ){0,4}PRIVATE KEY(?: BLOCK)? ?-{4,5}"
)
_BODY = re.compile(r"[A-Za-z0-9+/]{16}")
_TAIL = re.compile(r"(?:(?:\s|\\[nr]|[A-Za-z-]{3,20}: [^\n]{1,80}\n)*[A-Za-z0-9+/=]{16,})+")
_PUTTY = re.compile(r"Private-Lines: \d{1,4}(?P<body>(?:\s{1,4}[A-Za-z0-9+/=]{4,80}){1,400})")
KIND = "private-key"


def private_keys(text: str) -> Iterator[Span]:
    """A block goes from edge to edge; one without an end goes as far as it looks like one."""
    if "PRIVATE KEY" not in text and "Private-Lines" not in text:
        return
    edges = list(_EDGE.finditer(text))
    for edge, following in zip(edges, [*edges[1:], None][: len(edges)], strict=True):
        if edge["what"] != "BEGIN":
            continue
        if following is not None and following["what"] == "END":
            if _BODY.search(text, edge.end(), following.start()):
                yield edge.start(), following.end(), KIND
        elif tail := _TAIL.match(text, edge.end()):
            yield edge.start(), tail.end(), KIND
    if not edges:
        for block in _PUTTY.finditer(text):
            yield *block.span("body"), KIND


def without_private_keys(text: str) -> str:
    """The text with a mark in the place of each; for a text that is to be cut, edges and all."""
    parts: list[str] = []
    done = 0
    for start, end, kind in private_keys(text):
        parts += (text[done:start], mark(kind))
        done = end
    return "".join((*parts, text[done:]))
