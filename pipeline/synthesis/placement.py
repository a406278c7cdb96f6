"""Where a claim goes: it is there already, replaces what is there, answers it, or is new.

The evidence's date decides what is current, never the order in which claims arrive. The user's own
sentences are never replaced, only answered on the Talk page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from pipeline.desk import Desk
from pipeline.footnotes import citations_of
from pipeline.markdown import Page
from pipeline.records import (
    AddCitation,
    AppendHistory,
    Citation,
    CitedSentence,
    Claim,
    ClaimKind,
    Edit,
    SentenceRef,
    Supersede,
)
from pipeline.text import (
    content_words,
    identifiers,
    is_negative,
    numbers,
    proper_nouns,
    similarity,
    words,
)

STAGE = "synthesize"
_RELATION = "synthesize/relation"
_SECTION = "synthesize/section"
_SAME, _UPDATES, _CONTRADICTS = "same", "updates", "contradicts"
HISTORY = "History"
_SHARED_WORDS = 3  # content words two sentences must share to be on one matter
_ONE_MATTER, _ONE_STATEMENT = 0.5, 0.75  # overlaps from which on they are
_NOT_PROSE = (HISTORY, "See also", "References")


@dataclass(frozen=True, slots=True)
class Evidenced:
    """A claim with the citations of its evidence, not empty. at: when it was said, ISO UTC."""

    claim: Claim
    citations: tuple[Citation, ...]
    at: str


@dataclass(slots=True)
class Statement:
    """Something the article says, or will say once the draft is applied.

    at: when its newest evidence was said, ISO UTC; "" for the user's own sentences. ref: where it
    stands; None for a sentence of this draft. ours: the pipeline wrote it and it stands as
    written. replaces: the standing sentence whose place it takes.
    """

    text: str
    at: str
    citations: list[Citation]
    ref: SentenceRef | None = None
    ours: bool = True
    section: str = ""
    kind: ClaimKind = ClaimKind.FACT
    replaces: SentenceRef | None = None


@dataclass(slots=True)
class Plan:
    """What a fold does to an article: edits in place, statements to add, entries for Talk."""

    edits: list[Edit] = field(default_factory=list)
    added: list[Statement] = field(default_factory=list)
    talk: list[str] = field(default_factory=list)
    known: int = 0  # claims that were there already, or that the user had deleted


def place(
    claims: Sequence[Evidenced],
    page: Page | None,
    stem: str,
    desk: Desk,
    *,
    rules: str = "",  # noqa: ARG001
) -> Plan:
    """Decide for each claim in turn, oldest evidence first."""
    plan = Plan()
    written = desk.store.ledger.written_sentences(stem) if stem else frozenset()
    standing = statements(page, written, desk) if page else []
    said = {statement.text for statement in standing}
    deleted = [text for text in written if text not in said]
    for evidenced in sorted(claims, key=lambda e: (e.at, e.claim.chunk_id, e.claim.ordinal)):
        _place_one(evidenced, standing, deleted, plan, desk)
    _choose_sections(plan, page, desk)
    for statement in plan.added:
        if statement.replaces is not None:
            plan.edits.append(
                Supersede(
                    at=statement.replaces,
                    sentence=CitedSentence(statement.text, tuple(statement.citations)),
                    date=_date(_at(standing, statement.replaces).citations),
                )
            )
    plan.added = [statement for statement in plan.added if statement.replaces is None]
    return plan


def statements(page: Page, written: frozenset[str], desk: Desk) -> list[Statement]:
    """Every sentence of the article's prose and History, with what it cites."""
    found = []
    for block in page.blocks:
        if block.section in _NOT_PROSE and block.section != HISTORY:
            continue
        for index, sentence in enumerate(block.sentences):
            cited = list(citations_of(page, sentence.marks))
            found.append(
                Statement(
                    text=sentence.text,
                    at=max((said_at(citation, desk) for citation in cited), default=""),
                    citations=cited,
                    ref=SentenceRef(block.index, index),
                    ours=bool(cited) and sentence.text in written,
                    section=block.section,
                )
            )
    return found


def said_at(citation: Citation, desk: Desk) -> str:
    """When the cited message was said, ISO UTC; its date alone once the store has lost it."""
    found = desk.store.conversations.messages(
        citation.conv, first=citation.last, last=citation.last
    )
    return found[0].at.isoformat() if found else citation.date


def _place_one(
    evidenced: Evidenced,
    standing: list[Statement],
    deleted: Sequence[str],
    plan: Plan,
    desk: Desk,
) -> None:
    policy = desk.policy.synthesize
    claim = evidenced.claim
    current = [s for s in standing if s.section != HISTORY]
    likeness = _likeness(claim.text, [s.text for s in current], desk)
    nearest = sorted(zip(likeness, current, strict=True), key=lambda pair: -pair[0])
    if nearest and nearest[0][0] >= policy.duplicate:
        _cite(nearest[0][1], evidenced, plan)
        return
    for old in standing:
        # said again after it was superseded, it is news: somebody went back to it
        past = old.section == HISTORY and evidenced.at <= old.at
        if past and similarity(claim.text, old.text) >= policy.duplicate:
            _cite(old, evidenced, plan)
            return
    if any(similarity(claim.text, text) >= policy.duplicate for text in deleted):
        plan.known += 1
        return
    fresh = Statement(claim.text, evidenced.at, list(evidenced.citations), kind=claim.kind)
    alike = [
        s for like, s in nearest if like >= policy.related and _overlap(s, claim) >= _ONE_MATTER
    ]
    if alike:
        near = alike[0]
        if _overlap(near, claim) >= _ONE_STATEMENT and _says_no_more(claim.text, near.text):
            _cite(near, evidenced, plan)
            return
        # one message cannot outdate itself: what it gives two values are two things
        relation = "" if evidenced.at == near.at else _relation(near.text, claim.text, desk)
        if relation == _SAME and _values(near.text) == _values(claim.text):
            _cite(near, evidenced, plan)
            return
        if relation == _UPDATES and _values(near.text) != _values(claim.text) and near.at:
            _succeed(fresh, near, standing, plan)
            return
        if relation == _CONTRADICTS or (relation == _UPDATES and not near.at):
            plan.talk.append(_answer(fresh, near.text))
    plan.added.append(fresh)
    standing.append(fresh)


