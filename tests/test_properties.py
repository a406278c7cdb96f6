"""Promises kept for any page and any draft: every byte read, none changed that no edit addresses.

The examples of the CommonMark specification are read where they are at hand: the variable
COMMONMARK_EXAMPLES names a JSON list of objects with a "markdown", as the specification's own
test script dumps it. They are not part of this repository, whose licence differs.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from pipeline.errors import VaultFault
from pipeline.gates import Context, Write
from pipeline.gates.untouched import unaddressed_identical
from pipeline.markdown import Kind, Page, parse
from pipeline.policy import load_policy
from pipeline.records import (
    AddCitation,
    Draft,
    LinkFirstMention,
    MergeRepeat,
    MoveSentence,
    Retire,
    SentenceRef,
    Supersede,
)
from pipeline.surgery import apply
from tests.support_markdown import NASTY, any_text
from tests.support_pages import draft_of, drafts, note, pages

POLICY = load_policy().gate
CONTEXT = Context(baseline_words={}, evidence=lambda citation: (), taken_stems=frozenset())


def _given_back(text: str) -> None:
    page = parse(text)
    assert page.frontmatter + "".join(block.raw for block in page.blocks) == text
    at = len(page.frontmatter)
    for index, block in enumerate(page.blocks):
        assert (block.index, block.start) == (index, at)
        assert block.raw
        at = block.end


# ------------------------------------------------------------------ reading


def _specification() -> list[str]:
    named = os.environ.get("COMMONMARK_EXAMPLES", "")
    if not named:
        pytest.skip("COMMONMARK_EXAMPLES names no file with the examples of the specification")
    return [entry["markdown"] for entry in json.loads(Path(named).read_text(encoding="utf-8"))]


def test_the_examples_of_the_specification_are_given_back() -> None:
    """Each, by itself, under a heading, in the middle of a page, and with other line ends."""
    examples = _specification()
    assert len(examples) > 600
    for example in examples:
        for newline in ("\n", "\r\n", "\r"):
            text = example.replace("\n", newline)
            for page in (text, text.rstrip(newline), f"# T{newline}{text}{newline}end.[^1]"):
                _given_back(page)
    _given_back("\n".join(examples))


def test_the_examples_of_the_specification_stay_as_they_are() -> None:
    """Whatever stands on the page, an edit beside it leaves it alone, and the gate agrees."""
    for example in _specification():
        # the definition stands first: an example may swallow what follows it
        before = f"# T\n\nOne.[^1] Two.[^1]\n\n{note(1, 1)}\n\n## Mine\n\n{example}\n"
        made = draft_of(
            Retire(SentenceRef(2, 1), "2026-01-01"), MoveSentence(SentenceRef(2, 0), "Facts")
        )
        after = _applied(before, made)
        assert _changed(before, after, made) == []
        assert _gate(before, after, made) == []


@given(pages())
def test_pages_are_given_back_exactly(text: str) -> None:
    """Frontmatter and blocks joined are the page, whatever it is composed of."""
    _given_back(text)


@given(pages())
def test_sentences_cover_their_paragraph(text: str) -> None:
    """Every sign of a paragraph but white space and hard breaks belongs to one sentence."""
    for block in parse(text).blocks:
        if block.kind is Kind.PARAGRAPH:
            at = 0
            for sentence in block.sentences:
                between = block.raw[at : sentence.start]
                assert not re.sub(r"\\(?=[\r\n])", "", between).strip(), block
                at = sentence.end
            assert not block.raw[at:].strip(), block


# ------------------------------------------------------------------ edits and their gate


def _applied(before: str, made: Draft) -> str:
    return apply(before, made, today="2026-11-30", paragraph_sentences=3)


def _gate(before: str, after: str, made: Draft) -> list[str]:
    return unaddressed_identical(Write(before, after, made, POLICY, CONTEXT))


def _addressed_sentences(made: Draft) -> set[SentenceRef]:
    found = set()
    for edit in made.edits:
        match edit:
            case AddCitation(at=ref) | Supersede(at=ref) | Retire(at=ref) | MoveSentence(at=ref):
                found.add(ref)
            case MergeRepeat(at=ref, repeat=repeat):
                found |= {ref, repeat}
    return found


def _addressed(made: Draft) -> set[int]:
    """Indices of the blocks that hold what an edit addresses."""
    linked = {edit.block for edit in made.edits if isinstance(edit, LinkFirstMention)}
    return linked | {ref.block for ref in _addressed_sentences(made)}


def _may_grow(page: Page, addressed: set[int]) -> set[int]:
    """Indices of the blocks after which, up to the next heading, nothing surely stays."""
    found = set()
    is_last = True
    for block in reversed(page.blocks):
        if block.heading_level:
            is_last = True
        elif block.kind is not Kind.BLANK and is_last:
            found.add(block.index)
            is_last = block.index in addressed
    return found


def _changed(before: str, after: str, made: Draft) -> list[str]:
    """Blocks no edit addresses that are not there as they were, in their order."""
    page = parse(before)
    free = _addressed(made) | _may_grow(page, _addressed(made))
    rest = iter(parse(after).blocks)
    return [
        block.raw
        for block in page.blocks
        if block.kind is not Kind.BLANK
        and block.index not in free
        and not any(
            new.kind is block.kind and new.raw.rstrip("\r\n") == block.raw.rstrip("\r\n")
            for new in rest
        )
    ]


@st.composite
def _cases(draw: st.DrawFn) -> tuple[str, Draft, str]:
    """A page, a draft for it, and the page after."""
    before = draw(st.one_of(pages(), pages(), any_text, st.sampled_from([*NASTY.values()])))
    assume(before)
    made = draw(drafts(before))
    try:
        after = _applied(before, made)
    except VaultFault as fault:
        assert "would change what" in str(fault)
        event("refused by the surgeon")
        assume(False)
    return before, made, after


@given(_cases())
@settings(max_examples=200)
def test_a_draft_changes_what_it_addresses_alone(case: tuple[str, Draft, str]) -> None:
    """Other blocks stand in their order, byte for byte, and gate 4 finds the rest explained.

    Only the end of a section may grow.
    """
    before, made, after = case
    assert _changed(before, after, made) == []
    assert _gate(before, after, made) == []


def _unaddressed(before: Page, made: Draft) -> list[str]:
    """Raw text of the blocks, and of the sentences in other blocks, that no edit addresses."""
    addressed = _addressed(made)
    refs = _addressed_sentences(made)
    linked = {edit.block for edit in made.edits if isinstance(edit, LinkFirstMention)}
    found = [b.raw.rstrip("\r\n") for b in before.blocks if b.index not in addressed]
    found += [
        block.raw[sentence.start : sentence.end].lstrip()
        for block in before.blocks
        if block.index in addressed - linked
        for index, sentence in enumerate(block.sentences)
        if SentenceRef(block.index, index) not in refs
    ]
    return [raw for raw in found if raw.strip()]


@given(_cases(), st.data())
@settings(max_examples=200)
def test_a_byte_no_edit_addresses_cannot_change(
    case: tuple[str, Draft, str], data: st.DataObject
) -> None:
    """Swapped, dropped or doubled beside any draft, one character is seen by gate 4."""
    before, made, after = case
    page = parse(before)
    raws = _unaddressed(page, made)
    # a text that stands twice may be where an edit put it
    raws = [raw for raw in raws if after.count(raw) == 1]
    assume(raws)
    raw = data.draw(st.sampled_from(raws))
    at = after.index(raw) + data.draw(st.integers(0, len(raw) - 1))
    put = data.draw(st.sampled_from(("", "x", "#", "`", "0", "。", after[at] * 2)))
    mutated = after[:at] + put + after[at + 1 :]
    assume(mutated != after)
    assert _gate(before, mutated, made), (mutated, after)
