"""Chunk → bucket(s): which topic of the wiki it belongs to, or a new one.

The user's edits of Meta/Buckets.md come first; how a chunk finds its topic is in pipeline/routing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pipeline.buckets_page import listed_buckets
from pipeline.records import Bucket, BucketState, Chunk, Done, Outcome
from pipeline.routing import Routed, Router
from pipeline.stages import Desk

NAME = "cluster"


@dataclass(frozen=True, slots=True)
class PageEdits:
    """The user's edits of Meta/Buckets.md that the store does not know yet."""

    buckets: tuple[Bucket, ...]
    problems: tuple[str, ...]


Job = PageEdits | Chunk
Result = PageEdits | Routed


def key(job: Job) -> str:
    """The job's name in `attempts`."""
    return job.id if isinstance(job, Chunk) else "Meta/Buckets.md"


def pending(desk: Desk) -> list[Job]:
    """What the user changed in Buckets.md, else kept chunks that were never routed."""
    if edits := _page_edits(desk):
        return [edits]
    return list(desk.store.chunks.to_cluster(desk.span))


def work(jobs: Sequence[Job], desk: Desk) -> list[Result]:
    """Route each chunk in turn; the user's edits go through as they are."""
    results: list[Result] = []
    router: Router | None = None
    for job in jobs:
        if isinstance(job, PageEdits):
            results.append(job)
        else:
            router = router or Router(desk)
            results.append(router.route(job))
    return results


def keep(result: Result, desk: Desk) -> Outcome:
    """Record the user's edits, or where the chunk belongs."""
    now = desk.now()
    if isinstance(result, PageEdits):
        for bucket in result.buckets:
            desk.store.buckets.save(bucket, now)
        for bucket in result.buckets:
            if bucket.state is BucketState.MERGED:
                desk.store.buckets.merge(bucket.name, bucket.merged_into)
        desk.results.problems.extend(result.problems)
        return Done()
    for bucket in result.new:
        desk.store.buckets.save(bucket, now)
    desk.store.buckets.assign(result.chunk.id, result.assignments)
    return Done({"routed": 1, "buckets": len(result.new)})


def _page_edits(desk: Desk) -> PageEdits | None:
    """Rows of Buckets.md that ask for something the store does not say yet."""
    rows, problems = listed_buckets(desk.vault.meta("Buckets.md"), desk.store.derived)
    stored = {bucket.name: bucket for bucket in desk.store.buckets.all()}
    targets = {bucket.name: bucket.merged_into for bucket in stored.values()}
    targets |= {row.name: row.merged_into for row in rows}
    changed = []
    for row in rows:
        final = _final(row.name, targets)
        if final is None:
            if row.merged_into in targets and row.merged_into != row.name:
                problems.append(f"Buckets.md merges {row.name!r} in a circle")
            continue  # into nothing or itself: reported already
        own = stored.get(row.name, Bucket(row.name))
        wanted = _wanted(own, replace(row, merged_into="" if final == row.name else final))
        if wanted != own or row.name not in stored:
            changed.append(wanted)
    fresh = tuple(problem for problem in problems if problem not in desk.results.problems)
    return PageEdits(tuple(changed), fresh) if changed or fresh else None


def _final(name: str, targets: Mapping[str, str]) -> str | None:
    """Where a chain of merges ends, the name itself if not merged; None if it ends nowhere."""
    passed = set()
    while targets.get(name):
        passed.add(name)
        name = targets[name]
        if name in passed or name not in targets:
            return None
    return name


def _wanted(stored: Bucket, row: Bucket) -> Bucket:
    """The stored bucket with the user's word on aliases, description, ignoring and merging.

    Whether it has an article is the pipeline's to say: the page may lag behind by a night.
    """
    state = row.state
    if state not in (BucketState.IGNORED, BucketState.MERGED):
        state = BucketState.ARTICLE if stored.article else BucketState.CAPTURED
    return replace(
        stored,
        aliases=row.aliases,
        description=row.description,
        state=state,
        merged_into=row.merged_into,
    )
