"""What in a page only its owner can settle: nothing is written there until then.

A sentence that is put between git's conflict markers is gone with the side that loses, and one
beside a footnote that is defined twice may cite the wrong conversation.
"""

from __future__ import annotations

import re

from pipeline.footnotes import contradicted
from pipeline.markdown import Kind, parse

_MARKER = re.compile(r"^\ufeff?(?P<sign><|=|>)(?P=sign){6}(?: |[ \t]*\r?$)", re.MULTILINE)
_CONFLICT = re.compile("<=+>")  # the markers' first signs; "=" may also underline a heading


def unsettled(text: str) -> str:
    """Why the page with this text must be left alone, "" for no reason."""
    return conflict(text) or contradiction(text)


def conflict(text: str) -> str:
    """That the page was committed with git's conflict markers in it; "" when it was not.

    In code they are quoted.
    """
    markers = list(_MARKER.finditer(text))
    for found in _CONFLICT.finditer("".join(marker["sign"] for marker in markers)):
        start, end = markers[found.start()].start(), markers[found.end() - 1].end()
        if not _is_code(text, start, end):
            return f"has conflicts that are not settled, from line {_line(text, start)} on"
    return ""


def contradiction(text: str) -> str:
    """That footnotes of the page are defined twice, as after a merge that kept both sides."""
    told = [
        f"{label} in lines {' and '.join(str(_line(text, start)) for start in starts)}"
        for label, starts in contradicted(text).items()
    ]
    return f"has different footnotes under one number: {', '.join(told)}" if told else ""


def _is_code(text: str, start: int, end: int) -> bool:
    """Whether all of it stands in one block of code or HTML."""
    return any(
        block.kind in (Kind.FENCE, Kind.HTML) and block.start <= start and end <= block.end
        for block in parse(text).blocks
    )


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1
