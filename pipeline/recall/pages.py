"""A page in the pieces a reader asks for: its sections, the citations of one, its links."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.errors import ConfigFault
from pipeline.footnotes import definitions, marks, parse_citation
from pipeline.links import wikilinks
from pipeline.markdown import Kind, Page
from pipeline.recall.naming import key
from pipeline.recall.shelf import Card, Shelf
from pipeline.records import Citation

_AGAIN = re.compile(r"(?P<heading>.*)~(?P<number>[1-9]\d{0,3})")
_LINKED = re.compile(r"\[\[([^\[\]|#^\r\n]+)")


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with what stands under it, up to the next of its level or above.

    level: 1 to 6, 0 for the lead. anchor: what asks for it, "" for the lead; of headings that are
    called alike the later ones have `~2`, `~3` after their text. start, end: offsets in the page's
    text. first, last: its blocks, last excluded.
    """

    heading: str
    level: int
    anchor: str
    start: int
    end: int
    first: int
    last: int

    @property
    def size(self) -> int:
        """Characters, those of the sections in it included."""
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Note:
    """A footnote of a section. text: its definition. citation: None for a user's own."""

    label: str
    text: str
    citation: Citation | None


@dataclass(frozen=True, slots=True)
class Link:
    """A page that an article links to. stem: "" where no article is called so."""

    name: str
    stem: str
    title: str


def sections(page: Page) -> list[Section]:
    """The lead and every section, in order; a page's own title is no section."""
    title = page.title
    after = 0 if title is None else title.index + 1
    heads = [b for b in page.blocks if b.heading_level and (title is None or b is not title)]
    found = []
    lead_end = heads[0].index if heads else len(page.blocks)
    if any(block.kind is not Kind.BLANK for block in page.blocks[after:lead_end]):
        found.append(_section(page, "", 0, "", after, lead_end))
    taken: set[str] = set()
    seen = {"": 1}  # that is the lead's, also where a heading says nothing
    for number, head in enumerate(heads, 1):
        last = next(
            (b.index for b in heads[number:] if b.heading_level <= head.heading_level),
            len(page.blocks),
        )
        times = seen[head.heading_text] = seen.get(head.heading_text, 0) + 1
        anchor = head.heading_text if times == 1 else f"{head.heading_text}~{times}"
        while anchor in taken:  # a heading may itself end in such a number
            anchor += "~2"
        taken.add(anchor)
        found.append(
            _section(page, head.heading_text, head.heading_level, anchor, head.index, last)
        )
    return found


def section(page: Page, anchor: str) -> Section:
    """The section this anchor asks for: a heading as written, or in another case or spelling.

    `Heading#Part` asks for a part of a section, as in Obsidian. Raises ConfigFault, which names
    those there are.
    """
    found = sections(page)
    wanted = anchor.strip().removeprefix("#").strip()
    if exact := [one for one in found if one.anchor in (anchor, wanted)]:
        return exact[0]
    again = _AGAIN.fullmatch(wanted)
    number = int(again["number"]) if again else 1
    steps = [step for step in wanted.split("#") if step.strip()]
    climbs = ".." in re.split(r"[/\\]", wanted)  # a path, not a heading
    for path in ([again["heading"] if again else wanted], steps):
        alike = [one for one in found if one.level and path and _ends(found, one, path)]
        if len(alike) >= number and not climbs:
            return alike[number - 1]
    names = ", ".join(repr(one.anchor) for one in found if one.anchor)
    raise ConfigFault(
        f"the article has no section {anchor[:80]!r}",
        mend=f"its sections are {names}" if names else "it has no sections: read it whole",
    )


def notes(page: Page, part: Section) -> list[Note]:
    """The footnotes that the section's text refers to, in the order of their marks."""
    known = definitions(page)
    blocks = page.blocks[part.first : part.last]
    inside = {label for block in blocks if block.kind is Kind.DEFINITION for label in marks(block)}
    used = dict.fromkeys(
        label for block in blocks if block.kind is not Kind.DEFINITION for label in marks(block)
    )
    return [
        Note(label, known[label].rstrip(), parse_citation(known[label]))
        for label in used
        if label in known and label not in inside
    ]


def told(page: Page, part: Section) -> str:
    """The section's text, with the definitions of its footnotes at the end."""
    text = page.text[part.start : part.end].strip("\r\n")
    below = [note.text for note in notes(page, part)]
    return "\n".join([text, "", *below] if below else [text])


def links(shelf: Shelf, card: Card) -> tuple[list[Link], list[Card]]:
    """Where the article links to, each page once and in order, and the articles that link to it."""
    by_name = _by_name(shelf.cards)
    names = dict.fromkeys(wikilinks(shelf.page(card.stem).text))
    outward: dict[str, Link] = {}
    for name in names:
        there = by_name.get(_name(name))
        link = Link(name, there.stem, there.title) if there else Link(name, "", "")
        hidden = there is None and shelf.withholding.is_ignored([name])
        if not hidden and (there is None or there.stem != card.stem):
            outward.setdefault(there.stem if there else _name(name), link)
    inward = [
        other
        for other, text in shelf.texts()
        if other.stem != card.stem
        # parsed, to leave out what stands in code, only where it may be so
        and any(_leads(name, card, by_name) for name in _LINKED.findall(text))
        and any(_leads(n, card, by_name) for n in wikilinks(shelf.page(other.stem).text))
    ]
    return list(outward.values()), inward


def _section(page: Page, heading: str, level: int, anchor: str, first: int, last: int) -> Section:
    blocks = page.blocks[first:last]
    start = blocks[0].start if blocks else len(page.text)
    return Section(heading, level, anchor, start, blocks[-1].end if blocks else start, first, last)


def _ends(found: Sequence[Section], one: Section, path: Sequence[str]) -> bool:
    """Whether the heading is the last of this path, and the others are above it in that order."""
    if key(one.heading) != key(path[-1]):
        return False
    above = [key(s.heading) for s in found if s.level and s.first < one.first < s.last]
    for step in map(key, path[:-1]):
        if step not in above:
            return False
        above = above[above.index(step) + 1 :]
    return True


def _by_name(cards: Sequence[Card]) -> dict[str, Card]:
    """Articles by what a link may call them: the file's name counts before titles and aliases."""
    found: dict[str, Card] = {}
    for names in (
        lambda card: (card.stem,),
        lambda card: (card.title,),
        lambda card: card.aliases,
    ):
        for card in cards:
            for name in names(card):
                found.setdefault(_name(name), card)
    return found


def _leads(target: str, card: Card, by_name: dict[str, Card]) -> bool:
    there = by_name.get(_name(target.rpartition("/")[2].removesuffix(".md")))
    return there is not None and there.stem == card.stem


def _name(name: str) -> str:
    return unicodedata.normalize("NFC", name.strip().rstrip("\\")).casefold()
