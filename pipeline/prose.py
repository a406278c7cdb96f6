"""The inside of a paragraph: what is code, what is a mark or a link, and plain text made safe.

`plain` and `reading` are each other's inverse: text goes into an article through the one and
comes back, unchanged, through the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

_PUNCTUATION = r"[!-/:-@\[-`{-~]"
_TOKEN = re.compile(
    rf"""
      (?P<escape>\\{_PUNCTUATION})
    | (?P<code>`+)
    | (?P<mark>\[\^(?P<label>[^\]\[\s]+)\])
    | (?P<wikilink>!?\[\[(?P<target>[^\[\]|\r\n]*)(?:\|(?P<shown>[^\[\]\r\n]*))?\]\])
    """,
    re.VERBOSE,
)
# A code span ends with its paragraph or list item, whatever stray backtick comes later.
_INLINE_END = re.compile(r"(?>\r\n|\r|\n)[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]|(?=[\r\n])|\Z)")


@dataclass(frozen=True, slots=True)
class Inline:
    """A span with a meaning of its own. label: of a mark. target, shown: of a wikilink."""

    kind: Literal["escape", "code", "mark", "wikilink"]
    start: int
    end: int
    label: str = ""
    target: str = ""
    shown: str = ""


def inline(text: str, start: int = 0, end: int | None = None) -> Iterator[Inline]:
    """Escapes, code spans, footnote marks and wikilinks of text[start:end], left to right.

    Inside code there are no others. Embeds (`![[…]]`) count as wikilinks.
    """
    stop = len(text) if end is None else end
    unmatched: dict[int, int] = {}
    at = start
    while found := _TOKEN.search(text, at, stop):
        at = found.end()
        if found["code"]:
            ticks = len(found["code"])
            closed = None
            # a run without a partner is looked for once, not once per run: a page of stray
            # backticks would otherwise take quadratic time
            if at >= unmatched.get(ticks, 0):
                limit = _INLINE_END.search(text, at, stop)
                bound = limit.start() if limit else stop
                closed = re.compile(rf"(?<!`)`{{{ticks}}}(?!`)").search(text, at, bound)
                if closed is None:
                    unmatched[ticks] = bound
            if closed:
                at = closed.end()
                yield Inline("code", found.start(), at)
        elif found["escape"]:
            yield Inline("escape", found.start(), at)
        elif found["mark"]:
            yield Inline("mark", found.start(), at, label=found["label"])
        else:
            target = found["target"].strip()
            shown = found["shown"] if found["shown"] is not None else target
            yield Inline("wikilink", found.start(), at, target=target, shown=shown)


def flat(text: str) -> str:
    """`text` on one line, single spaces, without characters that are invisible or reorder it."""
    return " ".join(_UNSEEN.sub("", " ".join(text.split())).split())


def reading(raw: str) -> str:
    """What a reader sees of a line of Markdown: no marks, no escapes, links by their shown text.

    Code keeps its backticks and emphasis its signs: both carry meaning. White space is single.
    """
    parts = []
    at = 0
    for token in inline(raw):
        parts.append(raw[at : token.start])
        at = token.end
        if token.kind == "escape":
            parts.append(raw[token.end - 1])
        elif token.kind == "wikilink" and raw[token.start] != "!":
            parts.append(token.shown)
        elif token.kind != "mark":
            parts.append(raw[token.start : token.end])
    return " ".join("".join([*parts, raw[at:]]).split())


# ------------------------------------------------------------------ text made safe

# Controls, lone surrogates, bidirectional overrides and tag characters: they can show one thing
# and say another.
_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ud800-\udfff\ufeff\u202a-\u202e\u2066-\u2069"
    "\U000e0000-\U000e007f]"
)
_ESCAPED = re.compile(
    rf"""
      \\(?={_PUNCTUATION}|\Z)            # a backslash that would escape what follows
    | [\[\]<`$*]                         # links, embeds, footnotes, HTML, Templater, code, math
    | (?<![^\W_])_ | _(?![^\W_])         # emphasis; an underscore inside a word is none
    | ~(?=~) | (?<=~)~                   # struck out
    | =(?==) | (?<==)=                   # highlighted
    | %(?=%) | (?<=[%<{{])%              # Obsidian comments, templates
    | \{{(?=\{{) | (?<=\{{)\{{           # template variables
    | (?<!\S)\#(?!\d+(?:[\s.,;:!?)]|\Z)) # tags; a number is none
    | (?<!\S)\^(?=\w)                    # block ids
    | &(?=\#?\w+;)                       # entities
    | !(?=\Z)                            # an image, once a footnote mark follows
    | \A[-+>\#=~]                        # lists, quotes, headings, underlines, fences
    """,
    re.VERBOSE,
)
_NUMBERED = re.compile(r"\d{1,9}([.)])(?=\s|\Z)")
_URL = re.compile(r"https?://[^\s<>\[\]`\"\\]+")
_FREE_IN_URL = frozenset("_*~=&#^")
# Plugins run inline code that begins so (Dataview, Meta Bind), and Templater runs `<% %>` anywhere.
_RUNS = re.compile(r"`+\s*(?:\$?=|(?:INPUT|VIEW|BUTTON)\[)|<%")


def plain(text: str) -> str:
    """Plain text as one line of Markdown that shows exactly this text, and runs and links nothing.

    Balanced inline code stays code, unless a plugin would run it. `reading` gives `flat(text)`
    back.
    """
    line = flat(text)
    kept = [(start, end) for start, end in _code_spans(line) if not _RUNS.search(line[start:end])]
    free = [found.span() for found in _URL.finditer(line)]
    places = {found.start() for found in _ESCAPED.finditer(line)}
    if numbered := _NUMBERED.match(line):
        places.add(numbered.start(1))
    parts = []
    done = 0
    for index in sorted(places):
        bare = line[index] in _FREE_IN_URL and any(a < index < b for a, b in free)
        coded = any(a <= index < b for a, b in kept)
        if not bare and not coded:
            parts += [line[done:index], "\\"]
            done = index
    return "".join([*parts, line[done:]])


def _code_spans(line: str) -> Iterator[tuple[int, int]]:
    """Code spans of plain text, in which a backslash escapes nothing."""
    runs = list(re.finditer(r"`+", line))
    position = 0
    while position < len(runs):
        for later in range(position + 1, len(runs)):
            if len(runs[later].group()) == len(runs[position].group()):
                yield runs[position].start(), runs[later].end()
                position = later
                break
        position += 1
