"""Held drafts: accepted, or rejected with a reason that later drafts are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from pipeline.chronicle import change_line, counted, said
from pipeline.errors import ConfigFault
from pipeline.gates import Context, judge, section_words
from pipeline.markdown import parse
from pipeline.prose import plain
from pipeline.publish import digest, publish, publish_talk, refuse_unsettled
from pipeline.records import (
    AppendHistory,
    AppendSentences,
    Change,
    Citation,
    Draft,
    Message,
    Supersede,
)
from pipeline.review import Reviewer
from pipeline.review.addressing import readdress
from pipeline.spelling import folded
from pipeline.store.holds import Hold
from pipeline.store.ledger import PageFile
from pipeline.surgery import apply
from pipeline.topics.obeying import refresh_page


@dataclass(frozen=True, slots=True)
class Decided:
    """What became of a hold. outcome: accepted, rejected, dropped or stale (made anew at night)."""

    hold: Hold
    outcome: str
    reasons: tuple[str, ...] = ()


def find(named: str, reviewer: Reviewer) -> list[Hold]:
    """The open holds meant by a number or an article's name; "" means the only one there is.

    Raises ConfigFault when none or, for "", several are.
    """
    waiting = reviewer.press.store.holds.open()
    found = [
        hold
        for hold in waiting
        if folded(named) in (str(hold.id), folded(hold.draft.article), folded(hold.draft.title))
    ]
    if not named and len(waiting) == 1:
        return waiting
    if found:
        return found
    listed = ", ".join(f"{hold.id} ({hold.draft.title})" for hold in waiting)
    problem = f"no held draft is called {named!r}" if named else "say which held draft is meant"
    raise ConfigFault(
        problem if waiting else "no draft is held",
        mend=f"held: {listed}" if waiting else "`memory review` shows what the last night changed",
    )


def accept(holds: Sequence[Hold], reviewer: Reviewer) -> list[Decided]:
    """Write the held drafts, the gate's refusals still in force, and tell of it in the changelog.

    An article that changed since gets the same edits where it still has the sentences they
    address; otherwise the draft is stale and is made anew the next night.
    """
    decided = [_accept(hold, reviewer) for hold in holds]
    written = [d for d in decided if d.outcome == "accepted"]
    if written:
        changes = reviewer.press.store.ledger.unreported_changes()
        lines = [change_line(c, reviewer.press.store, reviewer.zone) for c in changes]
        summary = f"{counted(len(written), 'held draft')} accepted by you"
        reviewer.tell(summary, lines, run=written[-1].hold.run, all_changes=True)
        refresh_page(reviewer.press, at=reviewer.now())
    return decided


def reject(holds: Sequence[Hold], reason: str, reviewer: Reviewer, *, drop: bool) -> list[Decided]:
    """Throw held drafts away. Their claims are drafted again, the reason in view; not with `drop`.

    A topic whose drafts were refused or rejected `max_attempts` times in a row is parked.
    """
    store = reviewer.press.store
    outcome = "dropped" if drop else "rejected"
    for hold in holds:
        with store.together():
            _reject(hold, reason, outcome, reviewer)
    lines = [
        f"- {outcome} the draft of {_named(hold, reviewer)}: {said([reason])}" for hold in holds
    ]
    summary = f"{counted(len(holds), 'held draft')} {outcome} by you"
    reviewer.tell(summary, lines, run=holds[-1].run)
    return [Decided(hold, outcome) for hold in holds]


def _reject(hold: Hold, reason: str, outcome: str, reviewer: Reviewer) -> None:
    store, now = reviewer.press.store, reviewer.now()
    bucket = hold.draft.bucket
    store.holds.decide(hold.id, outcome, reason, now)
    store.holds.object(bucket, reason, now)
    if outcome == "dropped":
        store.ledger.record(
            bucket,
            hold.draft.chunks,
            run=hold.run,
            article=hold.draft.article,
            commit="",
            outcome="dropped",
            at=now,
        )
        store.ledger.shut_out(hold.draft.article, _new_sentences(hold.draft), hold.run)
    else:
        store.attempts.fail(
            "synthesize",
            f"bucket {bucket}",
            f"you rejected the draft: {reason}",
            now=now,
            pause=timedelta(0),
            max_attempts=reviewer.policy.synthesize.max_attempts,
        )


def _new_sentences(draft: Draft) -> list[str]:
    """The texts the draft would have brought into the article."""
    texts: list[str] = []
    for edit in draft.edits:
        match edit:
            case AppendSentences(sentences=added):
                texts += [sentence.text for sentence in added]
            case Supersede(sentence=sentence) | AppendHistory(sentence=sentence):
                texts.append(sentence.text)
    return texts


def _named(hold: Hold, reviewer: Reviewer) -> str:
    known = hold.draft.article in reviewer.press.vault.stems()
    return f"[[{hold.draft.article}]]" if known else f"a new article, {plain(hold.draft.title)}"


def _accept(hold: Hold, reviewer: Reviewer) -> Decided:
    press = reviewer.press
    current = press.vault.read(hold.draft.article)
    refuse_unsettled(press.vault.article_path(hold.draft.article), current)
    draft = _as_of_now(hold, current)
    if draft is None:
        return _stale(hold, ("the article is not the one the draft was made for",), reviewer)
    after = hold.after
    if current != hold.before:
        after = apply(
            current,
            draft,
            today=reviewer.today(),
            paragraph_sentences=reviewer.policy.synthesize.paragraph_sentences,
        )
    verdict = judge(current or "", after, draft, reviewer.policy.gate, _context(draft, reviewer))
    if verdict.refused:
        return _stale(hold, verdict.refused, reviewer)
    trailers = {"Run": hold.run, "Bucket": draft.bucket}
    at = reviewer.now()
    publish_talk(
        press, draft.article, draft.title, draft.talk, run=hold.run, at=at, trailers=trailers
    )
    publish(
        press,
        PageFile(press.vault.article_path(draft.article), draft.base_hash, after),
        run=hold.run,
        at=at,
        subject=f"{'update' if draft.base_hash else 'new'}: {draft.title}",
        trailers=trailers | {"Chunks": " ".join(draft.chunks)},
        folding=replace(
            hold.folding,
            change=_change(hold, draft),
            written_hash=digest(after),
            words=section_words(after),
            accepts=hold.id,
        ),
    )
    return Decided(hold, "accepted")


def _change(hold: Hold, draft: Draft) -> Change | None:
    change = hold.folding.change
    if change is None:
        return None
    # somebody may have made the article, or renamed its file, while the draft waited
    kind = "updated" if draft.base_hash else change.kind
    return replace(change, article=draft.article, kind=kind)


def _as_of_now(hold: Hold, current: str | None) -> Draft | None:
    """The draft addressed against the article as it stands, None where that cannot be."""
    if current == hold.before:
        return hold.draft
    if current is None:
        return None
    return readdress(hold.draft, parse(hold.before or ""), parse(current))


def _stale(hold: Hold, reasons: tuple[str, ...], reviewer: Reviewer) -> Decided:
    reviewer.press.store.holds.decide(hold.id, "stale", "; ".join(reasons), reviewer.now())
    return Decided(hold, "stale", reasons)


def _context(draft: Draft, reviewer: Reviewer) -> Context:
    store = reviewer.press.store
    window = reviewer.now() - timedelta(days=reviewer.policy.gate.floor_window)

    def evidence(citation: Citation) -> list[Message]:
        return store.conversations.messages(citation.conv, first=citation.first, last=citation.last)

    return Context(
        baseline_words=store.ledger.baseline_words(draft.article, window),
        evidence=evidence,
        taken_stems=frozenset(reviewer.press.vault.stems()),
    )
