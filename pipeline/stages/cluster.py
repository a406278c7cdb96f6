"""Chunk → bucket(s): which topic of the wiki it belongs to, or a new one.

The user's edits of Meta/Buckets.md come first; how a chunk finds its topic is in pipeline/routing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pipeline.buckets_page import PAGE
from pipeline.publish import Press
from pipeline.records import Chunk, Done, Outcome
from pipeline.routing import Routed, Router
from pipeline.stages import Desk
from pipeline.topics.edits import Edits
from pipeline.topics.obeying import obey, page_edits

NAME = "cluster"

Job = Edits | Chunk
Result = Edits | Routed


def key(job: Job) -> str:
    """The job's name in `attempts`."""
    return job.id if isinstance(job, Chunk) else PAGE


def pending(desk: Desk) -> list[Job]:
    """What the user changed in Buckets.md, else kept chunks that were never routed."""
    asked = page_edits(_press(desk))
    fresh = tuple(p for p in asked.problems if p not in desk.results.problems)
    if asked.any or fresh:
        return [replace(asked, problems=fresh)]
    return list(desk.store.chunks.to_cluster(desk.span))


def work(jobs: Sequence[Job], desk: Desk) -> list[Result]:
    """Route each chunk in turn; the user's edits go through as they are."""
    results: list[Result] = []
    router: Router | None = None
    for job in jobs:
        if isinstance(job, Edits):
            results.append(job)
        else:
            router = router or Router(desk)
            results.append(router.route(job))
    return results


def keep(result: Result, desk: Desk) -> Outcome:
    """Record the user's edits, or where the chunk belongs."""
    now = desk.now()
    if isinstance(result, Edits):
        obey(result, _press(desk), run=desk.run, at=now, trailers={"Run": desk.run})
        desk.results.problems.extend(result.problems)
        return Done()
    for bucket in result.new:
        desk.store.buckets.save(bucket, now)
    desk.store.buckets.assign(result.chunk.id, result.assignments)
    return Done({"routed": 1, "buckets": len(result.new)})


def _press(desk: Desk) -> Press:
    return Press(desk.store, desk.vault, desk.history, desk.config.commit_user_edits)
