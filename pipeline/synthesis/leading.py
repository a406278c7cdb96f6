"""Which sentence leads an article once it has grown: one that stands there, never a new one.

The page itself tells that a lead is stale: another sentence has clearly more in common with the
rest of the article than the lead has. The model chooses among the best of those and the lead, and
the two sentences change places, so that no word and no citation can be lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from pipeline.desk import Desk
from pipeline.markdown import Kind, Page
from pipeline.records import MoveSentence
from pipeline.synthesis.placement import Statement, statements
from pipeline.text import content_words

PURPOSE = "wikify/lead"
_STAGE = "wikify"
_LEAD = ""
_LETTERS = "ABCDE"  # the present lead and up to four others
_FEWEST = 5  # in a shorter article every sentence has its turn, and none is typical


@dataclass(frozen=True, slots=True)
class NewLead:
    """The edits that put another sentence in front, and the text of the one that made way."""

    edits: tuple[MoveSentence, ...]
    replaced: str


def new_lead(page: Page, stem: str, title: str, desk: Desk) -> NewLead | None:
    """The sentence that leads better than the present one, as the model sees it; None if none.

    A lead that is not one sentence of ours, or that the user put back where it was, is left alone.
    What is offered has more in common with the article, so a sentence that was left never returns.
    """
    written = desk.store.ledger.written_sentences(stem)
    current = [s for s in statements(page, written, desk) if not s.past]
    lead = _lead(page, current)
    led = desk.store.ledger.led(stem)
    if lead is None or not lead.ours or lead.text in led or len(current) < _FEWEST:
        return None
    offered = [s for s in _better(lead, current, desk) if s.text not in led]
    if not offered:
        return None
    chosen = _chosen([lead, *offered][: len(_LETTERS)], title, desk)
    if chosen is lead or chosen.ref is None or lead.ref is None:
        return None
    edits = (MoveSentence(chosen.ref, _LEAD), MoveSentence(lead.ref, chosen.section))
    return NewLead(edits, lead.text)


def _lead(page: Page, current: Sequence[Statement]) -> Statement | None:
    """The lead, where it is one sentence and nothing stands beside it."""
    body = [block for block in page.body(_LEAD) if block.kind is not Kind.BLANK]
    if len(body) != 1 or len(body[0].sentences) != 1:
        return None
    return next((s for s in current if s.ref and s.ref.block == body[0].index), None)


def _better(lead: Statement, current: Sequence[Statement], desk: Desk) -> list[Statement]:
    """Our sentences of other sections that clearly outdo the lead, best first."""
    telling = {id(s): frozenset(content_words(s.text)) for s in current}

    def common(statement: Statement) -> float:
        own = telling[id(statement)]
        return sum(_likeness(own, telling[id(s)]) for s in current if s is not statement)

    bar = common(lead) * desk.policy.wikify.lead_after
    ranked = sorted(((common(s), s) for s in current if s.ours and s.section), key=lambda p: -p[0])
    return [statement for score, statement in ranked if score > bar]


def _likeness(a: frozenset[str], b: frozenset[str]) -> float:
    """Shared content words over the words of both (0..1): long sentences gain nothing by length."""
    return len(a & b) / sqrt(len(a) * len(b)) if a and b else 0.0


def _chosen(offered: Sequence[Statement], title: str, desk: Desk) -> Statement:
    """The model's choice; the first, which is the present lead, when it is not sure."""
    letters = tuple(_LETTERS[: len(offered)])
    lines = [f"{letter}. {s.text}" for letter, s in zip(letters, offered, strict=True)]
    ask = desk.prompts.ask(
        PURPOSE,
        {
            "title": title,
            "sentences": "\n".join(lines),
            "rules": desk.vault.rules("Article_Conventions.md"),
        },
        options=letters,
    )
    choice = desk.model.choose([ask], stage=_STAGE, purpose=PURPOSE)[0]
    sure = choice.margin >= desk.policy.wikify.margin
    return offered[letters.index(choice.best)] if sure else offered[0]