def _cite(statement: Statement, evidenced: Evidenced, plan: Plan) -> None:
    """Give a statement the citations it lacks, unless it is the user's own sentence."""
    plan.known += 1
    for citation in evidenced.citations:
        if citation in statement.citations or not statement.citations:
            continue
        statement.citations.append(citation)
        if statement.ref is not None:
            plan.edits.append(AddCitation(statement.ref, citation))
        else:
            statement.at = max(statement.at, evidenced.at)


def _succeed(fresh: Statement, old: Statement, standing: list[Statement], plan: Plan) -> None:
    """The later evidence is current, the earlier goes to History, whichever came first."""
    if fresh.at < old.at:
        plan.edits.append(_to_history(fresh))
        return
    if old.ref is None:
        # both are of this draft: the earlier one goes to History straight away
        plan.edits.append(_to_history(old))
        plan.added.remove(old)
        standing.remove(old)
        fresh.replaces = old.replaces
    elif old.ours:
        fresh.replaces = old.ref
        standing.remove(old)
        old.section = HISTORY
        standing.append(old)
    else:
        plan.talk.append(_answer(fresh, old.text))
    plan.added.append(fresh)
    standing.append(fresh)


def _to_history(statement: Statement) -> AppendHistory:
    cited = CitedSentence(statement.text, tuple(statement.citations))
    return AppendHistory(cited, _date(statement.citations))


def _at(standing: Sequence[Statement], ref: SentenceRef) -> Statement:
    return next(statement for statement in standing if statement.ref == ref)


def _date(citations: Sequence[Citation]) -> str:
    return max(citation.date for citation in citations)


def _answer(statement: Statement, sentence: str) -> str:
    """An entry for the Talk page: what was said elsewhere against what the article says."""
    citation = statement.citations[0]
    return (
        f"{statement.text} (`conv:{citation.conv}`, {citation.date}) The article says: {sentence}"
    )


def _overlap(statement: Statement, claim: Claim) -> float:
    """Share of the words of either that are words of both (0..1), numbers aside.

    Small models call any two sentences about one project an update of each other; only where most
    words agree is their word worth asking for.
    """
    old, new = _matter(statement.text), _matter(claim.text)
    shared = len(old & new)
    return shared / len(old | new) if shared >= _SHARED_WORDS else 0.0


def _says_no_more(new: str, old: str) -> bool:
    """Whether a sentence gives no value that the other lacks, and denies what it denies."""
    denied = [sum(is_negative(word) for word in words(text)) for text in (new, old)]
    # a name that opens the other sentence is not seen as one there, but it stands there
    fresh = {v for v in _values(new) - _values(old) if v.casefold() not in old.casefold()}
    return not fresh and denied[0] == denied[1]


def _matter(text: str) -> frozenset[str]:
    """The content words of a sentence without the numbers in it."""
    return frozenset(word for word in content_words(text) if not any(c.isdigit() for c in word))


def _values(text: str) -> frozenset[str]:
    """What two statements about the same thing can differ in: numbers, identifiers, names."""
    return numbers(text) | identifiers(text) | proper_nouns(text)


def _likeness(text: str, others: Sequence[str], desk: Desk) -> list[float]:
    """The larger of likeness by words and by vectors; vectors alone never make a duplicate."""
    by_words = [similarity(text, other) for other in others]
    if not others or desk.embedder is None:
        return by_words
    vectors = desk.embedder.embed([text, *others])
    by_vectors = np.clip(vectors[1:] @ vectors[0], 0.0, 1.0)
    # two sentences may be near in meaning and differ in the one number that matters
    cap = desk.policy.synthesize.duplicate - 0.01
    return [
        max(words, min(float(near), cap)) for words, near in zip(by_words, by_vectors, strict=True)
    ]


def _relation(old: str, new: str, desk: Desk) -> str:
    """What the model says of the pair, "" when it is not sure enough."""
    prompt = desk.prompts.get(_RELATION)
    ask = desk.prompts.ask(_RELATION, {"old": old, "new": new}, options=prompt.options)
    choice = desk.model.choose([ask], stage=STAGE, purpose=_RELATION)[0]
    return choice.best if choice.margin >= desk.policy.synthesize.relation_margin else ""


def _choose_sections(plan: Plan, page: Page | None, desk: Desk) -> None:
    """A heading for each addition: its kind's own in a new page or one that has it, else asked."""
    headings = [
        block.heading_text
        for block in (page.blocks if page else ())
        if block.heading_level == 2 and block.heading_text not in _NOT_PROSE
    ]
    asked: list[Statement] = []
    for statement in plan.added:
        statement.section = desk.policy.headings[statement.kind]
        if headings and statement.section not in headings:
            asked.append(statement)
    if not asked:
        return
    options = [(*headings, statement.section) for statement in asked]
    choices = desk.model.choose(
        [
            desk.prompts.ask(
                _SECTION,
                {"claim": statement.text, "headings": "\n".join(offered)},
                options=offered,
            )
            for statement, offered in zip(asked, options, strict=True)
        ],
        stage=STAGE,
        purpose=_SECTION,
    )
    for statement, choice in zip(asked, choices, strict=True):
        statement.section = choice.best
