"""An article that changed, looked over: repeats merged, its lead chosen anew, links made.

Each kind of change is a draft of its own, judged by the gate. Of merges and leads the smallest
doubt is enough to leave the page as it was; the links, which need no model, are made all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

from pipeline.desk import Desk
from pipeline.errors import InvalidReply, PromptTooLong, VaultFault
from pipeline.gates import Context, Verdict, judge, section_words
from pipeline.links import ArticleEntry, first_mentions, wikilinks
from pipeline.markdown import parse
from pipeline.publish import digest, refuse_unsettled
from pipeline.records import Draft, Edit, MergeRepeat, SetSeeAlso
from pipeline.surgery import apply
from pipeline.synthesis.compose import messages_of
from pipeline.synthesis.leading import NewLead, new_lead
from pipeline.synthesis.proposing import Proposal, proposals
from pipeline.synthesis.tidying import merges

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Revision:
    """An article with what became of it. after: "" when nothing is to be written.

    merges: repeats that went into other sentences. merged: their texts, but for those that stand
    elsewhere still. led: the sentence that made way for another lead, "" for none. reasons: what
    the gate has against the links.
    """

    stem: str
    title: str
    before: str
    after: str
    merges: int = 0
    merged: tuple[str, ...] = ()
    led: str = ""
    proposals: tuple[Proposal, ...] = ()
    reasons: tuple[str, ...] = ()


def revise(stem: str, catalog: Sequence[ArticleEntry], desk: Desk) -> Revision:
    """Look over one article. Writes nothing.

    Raises ChangedUnderneath for one that only the user can settle.
    """
    before = desk.vault.read(stem)
    own = next((entry for entry in catalog if entry.stem == stem), None)
    if before is None or own is None:
        return Revision(stem, stem, "", "")
    refuse_unsettled(desk.vault.article_path(stem), before)
    text, gone = _tidied(before, own, desk)
    standing = set(parse(text).said)
    text, led = _led(text, own, desk)
    proposed = _if_answered(lambda: proposals(parse(text), own, catalog, desk)) or ()
    after, verdict = _linked(text, own, catalog, desk)
    return Revision(
        stem,
        own.title,
        before,
        "" if after == before else after,
        len(gone),
        tuple(repeat for repeat in gone if repeat not in standing),
        led,
        proposed,
        verdict.refused + verdict.doubts,
    )


def _tidied(text: str, own: ArticleEntry, desk: Desk) -> tuple[str, tuple[str, ...]]:
    """The text without the repeats that may go, and these."""

    def allowed(edit: MergeRepeat) -> bool:
        return _applied(text, [edit], own, desk)[1] == Verdict()

    found = _if_answered(lambda: merges(parse(text), own.stem, desk, allowed=allowed))
    if not found:
        return text, ()
    after, verdict = _applied(text, [merge.edit for merge in found], own, desk)
    return (after, tuple(m.text for m in found)) if verdict == Verdict() else (text, ())


def _led(text: str, own: ArticleEntry, desk: Desk) -> tuple[str, str]:
    """The text with its new lead, and the sentence that made way for it."""
    found: NewLead | None = _if_answered(lambda: new_lead(parse(text), own.stem, own.title, desk))
    if found is None:
        return text, ""
    after, verdict = _applied(text, found.edits, own, desk)
    return (after, found.replaced) if verdict == Verdict() else (text, "")


def _linked(
    text: str, own: ArticleEntry, catalog: Sequence[ArticleEntry], desk: Desk
) -> tuple[str, Verdict]:
    """The text with first mentions linked and See also filled, and what the gate says to that."""
    titles = {entry.stem: entry.title for entry in catalog}
    edits: list[Edit] = list(first_mentions(parse(text), catalog, own.stem))
    linked = set(wikilinks(text))
    # by file name, which is what Obsidian resolves; a title may hold what a file name cannot
    near = [
        other
        for other in desk.store.ledger.neighbours(own.stem)
        if other in titles and titles[other] not in linked and other not in linked
    ]
    if near:
        edits.append(SetSeeAlso(tuple(near[: desk.policy.wikify.see_also])))
    return _applied(text, edits, own, desk) if edits else (text, Verdict())


def _applied(
    text: str, edits: Sequence[Edit], own: ArticleEntry, desk: Desk
) -> tuple[str, Verdict]:
    """The text with these edits made, and what the gate has against them."""
    draft = Draft(own.stem, own.title, digest(text), "", (), tuple(edits))
    try:
        after = apply(
            text,
            draft,
            today=desk.now().astimezone(desk.config.zone).date().isoformat(),
            paragraph_sentences=desk.policy.synthesize.paragraph_sentences,
        )
    except VaultFault as error:
        return text, Verdict(refused=(str(error),))
    window = desk.now() - timedelta(days=desk.policy.gate.floor_window)
    context = Context(
        baseline_words=desk.store.ledger.baseline_words(own.stem, window) or section_words(text),
        evidence=lambda citation: messages_of([citation], desk),
        taken_stems=frozenset(desk.vault.stems()),
        claims=(),
    )
    return after, judge(text, after, draft, desk.policy.gate, context)


def _if_answered(question: Callable[[], _T]) -> _T | None:
    """What the model's answer comes to; None when it gave none that can be used."""
    try:
        return question()
    except (InvalidReply, PromptTooLong):
        return None
