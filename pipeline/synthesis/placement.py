"""Where a claim goes: it is there already, replaces what is there, answers it, or is new.

What is current is a matter of the statements and the dates of their evidence alone: a statement is
current unless one with newer evidence supersedes it. Whatever the order in which conversations are
folded, the same statements are current in the end. The user's own sentences are never replaced,
only answered on the Talk page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from pipeline.desk import Desk
from pipeline.footnotes import citations_of
from pipeline.markdown import HISTORY, REFERENCES, SEE_ALSO, Page
from pipeline.records import (
    AddCitation,
    AppendHistory,
    Citation,
    CitedSentence,
    Claim,
    ClaimKind,
    Edit,
    Retire,
    SentenceRef,
    Supersede,
)
from pipeline.synthesis.relating import (
    CONTRADICTS,
    SAME,
    STAGE,
    UPDATES,
    Likeness,
    Relations,
    can_update,
    is_later,
    is_repeat,
    on_one_matter,
    same_values,
    says_no_more,
)

__all__ = ["STAGE", "Evidenced", "Plan", "Statement", "place", "said_at", "statements"]

_SECTION = "synthesize/section"
_CLOSING = frozenset(name.casefold() for name in (HISTORY, SEE_ALSO, REFERENCES))


@dataclass(frozen=True, slots=True)
class Evidenced:
    """A claim with the citations of its evidence, not empty. at: when it was said, ISO UTC."""

    claim: Claim
    citations: tuple[Citation, ...]
    at: str


@dataclass(slots=True, eq=False)
class Statement:
    """Something the article says, or will say once the draft is applied.

    at: when its newest evidence was said, ISO UTC; "" for the user's own sentences. ref: where it
    stands; None for a sentence of this draft. ours: the pipeline wrote it and it stands as
    written. section: where it stands or is to stand. past: newer evidence supersedes it. gained:
    citations of this draft that it lacks where it stands. replaces: the standing sentence whose
    place it takes if that one is past.
    """

    text: str
    at: str
    citations: list[Citation]
    ref: SentenceRef | None = None
    ours: bool = True
    section: str = ""
    kind: ClaimKind = ClaimKind.FACT
    past: bool = False
    gained: list[Citation] = field(default_factory=list)
    replaces: Statement | None = None


@dataclass(slots=True)
class Plan:
    """What a fold does to an article: edits in place, statements to add, entries for Talk."""

    edits: list[Edit] = field(default_factory=list)
    added: list[Statement] = field(default_factory=list)
    talk: list[str] = field(default_factory=list)
    known: int = 0  # claims that were there already, or that the user had deleted


def place(
    claims: Sequence[Evidenced], page: Page | None, stem: str, desk: Desk, rules: str = ""
) -> Plan:
    """Decide for each claim in turn, oldest evidence first.

    rules: what the owner wants heeded, for the end of the model's system turns.
    """
    written = desk.store.ledger.written_sentences(stem) if stem else frozenset()
    standing = statements(page, written, desk) if page else []
    # what went into another sentence is missing, but nobody deleted it
    owned = written - desk.store.ledger.merged(stem)
    owned |= {c.claim.text for c in claims if _was_deleted_elsewhere(c.claim.text, stem, desk)}
    placing = _Placing(claims, standing, owned, desk, rules)
    for evidenced in sorted(claims, key=lambda e: (e.at, e.claim.chunk_id, e.claim.ordinal)):
        placing.take(evidenced)
    return placing.plan(page)


def _was_deleted_elsewhere(text: str, stem: str, desk: Desk) -> bool:
    """Whether another article said just this until the user took it out.

    The same words of a conversation can be filed under another topic; what was deleted stays out.
    """
    others = desk.store.ledger.articles_that_said(text) - {stem}
    return any(
        text not in (desk.vault.read(other) or "") and text not in desk.store.ledger.merged(other)
        for other in others
    )


def statements(page: Page, written: frozenset[str], desk: Desk) -> list[Statement]:
    """Every sentence of the article's prose and History, with what it cites."""
    found = []
    for block in page.blocks:
        past = _is_history(block.section)
        if block.section.casefold() in _CLOSING and not past:
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
                    past=past,
                )
            )
    return found


def said_at(citation: Citation, desk: Desk) -> str:
    """When the cited message was said, ISO UTC; its date alone once the store has lost it."""
    found = desk.store.conversations.messages(
        citation.conv, first=citation.last, last=citation.last
    )
    return found[0].at.isoformat() if found else citation.date


