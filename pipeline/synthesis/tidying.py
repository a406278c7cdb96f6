"""Repeats in a section that has grown long: which sentences say what another one says too.

Code finds the pairs in which one sentence has no word or value of weight that the other lacks; the
model, asked both ways round, only confirms. The one that says more stays and gets the citations of
the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice

from pipeline.desk import Desk
from pipeline.gates.merging import says_more
from pipeline.markdown import Page
from pipeline.models import Choice
from pipeline.records import MergeRepeat
from pipeline.synthesis.placement import Statement, statements
from pipeline.text import content_words, numbers

PURPOSE = "wikify/repeat"
_STAGE = "wikify"
_SAME = "same"
_FEWEST_WORDS = 3  # in common: what shares fewer is not looked at closely

_Pair = tuple[Statement, Statement]  # the one that says more first


@dataclass(frozen=True, slots=True)
class Merge:
    """The edit that takes a repeat out, and the text of the repeat."""

    edit: MergeRepeat
    text: str


def merges(
    page: Page, stem: str, desk: Desk, *, allowed: Callable[[MergeRepeat], bool]
) -> tuple[Merge, ...]:
    """The repeats to merge in the long sections of an article, a bounded number a night.

    allowed: whether the gate has nothing against a merge; only about such the model is asked.
    """
    policy = desk.policy.wikify
    written = desk.store.ledger.written_sentences(stem)
    parted = desk.store.ledger.merged(stem, undone=True)
    sections: dict[str, list[Statement]] = {}
    for statement in statements(page, written, desk):
        if statement.ours and not statement.past and statement.text not in parted:
            sections.setdefault(statement.section, []).append(statement)
    pairs = [
        pair for told in sections.values() if len(told) > policy.tidy_after for pair in _pairs(told)
    ]
    # the newest first: they were not asked about before, so that older ones cannot block them
    pairs.sort(key=lambda pair: max(pair[0].at, pair[1].at), reverse=True)
    asked = list(islice(_distinct(pairs, allowed), policy.tidy_pairs))
    return tuple(
        Merge(_edit(pair), pair[1].text)
        for pair, is_same in zip(asked, _judged(asked, desk), strict=True)
        if is_same
    )


def _pairs(told: Sequence[Statement]) -> list[_Pair]:
    """Pairs of a section, the one that says more first."""
    matter = [(statement, frozenset(content_words(statement.text))) for statement in told]
    found = []
    for one, other in combinations(matter, 2):
        if len(one[1] & other[1]) < _FEWEST_WORDS:
            continue
        (more, _), (less, _) = (one, other) if len(one[1]) >= len(other[1]) else (other, one)
        # a number that only one of them gives may be the very news
        if numbers(more.text) == numbers(less.text) and not says_more(less.text, more.text):
            found.append((more, less))
    return found


def _distinct(pairs: Sequence[_Pair], allowed: Callable[[MergeRepeat], bool]) -> Iterator[_Pair]:
    """The allowed ones, each sentence in one pair at most, so that no edit undoes another."""
    seen: set[int] = set()
    for one, other in pairs:
        if not seen & {id(one), id(other)} and allowed(_edit((one, other))):
            seen |= {id(one), id(other)}
            yield one, other


def _edit(pair: _Pair) -> MergeRepeat:
    more, less = pair
    assert more.ref is not None and less.ref is not None  # they stand on the page
    return MergeRepeat(more.ref, less.ref)


def _judged(pairs: Sequence[_Pair], desk: Desk) -> list[bool]:
    """Whether the model is sure, whichever of the two it reads first, that they say the same."""
    if not pairs:
        return []
    rules = desk.vault.rules("Editorial_Guidelines.md")
    ways = [way for a, b in pairs for way in ((a.text, b.text), (b.text, a.text))]
    choices = desk.model.choose(
        [
            desk.prompts.ask(
                PURPOSE,
                {"one": one, "other": other, "rules": rules},
                options=desk.prompts.get(PURPOSE).options,
            )
            for one, other in ways
        ],
        stage=_STAGE,
        purpose=PURPOSE,
    )

    def sure(choice: Choice) -> bool:
        return choice.best == _SAME and choice.margin >= desk.policy.wikify.margin

    return [
        sure(there) and sure(back) for there, back in zip(choices[::2], choices[1::2], strict=True)
    ]
