"""Footnotes that cite conversations. The user's own are read past and never changed.

    [^1]: `conv:1a2b3c4d` (2026-11-28, claude-code, message 12) — title of the conversation

Messages are counted from 1 on the page and from 0 in a Citation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from pipeline.markdown import Block, Kind, Page, parse
from pipeline.prose import flat, plain, reading
from pipeline.records import Citation

_LABEL = re.compile(r" {0,3}\[\^(?P<label>[^\]\[\s]+)\]:")
_LABELS = re.compile(f"^{_LABEL.pattern}", re.MULTILINE)
_CITATION = re.compile(
    r" {0,3}\[\^[^\]\[\s]+\]:[ \t]*`conv:(?P<conv>[0-9a-f]{8,64})` "
    r"\((?P<date>\d{4}-\d{2}-\d{2}), (?P<source>[^,()`\s]+), "
    r"messages? (?P<first>\d{1,9})(?:[–-](?P<last>\d{1,9}))?\)(?: — (?P<title>[^\r\n]*))?"
)
_ANY_NUMBER = re.compile(r"\[\^(\d{1,9})\]")
_CONV = re.compile(r"conv:(?=[0-9a-f])", re.IGNORECASE)
_TITLE_CHARACTERS = 80
_IN_TITLE = str.maketrans("[]{}<>`|", "()()‹›'/")


def marks(block: Block) -> tuple[str, ...]:
    """Labels of the footnote marks of a block, in order; none from code."""
    return tuple(token.label for token in block.inlines if token.kind == "mark")


def definitions(page: Page) -> dict[str, str]:
    """Each label and its definition's raw text; where a label is defined twice, the first."""
    found: dict[str, str] = {}
    for label, block in _defined(page):
        found.setdefault(label, block.raw)
    return found


def contradicted(text: str) -> dict[str, list[int]]:
    """Labels that are defined differently, once at least as a citation, and where in the text.

    Two that cite the same are harmless; two notes of the user's own are the user's affair.
    """
    labels = _LABELS.findall(text)
    if len(labels) == len(set(labels)):  # nearly every page: it need not be parsed
        return {}
    found: dict[str, list[Block]] = {}
    for label, block in _defined(parse(text)):
        found.setdefault(label, []).append(block)
    return {
        label: [block.start for block in blocks]
        for label, blocks in found.items()
        if _differ([block.raw for block in blocks])
    }


@lru_cache(maxsize=4096)
def parse_citation(definition: str) -> Citation | None:
    """The citation of a definition that the pipeline made; None for any other footnote."""
    lines = definition.splitlines()
    found = _CITATION.fullmatch(lines[0].rstrip()) if lines else None
    if found is None:
        return None
    first = int(found["first"])
    last = int(found["last"] or first)
    if not 1 <= first <= last:
        return None
    return Citation(
        conv=found["conv"],
        first=first - 1,
        last=last - 1,
        date=found["date"],
        source=found["source"],
        title=reading(found["title"] or ""),
    )


def format_definition(label: str, citation: Citation) -> str:
    """The definition's line, without a line end, whatever the conversation's title holds."""
    where = f"message {citation.first + 1}"
    if citation.last > citation.first:
        where = f"messages {citation.first + 1}–{citation.last + 1}"
    title = plain(short_title(citation.title))
    return (
        f"[^{label}]: `conv:{citation.conv}` ({citation.date}, {citation.source}, {where})"
        f"{f' — {title}' if title else ''}"
    )


def _defined(page: Page) -> Iterator[tuple[str, Block]]:
    """Every definition with its label, in order."""
    for block in page.blocks:
        label = _LABEL.match(block.raw) if block.kind is Kind.DEFINITION else None
        if label:
            yield label["label"], block


def _differ(definitions: Sequence[str]) -> bool:
    """Whether they are not all the same, and one of them cites a conversation."""
    cited = [parse_citation(raw) for raw in definitions]
    said = {
        (citation.conv, citation.first, citation.last) if citation else raw.strip()
        for citation, raw in zip(cited, definitions, strict=True)
    }
    return len(said) > 1 and any(cited)


def citations(page: Page) -> dict[str, Citation]:
    """Labels that cite a conversation, and what they cite."""
    parsed = {label: parse_citation(raw) for label, raw in definitions(page).items()}
    return {label: citation for label, citation in parsed.items() if citation is not None}


def citations_of(page: Page, labels: Iterable[str]) -> tuple[Citation, ...]:
    """What these marks cite, in order; marks of other footnotes cite nothing."""
    known = citations(page)
    return tuple(known[label] for label in labels if label in known)


class Notes:
    """The footnotes of a page while it is edited: each citation's label, old or new.

    Labels that stand are never changed. A new one is the lowest number that stands nowhere on the
    page, not even in code, so that it cannot give life to a `[^9]` that meant something else.
    """

    def __init__(self, page: Page) -> None:
        self._labels: dict[tuple[str, int, int], str] = {}
        for label, citation in citations(page).items():
            self._labels.setdefault((citation.conv, citation.first, citation.last), label)
        self._taken = {int(number) for number in _ANY_NUMBER.findall(page.text)}
        self.added: list[str] = []

    def label(self, citation: Citation) -> str:
        """The label to mark with; its definition is in `added` when the page has none yet."""
        key = (citation.conv, citation.first, citation.last)
        if key not in self._labels:
            number = 1
            while number in self._taken:
                number += 1
            self._taken.add(number)
            self._labels[key] = str(number)
            self.added.append(format_definition(str(number), citation))
        return self._labels[key]


def short_title(title: str) -> str:
    """A title on one line without the signs of links, code, HTML and tables, cut to length."""
    line = _CONV.sub("conv ", flat(title)).translate(_IN_TITLE)
    return line if len(line) <= _TITLE_CHARACTERS else line[: _TITLE_CHARACTERS - 1].rstrip() + "…"