class _Placing:
    """What the article says while a draft is made, and what is to be said on Talk."""

    def __init__(
        self,
        claims: Sequence[Evidenced],
        standing: Sequence[Statement],
        written: frozenset[str],
        desk: Desk,
        rules: str,
    ) -> None:
        self._desk = desk
        self._rules = rules
        self._policy = desk.policy.synthesize
        self._said = list(standing)
        texts = [statement.text for statement in standing]
        self._deleted = sorted(written.difference(texts))
        self._likeness = Likeness([*texts, *(e.claim.text for e in claims)], desk)
        self._relations = Relations(desk, rules)
        self._talk: list[str] = []
        self._known = 0

    # -------------------------------------------------------------- one claim

    def take(self, evidenced: Evidenced) -> None:
        """Give the claim's citations to the statement that says it already, or add a statement."""
        text = evidenced.claim.text
        near = self._near(text)
        least = self._policy.duplicate
        twins = (s for like, s in near if like >= least and is_repeat(text, s.text, least))
        twin = next(twins, None)
        if twin is None and any(is_repeat(text, gone, least) for gone in self._deleted):
            self._known += 1
            return
        alike = self._alike(near, text)
        twin = twin or next((s for s in alike if _says_it(s, evidenced)), None)
        fresh = Statement(text, evidenced.at, list(evidenced.citations), kind=evidenced.claim.kind)
        relations = self._related(fresh, alike) if twin is None else []
        twin = twin or next((s for s, relation in relations if relation == SAME), None)
        if twin is not None:
            self._cite(twin, evidenced)
            return
        self._said.append(fresh)
        fresh.past = any(r == UPDATES and is_later(s.at, fresh.at) for s, r in relations)
        for other, relation in relations:
            if relation == UPDATES and not is_later(other.at, fresh.at):
                self._outdate(other, fresh)
            elif relation == CONTRADICTS and not (fresh.past or other.past):
                self._answer(fresh.text, fresh.citations, other)

    def _cite(self, statement: Statement, evidenced: Evidenced) -> None:
        """Give a statement the citations it lacks; with newer evidence it may be current again."""
        if not statement.citations:
            # the user's own sentence, which rests on nothing
            self._known += 1
            if statement.past:
                self._answer(evidenced.claim.text, evidenced.citations, statement)
            return
        if statement.ref is not None and not same_values(evidenced.claim.text, statement.text):
            # it says more than these messages could be a source for
            self._known += 1
            return
        there = {_place(citation) for citation in statement.citations}
        fresh = [citation for citation in evidenced.citations if _place(citation) not in there]
        if is_later(evidenced.at, statement.at):
            # what this very draft outdated stands in its place still, and need not be written anew
            told = statement.ref is not None and _is_history(statement.section)
            if statement.past and told and self._returns(statement, evidenced):
                return
            before, statement.at = statement.at, evidenced.at
            statement.kind = evidenced.claim.kind
            self._renew(statement, before)
        self._known += 1
        statement.citations += fresh
        statement.gained += fresh

    def _returns(self, line: Statement, evidenced: Evidenced) -> bool:
        """Whether somebody went back to what a line of History says: it is current again.

        Then it is written anew, with all its evidence, and the line stays as it is.
        """
        again = Statement(
            line.text if line.ours else evidenced.claim.text,
            evidenced.at,
            list({_place(c): c for c in (*line.citations, *evidenced.citations)}.values()),
            kind=evidenced.claim.kind,
            past=True,
        )
        self._renew(again, line.at)
        if not again.past:
            self._said.append(again)
        return not again.past

    def _renew(self, statement: Statement, before: str) -> None:
        """Ask anew where the evidence of a statement, older until now, has overtaken another's."""
        alike = self._alike(self._near(statement.text), statement.text)
        concerned = [
            other
            for other in alike
            if (statement.past and is_later(other.at, statement.at))
            or (
                not other.past
                and is_later(statement.at, other.at)
                and not is_later(before, other.at)
            )
        ]
        outdating = [s for s, r in self._related(statement, concerned) if r == UPDATES]
        statement.past = any(is_later(other.at, statement.at) for other in outdating)
        for other in outdating:
            if is_later(statement.at, other.at):
                self._outdate(other, statement)

    def _outdate(self, old: Statement, new: Statement) -> None:
        """The old one goes to History; the first that does so leaves its place to the new one."""
        if old.past:
            return
        if old.ours:
            old.past = True
            if new.replaces is None:
                new.replaces = old if old.ref is not None else old.replaces
        elif not new.past:
            self._answer(new.text, new.citations, old)

    def _answer(self, text: str, citations: Sequence[Citation], statement: Statement) -> None:
        """An entry for Talk: what was said elsewhere against what the article says."""
        said = f"{text} (`conv:{citations[0].conv}`, {citations[0].date})"
        self._talk.append(f"{said} The article says: {statement.text}")

    # -------------------------------------------------------------- what is alike

    def _near(self, text: str) -> list[tuple[float, Statement]]:
        """Every statement with its likeness: current ones first, then the most alike."""
        latest = sorted(self._said, key=lambda s: s.at, reverse=True)
        near = [(self._likeness.of(text, s.text), s) for s in latest]
        return sorted(near, key=lambda pair: (pair[1].past, -pair[0], pair[1].text))

    def _alike(self, near: Sequence[tuple[float, Statement]], text: str) -> list[Statement]:
        least = self._policy.related
        return [s for like, s in near if like >= least and on_one_matter(s.text, text)]

    def _related(
        self, statement: Statement, others: Sequence[Statement]
    ) -> list[tuple[Statement, str]]:
        """What the model says of a statement and each other that is worth a question, to a bound.

        What one message gives two values are two things: no question where neither is later. What
        stands in History already cannot be outdated, only said again.
        """
        asked: list[tuple[Statement, tuple[str, str]]] = []
        for other in others:
            if is_later(other.at, statement.at):
                asked.append((other, (statement.text, other.text)))
            elif (not other.at or is_later(statement.at, other.at)) and not (
                other.past and can_update(other.text, statement.text)
            ):
                asked.append((other, (other.text, statement.text)))
        asked = asked[: self._policy.relations]
        answers = self._relations.of([pair for _, pair in asked])
        return [
            (other, answer)
            for (other, pair), answer in zip(asked, answers, strict=True)
            if _holds(answer, *pair)
        ]

    # -------------------------------------------------------------- the plan

    def plan(self, page: Page | None) -> Plan:
        """The difference between what stands and what is to be said."""
        drafted = [s for s in self._said if s.ref is None and not s.past]
        successors = {s.replaces: s for s in drafted if s.replaces and s.replaces.past}
        placed = set(successors.values())
        added = [s for s in drafted if s not in placed]
        self._choose_sections(added, page)
        edits: list[Edit] = []
        for statement in self._said:
            edits += _edits(statement, successors.get(statement))
        return Plan(edits, added, list(dict.fromkeys(self._talk)), self._known)

    def _choose_sections(self, added: Sequence[Statement], page: Page | None) -> None:
        """A heading for each: its kind's own in a new page or one that has it, else asked."""
        headings = [
            block.heading_text
            for block in (page.blocks if page else ())
            if block.heading_level == 2 and block.heading_text.casefold() not in _CLOSING
        ]
        asked: list[tuple[Statement, tuple[str, ...]]] = []
        for statement in added:
            statement.section = self._desk.policy.headings[statement.kind]
            if headings and statement.section not in headings:
                asked.append((statement, (*headings, statement.section)))
        if not asked:
            return
        choices = self._desk.model.choose(
            [
                self._desk.prompts.ask(
                    _SECTION,
                    {
                        "claim": statement.text,
                        "headings": "\n".join(options),
                        "rules": self._rules,
                    },
                    options=options,
                )
                for statement, options in asked
            ],
            stage=STAGE,
            purpose=_SECTION,
        )
        for (statement, _), choice in zip(asked, choices, strict=True):
            statement.section = choice.best


