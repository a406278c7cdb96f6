"""What the gates look at: two texts of an article, read once, and what is new in the later one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from pipeline.footnotes import citations
from pipeline.markdown import HISTORY, Block, Page, parse
from pipeline.policy import GatePolicy
from pipeline.records import Citation, Draft, Message

Place = tuple[str, int, int]  # conv, first and last message of a citation
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Context:
    """What a gate must know besides the two texts and the draft.

    baseline_words: words per section ("" = lead) `floor_window` nights ago; empty if unknown.
    evidence: the messages a citation points at. taken_stems: the stems of all articles there are.
    claims: texts of the claims folded.
    """

    baseline_words: Mapping[str, int]
    evidence: Callable[[Citation], Sequence[Message]]
    taken_stems: frozenset[str]
    claims: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Cited:
    """A sentence of a page as read, its raw text, and what it cites.

    notes: labels of the user's own footnotes it carries.
    """

    text: str
    raw: str
    section: str
    citations: tuple[Citation, ...]
    notes: frozenset[str]

    @property
    def places(self) -> frozenset[Place]:
        """What it cites, comparable across pages whatever the labels."""
        return frozenset(place(citation) for citation in self.citations)

    @property
    def in_history(self) -> bool:
        """Whether it stands under History."""
        return self.section.casefold() == HISTORY.casefold()


@dataclass(frozen=True, slots=True)
class Comparison:
    """Both pages; fresh: sentences only the later one has; pieces: all its new text, as written."""

    before: Page
    after: Page
    old: tuple[Cited, ...]
    new: tuple[Cited, ...]
    fresh: tuple[Cited, ...]
    pieces: tuple[str, ...]


@dataclass(frozen=True)
class Write:
    """What a gate judges: `after` is to be written over `before` ("" = new), as `draft` says."""

    before: str
    after: str
    draft: Draft
    policy: GatePolicy
    context: Context

    @cached_property
    def pages(self) -> Comparison:
        """Both texts, read once for all gates."""
        return _compare(self.before, self.after)


def _compare(before: str, after: str) -> Comparison:
    old_page, new_page = parse(before), parse(after)
    old, new = _cited(old_page), _cited(new_page)
    left = Counter(sentence.text for sentence in old)
    fresh = []
    for sentence in new:
        if left[sentence.text] > 0:
            left[sentence.text] -= 1
        else:
            fresh.append(sentence)
    pieces = (*(sentence.raw for sentence in fresh), *_new_lines(old_page, new_page))
    return Comparison(old_page, new_page, old, new, tuple(fresh), pieces)


def place(citation: Citation) -> Place:
    """What a citation points at."""
    return citation.conv, citation.first, citation.last


def shown(text: str) -> str:
    """The beginning of a text, for a reason."""
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1].rstrip()}…"


def _cited(page: Page) -> tuple[Cited, ...]:
    known = citations(page)
    return tuple(
        Cited(
            sentence.text,
            block.raw[sentence.start : sentence.end],
            block.section,
            tuple(known[label] for label in sentence.marks if label in known),
            frozenset(label for label in sentence.marks if label not in known),
        )
        for block in page.blocks
        for sentence in block.sentences
    )


def _new_lines(old: Page, new: Page) -> list[str]:
    """Lines outside of sentences that the later page alone has, its frontmatter's included."""
    body = old.text[len(old.frontmatter) :]
    left = Counter(line.strip() for part in (old.frontmatter, body) for line in part.splitlines())
    found = []
    lines = new.frontmatter.splitlines()
    for block in new.blocks:
        lines += _between_sentences(block).splitlines()
    for line in lines:
        if not line.strip():
            continue
        if left[line.strip()] > 0:
            left[line.strip()] -= 1
        else:
            found.append(line)
    return found


def _between_sentences(block: Block) -> str:
    parts = []
    at = 0
    for sentence in block.sentences:
        parts.append(block.raw[at : sentence.start])
        at = sentence.end
    return "\n".join([*parts, block.raw[at:]])
