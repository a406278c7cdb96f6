"""Buckets with unfolded chunks → changed articles: claims, placement, draft, gate, commit.

First the claims of every routed chunk are extracted, once; then each bucket that has or earns an
article is folded, oldest news first. A draft the gate refuses changes nothing and is tried again
another night.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.chronicle import counted
from pipeline.errors import InvalidReply
from pipeline.publish import Press, publish, publish_talk
from pipeline.records import (
    Bucket,
    BucketState,
    Chunk,
    Done,
    Failed,
    Held,
    Outcome,
    Skipped,
)
from pipeline.stages import Desk
from pipeline.store.ledger import PageFile
from pipeline.synthesis.claims import Found, extract
from pipeline.synthesis.folding import ArticleGone, Folded, fold
from pipeline.vault import ChangedUnderneath

NAME = "synthesize"


@dataclass(frozen=True, slots=True)
class Extracted:
    """What was stated in one chunk."""

    chunk: Chunk
    found: Found


@dataclass(frozen=True, slots=True)
class Fold:
    """A bucket and the chunks its article lacks, oldest first."""

    bucket: Bucket
    chunks: tuple[Chunk, ...]


@dataclass(frozen=True, slots=True)
class Gone:
    """A bucket whose article the user deleted: its chunks are done with."""

    job: Fold


Job = Chunk | Fold
Result = Extracted | Failed | Folded | Gone


def key(job: Job) -> str:
    """The job's name in `attempts`."""
    return job.id if isinstance(job, Chunk) else f"bucket {job.bucket.name}"


def pending(desk: Desk) -> list[Job]:
    """Chunks whose claims were never extracted; when there are none, buckets to fold."""
    resting = desk.resting(NAME)
    if chunks := [c for c in desk.store.chunks.to_claim(desk.span) if key(c) not in resting]:
        return list(chunks)
    ripe = desk.store.buckets.ripe(
        min_conversations=desk.policy.cluster.min_chunks,
        min_claims=desk.policy.cluster.min_claims,
    )
    standing = [b for b in desk.store.buckets.all() if b.state is BucketState.ARTICLE]
    buckets = [*standing, *ripe]
    waiting = desk.store.buckets.unfolded([bucket.name for bucket in buckets], desk.span)
    most = desk.policy.synthesize.chunks_per_fold
    return [Fold(b, tuple(waiting[b.name][:most])) for b in buckets if b.name in waiting]


def work(jobs: Sequence[Job], desk: Desk) -> list[Result]:
    """Extract the claims of all chunks in one batch; fold buckets one after the other."""
    chunks = [job for job in jobs if isinstance(job, Chunk)]
    claims = extract(
        [
            (c, desk.store.conversations.messages(c.conv, first=c.first, last=c.last))
            for c in chunks
        ],
        model=desk.model,
        prompts=desk.prompts,
        policy=desk.policy,
        rules=desk.vault.rules("Editorial_Guidelines.md"),
    )
    extracted = dict(zip((chunk.id for chunk in chunks), claims, strict=True))
    return [
        _extracted(job, extracted[job.id]) if isinstance(job, Chunk) else _fold(job, desk)
        for job in jobs
    ]


def _extracted(chunk: Chunk, found: Found | InvalidReply) -> Extracted | Failed:
    """Where one chunk fails, the others of its batch need not be asked about again."""
    return Failed((str(found),)) if isinstance(found, InvalidReply) else Extracted(chunk, found)


