"""The sentences a draft addresses: what each gains, what takes its place, or where it goes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pipeline.errors import VaultFault
from pipeline.footnotes import Notes
from pipeline.markdown import Block, Kind, Page, Sentence
from pipeline.records import (
    AddCitation,
    Edit,
    MergeRepeat,
    MoveSentence,
    Retire,
    SentenceRef,
    Supersede,
)
from pipeline.surgery.splicing import INLINE, Splice, marks

Leaving = Retire | MoveSentence | MergeRepeat


@dataclass(slots=True)
class Patient:
    """A sentence that edits address.

    gained: labels of the marks it gains. successors: what takes its place, oldest first. leaving:
    the edit that takes it from its place, for which nothing comes.
    """

    block: Block
    sentence: Sentence
    gained: list[str] = field(default_factory=list)
    successors: list[Supersede] = field(default_factory=list)
    leaving: Leaving | None = None

    @property
    def raw(self) -> str:
        """The sentence as it stands, with the marks it had and those it gains."""
        start, end = span(self.block, self.sentence)
        raw, at = self.block.raw, self.marks_at
        return f"{raw[start:at]}{marks(self.gained)}{raw[at:end]}"

    @property
    def marks_at(self) -> int:
        """Where in its block new marks go: before the backslash of a hard break, if it has one."""
        raw = self.block.raw[: self.sentence.end]
        backslashes = len(raw) - len(raw.rstrip("\\"))
        return self.sentence.end - backslashes % 2  # it would make text of the mark

    def gain(self, label: str) -> None:
        """One more mark, unless it has it."""
        if label not in (*self.sentence.marks, *self.gained):
            self.gained.append(label)


Patients = Mapping[SentenceRef, Patient]


def admit(page: Page, notes: Notes, edits: Sequence[Edit]) -> Patients:
    """Every sentence that edits address, in the order they do.

    Raises VaultFault for an address that is not there, and for edits that are at odds.
    """
    found: dict[SentenceRef, Patient] = {}

    def at(ref: SentenceRef) -> Patient:
        if ref not in found:
            found[ref] = _patient(page, ref)
        return found[ref]

    for edit in edits:
        match edit:
            case AddCitation(at=ref, citation=citation):
                at(ref).gain(notes.label(citation))
            case Supersede(at=ref):
                _require(at(ref).leaving is None, at(ref))
                at(ref).successors.append(edit)
            case Retire(at=ref) | MoveSentence(at=ref) | MergeRepeat(repeat=ref):
                patient = at(ref)
                _require_prose(patient)
                _require(patient.leaving is None and not patient.successors, patient)
                patient.leaving = edit
    merges = [edit for edit in edits if isinstance(edit, MergeRepeat)]
    for merge in merges:
        kept = at(merge.at)
        _require_prose(kept)
        stands = kept.leaving is None or isinstance(kept.leaving, MoveSentence)
        _require(stands and not kept.successors, kept)
        repeat = found[merge.repeat]
        for label in (*repeat.sentence.marks, *repeat.gained):
            kept.gain(label)
    return found


def staying(block: Block, patients: Patients) -> list[Sentence]:
    """The sentences of a block that no edit takes from it."""
    return [
        sentence
        for index, sentence in enumerate(block.sentences)
        if not _leaves(patients, SentenceRef(block.index, index))
    ]


def vacated(page: Page, patients: Patients) -> frozenset[int]:
    """Indices of the paragraphs that lose all their sentences."""
    left = {patient.block.index for patient in patients.values() if patient.leaving}
    return frozenset(index for index in left if not staying(page.blocks[index], patients))


def removals(page: Page, patients: Patients) -> Iterator[Splice]:
    """What takes the leaving sentences out, and with a paragraph's last one the paragraph."""
    empty = vacated(page, patients)
    for index in sorted({p.block.index for p in patients.values() if p.leaving} - empty):
        yield from _thinned(page.blocks[index], patients)
    yield from _closed_up(page.blocks, empty)


def span(block: Block, sentence: Sentence) -> tuple[int, int]:
    """Where the sentence stands in its block, without white space before it."""
    raw = block.raw[sentence.start : sentence.end]
    return sentence.end - len(raw.lstrip()), sentence.end


def _thinned(block: Block, patients: Patients) -> Iterator[Splice]:
    """Each run of leaving sentences with the space after it, or before it at the end."""
    last: int | None = None  # where the last sentence that stays ends
    run: int | None = None  # where the run of those that leave begins
    end = 0
    for index, sentence in enumerate(block.sentences):
        start, end = span(block, sentence)
        if _leaves(patients, SentenceRef(block.index, index)):
            run = start if run is None else run
            continue
        if run is not None:
            yield Splice(block.start + run, block.start + start, INLINE, "")
        last, run = end, None
    if run is not None and last is not None:
        yield Splice(block.start + last, block.start + end, INLINE, "")


def _closed_up(blocks: Sequence[Block], empty: frozenset[int]) -> Iterator[Splice]:
    """Runs of vacated paragraphs with the blank lines after them, or before them at the end."""
    at = 0
    while at < len(blocks):
        if at not in empty:
            at += 1
            continue
        first = last = at
        while at < len(blocks) and (at in empty or blocks[at].kind is Kind.BLANK):
            last = at if at in empty else last
            at += 1
        start, end = blocks[first].start, blocks[last].end
        above = blocks[first - 1] if first else None
        below = blocks[last + 1] if last + 1 < len(blocks) else None
        # a heading right above keeps the blank line that parts it from what comes up
        if below is not None and below.kind is Kind.BLANK:
            end = below.end if above is None or above.kind is Kind.BLANK else end
        elif below is None and above is not None and above.kind is Kind.BLANK:
            start = above.start
        yield Splice(start, end, INLINE, "")


def _leaves(patients: Patients, ref: SentenceRef) -> bool:
    return ref in patients and patients[ref].leaving is not None


def _patient(page: Page, ref: SentenceRef) -> Patient:
    block = page.blocks[ref.block] if 0 <= ref.block < len(page.blocks) else None
    if block is None or not 0 <= ref.sentence < len(block.sentences):
        raise VaultFault(f"the page has no sentence {ref.sentence} in block {ref.block}")
    return Patient(block, block.sentences[ref.sentence])


def _require_prose(patient: Patient) -> None:
    if patient.block.kind is not Kind.PARAGRAPH:
        raise VaultFault(f"“{patient.sentence.text}” stands in no paragraph, so it stays there")


def _require(agreed: bool, patient: Patient) -> None:
    if not agreed:
        raise VaultFault(f"two edits at odds would take “{patient.sentence.text}” from its place")
