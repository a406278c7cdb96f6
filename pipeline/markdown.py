"""Markdown read as blocks and sentences, each with its place, so that edits can be exact.

`parse` cuts a page into blocks whose raw texts, frontmatter first, join to the very same text,
whatever the text is. Nothing here renders: edits are splices at the offsets found here, so what
is not addressed cannot change.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from markdown_it import MarkdownIt
from markdown_it.token import Token

from pipeline.prose import Inline, inline, reading
from pipeline.text import sentences as sentence_spans

HISTORY, SEE_ALSO, REFERENCES = "History", "See also", "References"

# Link references are off: markdown-it swallows them (footnote definitions among them) without a
# token, and a block without a token would have no place. Inline parsing is ours (prose.py).
_BLOCKS = MarkdownIt("commonmark").enable("table").disable(["reference", "inline"])

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_BREAK = re.compile(r"\\(?=[\r\n])")
_FRONTMATTER = re.compile(
    r"---[ \t]*(?>\r\n|\r|\n)(?:[^\r\n]*(?>\r\n|\r|\n))*?---[ \t]*(?:(?>\r\n|\r|\n)|\Z)"
)
_DEFINITION_START = re.compile(r" {0,3}\[\^[^\]\[\s]+\]:")
_HISTORY_ITEM = re.compile(r"[-*+][ \t]+(?:\d{4}-\d{2}-\d{2}:[ \t]+)?(?=\S)")
_LIST_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?(?=\S)")


class Kind(StrEnum):
    """What a block is. OTHER is text that no rule of Markdown claimed: never edited."""

    PARAGRAPH = "paragraph"
    HEADING = "heading"
    LIST = "list"
    FENCE = "fence"
    CODE = "code"
    QUOTE = "quote"
    HTML = "html"
    TABLE = "table"
    RULE = "hr"
    DEFINITION = "definition"
    BLANK = "blank"
    OTHER = "other"


_KINDS = {
    "paragraph_open": Kind.PARAGRAPH,
    "heading_open": Kind.HEADING,
    "bullet_list_open": Kind.LIST,
    "ordered_list_open": Kind.LIST,
    "fence": Kind.FENCE,
    "code_block": Kind.CODE,
    "blockquote_open": Kind.QUOTE,
    "html_block": Kind.HTML,
    "table_open": Kind.TABLE,
    "hr": Kind.RULE,
}
_LITERAL = (Kind.FENCE, Kind.CODE, Kind.HTML)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence and where it stands in its block.

    text: as a reader sees it: no marks, no backslash escapes, wikilinks by their shown text, one
    line. start, end: offsets in the block's raw text, its marks included. marks: footnote labels.
    """

    text: str
    start: int
    end: int
    marks: tuple[str, ...]


@dataclass(frozen=True)
class Block:
    """One block of a page.

    raw: its lines with their ends. start: offset of raw in the page's text.
    heading_level: 1 to 6 for a heading, else 0. heading_text: as read, "" for other blocks.
    section: the text of the level-2 heading it stands under (its own for that heading), "" = lead.
    literal: offsets in raw of code and HTML nested in it, where marks and links mean nothing.
    open: a fence or HTML block that is never closed and so swallows whatever is put after it.
    """

    index: int
    kind: Kind
    raw: str
    start: int
    heading_level: int = 0
    heading_text: str = ""
    section: str = ""
    literal: tuple[tuple[int, int], ...] = ()
    open: bool = False

    @property
    def end(self) -> int:
        """Offset in the page's text of what follows the block."""
        return self.start + len(self.raw)

    @cached_property
    def inlines(self) -> tuple[Inline, ...]:
        """Code spans, escapes, marks and wikilinks in it, by their offsets in raw."""
        if self.kind in _LITERAL or self.kind is Kind.BLANK:
            return ()
        found: list[Inline] = []
        at = 0
        for start, end in (*self.literal, (len(self.raw), len(self.raw))):
            found += inline(self.raw, at, start)
            at = end
        return tuple(found)

    @cached_property
    def sentences(self) -> tuple[Sentence, ...]:
        """Sentences of a paragraph, or the one-line items of a list under History, in order."""
        if self.kind is Kind.PARAGRAPH:
            return tuple(_paragraph_sentences(self))
        if self.kind is Kind.LIST and self.section.casefold() == HISTORY.casefold():
            return tuple(_history_items(self))
        return ()


