"""Claims of a bucket → a draft of its article, judged by the gate. Writes nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from pipeline.desk import Desk
from pipeline.errors import VaultFault
from pipeline.gates import Context, Verdict, judge, section_words
from pipeline.markdown import Page, parse
from pipeline.prose import flat, reading
from pipeline.publish import digest, refuse_unsettled
from pipeline.records import (
    AddCitation,
    AppendHistory,
    AppendSentences,
    Bucket,
    Change,
    Chunk,
    Citation,
    CitedSentence,
    Claim,
    Draft,
    Edit,
    Retire,
    Supersede,
)
from pipeline.store.buckets import normalised
from pipeline.store.ledger import Folding
from pipeline.surgery import apply
from pipeline.synthesis.compose import Passage, as_claimed, compose, messages_of
from pipeline.synthesis.placement import Evidenced, Plan, Statement, place, said_at, statements
from pipeline.synthesis.renames import copies
from pipeline.text import words

LEAD = ""
_PROBE = "What is refused of this sentence too is refused for the page."
_OBJECTIONS, _OBJECTION_LENGTH = 3, 300  # of the user's reasons so many, and so long, are shown


class ArticleGone(VaultFault):
    """The article of a bucket was deleted by the user: what it said must not come back."""


@dataclass(frozen=True, slots=True)
class Folded:
    """A bucket's chunks as one draft. after: the article as it would stand, "" if nothing is new.

    verdict: what the gate has against it. unfit: (claim, reason) of claims left out of the draft,
    since the gate refuses them each by itself.
    """

    bucket: Bucket
    chunks: tuple[str, ...]
    draft: Draft
    before: str | None
    after: str
    verdict: Verdict
    folding: Folding
    unfit: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class _Drafted:
    draft: Draft
    after: str
    verdict: Verdict


def fold(bucket: Bucket, chunks: Sequence[Chunk], desk: Desk) -> Folded:
    """Make a draft from the claims of `chunks` against the article as it stands, and judge it.

    Raises ChangedUnderneath for an article that only the user can settle.
    """
    claims = [(chunk, claim) for chunk in chunks for claim in desk.store.claims.of(chunk.id)]
    evidenced = [_evidenced(chunk, claim, desk) for chunk, claim in claims]
    stem, title = _article_of(bucket, desk)
    before = desk.vault.read(stem)
    refuse_unsettled(desk.vault.article_path(stem), before)
    page = parse(before) if before is not None else None
    rules = _objections(bucket, desk)
    plan = place(evidenced, page, stem, desk, rules=rules)
    bare = Draft(
        article=stem,
        title=title,
        base_hash=digest(before) if before is not None else "",
        bucket=bucket.name,
        chunks=tuple(chunk.id for chunk in chunks),
        edits=(),
        talk=tuple(plan.talk),
        claims_words=sum(len(words(claim.text)) for _, claim in claims),
    )
    if not plan.edits and not plan.added:
        return Folded(bucket, bare.chunks, bare, before, "", Verdict(), Folding(bucket.name))
    context = _context(stem, claims, desk)

    def drafted(edits: Sequence[Edit]) -> _Drafted:
        draft = replace(bare, edits=tuple(edits))
        try:
            after = apply(
                before,
                draft,
                today=_today(desk),
                paragraph_sentences=desk.policy.synthesize.paragraph_sentences,
            )
        except VaultFault as fault:  # an edit that this very page cannot take
            return _Drafted(draft, before or "", Verdict((str(fault),)))
        return _Drafted(draft, after, judge(before or "", after, draft, desk.policy.gate, context))

    passages = _passages(plan, page, desk)
    composed = dict(zip(passages, compose(list(passages.values()), desk, rules=rules), strict=True))
    claimed = {name: as_claimed(passage) for name, passage in passages.items()}
    found = drafted([*plan.edits, *_appended(composed)])
    unfit: tuple[tuple[str, str], ...] = ()
    if found.verdict != Verdict() and composed != claimed:
        # what the gate refuses of the model's wording is tried once more in the claims' own words
        found = drafted([*plan.edits, *_appended(claimed)])
    if found.verdict.refused:
        # one claim that does not hold must not keep the others out
        whole = len(plan.edits) + len(plan.added)
        probe = CitedSentence(_PROBE, evidenced[0].citations)
        probes = ([], *([AppendSentences(name, (probe,))] for name in {LEAD, *passages}))
        of_the_page = frozenset(why for edits in probes for why in drafted(edits).verdict.refused)
        unfit = _sift(plan, page, lambda edits: _own(drafted(edits), of_the_page))
        if not plan.edits and not plan.added:
            return Folded(
                bucket, bare.chunks, bare, before, "", Verdict(), Folding(bucket.name), unfit
            )
        if len(plan.edits) + len(plan.added) < whole:
            found = drafted([*plan.edits, *_as_claimed(plan, page, desk)])
        if found.verdict.refused:
            unfit += _gather(
                plan,
                lambda: _own(drafted([*plan.edits, *_as_claimed(plan, page, desk)]), of_the_page),
            )
            found = drafted([*plan.edits, *_as_claimed(plan, page, desk)])
    convs = [chunk.conv for chunk in chunks]
    folding = _folding(found.draft, before, found.after, plan, convs, desk)
    return Folded(
        bucket, bare.chunks, found.draft, before, found.after, found.verdict, folding, unfit
    )


def _sift(
    plan: Plan, page: Page | None, drafted: Callable[[Sequence[Edit]], _Drafted]
) -> tuple[tuple[str, str], ...]:
    """Take out of the plan what the gate refuses by itself; return each with the reason.

    Of a citation that the gate does not let a sentence have, that sentence.
    """
    unfit = []
    for statement in list(plan.added):
        alone = AppendSentences(LEAD, (CitedSentence(statement.text, tuple(statement.citations)),))
        if refused := drafted([alone]).verdict.refused:
            plan.added.remove(statement)
            unfit.append((statement.text, refused[0]))
    for edit in list(plan.edits):
        if refused := drafted([edit]).verdict.refused:
            plan.edits.remove(edit)
            if isinstance(edit, Supersede | AppendHistory):
                unfit.append((edit.sentence.text, refused[0]))
            elif isinstance(edit, AddCitation) and page is not None:
                at = page.blocks[edit.at.block].sentences[edit.at.sentence]
                unfit.append((at.text, refused[0]))
    return tuple(unfit)


def _gather(plan: Plan, drafted: Callable[[], _Drafted]) -> tuple[tuple[str, str], ...]:
    """Add statements to the plan one by one; leave out those that only the others make unfit.

    Beside another sentence one may read otherwise, or say what that says already.
    """
    unfit = []
    candidates, plan.added = plan.added, []
    for statement in candidates:
        plan.added.append(statement)
        if refused := drafted().verdict.refused:
            plan.added.remove(statement)
            unfit.append((statement.text, refused[0]))
    return tuple(unfit)


def _as_claimed(plan: Plan, page: Page | None, desk: Desk) -> list[AppendSentences]:
    """What the plan adds, in the claims' own words."""
    return _appended({name: as_claimed(p) for name, p in _passages(plan, page, desk).items()})


