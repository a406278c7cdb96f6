"""What a draft says leaves its place: sentences that retire, move, or merge into another."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from pipeline.footnotes import citations
from pipeline.gates.comparing import shown
from pipeline.markdown import HISTORY, Block, Kind, Page, Sentence
from pipeline.prose import flat
from pipeline.records import Draft, MergeRepeat, MoveSentence, Retire, SentenceRef, Supersede

_DATED = re.compile(r"(?<![^\r\n])- (?P<date>\d{4}-\d{2}-\d{2}): \Z")
_DATE = len("- 2026-01-31: ")


@dataclass(frozen=True, slots=True)
class Departure:
    """A sentence of the earlier page, and the edit that takes it from its place.

    kept: for a repeat, the sentence it merges into.
    """

    edit: Retire | MoveSentence | MergeRepeat
    block: Block
    sentence: Sentence
    kept: Sentence | None = None


def departures(page: Page, draft: Draft) -> dict[SentenceRef, Departure]:
    """Departures by the address they leave; an edit whose address is not there explains nothing."""
    found = {}
    for edit in draft.edits:
        match edit:
            case Retire(at=ref) | MoveSentence(at=ref):
                sentence = sentence_at(page, ref)
                if sentence is not None:
                    found[ref] = Departure(edit, page.blocks[ref.block], sentence)
            case MergeRepeat(at=at, repeat=ref):
                sentence, kept = sentence_at(page, ref), sentence_at(page, at)
                if sentence is not None and kept is not None and at != ref:
                    found[ref] = Departure(edit, page.blocks[ref.block], sentence, kept)
    return found


def sentence_at(page: Page, ref: SentenceRef) -> Sentence | None:
    """The sentence with this address, None if the page has none there."""
    blocks = page.blocks
    if 0 <= ref.block < len(blocks) and 0 <= ref.sentence < len(blocks[ref.block].sentences):
        return blocks[ref.block].sentences[ref.sentence]
    return None


def departed_well(before: Page, after: Page, draft: Draft) -> Iterator[str]:
    """What leaves its place is ours, and turns up where the draft says, footnotes and all."""
    leaving = list(departures(before, draft).values())
    yield from _not_ours(leaving, citations(before).keys())
    wanted, there = _standing(before), _standing(after)
    for ref in {edit.at for edit in draft.edits if isinstance(edit, Supersede)}:
        replaced = sentence_at(before, ref)
        if replaced is not None:
            wanted[before.blocks[ref.block].section.casefold(), replaced.text] -= 1
    told = Counter((date, sentence.text) for date, sentence in _told(after))
    told.subtract((date, sentence.text) for date, sentence in _told(before))
    for departure in leaving:
        text, edit = departure.sentence.text, departure.edit
        wanted[departure.block.section.casefold(), text] -= 1
        match edit:
            case MoveSentence(section=section):
                wanted[flat(section).casefold(), text] += 1
            case Retire(date=date):
                if told[date, text] <= 0:
                    yield f"“{shown(text)}” would not stand in History as of {date}"
                told[date, text] -= 1
    for departure in leaving:
        text, edit = departure.sentence.text, departure.edit
        if isinstance(edit, MoveSentence):
            key = (flat(edit.section).casefold(), text)
            if there[key] < wanted[key]:
                name = f"“{shown(edit.section)}”" if key[0] else "the lead"
                yield f"“{shown(text)}” would not arrive in {name}"
        for label in _labels_lost(departure, after):
            yield f"“{shown(text)}” would lose its footnote [^{label}]"


def _not_ours(leaving: Iterable[Departure], ours: Collection[str]) -> Iterator[str]:
    for departure in leaving:
        if departure.block.kind is not Kind.PARAGRAPH:
            yield f"“{shown(departure.sentence.text)}” stands in no paragraph and stays there"
        for sentence in (departure.sentence, departure.kept):
            if sentence is not None and not any(label in ours for label in sentence.marks):
                yield f"“{shown(sentence.text)}” is the user's own and stays as it is"


def _labels_lost(departure: Departure, after: Page) -> list[str]:
    """Footnotes of what left that no sentence which took them has."""
    match departure.edit:
        case Retire(date=date):
            takers = [s for day, s in _told(after) if day == date]
            text = departure.sentence.text
        case _:
            takers = [s for b in after.blocks if b.kind is Kind.PARAGRAPH for s in b.sentences]
            text = (departure.kept or departure.sentence).text
    has = {label for sentence in takers if sentence.text == text for label in sentence.marks}
    return [label for label in departure.sentence.marks if label not in has]


def _standing(page: Page) -> Counter[tuple[str, str]]:
    """How often a sentence stands in the paragraphs of a section."""
    return Counter(
        (block.section.casefold(), sentence.text)
        for block in page.blocks
        if block.kind is Kind.PARAGRAPH
        for sentence in block.sentences
    )


def _told(page: Page) -> Iterator[tuple[str, Sentence]]:
    """The dated lines of History and their dates."""
    for block in page.blocks:
        if block.kind is Kind.LIST and block.section.casefold() == HISTORY.casefold():
            for sentence in block.sentences:
                dated = _DATED.match(block.raw, max(0, sentence.start - _DATE), sentence.start)
                if dated is not None:
                    yield dated["date"], sentence
