"""Mutators: what they are, and how they find what there is to damage on a page.

A mutator takes a whole night's write and gives a damaged page in place of the right one, or None
where the page has nothing to damage in this way.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from benchmarks.gate_corpus.cases import Expected, Night
from pipeline.footnotes import citations
from pipeline.markdown import Block, Kind, Page, Sentence, parse

read = lru_cache(maxsize=256)(parse)  # pages are looked at again and again

Mutator = Callable[[Night], "str | None"]
MUTATORS: list[tuple[str, Expected, Mutator]] = []


def damage(kind: str, expected: Expected = Expected.REFUSED) -> Callable[[Mutator], Mutator]:
    """Register a mutator under the kind it counts in."""

    def register(mutator: Mutator) -> Mutator:
        MUTATORS.append((kind, expected, mutator))
        return mutator

    return register


def ours_of(page: Page) -> list[tuple[Block, Sentence]]:
    """Cited sentences of paragraphs."""
    known = citations(page)
    return [
        (block, sentence)
        for block in page.blocks
        if block.kind is Kind.PARAGRAPH
        for sentence in block.sentences
        if any(label in known for label in sentence.marks)
    ]


def standing_of(made: Night) -> list[tuple[int, int, str]]:
    """Start, end and raw text of our sentences that stood there before, on the page after."""
    old = {sentence.text for _, sentence in ours_of(read(made.before))}
    return [one for one in spans_of(made.after) if parse_text(one[2]) in old]


def fresh_of(made: Night) -> list[tuple[int, int, str]]:
    """The same of new sentences."""
    old = {sentence.text for _, sentence in ours_of(read(made.before))}
    return [one for one in spans_of(made.after) if parse_text(one[2]) not in old]


def spans_of(text: str) -> list[tuple[int, int, str]]:
    """Start, end and raw text of our sentences."""
    found = []
    for block, sentence in ours_of(read(text)):
        raw = block.raw[sentence.start : sentence.end]
        start = block.start + sentence.end - len(raw.lstrip())
        found.append((start, block.start + sentence.end, raw.lstrip()))
    return found


def parse_text(raw: str) -> str:
    """What a reader sees of one sentence."""
    return read(raw).blocks[0].sentences[0].text


def users_of(made: Night) -> list[Block]:
    """Paragraphs of the user's own, on the page after."""
    page = read(made.after)
    known = citations(page)
    return [
        block
        for block in page.blocks
        if block.kind is Kind.PARAGRAPH
        and not any(label in known for s in block.sentences for label in s.marks)
    ]


def blocks_of(text: str, *kinds: Kind) -> list[Block]:
    """Blocks of these kinds."""
    return [block for block in read(text).blocks if block.kind in kinds]


def headings_of(text: str, level: int) -> list[Block]:
    """Headings of this level."""
    return [block for block in read(text).blocks if block.heading_level == level]


def sections_of(made: Night) -> list[Block]:
    """Level-2 headings of prose that were there before."""
    old = {block.heading_text for block in headings_of(made.before, 2)}
    closing = {"History", "See also", "References"}
    return [b for b in headings_of(made.after, 2) if b.heading_text in old - closing]


def replaced(text: str, start: int, end: int, by: str) -> str:
    """text[start:end] gives way."""
    return text[:start] + by + text[end:]


def without(text: str, block: Block) -> str:
    """The text without a block, a blank line in its place."""
    return text[: block.start].rstrip("\n") + "\n\n" + text[block.end :].lstrip("\n")


def swap(text: str, old: str, new: str) -> str | None:
    """The first `old` replaced; None if there is none."""
    return text.replace(old, new, 1) if old in text else None


def sub(pattern: str, by: str, text: str) -> str | None:
    """The first match replaced, line by line; None if there is none."""
    changed = re.sub(pattern, by, text, count=1, flags=re.MULTILINE)
    return changed if changed != text else None


def bare(raw: str) -> tuple[str, str]:
    """A sentence without its marks, and the marks."""
    marks = re.search(r"(?:\[\^[^\]]+\])*\Z", raw)
    assert marks is not None
    return raw[: marks.start()], marks.group()


def negated(raw: str) -> str:
    """The opposite of a sentence, more or less, in its own language."""
    if re.search(r"[\u3040-\u30ff]", raw):
        return re.sub(r"(です|ます)。", r"という\1わけではありません。", raw, count=1)
    if re.search(r"[\u4e00-\u9fff]", raw):
        return raw[:2] + "不" + raw[2:]
    if re.search(r"[\u0600-\u06ff]", raw):
        return "لا " + raw
    word = "nicht" if re.search(r"\b(?:der|die|das|von|hat)\b", raw, re.I) else "not"
    first, second, rest = [*raw.split(" ", 2), "", ""][:3]
    return f"{first} {second} {word} {rest}"


def last_definition(text: str) -> Block:
    """The last footnote of a page."""
    return blocks_of(text, Kind.DEFINITION)[-1]


def block_at(text: str, at: int) -> int:
    """Index of the block at an offset."""
    return next(b.index for b in read(text).blocks if b.start <= at < b.end)


def history_lines(text: str) -> list[str]:
    """The dated lines of a page."""
    return re.findall(r"^- \d{4}-\d\d-\d\d: .*$", text, re.MULTILINE)


def moved_line(made: Night) -> str | None:
    """The History line of a sentence that this night outdates."""
    old = history_lines(made.before)
    texts = {sentence.text for _, sentence in ours_of(read(made.before))}
    return next(
        (
            line
            for line in history_lines(made.after)
            if line not in old and bare(line[14:])[0] in texts
        ),
        None,
    )
