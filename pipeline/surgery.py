"""A Draft applied to the text of an article.

Every edit becomes a splice at an offset of the text as it stands, so a block that no edit
addresses keeps its bytes, whatever is in it. Only a last line without a line end gains one when
something is put after it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pipeline.errors import VaultFault
from pipeline.footnotes import Notes, citations
from pipeline.links import mention, wikilinks
from pipeline.markdown import (
    HISTORY,
    REFERENCES,
    SEE_ALSO,
    Block,
    Kind,
    Page,
    Sentence,
    parse,
)
from pipeline.prose import flat, plain
from pipeline.records import (
    AddCitation,
    AppendHistory,
    AppendSentences,
    CitedSentence,
    Draft,
    LinkFirstMention,
    SentenceRef,
    SetSeeAlso,
    Supersede,
)
from pipeline.text import sentences as sentence_spans

# The order in which these close an article; new sections go before the first of them.
_CLOSING = (HISTORY, SEE_ALSO, REFERENCES)
# What is put in at one offset stands in this order.
_INLINE, _PARAGRAPHS, _SECTIONS, _LAST = 0, 1, 2, 3

_LINE_END = re.compile(r"\r\n|\r|\n")
_UPDATED = re.compile(
    r"(?<=[\r\n])updated:[ \t]*[^\r\n#]*?(?P<comment>[ \t]+#[^\r\n]*)?(?=(?:\r\n|\r|\n)(?![ \t]))"
)
_BARE_SCALAR = re.compile(r"[^\W\d_][\w.,()/+ -]*")
_YAML_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})


def apply(before: str | None, draft: Draft, *, today: str, paragraph_sentences: int) -> str:
    """The article's text with all edits of the draft made; `before` None makes a new article.

    today: ISO date for `updated:`. paragraph_sentences: a paragraph of ours grows to this many.
    The very same text comes back when the edits change nothing. Raises VaultFault when the draft
    addresses what is not there, or a section that holds no prose.
    """
    page = parse(_skeleton(draft.title, today) if before is None else before)
    after = _Surgery(page, paragraph_sentences).perform(draft)
    if after == page.text:
        return after
    head = page.frontmatter
    dated = _UPDATED.sub(lambda found: f"updated: {today}{found['comment'] or ''}", head, count=1)
    return dated + after[len(head) :]


def _skeleton(title: str, today: str) -> str:
    line = flat(title)
    bare = _BARE_SCALAR.fullmatch(line) and line.casefold() not in _YAML_WORDS
    scalar = line if bare else json.dumps(line, ensure_ascii=False)
    return (
        f"---\ntitle: {scalar}\naliases: []\ntags: []\ncreated: {today}\nupdated: {today}\n---\n"
        f"# {plain(line)}\n"
    )


@dataclass(frozen=True, slots=True)
class _Splice:
    """Replace text[start:end]. A block splice stands on lines of its own.

    tight: no blank line before it, for items of a list and definitions.
    """

    start: int
    end: int
    rank: int
    text: str
    is_block: bool = False
    tight: bool = False


@dataclass(slots=True)
class _Patient:
    """A sentence that edits address: marks it gains, and what takes its place, oldest first."""

    block: Block
    sentence: Sentence
    gained: list[str] = field(default_factory=list)
    successors: list[Supersede] = field(default_factory=list)


class _Surgery:
    """The splices of one draft, gathered and then made in one pass."""

    def __init__(self, page: Page, paragraph_sentences: int) -> None:
        self._page = page
        self._most = paragraph_sentences
        self._notes = Notes(page)
        self._cited = citations(page)
        self._splices: list[_Splice] = []

    def perform(self, draft: Draft) -> str:
        patients: dict[SentenceRef, _Patient] = {}
        sections: dict[str, tuple[str, list[CitedSentence]]] = {}
        older: list[AppendHistory] = []
        see_also: list[str] = []
        links: list[LinkFirstMention] = []
        for edit in draft.edits:
            match edit:
                case AddCitation(at=ref, citation=citation):
                    patient = patients.setdefault(ref, self._patient(ref))
                    label = self._notes.label(citation)
                    if label not in (*patient.sentence.marks, *patient.gained):
                        patient.gained.append(label)
                case Supersede(at=ref):
                    patients.setdefault(ref, self._patient(ref)).successors.append(edit)
                case AppendSentences(section=name, sentences=added):
                    key = flat(name).casefold()
                    sections.setdefault(key, (flat(name), []))[1].extend(added)
                case AppendHistory():
                    older.append(edit)
                case LinkFirstMention():
                    links.append(edit)
                case SetSeeAlso(stems=stems):
                    see_also.extend(stems)
        moved = [line for patient in patients.values() for line in self._treat(patient)]
        self._link(links, [p for p in patients.values() if p.successors])
        for name, sentences in sections.values():
            self._append(name, sentences)
        history = [f"- {edit.date}: {self._render(edit.sentence)}" for edit in older] + moved
        self._append_lines(HISTORY, history, Kind.LIST)
        self._append_lines(SEE_ALSO, self._new_links(see_also), Kind.LIST)
        self._append_lines(REFERENCES, self._notes.added, Kind.DEFINITION)
        return self._spliced()

    # -------------------------------------------------------------- edits in place

    def _patient(self, ref: SentenceRef) -> _Patient:
        blocks = self._page.blocks
        block = blocks[ref.block] if 0 <= ref.block < len(blocks) else None
        if block is None or not 0 <= ref.sentence < len(block.sentences):
            raise VaultFault(f"the page has no sentence {ref.sentence} in block {ref.block}")
        return _Patient(block, block.sentences[ref.sentence])

    def _treat(self, patient: _Patient) -> list[str]:
        """Splice the sentence; return the lines of what moves to History."""
        block, sentence = patient.block, patient.sentence
        start, end = block.start + sentence.start, block.start + sentence.end
        gained = _marks(patient.gained)
        if not patient.successors:
            self._splices.append(_Splice(end, end, _INLINE, gained))
            return []
        standing = " ".join(f"{self._page.text[start:end]}{gained}".split())
        moved = []
        for successor in patient.successors:
            moved.append(f"- {successor.date}: {standing}")
            standing = self._render(successor.sentence)
        self._splices.append(_Splice(start, end, _INLINE, standing))
        return moved

    def _link(self, links: Sequence[LinkFirstMention], gone: Sequence[_Patient]) -> None:
        taken: dict[int, list[tuple[int, int]]] = {}
        for patient in gone:
            taken.setdefault(patient.block.index, []).append(
                (patient.sentence.start, patient.sentence.end)
            )
        for link in links:
            if not 0 <= link.block < len(self._page.blocks):
                raise VaultFault(f"the page has no block {link.block} to link {link.text!r} in")
            block = self._page.blocks[link.block]
            spans = taken.setdefault(link.block, [])
            span = mention(self._page, block, link.text, spans)
            if span is None:
                continue
            spans.append(span)
            shown = "" if link.text == link.target else f"|{link.text}"
            self._splices.append(
                _Splice(
                    block.start + span[0],
                    block.start + span[1],
                    _INLINE,
                    f"[[{link.target}{shown}]]",
                )
            )

    # -------------------------------------------------------------- additions

    def _append(self, section: str, sentences: Sequence[CitedSentence]) -> None:
        """Sentences at the end of a section's own prose, before its sub-headings."""
        if section.casefold() in (name.casefold() for name in _CLOSING):
            raise VaultFault(f"sentences cannot be appended to {section!r}")
        texts = [self._render(sentence) for sentence in sentences if flat(sentence.text)]
        if not texts:
            return
        heading = self._page.heading(section) if section else self._page.title
        if section and heading is None:
            body = "".join(f"{self._newline}{line}" for line in self._paragraphs(texts))
            self._put(self._closing(0), f"## {plain(section)}{self._newline}{body}", _SECTIONS)
            return
        last = _last_solid(self._page.body(section))
        room = self._most - len(last.sentences) if last and self._is_ours(last) else 0
        if last and room > 0:
            here, texts = texts[:room], texts[room:]
            at = last.start + last.sentences[-1].end
            joint = _joint(last.sentences[-1].text)
            self._splices.append(_Splice(at, at, _PARAGRAPHS, joint + _joined(here)))
        for paragraph in self._paragraphs(texts):
            self._put_after(last or heading, paragraph.rstrip("\r\n"), _PARAGRAPHS)

    def _paragraphs(self, texts: Sequence[str]) -> list[str]:
        groups = [texts[i : i + self._most] for i in range(0, len(texts), self._most)]
        return [_joined(group) + self._newline for group in groups]

    def _append_lines(self, section: str, lines: Sequence[str], kind: Kind) -> None:
        """Lines at the end of a closing section, which is made where it belongs if missing."""
        if not lines:
            return
        text = self._newline.join(lines)
        heading = self._page.heading(section)
        if heading is None:
            rank = _CLOSING.index(section)
            title = f"## {section}{self._newline}{self._newline}"
            self._put(self._closing(rank + 1), title + text, _LAST + rank)
            return
        last = _last_solid(self._page.body(section))
        tight = last is not None and last.kind is kind
        self._put_after(last or heading, text, _LAST + _CLOSING.index(section), tight=tight)

    def _new_links(self, titles: Iterable[str]) -> list[str]:
        listed = "".join(block.raw for block in self._page.body(SEE_ALSO))
        known = {name.casefold() for name in wikilinks(listed)}
        lines = []
        for title in titles:
            name = re.sub(r"[\[\]|#^]", "", flat(title))
            if name and name.casefold() not in known:
                known.add(name.casefold())
                lines.append(f"- [[{name}]]")
        return lines

    def _closing(self, first: int) -> int:
        """Offset of the earliest closing section from `first` on in their order, else the end."""
        headings = [self._page.heading(name) for name in _CLOSING[first:]]
        starts = [heading.start for heading in headings if heading is not None]
        last = _last_solid(self._page.blocks)
        if last is not None and last.open:
            starts.append(last.start)
        return min(starts, default=len(self._page.text))

    # -------------------------------------------------------------- rendering

    @property
    def _newline(self) -> str:
        return self._page.newline

    def _render(self, sentence: CitedSentence) -> str:
        """Its text and marks; where a reader finds several sentences in it, each is marked."""
        labels = dict.fromkeys(self._notes.label(citation) for citation in sentence.citations)
        line = flat(sentence.text)
        return _joined([plain(line[a:b]) + _marks(labels) for a, b in sentence_spans(line)])

    def _is_ours(self, block: Block) -> bool:
        if block.kind is not Kind.PARAGRAPH or not block.sentences:
            return False
        return all(
            any(label in self._cited for label in sentence.marks) for sentence in block.sentences
        )

    def _put_after(self, block: Block | None, text: str, rank: int, *, tight: bool = False) -> None:
        """After the block, but before one that would swallow what follows it."""
        if block is None:
            self._put(len(self._page.frontmatter), text, rank)
        elif block.open:
            self._put(block.start, text, rank)
        else:
            self._put(block.end, text, rank, tight=tight)

    def _put(self, at: int, text: str, rank: int, *, tight: bool = False) -> None:
        text = text.rstrip("\r\n") + self._newline
        self._splices.append(_Splice(at, at, rank, text, is_block=True, tight=tight))

    def _spliced(self) -> str:
        text, nl = self._page.text, self._newline
        out = ""
        at = 0
        fresh = False  # whether `out` ends with a block splice that needs a blank line after it
        for splice in sorted(self._splices, key=lambda s: (s.start, s.end, s.rank)):
            if splice.start > at:
                out += self._parted(fresh, at) + text[at : splice.start]
                fresh = False
            if splice.is_block:
                if out and not _LINE_END.match(out[-1:]):
                    out += nl
                if out and not splice.tight and not _ends_blank(out):
                    out += nl
            out += splice.text
            fresh = splice.is_block
            at = splice.end
        return out + (self._parted(fresh, at) + text[at:] if at < len(text) else "")

    def _parted(self, fresh: bool, at: int) -> str:
        """The line end that keeps what follows at this offset apart from a new block."""
        rest = self._page.text[at:]
        line = _LINE_END.split(rest, maxsplit=1)[0]
        return self._newline if fresh and line.strip(" \t") else ""


def _marks(labels: Iterable[str]) -> str:
    return "".join(f"[^{label}]" for label in labels)


def _joint(text: str) -> str:
    """What stands between two sentences: nothing where the script needs no space."""
    return "" if text.endswith(("。", "！", "？", "｡")) else " "


def _joined(texts: Sequence[str]) -> str:
    line = ""
    for text in texts:
        line += (_joint(re.sub(r"(?:\[\^[^\]]*\])+\Z", "", line)) if line else "") + text
    return line


def _last_solid(blocks: Sequence[Block]) -> Block | None:
    return next((block for block in reversed(blocks) if block.kind is not Kind.BLANK), None)


def _ends_blank(text: str) -> bool:
    """Whether the last line of a text that ends with a line end is blank."""
    lines = _LINE_END.split(text)
    return len(lines) < 2 or not lines[-2].strip(" \t")
