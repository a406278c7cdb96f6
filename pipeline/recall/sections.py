"""An article's text as what is searched: its sections, line by line, with what each line cites."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from pipeline.entries import entry_of
from pipeline.footnotes import citations
from pipeline.markdown import REFERENCES, Block, Kind, Page, parse
from pipeline.prose import reading
from pipeline.recall.pages import Section, sections
from pipeline.recall.withholding import spans
from pipeline.records import Citation

_UNREAD = (Kind.BLANK, Kind.DEFINITION, Kind.RULE, Kind.HEADING)


@dataclass(frozen=True, slots=True)
class Line:
    """A heading, a sentence, or a line of a list, a table or code; what it cites as (conv, first,
    last).
    """

    text: str
    cites: tuple[tuple[str, int, int], ...]


@dataclass(frozen=True, slots=True)
class Part:
    """What stands right under a heading. anchor: as `pages` has it. headings: those it is under,
    its own last. days: of each conversation that its lines cite the latest day, where one is said.
    """

    anchor: str
    headings: tuple[Line, ...]
    lines: tuple[Line, ...]
    days: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Article:
    """An article as it is searched. aliases: its first heading too, where that is another name."""

    title: str
    aliases: tuple[str, ...]
    parts: tuple[Part, ...]


def article_of(stem: str, text: str) -> Article:
    """The article with this text. One without text has a part all the same: it has a name."""
    entry, page = entry_of(stem, text), parse(text)
    found = sections(page)
    parts = [part for part in _parts(page, found) if part.lines or not part.anchor]
    if not any(not part.anchor for part in parts):
        parts.insert(0, Part("", (), (), {}))
    headed = page.title.heading_text if page.title else ""
    also = () if headed in ("", entry.title, *entry.aliases) else (headed,)
    return Article(entry.title, (*entry.aliases, *also), tuple(parts))


def _parts(page: Page, found: Sequence[Section]) -> Iterator[Part]:
    known = citations(page)
    ends = [*(after.first for after in found[1:]), len(page.blocks)][: len(found)]
    above: list[Section] = []
    for one, end in zip(found, ends, strict=True):
        above = [other for other in above if other.level < one.level] if one.level else []
        above.append(one)
        if one.heading.casefold() == REFERENCES.casefold():
            continue
        lines = tuple(
            line
            for block in page.blocks[one.first : end]
            if block.kind not in _UNREAD
            for line in _lines(block, known)
        )
        convs = {cite[0] for line in lines for cite in line.cites}
        days: dict[str, str] = {}
        for cited in known.values():
            if cited.conv in convs and _is_day(cited.date):
                days[cited.conv] = max(cited.date, days.get(cited.conv, ""))
        headings = tuple(_headed(page, other, known) for other in above if other.heading)
        yield Part(one.anchor, headings, lines, days)


def _headed(page: Page, part: Section, known: dict[str, Citation]) -> Line:
    marks = [token.label for token in page.blocks[part.first].inlines if token.kind == "mark"]
    return Line(part.heading, _cited(marks, known))


def _is_day(said: str) -> bool:
    """Whether there is such a day: somebody may have changed the footnote."""
    try:
        date.fromisoformat(said)
    except ValueError:
        return False
    return True


def _lines(block: Block, known: dict[str, Citation]) -> Iterator[Line]:
    if block.sentences:
        for sentence in block.sentences:
            yield Line(sentence.text, _cited(sentence.marks, known))
        return
    marks = sorted((token.start, token.label) for token in block.inlines if token.kind == "mark")
    for first, last in spans(block):
        start = first
        for raw in block.raw[first:last].splitlines(keepends=True):
            end = start + len(raw)
            # a line without a mark rests on what is cited in the rest of its item, row or quote
            labels = _between(marks, start, end) or _between(marks, first, last)
            start = end
            if text := reading(raw):
                yield Line(text, _cited(labels, known))


def _between(marks: Sequence[tuple[int, str]], start: int, end: int) -> list[str]:
    """The labels of the marks there; of a long table few of all are looked at."""
    first, last = bisect_left(marks, (start, "")), bisect_left(marks, (end, ""))
    return [label for _, label in marks[first:last]]


def _cited(labels: Sequence[str], known: dict[str, Citation]) -> tuple[tuple[str, int, int], ...]:
    found = (known[label] for label in labels if label in known)
    return tuple((one.conv, one.first, one.last) for one in found)
