"""Gate 9: where an article goes and what it is called."""

from __future__ import annotations

import json
import unicodedata

import regex

from pipeline.gates.comparing import Write
from pipeline.gates.content import UNSEEN
from pipeline.prose import flat
from pipeline.spelling import folded

_NOT_PORTABLE = regex.compile(r"[/\\:#^\[\]|*?\"<>\p{Cc}\p{Cs}]")
_RESERVED = regex.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", regex.IGNORECASE)
_LONGEST_BYTES = 120
_NAMED = regex.compile(r"^(?:aliases|tags):(?![ \t]*\[\][ \t]*$)", regex.MULTILINE)
_TITLE = regex.compile(r"^title:[ \t]*(?P<title>[^\r\n]*?)[ \t]*$", regex.MULTILINE)


def named_well(write: Write) -> list[str]:
    """9: inside articles/, a portable name, unique when case is ignored, the title as drafted.

    An article that is there already keeps the name its user gave it, whatever that is.
    """
    draft, taken = write.draft, write.context.taken_stems
    name = draft.article
    if not name or name in (".", "..") or regex.search(r"[/\\\0]", name):
        return [f"“{name}” is not a name inside articles/"]
    if draft.base_hash:
        return [] if name in taken else [f"there is no article “{name}” to change"]
    reasons = []
    if UNSEEN.search(name):
        reasons.append(f"“{name}” holds hidden characters")
    if _NOT_PORTABLE.search(name) or name.startswith((".", " ")) or name.endswith((".", " ")):
        reasons.append(f"“{name}” is no file name on every system")
    if unicodedata.normalize("NFC", name) != name:
        reasons.append(f"“{name}” is not in Unicode's composed form")
    if _RESERVED.fullmatch(name) or len(name.encode("utf-8", "replace")) > _LONGEST_BYTES:
        reasons.append(f"“{name}” is reserved or too long for a file name")
    if folded(name) in {folded(stem) for stem in taken}:
        reasons.append(f"there is an article “{name}” already")
    return reasons + _title_faults(write)


def _title_faults(write: Write) -> list[str]:
    page = write.pages.after
    wanted = flat(write.draft.title)
    reasons = []
    if not wanted:
        reasons.append("the new article has no title")
    if page.title is None or page.title.heading_text != wanted:
        reasons.append(f"the heading of the new article is not its title “{wanted}”")
    given = _TITLE.search(page.frontmatter)
    if given is None or _unquoted(given["title"]) != wanted:
        reasons.append(f"the frontmatter of the new article lacks its title “{wanted}”")
    if _NAMED.search(page.frontmatter):
        reasons.append("the new article has aliases or tags that nobody gave it")
    return reasons


def _unquoted(scalar: str) -> str:
    if not scalar.startswith('"'):
        return scalar
    try:
        return str(json.loads(scalar))
    except ValueError:
        return scalar