@dataclass(frozen=True)
class Page:
    """A page as parsed. frontmatter: raw, with its fences and a byte order mark, "" if none."""

    text: str
    frontmatter: str
    blocks: tuple[Block, ...]

    @cached_property
    def newline(self) -> str:
        """The line end most of its lines have; that of Unix for a page without any."""
        crlf = self.text.count("\r\n")
        lf, cr = self.text.count("\n") - crlf, self.text.count("\r") - crlf
        return max(("\n", lf), ("\r\n", crlf), ("\r", cr), key=lambda pair: pair[1])[0]

    @property
    def said(self) -> tuple[str, ...]:
        """The text of every sentence, in order, without footnote marks."""
        return tuple(sentence.text for block in self.blocks for sentence in block.sentences)

    @property
    def title(self) -> Block | None:
        """The level-1 heading that opens the page, if its first heading is one."""
        first = next((block for block in self.blocks if block.heading_level), None)
        return first if first is not None and first.heading_level == 1 else None

    def heading(self, section: str) -> Block | None:
        """The level-2 heading with this text, as written or else in another case."""
        headings = [block for block in self.blocks if block.heading_level == 2]
        for wanted in (str, str.casefold):
            for block in headings:
                if wanted(block.heading_text) == wanted(section):
                    return block
        return None

    def body(self, section: str) -> tuple[Block, ...]:
        """The blocks right under a section's heading, up to the next heading of any level.

        "" is the lead: what follows the title, or opens a page without one.
        """
        heading = self.heading(section) if section else self.title
        if section and heading is None:
            return ()
        first = 0 if heading is None else heading.index + 1
        last = first
        while last < len(self.blocks) and not self.blocks[last].heading_level:
            last += 1
        return self.blocks[first:last]


def parse(text: str) -> Page:
    """Cut any text into blocks; frontmatter and raws joined give the text back exactly."""
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    found = _FRONTMATTER.match(text, len(mark))
    frontmatter = text[: found.end()] if found else mark
    lines = _LINE.findall(text, len(frontmatter))
    starts = [len(frontmatter)]
    for line in lines:
        starts.append(starts[-1] + len(line))
    cuts = _cuts(_BLOCKS.parse(text[len(frontmatter) :]), lines)
    final = next((cut for cut in reversed(cuts) if cut.kind is not Kind.BLANK), None)
    blocks: list[Block] = []
    section = ""
    for cut in cuts:
        if cut.level and cut.level <= 2:
            section = cut.heading if cut.level == 2 else ""
        raw = text[starts[cut.first] : starts[cut.last]]
        blocks.append(
            Block(
                index=len(blocks),
                kind=cut.kind,
                raw=raw,
                start=starts[cut.first],
                heading_level=cut.level,
                heading_text=cut.heading,
                section=section,
                literal=tuple(
                    (starts[a] - starts[cut.first], starts[b] - starts[cut.first])
                    for a, b in cut.literal
                ),
                open=cut is final and cut.kind in (Kind.FENCE, Kind.HTML) and _is_open(raw),
            )
        )
    return Page(text, frontmatter, tuple(blocks))


def list_items(text: str) -> list[str]:
    """The items of every list of a page, nested ones too, as a reader sees their first line."""
    items = []
    for block in parse(text).blocks:
        if block.kind is not Kind.LIST:
            continue
        for line in block.raw.splitlines():
            found = _LIST_ITEM.match(line)
            if found:
                items.append(reading(line[found.end() :]))
    return [item for item in items if item]


@dataclass(frozen=True, slots=True)
class _Cut:
    """Lines first..last (last excluded) are one block."""

    kind: Kind
    first: int
    last: int
    level: int = 0
    heading: str = ""
    literal: tuple[tuple[int, int], ...] = ()


def _cuts(tokens: list[Token], lines: list[str]) -> list[_Cut]:
    cuts: list[_Cut] = []
    at = 0
    for position, token in enumerate(tokens):
        if token.level or token.map is None or token.type not in _KINDS:
            continue
        first, last = max(token.map[0], at), min(token.map[1], len(lines))
        kind = _KINDS[token.type]
        if kind not in (Kind.FENCE, Kind.HTML):
            while last > first and _is_blank(lines[last - 1]):
                last -= 1
        if last <= first:
            continue
        cuts += _gap(at, first, lines)
        at = last
        if kind in (Kind.PARAGRAPH, Kind.HEADING) and token.markup in ("", "-", "="):
            cuts += _definitions(token, tokens[position + 1].content, first, last, lines)
        elif kind is Kind.HEADING:
            cuts.append(_heading(token, tokens[position + 1].content, first, last))
        else:
            cuts.append(_Cut(kind, first, last, literal=_nested(tokens[position + 1 :], last)))
    cuts += _gap(at, len(lines), lines)
    return cuts


def _heading(token: Token, content: str, first: int, last: int) -> _Cut:
    return _Cut(Kind.HEADING, first, last, level=int(token.tag[1]), heading=reading(content))


