"""Splices: what is put into a text, or taken out of it, at offsets of the text as it stands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pipeline.markdown import Block, Kind, Page

# What is put in at one offset stands in this order.
INLINE, PARAGRAPHS, SECTIONS, LAST = 0, 1, 2, 3

_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class Splice:
    """Replace text[start:end]. A block splice stands on lines of its own.

    tight: no blank line before or after it, for items of a list and definitions.
    """

    start: int
    end: int
    rank: int
    text: str
    is_block: bool = False
    tight: bool = False


def spliced(page: Page, splices: Iterable[Splice]) -> str:
    """The page's text with all splices made, none of which may overlap another."""
    text, nl = page.text, page.newline
    out = ""
    at = 0
    fresh = False  # whether `out` ends with a block splice that needs a blank line after it
    for splice in sorted(splices, key=lambda s: (s.start, s.end, s.rank)):
        if splice.start > at:
            out += _parted(page, fresh, at) + text[at : splice.start]
            fresh = False
        if splice.is_block:
            if out and not _LINE_END.match(out[-1:]):
                out += nl
            if out and not splice.tight and not _ends_blank(out):
                # a line feed after a lone carriage return would make one line end of the two
                out += "\r" if out.endswith("\r") else nl
        out += splice.text
        # what is only taken out leaves a new block before it as much in need of a blank line
        fresh = (splice.is_block and not splice.tight) or (fresh and not splice.text)
        at = splice.end
    return out + (_parted(page, fresh, at) + text[at:] if at < len(text) else "")


def marks(labels: Iterable[str]) -> str:
    """Footnote marks with these labels."""
    return "".join(f"[^{label}]" for label in labels)


def joint(text: str) -> str:
    """What stands between a sentence and the next: nothing where the script needs no space."""
    return "" if text.endswith(("。", "！", "？", "｡")) else " "


def joined(texts: Sequence[str]) -> str:
    """Sentences, marks and all, as one run of text."""
    line = ""
    for text in texts:
        line += (joint(re.sub(r"(?:\[\^[^\]]*\])+\Z", "", line)) if line else "") + text
    return line


def last_solid(blocks: Sequence[Block]) -> Block | None:
    """The last block that is not blank."""
    return next((block for block in reversed(blocks) if block.kind is not Kind.BLANK), None)


def _parted(page: Page, fresh: bool, at: int) -> str:
    """The line end that keeps what follows at this offset apart from a new block."""
    line = _LINE_END.split(page.text[at:], maxsplit=1)[0]
    return page.newline if fresh and line.strip(" \t") else ""


def _ends_blank(text: str) -> bool:
    """Whether the last line of a text that ends with a line end is blank."""
    lines = _LINE_END.split(text)
    return len(lines) < 2 or not lines[-2].strip(" \t")
