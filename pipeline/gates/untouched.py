"""Gate 4: whatever the draft does not address is the same, byte for byte.

The blocks of both texts are walked side by side. A block of the earlier text must come back as it
was, or changed in just the way an edit that addresses it explains; a block only the later text has
must be one an edit explains, where that edit puts it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import regex

from pipeline.footnotes import format_definition
from pipeline.gates.comparing import Write, shown
from pipeline.markdown import HISTORY, REFERENCES, SEE_ALSO, Block, Kind, Page, Sentence
from pipeline.prose import flat, plain, reading
from pipeline.records import (
    AddCitation,
    AppendHistory,
    AppendSentences,
    Citation,
    CitedSentence,
    Draft,
    LinkFirstMention,
    SetSeeAlso,
    Supersede,
)

_MARKS = r"(?:\[\^[^\]\s]{1,100}\])*"
_UPDATED = regex.compile(r"updated: \d{4}-\d{2}-\d{2}(?P<comment>[ \t]+#.*)?")
_HISTORY_LINE = regex.compile(r"- (?P<date>\d{4}-\d{2}-\d{2}): (?P<text>\S.*)")
_LABEL = regex.compile(r"\[\^([^\]\s]{1,100})\]:")
_LINK_LINE = regex.compile(r"- \[\[(?P<title>[^\[\]|#^]+)\]\]")
_FRONTMATTER = regex.compile(
    r"---\ntitle: [^\r\n]+\n(?:aliases: \[[^\r\n]*\]\n)?(?:tags: \[[^\r\n]*\]\n)?"
    r"created: (?P<day>\d{4}-\d{2}-\d{2})\nupdated: (?P=day)\n---\n"
)


def unaddressed_identical(write: Write) -> list[str]:
    """4: title, frontmatter, headings, References and every block no edit addresses stay."""
    pages = write.pages
    explained = _Explained(pages.before, write.draft)
    if write.before:
        reasons = _frontmatter_kept(pages.before.frontmatter, pages.after.frontmatter)
    else:
        reasons = _frontmatter_made(pages.after.frontmatter)
    return list(dict.fromkeys([*reasons, *_walk(pages.before, pages.after, explained)]))


# ------------------------------------------------------------------ the walk


def _walk(before: Page, after: Page, explained: _Explained) -> Iterator[str]:
    old = [block for block in before.blocks if block.kind is not Kind.BLANK]
    new = [block for block in after.blocks if block.kind is not Kind.BLANK]
    heads = _heads(new)
    at = 0
    pairs: list[tuple[Block, Block]] = []
    for block in old:
        end = next((j for j in range(at, len(new)) if explained.change(block, new[j])), None)
        if end is None:
            yield f"“{shown(block.raw)}” would be changed or lost, and no edit says so"
            continue
        for j in range(at, end):
            if not explained.insertion(new[j], heads[j]):
                yield f"“{shown(new[j].raw)}” would be put in, and no edit says so"
        pairs.append((block, new[end]))
        at = end + 1
    for j in range(at, len(new)):
        if not explained.insertion(new[j], heads[j]):
            yield f"“{shown(new[j].raw)}” would be put in, and no edit says so"
    yield from _gaps(before, after, pairs, at == len(new))


def _gaps(
    before: Page, after: Page, pairs: Sequence[tuple[Block, Block]], ends_alike: bool
) -> Iterator[str]:
    """Blank lines between blocks that nothing was put between."""
    if pairs:
        first, second = pairs[0]
        old = before.text[len(before.frontmatter) : first.start]
        new = after.text[len(after.frontmatter) : second.start]
        if not old.strip() and not new.strip() and old != new:
            yield "the blank lines at the top would change"
    for (a, x), (b, y) in pairwise(pairs):
        neighbours = not before.text[a.end : b.start].strip()
        together = not after.text[x.end : y.start].strip()
        if neighbours and together and before.text[a.end : b.start] != after.text[x.end : y.start]:
            yield f"the blank lines before “{shown(b.raw)}” would change"
    if pairs and ends_alike:
        a, x = pairs[-1]
        if not before.text[a.end :].strip() and before.text[a.end :] != after.text[x.end :]:
            yield "the end of the page would change"


def _heads(blocks: Sequence[Block]) -> list[Block | None]:
    """The nearest heading before each block."""
    heads: list[Block | None] = []
    last: Block | None = None
    for block in blocks:
        heads.append(last)
        if block.heading_level:
            last = block
    return heads


# ------------------------------------------------------------------ what a draft explains


class _Explained:
    """The changes and insertions the edits of one draft account for."""

    def __init__(self, page: Page, draft: Draft) -> None:
        self._page = page
        self._is_new = not page.text
        self._title = flat(draft.title)
        self._gains: set[tuple[int, int]] = set()
        self._successors: dict[tuple[int, int], list[str]] = {}
        self._links: dict[int, list[LinkFirstMention]] = {}
        self._appended: dict[str, list[str]] = {}
        self._history: set[tuple[str, str]] = set()
        self._see_also: set[str] = set()
        self._citations: set[Citation] = set()
        for edit in draft.edits:
            match edit:
                case AddCitation(at=ref, citation=citation):
                    self._gains.add((ref.block, ref.sentence))
                    self._cite([citation])
                case Supersede(at=ref, sentence=sentence, date=date):
                    key = (ref.block, ref.sentence)
                    standing = self._successors.setdefault(key, [])
                    moved = standing[-1] if standing else self._standing(*key)
                    self._history.add((date, moved))
                    standing.append(self._new(sentence))
                case AppendSentences(section=section, sentences=sentences):
                    name = flat(section).casefold()
                    self._appended.setdefault(name, []).extend(map(self._new, sentences))
                case AppendHistory(sentence=sentence, date=date):
                    self._history.add((date, self._new(sentence)))
                case LinkFirstMention(block=block):
                    self._links.setdefault(block, []).append(edit)
                case SetSeeAlso(stems=stems):
                    self._see_also.update(regex.sub(r"[\[\]|#^]", "", flat(t)) for t in stems)

    def change(self, old: Block, new: Block) -> bool:
        """Whether `new` is `old`, untouched or changed as the edits of that block say."""
        if new.kind is not old.kind or new.heading_level != old.heading_level:
            return False
        if new.raw == old.raw or new.raw.rstrip("\r\n") == old.raw:
            return True
        if old.kind is Kind.PARAGRAPH:
            return self._is_edited(old, new, self._tail(old))
        if old.kind is Kind.LIST:
            return self._is_edited(old, new, "") or self._is_longer_list(old, new)
        return False

    def insertion(self, block: Block, head: Block | None) -> bool:
        """Whether an edit puts `block` there: after the heading `head`, None before any."""
        section = block.section.casefold()
        match block.kind:
            case Kind.HEADING:
                return self._is_new_heading(block)
            case Kind.PARAGRAPH:
                under = (
                    head is None or head.heading_level == 1
                    if not section
                    else (head is not None and head.heading_level == 2)
                )
                texts = self._appended.get(section, [])
                return under and bool(texts) and _is_run_of(texts, block.raw.strip("\r\n"))
            case Kind.LIST:
                return all(self._is_line(section, line) for line in block.raw.splitlines())
            case Kind.DEFINITION:
                label = _LABEL.match(block.raw)
                line = block.raw.strip("\r\n")
                return label is not None and any(
                    line == format_definition(label[1], citation) for citation in self._citations
                )
        return False

    # -------------------------------------------------------------- blocks that change

    def _is_edited(self, old: Block, new: Block, tail: str) -> bool:
        """Sentence by sentence: same, marked, replaced or linked; `tail` may follow the last."""
        if not old.sentences or not (tail or self._addresses(old)):
            return False
        pattern = ""
        at = 0
        for index, sentence in enumerate(old.sentences):
            pattern += regex.escape(old.raw[at : sentence.start])
            pattern += self._sentence(old, index, sentence)
            at = sentence.end
        rest = old.raw[at:]
        pattern += f"{tail}{regex.escape(rest)}"
        if not rest.endswith(("\n", "\r")):
            pattern += r"[\r\n]{0,2}"
        return regex.fullmatch(pattern, new.raw) is not None

    def _addresses(self, block: Block) -> bool:
        return block.index in self._links or any(
            index == block.index for index, _ in (*self._gains, *self._successors)
        )

    def _sentence(self, block: Block, index: int, sentence: Sentence) -> str:
        key = (block.index, index)
        if key in self._successors:
            return f"{regex.escape(plain(self._successors[key][-1]))}{_MARKS}"
        raw = regex.escape(block.raw[sentence.start : sentence.end])
        for link in self._links.get(block.index, []):
            text = regex.escape(link.text)
            linked = rf"\[\[{regex.escape(link.target)}(?:\|{text})?\]\]"
            if link.text != link.target:
                linked = rf"\[\[{regex.escape(link.target)}\|{text}\]\]"
            raw = raw.replace(text, f"(?:{text}|{linked})")
        return f"{raw}{_MARKS}" if key in self._gains else raw

    def _tail(self, block: Block) -> str:
        """Sentences appended to the last paragraph of a section's own body."""
        body = [b for b in self._page.body(block.section) if b.kind is not Kind.BLANK]
        texts = self._appended.get(block.section.casefold(), [])
        return _run_of(texts) if body and body[-1] is block and texts else ""

    def _is_longer_list(self, old: Block, new: Block) -> bool:
        """The list as it was, marks it gained included, and explained lines after it."""
        old_lines, new_lines = old.raw.splitlines(), new.raw.splitlines()
        kept, added = new_lines[: len(old_lines)], new_lines[len(old_lines) :]
        if not added or not all(self._is_line(old.section.casefold(), line) for line in added):
            return False
        end = len("".join(new.raw.splitlines(keepends=True)[: len(kept)]))
        head = new.raw[:end]
        if head.rstrip("\r\n") == old.raw.rstrip("\r\n"):
            return True
        return self._is_edited(old, _with_raw(new, head), "")

    # -------------------------------------------------------------- blocks that are put in

    def _is_new_heading(self, block: Block) -> bool:
        text = block.heading_text
        if block.heading_level == 1:
            return self._is_new and text == self._title
        if block.heading_level != 2 or self._page.heading(text) is not None:
            return False
        wanted = {
            *self._appended,
            *([HISTORY.casefold()] if self._history else []),
            *([SEE_ALSO.casefold()] if self._see_also else []),
            *([REFERENCES.casefold()] if self._citations else []),
        }
        return text.casefold() in wanted

    def _is_line(self, section: str, line: str) -> bool:
        if section == SEE_ALSO.casefold():
            link = _LINK_LINE.fullmatch(line)
            return link is not None and link["title"] in self._see_also
        if section == HISTORY.casefold():
            dated = _HISTORY_LINE.fullmatch(line)
            return dated is not None and (dated["date"], reading(dated["text"])) in self._history
        return False

    # -------------------------------------------------------------- reading the draft

    def _cite(self, citations: Sequence[Citation]) -> None:
        self._citations.update(citations)

    def _new(self, sentence: CitedSentence) -> str:
        self._cite(sentence.citations)
        return flat(sentence.text)

    def _standing(self, block: int, sentence: int) -> str:
        blocks = self._page.blocks
        if 0 <= block < len(blocks) and 0 <= sentence < len(blocks[block].sentences):
            return blocks[block].sentences[sentence].text
        return ""


