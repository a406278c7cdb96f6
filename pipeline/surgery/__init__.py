"""A Draft applied to the text of an article.

Every edit becomes a splice at an offset of the text as it stands, so a block that no edit
addresses keeps its bytes, whatever is in it. Only a last line without a line end gains one when
something is put after it.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from datetime import date

from pipeline.markdown import parse
from pipeline.prose import flat, plain
from pipeline.records import Draft
from pipeline.surgery.operation import operate

__all__ = ["apply"]

_UPDATED = re.compile(
    r"(?<=[\r\n])updated:[ \t]*(?P<day>[^\r\n#]*?)(?P<comment>[ \t]+#[^\r\n]*)?"
    r"(?=(?:\r\n|\r|\n)(?![ \t]))"
)
_BARE_SCALAR = re.compile(r"[^\W\d_][\w.,()/+ -]*")
_YAML_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})


def apply(before: str | None, draft: Draft, *, today: str, paragraph_sentences: int) -> str:
    """The article's text with all edits of the draft made; `before` None makes a new article.

    today: ISO date for `updated:`, which never goes back. paragraph_sentences: a paragraph of ours
    grows to this many.
    The very same text comes back when the edits change nothing. Raises VaultFault when the draft
    addresses what is not there, or a section that holds no prose, when two edits want one sentence
    elsewhere, or when taking a sentence away would change what its neighbours mean.
    """
    page = parse(_skeleton(draft.title, today) if before is None else before)
    after = operate(page, draft, paragraph_sentences)
    if after == page.text:
        return after
    head = page.frontmatter
    return _UPDATED.sub(lambda found: _dated(found, today), head, count=1) + after[len(head) :]


def _dated(found: re.Match[str], today: str) -> str:
    """The line that dates the page. A day still to come stays: clocks are put back, and zones."""
    with suppress(ValueError):
        if date.fromisoformat(found["day"]) > date.fromisoformat(today):
            return found[0]
    return f"updated: {today}{found['comment'] or ''}"


def _skeleton(title: str, today: str) -> str:
    line = flat(title)
    bare = _BARE_SCALAR.fullmatch(line) and line.casefold() not in _YAML_WORDS
    scalar = line if bare else json.dumps(line, ensure_ascii=False)
    return (
        f"---\ntitle: {scalar}\naliases: []\ntags: []\ncreated: {today}\nupdated: {today}\n---\n"
        f"# {plain(line)}\n"
    )