def _edits(statement: Statement, successor: Statement | None) -> Iterator[Edit]:
    """What leads from where a statement stands to where it is to stand, additions aside."""
    ref = statement.ref
    if ref is None:
        if statement.past:
            yield AppendHistory(_cited(statement), _date(statement))
        return
    for citation in statement.gained:
        yield AddCitation(ref, citation)
    if statement.past and not _is_history(statement.section):
        if successor is None:
            yield Retire(ref, _date(statement))
        else:
            yield Supersede(ref, _cited(successor), _date(statement))


def _says_it(statement: Statement, evidenced: Evidenced) -> bool:
    """Whether a statement on the matter of a claim says all the claim does.

    It may say more only where the claim can never have been the first: of the user's sentences,
    and of what the claim's own conversation said before. Else the two are kept apart, for the
    other way round the fuller one would be news.
    """
    text = evidenced.claim.text
    own = {citation.conv for citation in evidenced.citations}
    follows = not statement.ours or any(c.conv in own for c in statement.citations)
    return says_no_more(text, statement.text) and (follows or says_no_more(statement.text, text))


def _holds(answer: str, old: str, new: str) -> bool:
    """Whether what can be seen of a pair allows the model's word on it."""
    if answer == SAME:
        return same_values(old, new)
    return answer == CONTRADICTS or (answer == UPDATES and can_update(old, new))


def _is_history(section: str) -> bool:
    return section.casefold() == HISTORY.casefold()


def _cited(statement: Statement) -> CitedSentence:
    return CitedSentence(statement.text, tuple(statement.citations))


def _date(statement: Statement) -> str:
    return max(citation.date for citation in statement.citations)


def _place(citation: Citation) -> tuple[str, int, int]:
    return citation.conv, citation.first, citation.last
