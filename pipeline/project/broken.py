"""JSON that is cut off, or nested deeper than can be read: what comes before the break.

Only what arrives like that needs it, so hooks load it then alone.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import Any

_TOKEN = re.compile(r'"[^"\\]*(?:\\(?:u[0-9a-fA-F]{4}|[^u])[^"\\]*)*("?)|[\[\]{}]', re.DOTALL)
_CLOSING = {"{": "}", "[": "]"}
_LOOK = 500_000  # characters of the field that is broken


def before_the_break(text: str) -> dict[str, Any]:
    """The object that begins here: its whole fields, and what there is of the broken one.

    Raises ValueError when there is nothing of even one field.
    """
    decoder = json.JSONDecoder(strict=False)
    found: dict[str, Any] = {}
    name, at = None, 1
    try:
        while text[0] == "{":
            at = _past(text, at, ", \t\r\n")
            name, at = decoder.raw_decode(text, at)
            at = _past(text, at, ": \t\r\n")
            found[str(name)], at = decoder.raw_decode(text, at)
            name = None
    except (ValueError, IndexError, RecursionError):
        pass
    if name is not None:
        with suppress(ValueError, RecursionError):
            found[str(name)], _ = decoder.raw_decode(_closed(text[at : at + _LOOK]))
    if not found:
        raise ValueError("the event is no JSON object")
    return found


def _closed(text: str) -> str:
    """The text with an unfinished string ended, and then every object and list."""
    missing: list[str] = []
    for token in _TOKEN.finditer(text):
        sign = token[0][0]
        if sign in _CLOSING:
            missing.append(_CLOSING[sign])
        elif sign != '"':
            del missing[-1:]
            if not missing:  # whole, and broken in what is in it
                break
        elif not token[1]:
            text = text[: token.end()] + '"'  # without half of an escape
            break
    return text + "".join(reversed(missing))


def _past(text: str, at: int, signs: str) -> int:
    while text[at] in signs:
        at += 1
    return at