def keep(result: Extracted | Folded | Gone, desk: Desk) -> Outcome:
    """Record claims, or publish the article the gate let through."""
    if isinstance(result, Extracted):
        found, chunk = result.found, result.chunk
        desk.store.claims.save(chunk.id, found.claims)
        refused = [(c.text, c.dropped_reason) for c in found.claims if c.dropped_reason]
        desk.results.refused.extend(refused)
        if found.unread:
            desk.results.problems.append(
                f"what the model wrote about {found.unread} of {found.pieces} parts of what was "
                f"said in conv:{chunk.conv} cannot be read: nothing of them was folded"
            )
        return Done({"claims": len(found.claims), "unsupported": len(refused)})
    if isinstance(result, Gone):
        _record_nothing(result.job.bucket.name, [c.id for c in result.job.chunks], desk)
        claims = sum(len(desk.store.claims.of(chunk.id)) for chunk in result.job.chunks)
        # by name, since another night drops others for good, and that is news
        places = ", ".join(f"conv:{c.conv}#{c.first + 1}" for c in result.job.chunks)
        desk.results.problems.append(
            f"the article {result.job.bucket.article!r} is gone: not written were "
            f"{counted(claims, 'new claim')} about it ({places})"
        )
        return Skipped("you deleted the article")
    try:
        return _publish(result, desk)
    except ChangedUnderneath:
        # the user saved the page while the model was thinking: make the draft again, once
        again = _fold(_job_of(result, desk), desk)
        if isinstance(again, Failed):
            return again
        if isinstance(again, Gone):
            return keep(again, desk)
        try:
            return _publish(again, desk)
        except ChangedUnderneath as error:
            return Failed((str(error),), parks=False)


def _fold(job: Fold, desk: Desk) -> Folded | Gone | Failed:
    try:
        return fold(job.bucket, job.chunks, desk)
    except ArticleGone:
        return Gone(job)
    except ChangedUnderneath as error:  # the others of its batch need not be made again
        return Failed((str(error),), parks=False)


def _job_of(result: Folded, desk: Desk) -> Fold:
    chunks = [desk.store.chunks.get(chunk_id) for chunk_id in result.chunks]
    return Fold(result.bucket, tuple(chunk for chunk in chunks if chunk is not None))


def _record_nothing(bucket: str, chunks: Sequence[str], desk: Desk) -> None:
    desk.store.ledger.record(
        bucket,
        chunks,
        run=desk.run,
        article="",
        commit="",
        outcome="nothing new",
        at=desk.now(),
    )


def _publish(result: Folded, desk: Desk) -> Outcome:
    path = desk.vault.article_path(result.draft.article)
    if result.verdict.refused:
        if desk.vault.hash(path) != result.draft.base_hash:
            raise ChangedUnderneath(f"{path} was edited meanwhile")
        return Failed(result.verdict.refused)
    if result.verdict.doubts:
        return _hold(result, desk)
    press = Press(desk.store, desk.vault, desk.history, desk.config.commit_user_edits)
    # the entries first: if the run dies now, they are found there again and not written twice
    publish_talk(
        press,
        result.draft.article,
        result.draft.title,
        result.draft.talk,
        run=desk.run,
        at=desk.now(),
        trailers={"Run": desk.run, "Bucket": result.bucket.name, "Model": desk.model.name},
    )
    if not result.after:
        _leave_out(result, desk)
        _record_nothing(result.bucket.name, result.chunks, desk)
        return Skipped("nothing new", {"known": len(result.chunks)})
    verb = "update" if result.before is not None else "new"
    publish(
        press,
        PageFile(
            path=path,
            before_hash=result.draft.base_hash,
            content=result.after,
        ),
        run=desk.run,
        at=desk.now(),
        subject=f"{verb}: {result.draft.title}",
        trailers={
            "Run": desk.run,
            "Bucket": result.bucket.name,
            "Chunks": " ".join(result.chunks),
            "Model": desk.model.name,
        },
        folding=result.folding,
    )
    _leave_out(result, desk)
    return Done({"folded": len(result.chunks)})


def _leave_out(result: Folded, desk: Desk) -> None:
    """Claims that no draft may hold are told of and never tried again."""
    desk.results.refused.extend(result.unfit)
    for text, reason in result.unfit:
        desk.store.claims.refuse(result.chunks, text, reason)


def _hold(result: Folded, desk: Desk) -> Held:
    """Nothing is written; the chunks wait with the draft until the user has decided."""
    desk.store.holds.add(
        desk.run,
        result.draft,
        result.before,
        result.after,
        result.folding,
        result.verdict.doubts,
        desk.now(),
    )
    return Held(result.draft.article, result.verdict.doubts)
