"""Sentences that rest on forgotten conversations alone, struck out of a page. No gate: it is asked.

They leave by the surgery that every edit goes through, to the History of the page, and from there
for good, with the footnotes that nothing marks any more. What else stands there keeps its words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from pipeline.buckets_page import MERGED, TAKES
from pipeline.chronicle import tells_where
from pipeline.errors import VaultFault
from pipeline.footnotes import citations, format_definition, marks
from pipeline.markdown import HISTORY, REFERENCES, Block, Kind, Page, Sentence, parse
from pipeline.prose import reading
from pipeline.records import Draft, Edit, Retire, SentenceRef
from pipeline.store.buckets import normalised
from pipeline.surgery import apply
from pipeline.topics.handovers import COLON


@dataclass(frozen=True, slots=True)
class Struck:
    """A page without the sentences. kept: (sentence, why) of those that stay."""

    after: str
    sentences: tuple[str, ...]
    kept: tuple[tuple[str, str], ...]


Ours = Callable[[str], bool]


def strike(
    text: str, convs: Collection[str], ours: Ours, *, today: str, paragraph_sentences: int
) -> Struck:
    """Take out what cites only these conversations and stands as the pipeline wrote it.

    ours: whether a sentence was written by the pipeline. A sentence whose leaving would change what
    its neighbours mean stays, as do the user's own.
    """
    page = parse(text)
    found = _resting_on(page, convs)
    kept = [(s.text, "it is yours") for _, _, s in found if not ours(s.text)]
    leaving = [(ref, block, s) for ref, block, s in found if ours(s.text)]
    in_prose = [ref for ref, block, _ in leaving if block.kind is Kind.PARAGRAPH]
    after, stuck = _retired(text, in_prose, today, paragraph_sentences)
    stays = {page.blocks[ref.block].sentences[ref.sentence].text for ref in stuck}
    kept += [(one, "its neighbours would mean something else") for one in sorted(stays)]
    gone = [s.text for _, _, s in leaving if s.text not in stays]
    after = _without_titles(_without_notes(_without_items(after, convs, set(gone)), convs), convs)
    lost = Counter(page.said) - Counter(gone) - Counter(parse(after).said)
    if lost:
        raise VaultFault(f"“{next(iter(lost))}” would go as well", mend="strike it out by hand")
    return Struck(after, tuple(gone), tuple(kept))


def strike_lines(
    text: str,
    convs: Collection[str],
    said: Callable[[str], bool],
    ours: Ours,
    topics: Mapping[str, str] | None = None,
) -> str:
    """A page that is a list of lines of ours without those that quote what is forgotten.

    Titles of the conversations go, and what stands in the cells of a table beside its first: never
    the row, without which the topic would be written there anew, but those of `topics`, which go
    unless more is left of them than a name and the description there, which is of ours, and the
    lines that tell where they went. ours: whether a line, as read and without its bullet, was
    written by the pipeline.
    """
    lines = text.splitlines(keepends=True)
    leads = _Leads(lines, topics or {})
    return "".join(_struck(line, convs, said, ours, topics or {}, leads) for line in lines)


def _struck(
    line: str,
    convs: Collection[str],
    said: Callable[[str], bool],
    ours: Ours,
    topics: Mapping[str, str],
    leads: _Leads,
) -> str:
    def quotes(part: str) -> bool:
        return said(part) or said(reading(part))

    for conv in convs:
        line = re.sub(rf'(`conv:{conv}` \([^()"\r\n]*), "[^"\r\n]*"\)', r"\1)", line)
    if line.startswith("|"):
        name, *cells = line.split("|")[1:]
        left = [" " if quotes(cell) or leads.to(cell) else cell for cell in cells]
        # with words of the user's in it the row stays, and the topic is made anew of it
        topic = reading(name).strip()
        more = {reading(cell).strip() for cell in left[:-2]} - {"", topics.get(topic)}
        if topic in topics and not more:
            return ""
        return "|".join(["", name, *left])
    entry = reading(line.strip().removeprefix("- "))
    if any(tells_where(line, topic) for topic in topics):
        return ""
    return "" if (quotes(line) or any(f"conv:{c}" in line for c in convs)) and ours(entry) else line


class _Leads:
    """Tells arrows that lead to one of these topics, or from one, from those of the others."""

    def __init__(self, lines: Sequence[str], topics: Collection[str]) -> None:
        rows = (line.split("|")[1] for line in lines if line.startswith("|"))
        self._gone = {normalised(topic) for topic in topics}
        self._known = {normalised(reading(name)) for name in rows} | self._gone

    def to(self, cell: str) -> bool:
        """Whether this cell is such an arrow; of the names it begins with the longest counts."""
        said = reading(cell).strip()
        if arrow := MERGED.fullmatch(said):
            return _named(arrow["name"]) in self._gone
        if not (arrow := TAKES.fullmatch(said)):
            return False
        led = _named(arrow["part"])
        begins = [led, *(led[: colon.start()] for colon in reversed([*COLON.finditer(led)]))]
        return next((name for name in begins if name in self._known), "") in self._gone


def _named(led: str) -> str:
    return normalised(led.strip("*_ "))


def _resting_on(page: Page, convs: Collection[str]) -> list[tuple[SentenceRef, Block, Sentence]]:
    """Sentences all of whose marks cite these conversations."""
    cited = citations(page)
    found = []
    for block in page.blocks:
        for index, sentence in enumerate(block.sentences):
            sources = [cited[mark].conv if mark in cited else "" for mark in sentence.marks]
            if sources and all(conv in convs for conv in sources):
                found.append((SentenceRef(block.index, index), block, sentence))
    return found


def _retired(
    text: str, refs: Sequence[SentenceRef], today: str, paragraph_sentences: int
) -> tuple[str, list[SentenceRef]]:
    """The page with these sentences in its History; those that cannot leave their place."""

    def applied(chosen: Sequence[SentenceRef]) -> str:
        edits: tuple[Edit, ...] = tuple(Retire(ref, today) for ref in chosen)
        draft = Draft("", "", "", "", (), edits)
        return apply(text, draft, today=today, paragraph_sentences=paragraph_sentences)

    chosen: list[SentenceRef] = []
    stuck: list[SentenceRef] = []
    try:
        return applied(refs), stuck
    except VaultFault:
        for ref in refs:
            try:
                applied([*chosen, ref])
                chosen.append(ref)
            except VaultFault:
                stuck.append(ref)
        return applied(chosen), stuck


def _without_items(text: str, convs: Collection[str], gone: Collection[str]) -> str:
    """The page without the items of its History that say this and rest on that."""
    page = parse(text)
    cuts = []
    for _, block, sentence in _resting_on(page, convs):
        if block.kind is Kind.LIST and sentence.text in gone:
            raw = block.raw
            start = raw.rfind("\n", 0, sentence.start) + 1
            end = raw.find("\n", sentence.end) + 1 or len(raw)
            cuts.append((block.start + start, block.start + end))
    return _without_empty(_cut(text, cuts), HISTORY)


def _without_notes(text: str, convs: Collection[str]) -> str:
    """The page without definitions of theirs that no mark refers to."""
    page = parse(text)
    cited = citations(page)
    marked = {
        label
        for block in page.blocks
        if block.kind is not Kind.DEFINITION
        for label in marks(block)
    }
    cuts = [
        (block.start, block.end)
        for block in page.blocks
        if block.kind is Kind.DEFINITION
        for label in [block.raw.partition("[^")[2].partition("]")[0]]
        if label in cited and cited[label].conv in convs and label not in marked
    ]
    return _without_empty(_cut(text, cuts), REFERENCES)


def _without_titles(text: str, convs: Collection[str]) -> str:
    """Definitions that stay, of sentences with other sources too, without the title."""
    page = parse(text)
    for label, citation in citations(page).items():
        if citation.conv in convs and citation.title:
            full = format_definition(label, citation)
            text = text.replace(full, full.partition(" — ")[0])
    return text


def _without_empty(text: str, section: str) -> str:
    """The page without this section if nothing is in it any more."""
    page = parse(text)
    heading = page.heading(section)
    if heading is None:
        return text
    body = page.body(section)
    if any(block.kind is not Kind.BLANK for block in body):
        return text
    end = body[-1].end if body else heading.end
    if end < len(text):
        return text[: heading.start] + text[end:]
    return text[: heading.start].rstrip("\r\n") + page.newline


def _cut(text: str, cuts: Sequence[tuple[int, int]]) -> str:
    for start, end in sorted(cuts, reverse=True):
        text = text[:start] + text[end:]
    return text