def _run_of(texts: Sequence[str]) -> str:
    """A pattern for some of these sentences in their order, marks after each."""
    return "".join(rf"(?:[ ]?{regex.escape(plain(text))}{_MARKS})?" for text in texts)


def _is_run_of(texts: Sequence[str], raw: str) -> bool:
    return bool(raw.strip()) and regex.fullmatch(_run_of(texts), raw) is not None


def _with_raw(block: Block, raw: str) -> Block:
    return Block(block.index, block.kind, raw, block.start, section=block.section)


# ------------------------------------------------------------------ frontmatter


def _frontmatter_kept(before: str, after: str) -> list[str]:
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    if len(old) == len(new) and all(
        a == b or _is_redated(a, b) for a, b in zip(old, new, strict=True)
    ):
        return []
    return ["the frontmatter would change, beyond its date of update"]


def _is_redated(old: str, new: str) -> bool:
    was, now = old.rstrip("\r\n"), new.rstrip("\r\n")
    dated = _UPDATED.fullmatch(now)
    if dated is None or not was.startswith("updated:") or old[len(was) :] != new[len(now) :]:
        return False
    comment = dated["comment"] or ""
    return was.endswith(comment) if comment else " #" not in was


def _frontmatter_made(after: str) -> list[str]:
    if _FRONTMATTER.fullmatch(after):
        return []
    return ["the frontmatter of the new article is not its title, aliases, tags and dates"]
