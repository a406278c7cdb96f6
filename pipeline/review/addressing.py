"""A draft made for one text of an article, addressed anew against another text of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from pipeline.markdown import Page
from pipeline.publish import digest
from pipeline.records import (
    AddCitation,
    AppendHistory,
    AppendSentences,
    Draft,
    Edit,
    Retire,
    SentenceRef,
    Supersede,
)


def readdress(draft: Draft, old: Page, new: Page) -> Draft | None:
    """The same edits on the page as it is now; None when a sentence they address is not there.

    A sentence is found by its text and section, and only where it stands there once.
    """
    places = _places(new)
    edits: list[Edit] = []
    for edit in draft.edits:
        match edit:
            case AddCitation(at=ref) | Supersede(at=ref) | Retire(at=ref):
                block = old.blocks[ref.block]
                found = places.get((block.section, block.sentences[ref.sentence].text))
                if found is None:
                    return None
                edits.append(replace(edit, at=found))
            case AppendSentences() | AppendHistory():
                edits.append(edit)
            case _:
                return None  # wikify makes such edits anew whenever they are wanted
    return replace(draft, edits=tuple(edits), base_hash=digest(new.text) if new.text else "")


def _places(page: Page) -> dict[tuple[str, str], SentenceRef]:
    found = [
        ((block.section, sentence.text), SentenceRef(block.index, index))
        for block in page.blocks
        for index, sentence in enumerate(block.sentences)
    ]
    times = Counter(key for key, _ in found)
    return {key: ref for key, ref in found if times[key] == 1}