def _own(found: _Drafted, of_the_page: frozenset[str]) -> _Drafted:
    """What is refused for its own sake, not for the article's: those claims can wait for it."""
    own = tuple(reason for reason in found.verdict.refused if reason not in of_the_page)
    return replace(found, verdict=replace(found.verdict, refused=own))


def _appended(sections: Mapping[str, tuple[CitedSentence, ...]]) -> list[AppendSentences]:
    return [AppendSentences(name, sentences) for name, sentences in sections.items()]


def _objections(bucket: Bucket, desk: Desk) -> str:
    """What the user had against earlier drafts, as the end of a prompt's system turn."""
    reasons = desk.store.holds.objections(bucket.name, _OBJECTIONS)
    told = "; ".join(flat(reason)[:_OBJECTION_LENGTH] for reason in reasons)
    return f" The owner rejected earlier drafts: {told}" if told else ""


def _today(desk: Desk) -> str:
    return desk.now().astimezone(desk.config.zone).date().isoformat()


def _article_of(bucket: Bucket, desk: Desk) -> tuple[str, str]:
    """Stem and title of the bucket's article: its own, the page of that title, or one to be made.

    Raises ArticleGone when it had one and the user has deleted or emptied it; VaultFault when that
    cannot be told.
    """
    if bucket.article and (desk.vault.read(bucket.article) or "").strip():
        entry = next(e for e in desk.vault.catalog() if e.stem == bucket.article)
        return entry.stem, entry.title
    copied = copies(bucket.article, desk.vault) if bucket.article else ()
    for entry in desk.vault.catalog():
        named = normalised(entry.title) == normalised(bucket.name)
        if named and entry.stem not in copied and (desk.vault.read(entry.stem) or "").strip():
            return entry.stem, entry.title
    if copied:
        raise VaultFault(
            f"the article {bucket.article!r} is not there, only a copy of it: {copied[0]!r}",
            mend="give the copy the article's name, or delete it; the news wait until then",
        )
    if bucket.article:
        _refuse_if_elsewhere(bucket.article, desk)
        raise ArticleGone(f"you deleted the article {bucket.article!r}")
    return desk.vault.stem_for(bucket.name, desk.vault.stems()), bucket.name