def _definitions(
    token: Token, content: str, first: int, last: int, lines: list[str]
) -> Iterator[_Cut]:
    """A paragraph or underlined heading, cut where a line begins a footnote definition.

    What Markdown takes for the underline of a definition is a rule of its own to a reader.
    """
    heads = [i for i in range(first, last) if _DEFINITION_START.match(lines[i])]
    if not heads:
        if token.type == "heading_open":
            yield _heading(token, content, first, last)
        else:
            yield _Cut(Kind.PARAGRAPH, first, last)
        return
    if first < heads[0]:
        yield _Cut(Kind.PARAGRAPH, first, heads[0])
    ruled = last - 1 if token.type == "heading_open" else last
    for head, following in zip(heads, [*heads[1:], ruled], strict=True):
        yield _Cut(Kind.DEFINITION, head, following)
    if ruled < last:
        yield _Cut(Kind.RULE, ruled, last)


def _nested(tokens: list[Token], last: int) -> tuple[tuple[int, int], ...]:
    """Line ranges of code and HTML inside the container whose tokens these are the rest of."""
    found = []
    for token in tokens:
        if not token.level:
            break
        if token.type in ("fence", "code_block", "html_block") and token.map:
            found.append((token.map[0], min(token.map[1], last)))
    return tuple((first, end) for first, end in found if first < end)


def _gap(first: int, last: int, lines: list[str]) -> Iterator[_Cut]:
    """Lines no token covers: blank ones, and any that a rule passed over."""
    at = first
    while at < last:
        blank = _is_blank(lines[at])
        end = at
        while end < last and _is_blank(lines[end]) == blank:
            end += 1
        yield _Cut(Kind.BLANK if blank else Kind.OTHER, at, end)
        at = end


def _is_blank(line: str) -> bool:
    return not line.strip(" \t\r\n")


def _is_open(raw: str) -> bool:
    """Whether a paragraph put after this block would become part of it."""
    tokens = _BLOCKS.parse(f"{raw}\n\nx")
    return sum(1 for token in tokens if token.level == 0 and token.map) == 1


# ------------------------------------------------------------------ sentences


def _paragraph_sentences(block: Block) -> Iterator[Sentence]:
    spans = _unescaped_spans(block)
    marks = [token for token in block.inlines if token.kind == "mark"]
    owners = [_owner(spans, token.start) for token in marks]
    at = 0
    for index, (start, end) in enumerate(spans):
        own = [token for token, owner in zip(marks, owners, strict=True) if owner == index]
        # a mark can end the sentence before and yet be where the splitter begins the next one
        start = max(start, at)
        if start < end:
            at = max([end, *(token.end for token in own)])
            yield _sentence(block.raw, start, at, own)


def _hard_breaks(block: Block) -> frozenset[int]:
    """Offsets in raw of backslashes that break the line: at its end, with more text to come."""
    last = len(block.raw.rstrip())
    taken = [(token.start, token.end) for token in block.inlines]
    return frozenset(
        found.start()
        for found in _BREAK.finditer(block.raw, 0, last)
        if not any(start <= found.start() < end for start, end in taken)
    )


def _owner(spans: list[tuple[int, int]], at: int) -> int:
    """The sentence a mark at this offset belongs to: the last one that begins before it."""
    return max((i for i, (start, _) in enumerate(spans) if start < at), default=0)


def _unescaped_spans(block: Block) -> list[tuple[int, int]]:
    """Sentence spans in raw, found in the text without backslashes: `1\\.` ends no sentence."""
    escaped = {token.start + 1 for token in block.inlines if token.kind == "escape"}
    signs = list(block.raw.translate({ord("\r"): " ", ord("\n"): " "}))
    for at in _hard_breaks(block):
        signs[at] = " "
    for token in block.inlines:
        if token.kind == "mark":
            # the number in a mark is not a word that could begin a sentence
            signs[token.start + 2 : token.end - 1] = "*" * (token.end - token.start - 3)
    shown = [i for i in range(len(signs)) if i + 1 not in escaped]
    text = "".join(signs[i] for i in shown)
    spans = []
    for first, last in sentence_spans(text):
        start = shown[first]
        spans.append((start - 1 if start in escaped else start, shown[last - 1] + 1))
    return spans


def _history_items(block: Block) -> Iterator[Sentence]:
    lines = list(_LINE.finditer(block.raw))
    for position, line in enumerate(lines):
        item = _HISTORY_ITEM.match(line.group())
        alone = position + 1 == len(lines) or lines[position + 1].group()[:1] in ("-", "*", "+")
        if not item or not alone:
            continue
        start = line.start() + item.end()
        end = line.start() + len(line.group().rstrip())
        own = [t for t in block.inlines if t.kind == "mark" and start <= t.start < end]
        yield _sentence(block.raw, start, end, own)


def _sentence(raw: str, start: int, end: int, marks: list[Inline]) -> Sentence:
    return Sentence(
        text=reading(raw[start:end]),
        start=start,
        end=end,
        marks=tuple(token.label for token in marks),
    )
