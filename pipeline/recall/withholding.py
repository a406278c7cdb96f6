"""What is never told, whoever asks: secrets, forgotten conversations, topics to ignore.

Pages are the user's and may still hold all of these: somebody pasted a key, or had a conversation
forgotten and its sentences left in the articles.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from pipeline.footnotes import citations, parse_citation
from pipeline.markdown import Block, Kind, Page, parse
from pipeline.recall.hiding import listed, set_aside, stored_aside
from pipeline.recall.library import Library
from pipeline.recall.naming import key
from pipeline.records import Citation
from pipeline.redact import redact
from pipeline.store.forgetting import Forgetting

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_CONV = re.compile(r"conv:([0-9a-f]{8,64})")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]")


@dataclass(frozen=True)
class Withholding:
    """What must not be told of what this library holds."""

    library: Library

    def clean(self, text: str) -> str:
        """The text without secrets, and without what else the user has taken out of transcripts."""
        return redact(text, **self.library.redaction).text

    def forgotten(self, convs: Iterable[str]) -> frozenset[str]:
        """Those of these conversations that the user had forgotten, or is having forgotten."""
        if self.library.store is None:
            return frozenset()
        known, named = Forgetting(self.library.store), frozenset(convs)
        return known.convs(named) | named.intersection(known.unfinished())

    def is_ignored(self, names: Iterable[str]) -> bool:
        """Whether one of these names is that of a topic to ignore."""
        return bool(self._ignored) and not self._ignored.isdisjoint(map(key, names))

    def page(self, text: str) -> Page:
        """The page as it may be told."""
        return parse(self.clean(self._without_ignored(self._without_forgotten(text))))

    @cached_property
    def _ignored(self) -> frozenset[str]:
        """Keys of the topics: those on the Meta page, and buckets that are set aside."""
        names = listed(self.library.vault.meta("Topics_to_Ignore.md"))
        names += set_aside(self.library.vault.meta("Buckets.md"))
        return frozenset(map(key, (*names, *stored_aside(self.library.store))))

    def _without_forgotten(self, text: str) -> str:
        """Without the sentences that rest on forgotten conversations alone, and their notes."""
        gone = self.forgotten(_CONV.findall(text))
        if not gone:  # nearly always: the page need not be parsed for it
            return text
        page = parse(text)
        known = citations(page)
        parts = [page.frontmatter]
        for block in page.blocks:
            if block.kind is Kind.DEFINITION:
                citation = parse_citation(block.raw)
                parts.append("" if citation and citation.conv in gone else block.raw)
            else:
                parts.append(_without(block, known, gone))
        return "".join(parts)

    def _without_ignored(self, text: str) -> str:
        """Without the sections that are headed by a topic to ignore."""
        if not self._ignored:
            return text
        page = parse(text)
        parts, deep = [page.frontmatter], 0
        for block in page.blocks:
            if block.heading_level and (not deep or block.heading_level <= deep):
                hidden = self.is_ignored([block.heading_text])
                deep = block.heading_level if hidden else 0
            if not deep or block.kind is Kind.DEFINITION:
                parts.append(block.raw)
        return "".join(parts)


def _without(block: Block, known: dict[str, Citation], gone: frozenset[str]) -> str:
    """The block's raw text without what rests on forgotten conversations alone."""
    labels = {label for label, citation in known.items() if citation.conv in gone}
    marks = [token for token in block.inlines if token.kind == "mark"]
    if not any(token.label in labels for token in marks):
        return block.raw

    def rests_on_it(start: int, end: int) -> bool:
        cited = [t.label for t in marks if start <= t.start < end and t.label in known]
        return bool(cited) and labels.issuperset(cited)

    cuts = [span for span in spans(block) if rests_on_it(*span)]
    left = [t for t in marks if t.label in labels and not any(a <= t.start < b for a, b in cuts)]
    return _cut_out(block.raw, [*cuts, *((token.start, token.end) for token in left)])


def spans(block: Block) -> Iterator[tuple[int, int]]:
    """What is told or withheld as one: a sentence, an item of a list, a row, a whole quote."""
    if block.kind is Kind.PARAGRAPH:
        yield from ((sentence.start, sentence.end) for sentence in block.sentences)
        return
    start = 0
    for line in _LINE.finditer(block.raw):
        begins = block.kind is Kind.TABLE or _ITEM.match(line.group())
        if begins and line.start() > start:
            yield start, line.start()
            start = line.start()
    yield start, len(block.raw)


def _cut_out(raw: str, cuts: Iterable[tuple[int, int]]) -> str:
    parts, at = [], 0
    for start, end in sorted(cuts):
        parts.append(raw[at:start])
        at = max(at, end)
    return "".join([*parts, raw[at:]])
