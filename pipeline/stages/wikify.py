"""Changed articles → links between them, See also, and the page of buckets. No model.

Only articles written since wikify last saw them are touched, under the same gate as any other
write.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.buckets_page import append_buckets, read_buckets
from pipeline.gates import Context, judge, section_words
from pipeline.links import ArticleEntry, first_mentions, wikilinks
from pipeline.markdown import parse
from pipeline.publish import Press, digest, publish
from pipeline.records import Bucket, Done, Draft, Edit, Failed, Outcome, SetSeeAlso, Skipped
from pipeline.stages import Desk
from pipeline.store.ledger import Folding, PageFile
from pipeline.surgery import apply
from pipeline.synthesis.compose import messages_of
from pipeline.vault import ChangedUnderneath

NAME = "wikify"
_BUCKETS = "Meta/Buckets.md"


@dataclass(frozen=True, slots=True)
class NewRows:
    """Buckets that Buckets.md does not list yet."""

    buckets: tuple[Bucket, ...]


@dataclass(frozen=True, slots=True)
class Linked:
    """An article with its links; `after` is "" when it needs none."""

    stem: str
    title: str
    before: str
    after: str
    reasons: tuple[str, ...] = ()


Job = str | NewRows
Result = Linked | NewRows


def key(job: Job) -> str:
    """The job's name in `attempts`."""
    return job if isinstance(job, str) else _BUCKETS


def pending(desk: Desk) -> list[Job]:
    """Articles written since they were last linked, then new buckets for the page."""
    jobs: list[Job] = list(desk.store.ledger.unlinked())
    listed, _ = read_buckets(desk.vault.meta("Buckets.md"))
    names = {bucket.name for bucket in listed}
    fresh = tuple(b for b in desk.store.buckets.all() if b.name not in names)
    if fresh:
        jobs.append(NewRows(fresh))
    return jobs


def work(jobs: Sequence[Job], desk: Desk) -> list[Result]:
    """Find the links each article should have."""
    catalog = desk.vault.catalog()
    return [job if isinstance(job, NewRows) else _link(job, catalog, desk) for job in jobs]


def keep(result: Result, desk: Desk) -> Outcome:
    """Publish the linked article, or the new rows."""
    press = Press(desk.store, desk.vault, desk.history, desk.config.commit_user_edits)
    try:
        if isinstance(result, NewRows):
            return _keep_rows(result, press, desk)
        return _keep_links(result, press, desk)
    except ChangedUnderneath as error:
        return Failed((str(error),))


def _link(stem: str, catalog: Sequence[ArticleEntry], desk: Desk) -> Linked:
    before = desk.vault.read(stem)
    if before is None:
        return Linked(stem, stem, "", "")
    page = parse(before)
    titles = {entry.stem: entry.title for entry in catalog}
    edits: list[Edit] = list(first_mentions(page, catalog, stem))
    linked = set(wikilinks(before))
    # by file name, which is what Obsidian resolves; a title may hold what a file name cannot
    near = [
        other
        for other in desk.store.ledger.neighbours(stem)
        if other in titles and titles[other] not in linked and other not in linked
    ]
    if near:
        edits.append(SetSeeAlso(tuple(near[: desk.policy.wikify.see_also])))
    if not edits:
        return Linked(stem, titles[stem], before, "")
    draft = Draft(stem, titles[stem], digest(before), "", (), tuple(edits))
    after = apply(
        before,
        draft,
        today=desk.now().astimezone(desk.config.zone).date().isoformat(),
        paragraph_sentences=desk.policy.synthesize.paragraph_sentences,
    )
    context = Context(
        baseline_words=section_words(before),
        evidence=lambda citation: messages_of([citation], desk),
        taken_stems=frozenset(desk.vault.stems()),
        claims=(),
    )
    verdict = judge(before, after, draft, desk.policy.gate, context)
    return Linked(stem, titles[stem], before, after, verdict.refused + verdict.doubts)


def _keep_links(result: Linked, press: Press, desk: Desk) -> Outcome:
    if not result.after:
        desk.store.ledger.mark_linked(result.stem)
        return Skipped("no links to make")
    if result.reasons:
        desk.store.ledger.mark_linked(result.stem)
        return Failed(result.reasons)
    publish(
        press,
        PageFile(desk.vault.article_path(result.stem), digest(result.before), result.after),
        run=desk.run,
        at=desk.now(),
        subject=f"link: {result.title}",
        trailers={"Run": desk.run},
        folding=Folding(
            stem=result.stem,
            written_hash=digest(result.after),
            words=section_words(result.after),
            linked=True,
        ),
    )
    return Done({"linked": 1})


def _keep_rows(result: NewRows, press: Press, desk: Desk) -> Outcome:
    before = desk.vault.meta("Buckets.md")
    publish(
        press,
        PageFile(_BUCKETS, desk.vault.hash(_BUCKETS), append_buckets(before, result.buckets)),
        run=desk.run,
        at=desk.now(),
        subject=f"buckets: {len(result.buckets)} new",
        trailers={"Run": desk.run},
        folding=Folding(),
    )
    return Done()
