"""The page read anew after sentences left it: their neighbours must mean what they meant.

A `-` or `#` that now begins a line would make a list or a heading of the user's text, and two
lists with nothing between them any more would become one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from pipeline.errors import VaultFault
from pipeline.markdown import Block, Kind, Page, parse
from pipeline.prose import flat, reading
from pipeline.records import MoveSentence
from pipeline.surgery.patients import Patient, Patients, staying, vacated
from pipeline.surgery.splicing import Splice

_SHOWN = 60  # characters of a text in a message at most


def check(page: Page, after: str, patients: Patients, splices: Sequence[Splice]) -> None:
    """Raise VaultFault unless each block is still one, and each moved sentence is one."""
    leaving = [patient for patient in patients.values() if patient.leaving]
    if not leaving:
        return
    reread = parse(after)
    rest = iter(_solid(reread.blocks))
    empty = vacated(page, patients)
    for block in _solid(page.blocks):
        if block.index in empty:
            continue
        is_touched = any(s.end > block.start and s.start < block.end for s in splices)
        still = _staying_texts(block, patients)
        if not any(_stands(block, new, still, is_touched) for new in rest):
            raise _fault(leaving, block.raw)
    for patient in leaving:
        if isinstance(patient.leaving, MoveSentence) and not _arrived(
            reread, patient, flat(patient.leaving.section).casefold()
        ):
            raise _fault([patient], patient.raw)


def _stands(old: Block, new: Block, still: Counter[str], is_touched: bool) -> bool:
    if new.kind is not old.kind or new.heading_level != old.heading_level:
        return False
    if is_touched or old.kind is Kind.PARAGRAPH:
        return still <= Counter(sentence.text for sentence in new.sentences)
    was, now = old.raw.rstrip("\r\n"), new.raw.rstrip("\r\n")
    return now == was or (old.kind is Kind.LIST and now.startswith(was))


def _staying_texts(block: Block, patients: Patients) -> Counter[str]:
    replaced = [
        patient.sentence
        for patient in patients.values()
        if patient.block is block and patient.successors
    ]
    return Counter(s.text for s in staying(block, patients) if s not in replaced)


def _arrived(page: Page, patient: Patient, section: str) -> bool:
    wanted = reading(patient.raw)
    return any(
        sentence.text == wanted and set(patient.sentence.marks) <= set(sentence.marks)
        for block in page.blocks
        if block.kind is Kind.PARAGRAPH and block.section.casefold() == section
        for sentence in block.sentences
    )


def _solid(blocks: Iterable[Block]) -> list[Block]:
    return [block for block in blocks if block.kind is not Kind.BLANK]


def _fault(leaving: Sequence[Patient], beside: str) -> VaultFault:
    texts = ", ".join(f"“{_shown(patient.sentence.text)}”" for patient in leaving)
    return VaultFault(
        f"taking {texts} from its place would change what “{_shown(beside)}” means",
        mend="move the sentence by hand",
    )


def _shown(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1].rstrip()}…"
