"""What the edits of one draft account for: changes of a block, and blocks that come or go."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import regex

from pipeline.footnotes import format_definition
from pipeline.gates.departing import Departure, departures, sentence_at
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
    MergeRepeat,
    MoveSentence,
    Retire,
    SentenceRef,
    SetSeeAlso,
    Supersede,
)
from pipeline.text import sentences

_MARKS = r"(?:\[\^[^\]\s]{1,100}\])*"
_HISTORY_LINE = regex.compile(r"- (?P<date>\d{4}-\d{2}-\d{2}): (?P<text>\S.*)")
_BREAK = regex.compile(r"(?<!\\)(?:\\{4})*(?P<backslash>\\\\)\Z")  # in a pattern, doubled
_LABEL = regex.compile(r"\[\^([^\]\s]{1,100})\]:")
_LINK_LINE = regex.compile(r"- \[\[(?P<title>[^\[\]|#^]+)\]\]")


class Explained:
    """The changes and insertions the edits of one draft account for."""

    def __init__(self, page: Page, draft: Draft) -> None:
        self._page = page
        self._is_new = not page.text
        self._title = flat(draft.title)
        self._departed = departures(page, draft)
        self._gains: set[SentenceRef] = set()
        self._successors: dict[SentenceRef, list[str]] = {}
        self._links: dict[int, list[LinkFirstMention]] = {}
        self._appended: dict[str, list[str]] = {}  # patterns of what comes to a section
        self._history: set[tuple[str, str]] = set()
        self._see_also: set[str] = set()
        self._citations: set[Citation] = set()
        for edit in draft.edits:
            match edit:
                case AddCitation(at=ref, citation=citation):
                    self._gains.add(ref)
                    self._cite([citation])
                case MergeRepeat(at=ref):
                    self._gains.add(ref)
                case Supersede(at=ref, sentence=sentence, date=date):
                    standing = self._successors.setdefault(ref, [])
                    self._tell(date, standing[-1] if standing else self._text(ref))
                    standing.append(self._new(sentence))
                case Retire(at=ref, date=date):
                    self._tell(date, self._text(ref))
                case AppendHistory(sentence=sentence, date=date):
                    self._tell(date, self._new(sentence))
                case LinkFirstMention(block=block):
                    self._links.setdefault(block, []).append(edit)
                case SetSeeAlso(stems=stems):
                    self._see_also.update(regex.sub(r"[\[\]|#^]", "", flat(t)) for t in stems)
        self._expect_prose(draft)

    def _expect_prose(self, draft: Draft) -> None:
        """Patterns of the sentences each section gets, in the order of the edits."""
        for edit in draft.edits:
            match edit:
                case AppendSentences(section=section, sentences=added):
                    patterns = [_written(self._new(sentence)) for sentence in added]
                case MoveSentence(at=ref, section=section) if ref in self._departed:
                    patterns = [self._moved(ref, self._departed[ref])]
                case _:
                    continue
            self._appended.setdefault(flat(section).casefold(), []).extend(patterns)

    def vacated(self, block: Block) -> bool:
        """Whether all sentences of the paragraph leave it, and the paragraph with them."""
        return block.kind is Kind.PARAGRAPH and bool(block.sentences) and not self._stay(block)

    def gaps(self, start: int, end: int) -> list[str]:
        """The blank lines of text[start:end], cut where paragraphs go; none if more is there."""
        found = []
        for block in self._page.blocks:
            if start <= block.start and block.end <= end and self.vacated(block):
                found.append(self._page.text[start : block.start])
                start = block.end
        found.append(self._page.text[start:end])
        return [] if any(gap.strip() for gap in found) else found

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

    def insertion(self, block: Block, head: Block | None, follower: Block | None = None) -> bool:
        """Whether an edit puts `block` there: after the heading `head`, None before any.

        follower: what stood there before and comes next, None at the end of the page.
        """
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
                ends = follower is None or _ends_section(follower, section)
                return under and ends and bool(texts) and _is_run_of(texts, block.raw.strip("\r\n"))
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
        stay = self._stay(old)
        if not stay:
            return False
        spans = [_span(old, sentence) for sentence in old.sentences]
        pattern = regex.escape(old.raw[: spans[0][0]])
        for position, index in enumerate(stay):
            if position:
                last = stay[position - 1]
                # of the space on both sides of sentences that leave, either is left
                gaps = {
                    old.raw[spans[last][1] : spans[last + 1][0]],
                    old.raw[spans[index - 1][1] : spans[index][0]],
                }
                pattern += f"(?:{'|'.join(regex.escape(gap) for gap in sorted(gaps))})"
            pattern += self._sentence(old, index)
        rest = old.raw[spans[-1][1] :]
        pattern += f"{tail}{regex.escape(rest)}"
        if not rest.endswith(("\n", "\r")):
            pattern += r"[\r\n]{0,2}"
        return regex.fullmatch(pattern, new.raw) is not None

    def _stay(self, block: Block) -> list[int]:
        """Indices of the sentences of a block that do not leave it."""
        return [
            index
            for index in range(len(block.sentences))
            if SentenceRef(block.index, index) not in self._departed
        ]

    def _addresses(self, block: Block) -> bool:
        return block.index in self._links or any(
            ref.block == block.index for ref in (*self._gains, *self._successors, *self._departed)
        )

    def _sentence(self, block: Block, index: int) -> str:
        ref = SentenceRef(block.index, index)
        if ref in self._successors:
            return _written(self._successors[ref][-1])
        start, end = _span(block, block.sentences[index])
        raw = regex.escape(block.raw[start:end])
        for link in self._links.get(block.index, []):
            text = regex.escape(link.text)
            linked = rf"\[\[{regex.escape(link.target)}(?:\|{text})?\]\]"
            if link.text != link.target:
                linked = rf"\[\[{regex.escape(link.target)}\|{text}\]\]"
            raw = raw.replace(text, f"(?:{text}|{linked})")
        return _marked(raw) if ref in self._gains else raw

    def _moved(self, ref: SentenceRef, departure: Departure) -> str:
        start, end = _span(departure.block, departure.sentence)
        raw = regex.escape(departure.block.raw[start:end])
        return _marked(raw) if ref in self._gains else raw

    def _tail(self, block: Block) -> str:
        """Sentences appended to the last paragraph of a section's own body."""
        body = [
            b
            for b in self._page.body(block.section)
            if b.kind is not Kind.BLANK and not self.vacated(b)
        ]
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
            return (
                dated is not None
                and (dated["date"], _unspaced(reading(dated["text"]))) in self._history
            )
        return False

    # -------------------------------------------------------------- reading the draft

    def _tell(self, date: str, text: str) -> None:
        self._history.add((date, _unspaced(text)))

    def _cite(self, citations: Sequence[Citation]) -> None:
        self._citations.update(citations)

    def _new(self, sentence: CitedSentence) -> str:
        self._cite(sentence.citations)
        return flat(sentence.text)

    def _text(self, ref: SentenceRef) -> str:
        sentence = sentence_at(self._page, ref)
        return sentence.text if sentence is not None else ""


