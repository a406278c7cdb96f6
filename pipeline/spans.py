"""Spans that are nobody's to remember, in whatever source they stand.

Standard library only, and little of it, since hooks load it.
"""

from __future__ import annotations

import re
from collections import Counter

# encloses what this program injects into another agent's session: it must not read itself
CONTEXT_TAG = "nightly-memory-context"

# with attributes too, and a closing one with blanks; one that closes itself has nothing in it
_TAGS = re.compile(rf"<(/?)({CONTEXT_TAG}|private)(?:\s(?:[^<>]{{0,500}}[^<>/])?)?>", re.IGNORECASE)


def without_spans(text: str) -> str:
    """The text without `<private>…</private>` and without context that was injected by us.

    Spans may nest. One that is never closed goes on to the end: better a sentence too few than a
    secret too many. A closing tag that closes nothing is left as it stands.
    """
    parts: list[str] = []
    open_tags: list[str] = []
    held: Counter[str] = Counter()  # of each name; to look through them all takes hours of some
    done = 0
    for tag in _TAGS.finditer(text):
        closing, name = tag[1] == "/", tag[2].lower()
        if not closing:
            if not open_tags:
                parts.append(text[done : tag.start()])
            open_tags.append(name)
            held[name] += 1
        elif held[name]:
            while (last := open_tags.pop()) != name:
                held[last] -= 1
            held[name] -= 1
            done = tag.end()
    if not open_tags:
        parts.append(text[done:])
    return "".join(parts)