def _refuse_if_elsewhere(article: str, desk: Desk) -> None:
    """Raise VaultFault if an article that is not there need not have been deleted."""
    path, last = desk.vault.article_path(article), desk.store.ledger.last_commit(article)
    was = desk.history.files([last])[last] if last and desk.history.contains(last) else ()
    for page in {path, *was}:
        if reason := desk.history.reason_to_leave(page):
            raise VaultFault(
                f"{page} {reason}",
                mend="its news wait until it is there: see `git sparse-checkout` or `git status`",
            )
    # a history that was rewritten, as by a rebase, has the page in other commits
    if last and not was and not desk.history.log(path):
        raise VaultFault(
            f"the article {article!r} is not on the branch that is checked out",
            mend="check out the branch that has it, or let it be written anew with `memory retry "
            "--lost`; its news wait until then",
        )


def _evidenced(chunk: Chunk, claim: Claim, desk: Desk) -> Evidenced:
    conversation = desk.store.conversations.get(chunk.conv)
    citations = []
    for first, last in _runs(claim.messages):
        moment = desk.store.conversations.messages(chunk.conv, first=last, last=last)[0].at
        citations.append(
            Citation(
                conv=chunk.conv,
                first=first,
                last=last,
                date=moment.astimezone(desk.config.zone).date().isoformat(),
                source=conversation.source,
                title=conversation.title,
            )
        )
    said = max(said_at(citation, desk) for citation in citations)
    return Evidenced(claim, tuple(citations), said)


def _runs(positions: Sequence[int]) -> list[tuple[int, int]]:
    """Ascending positions as runs (first, last) without gaps."""
    runs: list[tuple[int, int]] = []
    for position in positions:
        if runs and position == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], position)
        else:
            runs.append((position, position))
    return runs


def _passages(plan: Plan, page: Page | None, desk: Desk) -> dict[str, Passage]:
    """What each section gains, by heading, in the order of the article."""
    lead = _lead(plan.added) if page is None and plan.added else None
    sections: dict[str, list[Statement]] = {LEAD: [lead]} if lead else {}
    for statement in plan.added:
        if statement is not lead:
            sections.setdefault(statement.section, []).append(statement)
    return {
        name: Passage(tuple(sections[name]), _last_paragraph(page, name) if page else "")
        for name in _ordered(sections, desk)
    }


def _ordered(sections: dict[str, list[Statement]], desk: Desk) -> list[str]:
    """The lead, headings of the policy in its order, then the article's own ones as they came."""
    order = [LEAD, *desk.policy.headings.values()]
    return sorted(sections, key=lambda s: order.index(s) if s in order else len(order))


def _lead(added: Sequence[Statement]) -> Statement:
    """The statement that shares most words with the others: what the article is about."""

    def common(statement: Statement) -> int:
        own = set(words(statement.text.casefold()))
        return sum(len(own & set(words(other.text.casefold()))) for other in added)

    return max(added, key=common)


def _last_paragraph(page: Page, section: str) -> str:
    found = [b.raw for b in page.blocks if b.section == section and b.kind == "paragraph"]
    return reading(found[-1]) if found else ""


def _context(stem: str, claims: Sequence[tuple[Chunk, Claim]], desk: Desk) -> Context:
    window = desk.now() - timedelta(days=desk.policy.gate.floor_window)
    return Context(
        baseline_words=desk.store.ledger.baseline_words(stem, window),
        evidence=lambda citation: messages_of([citation], desk),
        taken_stems=frozenset(desk.vault.stems()),
        claims=tuple(claim.text for _, claim in claims),
    )


def _folding(
    draft: Draft,
    before: str | None,
    after: str,
    plan: Plan,
    convs: Sequence[str],
    desk: Desk,
) -> Folding:
    page = parse(after)
    old = {s.text for s in statements(parse(before), frozenset(), desk)} if before else set()
    now = [s for s in statements(page, frozenset(), desk) if s.citations]
    change = Change(
        run=desk.run,
        article=draft.article,
        title=draft.title,
        commit="",
        kind="new" if before is None else "updated",
        claims=len(plan.added),
        citations=plan.known,
        superseded=sum(isinstance(edit, Supersede | Retire) for edit in draft.edits),
        sections=tuple(
            edit.section
            for edit in draft.edits
            if isinstance(edit, AppendSentences) and edit.section
        ),
        convs=tuple(dict.fromkeys(convs)),
    )
    return Folding(
        bucket=draft.bucket,
        chunks=draft.chunks,
        change=change,
        stem=draft.article,
        written_hash=digest(after),
        sentences=tuple(s.text for s in now if s.text not in old),
        words=section_words(after),
    )