def _ends_section(block: Block, section: str) -> bool:
    """Whether what is put in before this block stands last in its section's own body.

    A block that is never closed would swallow what comes after it.
    """
    return bool(block.heading_level) or block.open or block.section.casefold() != section


def _span(block: Block, sentence: Sentence) -> tuple[int, int]:
    """Where the sentence stands in its block, without white space before it."""
    raw = block.raw[sentence.start : sentence.end]
    return sentence.end - len(raw.lstrip()), sentence.end


def _marked(pattern: str) -> str:
    """A pattern for a sentence with marks after it, before the backslash of a hard break."""
    found = _BREAK.search(pattern)
    end = found.start("backslash") if found else len(pattern)
    return f"{pattern[:end]}{_MARKS}{pattern[end:]}"


def _written(text: str) -> str:
    """A pattern for a new sentence; each of those a reader finds in it has marks of its own."""
    pieces = (plain(text[start:end]) for start, end in sentences(text))
    return "[ ]?".join(f"{regex.escape(piece)}{_MARKS}" for piece in pieces)


def _unspaced(text: str) -> str:
    """A text without the spaces between sentences that need none."""
    return regex.sub(r"(?<=[。！？｡])\s+", "", text)


def _run_of(patterns: Iterable[str]) -> str:
    """A pattern for some of these sentences in their order."""
    return "".join(f"(?:[ ]?{pattern})?" for pattern in patterns)


def _is_run_of(texts: Sequence[str], raw: str) -> bool:
    return bool(raw.strip()) and regex.fullmatch(_run_of(texts), raw) is not None


def _with_raw(block: Block, raw: str) -> Block:
    return Block(block.index, block.kind, raw, block.start, section=block.section)
