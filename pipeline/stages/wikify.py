"""Changed articles → tidied and linked ones, proposals on Talk, and the page of buckets.

Only articles written since wikify last saw them are looked at, under the same gate as any other
write. Links need no model; what the model is asked is whether repeats may be merged, which
sentence leads, and whether to propose a split or a merge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.buckets_page import PAGE
from pipeline.gates import section_words
from pipeline.links import ArticleEntry
from pipeline.publish import Press, digest, publish, publish_talk
from pipeline.records import Change, Done, Failed, Outcome, Skipped
from pipeline.stages import Desk
from pipeline.store.ledger import Folding, PageFile
from pipeline.synthesis.revising import Revision, revise
from pipeline.topics.obeying import page_now, publish_page
from pipeline.vault import ChangedUnderneath

NAME = "wikify"


@dataclass(frozen=True, slots=True)
class Rows:
    """Meta/Buckets.md with rows or cells that it lacks."""

    text: str


Job = str | Rows
Result = Revision | Rows | Failed


def key(job: Job) -> str:
    """The job's name in `attempts`."""
    return job if isinstance(job, str) else PAGE


def pending(desk: Desk) -> list[Job]:
    """Articles written since they were last linked, then what the page of buckets lacks."""
    jobs: list[Job] = list(desk.store.ledger.unlinked())
    text = page_now(_press(desk))
    if text != desk.vault.meta("Buckets.md"):
        jobs.append(Rows(text))
    return jobs


def work(jobs: Sequence[Job], desk: Desk) -> list[Result]:
    """Look over each article."""
    catalog = desk.vault.catalog()
    return [job if isinstance(job, Rows) else _revise(job, catalog, desk) for job in jobs]


def _revise(stem: str, catalog: Sequence[ArticleEntry], desk: Desk) -> Revision | Failed:
    try:
        return revise(stem, catalog, desk)
    except ChangedUnderneath as error:  # the others of its batch need not be looked over again
        return Failed((str(error),), parks=False)


def keep(result: Revision | Rows, desk: Desk) -> Outcome:
    """Publish the revised article, or the page of buckets."""
    press = _press(desk)
    try:
        if isinstance(result, Rows):
            return _keep_rows(press, desk)
        return _keep_revision(result, press, desk)
    except ChangedUnderneath as error:
        return Failed((str(error),), parks=False)


def _keep_revision(result: Revision, press: Press, desk: Desk) -> Outcome:
    """Proposals first: if the run dies now, they are known as told and not made twice."""
    trailers = {"Run": desk.run, "Model": desk.model.name}
    for proposal in result.proposals:
        publish_talk(
            press,
            proposal.stem,
            proposal.title,
            [proposal.entry],
            run=desk.run,
            at=desk.now(),
            trailers=trailers,
        )
        line = f"the Talk page of “{proposal.title}” has a proposal: {proposal.entry}"
        if line not in desk.results.problems:
            desk.results.problems.append(line)
    if result.reasons or not result.after:
        desk.store.ledger.mark_linked(result.stem)
        if not result.reasons:
            return Skipped("nothing to change")
        # told, and not tried again: the same links would be refused in the same words every night
        desk.results.rejected.append((f"{NAME}: {result.stem}", result.reasons))
        return Skipped("the gate refuses its links")
    change = _change(result, desk)
    publish(
        press,
        PageFile(desk.vault.article_path(result.stem), digest(result.before), result.after),
        run=desk.run,
        at=desk.now(),
        subject=f"{'tidy' if change else 'link'}: {result.title}",
        trailers=trailers if change else {"Run": desk.run},
        folding=Folding(
            change=change,
            stem=result.stem,
            written_hash=digest(result.after),
            words=section_words(result.after),
            linked=True,
            merged=result.merged,
            led=result.led,
        ),
    )
    return Done({"tidied" if change else "linked": 1})


def _change(result: Revision, desk: Desk) -> Change | None:
    """What the changelog tells; links alone are not worth a line."""
    if not result.merges and not result.led:
        return None
    return Change(
        run=desk.run,
        article=result.stem,
        title=result.title,
        commit="",
        kind="tidied",
        claims=0,
        citations=0,
        superseded=0,
        sections=(),
        convs=(),
        merged=result.merges,
        led=bool(result.led),
    )


def _keep_rows(press: Press, desk: Desk) -> Outcome:
    # before it is read: what the user saves in between must not be overwritten
    known = desk.vault.hash(PAGE)
    before, after = desk.vault.meta("Buckets.md"), page_now(press)
    fresh = after.count("\n") - before.count("\n")
    subject = f"buckets: {fresh} new" if fresh else "buckets: what has an article"
    publish_page(
        press, after, known, subject, run=desk.run, at=desk.now(), trailers={"Run": desk.run}
    )
    return Done()


def _press(desk: Desk) -> Press:
    return Press(desk.store, desk.vault, desk.history, desk.config.commit_user_edits)
