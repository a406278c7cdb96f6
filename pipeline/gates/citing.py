"""Gates 2, 3 and 7: citations survive, marks and definitions agree, new sentences are supported."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from pipeline.footnotes import citations, definitions, marks
from pipeline.gates.comparing import Cited, Comparison, Place, Write, place, shown
from pipeline.gates.departing import Departure, departures, sentence_at
from pipeline.gates.merging import says_more
from pipeline.markdown import Block, Kind, Page
from pipeline.records import Citation, Draft, Message, Retire, Supersede
from pipeline.support import check

_CONV = re.compile(r"conv:[0-9a-f]{8,}", re.IGNORECASE)


def citations_survive(write: Write) -> list[str]:
    """2: each citation stays with the sentence it supported, or went to History with it.

    A repeat may hand its citations to the sentence that says all it said.
    """
    pages = write.pages
    known, then = citations(pages.before), citations(pages.after)
    left = Counter((s.text, p, s.in_history) for s in pages.new for p in s.places)
    outdated = _outdated(write.draft, pages)
    merges = [d for d in departures(pages.before, write.draft).values() if d.kept is not None]
    merged = _handed_on(merges, pages)
    reasons = [
        f"“{shown(merge.sentence.text)}” says more than “{shown(merge.kept.text)}”: {more}"
        for merge in merges
        if merge.kept is not None
        for more in says_more(merge.sentence.text, merge.kept.text)
    ]
    for sentence in pages.old:
        for cited in sentence.places:
            stayed, moved = (
                (sentence.text, cited, sentence.in_history),
                (sentence.text, cited, True),
            )
            if left[stayed] > 0:
                left[stayed] -= 1
            elif sentence.text in outdated and left[moved] > 0:
                left[moved] -= 1
            elif merged[sentence.text, cited] > 0:
                merged[sentence.text, cited] -= 1
            else:
                reasons.append(f"“{shown(sentence.text)}” would lose its source {cited[0]}")
    # Marks the user put in lists, tables and quotes: those blocks must stand as they are.
    raws = Counter(block.raw.strip() for block in pages.after.blocks)
    for block in pages.before.blocks:
        labels = set(marks(block)) - {label for s in block.sentences for label in s.marks}
        for label in sorted(labels & known.keys()):
            if not raws[block.raw.strip()]:
                reasons.append(f"“{shown(block.raw)}” would lose its source {known[label].conv}")
    gone = {place(citation) for citation in known.values()} - {place(c) for c in then.values()}
    reasons += [f"the footnote of {conv} would be lost" for conv, _, _ in sorted(gone)]
    return reasons


def marks_defined(write: Write) -> list[str]:
    """3: each mark has one definition and each of our definitions a mark, one conversation each.

    Only faults the draft brings: what the user left open or wrote differently is theirs.
    """
    pages = write.pages
    old = _faults(pages.before)
    return [text for fault, text in _faults(pages.after).items() if fault not in old]


def sentences_supported(write: Write) -> list[str]:
    """7: each new sentence is cited and its messages support it, each new citation its sentence.

    What a repeat hands on supports the repeat, all of which the sentence says that it went into.
    """
    pages = write.pages
    reasons = []
    for sentence in pages.fresh:
        if not sentence.citations:
            reasons.append(f"“{shown(sentence.text)}” has no source")
        else:
            reasons += _unsupported(sentence.text, sentence.citations, write)
    handed_on = _repeats_of(write)
    for sentence, gained in _gained(pages):
        said: dict[str, list[Citation]] = {}
        for citation in gained:
            text = handed_on.get((sentence.text, place(citation)), sentence.text)
            said.setdefault(text, []).append(citation)
        for text, cited in said.items():
            reasons += _unsupported(text, tuple(cited), write)
    if not write.before and not any(sentence.citations for sentence in pages.new):
        reasons.append("the new article cites nothing")
    return reasons


def _outdated(draft: Draft, pages: Comparison) -> set[str]:
    """Texts of the sentences the draft sends to History."""
    found = (
        sentence_at(pages.before, edit.at)
        for edit in draft.edits
        if isinstance(edit, Supersede | Retire)
    )
    return {sentence.text for sentence in found if sentence is not None}


def _handed_on(merges: Sequence[Departure], pages: Comparison) -> Counter[tuple[str, Place]]:
    """Citations of repeats that the sentence they merge into has now, by the repeat's text."""
    known = citations(pages.before)
    now: dict[str, set[Place]] = {}
    for sentence in pages.new:
        if not sentence.in_history:
            now.setdefault(sentence.text, set()).update(sentence.places)
    return Counter(
        (merge.sentence.text, cited)
        for merge in merges
        if merge.kept is not None
        for cited in {place(known[label]) for label in merge.sentence.marks if label in known}
        if cited in now.get(merge.kept.text, ())
    )


def _faults(page: Page) -> dict[tuple[str, str], str]:
    """(sort, label) → what is wrong."""
    defined = definitions(page)
    ours = citations(page)
    marked = {label for block in page.blocks for label in _marks_in(block)}
    heads = Counter(
        block.raw.split("]:", 1)[0].strip()[2:]
        for block in page.blocks
        if block.kind is Kind.DEFINITION
    )
    faults = {
        ("undefined", label): f"the mark [^{label}] would have no definition"
        for label in sorted(marked - defined.keys())
    }
    for label in sorted(ours.keys() - marked):
        faults["unmarked", label] = f"the footnote [^{label}] would support no sentence"
    for label, count in sorted(heads.items()):
        if count > 1:
            faults["doubled", label] = f"the footnote [^{label}] would be defined twice"
    for label, raw in defined.items():
        convs = _CONV.findall(raw)
        if len(convs) > 1:
            faults["several", label] = f"the footnote [^{label}] would name several conversations"
        elif convs and label not in ours:
            faults["malformed", label] = (
                f"the footnote [^{label}] would not be readable as a source"
            )
    return faults


def _marks_in(block: Block) -> tuple[str, ...]:
    """Marks of a block; the label a definition defines is none."""
    return marks(block)[1:] if block.kind is Kind.DEFINITION else marks(block)


def _repeats_of(write: Write) -> dict[tuple[str, Place], str]:
    """(sentence that stays, a source it gets from a repeat) → the text of the repeat."""
    before = write.pages.before
    known = citations(before)
    return {
        (merge.kept.text, place(known[label])): merge.sentence.text
        for merge in departures(before, write.draft).values()
        if merge.kept is not None
        for label in merge.sentence.marks
        if label in known
    }


def _gained(pages: Comparison) -> list[tuple[Cited, tuple[Citation, ...]]]:
    """Sentences that stood there before, with the citations they gain."""
    had: dict[str, set[Place]] = {}
    for sentence in pages.old:
        had.setdefault(sentence.text, set()).update(sentence.places)
    found = []
    for sentence in pages.new:
        if sentence in pages.fresh or sentence.text not in had:
            continue
        gained = tuple(c for c in sentence.citations if place(c) not in had[sentence.text])
        if gained:
            found.append((sentence, gained))
    return found


def _unsupported(text: str, cited: tuple[Citation, ...], write: Write) -> list[str]:
    messages: dict[str, Message] = {}
    for citation in cited:
        found = write.context.evidence(citation)
        if not found:
            return [f"“{shown(text)}” cites messages of {citation.conv} that are not there"]
        messages.update((message.message_id, message) for message in found)
    verdict = check(text, list(messages.values()), threshold=write.policy.support)
    return [f"“{shown(text)}” is not supported: {reason}" for reason in verdict.reasons]
