"""Chunk → bucket(s): which topic of the wiki it belongs to, or a new one.

The user's edits of Meta/Buckets.md come first; how a chunk finds its topic is in pipeline/routing.
Last, what was founded twice is joined, before anything is written of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pipeline.buckets_page import PAGE
from pipeline.publish import Press
from pipeline.records import Chunk, Done, Outcome, Skipped
from pipeline.routing import Routed, Router
from pipeline.stages import Desk
from pipeline.topics.edits import Edits
from pipeline.topics.handovers import wish
from pipeline.topics.obeying import join, obey, page_edits
from pipeline.vault import ChangedUnderneath

NAME = "cluster"


@dataclass(frozen=True, slots=True)
class Grown:
    """Names of the buckets that got chunks since they were last compared with the others."""

    buckets: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Twins:
    """What was found of them: (name, into) of captured buckets that are part of another one."""

    grown: Grown
    pairs: tuple[tuple[str, str], ...]


Job = Edits | Chunk | Grown
Result = Edits | Routed | Twins


def key(job: Job) -> str:
    """The job's name in `attempts`."""
    if isinstance(job, Grown):
        return "topics founded twice"
    return job.id if isinstance(job, Chunk) else PAGE


def pending(desk: Desk) -> list[Job]:
    """What the user changed in Buckets.md, else kept chunks that were never routed, else what is to
    be compared.
    """
    asked = page_edits(_press(desk))
    fresh = tuple(p for p in asked.problems if p not in desk.results.problems)
    if asked.any or fresh:
        return [replace(asked, problems=fresh)]
    if chunks := desk.store.chunks.to_cluster(desk.span):
        return list(chunks)
    grown = tuple(desk.store.buckets.grown())
    return [Grown(grown)] if grown else []


def work(jobs: Sequence[Job], desk: Desk) -> list[Result]:
    """Route each chunk in turn; the user's edits go through as they are."""
    results: list[Result] = []
    router: Router | None = None
    for job in jobs:
        if isinstance(job, Edits):
            results.append(job)
        elif isinstance(job, Grown) and not desk.store.buckets.movable():
            results.append(Twins(job, ()))  # nearly always, and without reading all topics
        else:
            router = router or Router(desk)
            result = Twins(job, router.twins()) if isinstance(job, Grown) else router.route(job)
            results.append(result)
    return results


def keep(result: Result, desk: Desk) -> Outcome:
    """Record the user's edits, or where the chunk belongs."""
    now = desk.now()
    if isinstance(result, Edits):
        joined = obey(result, _press(desk), run=desk.run, at=now, trailers={"Run": desk.run})
        desk.results.joined.extend(joined)
        # what was asked for in vain before the night's own chunks came was not in vain
        done = tuple(wish(part.source, part.target) for part in result.handovers)
        problems = [one for one in desk.results.problems if not one.startswith(done)]
        desk.results.problems[:] = [*problems, *result.problems]
        desk.results.handed.extend(
            (part.source, part.target, len(part.chunks), part.staying) for part in result.handovers
        )
        return Done()
    if isinstance(result, Twins):
        return _join(result, desk)
    for bucket in result.new:
        desk.store.buckets.found(bucket, now, conv=result.chunk.conv)
    desk.store.buckets.assign(result.chunk.id, result.assignments)
    return Done({"routed": 1, "buckets": len(result.new)})


def _join(twins: Twins, desk: Desk) -> Outcome:
    """Killed in between, the page asks for it, and the next run obeys it."""
    try:
        joined = join(
            twins.pairs, _press(desk), run=desk.run, at=desk.now(), trailers={"Run": desk.run}
        )
    except ChangedUnderneath as error:
        return Skipped(str(error))
    desk.store.buckets.compared(twins.grown.buckets)
    desk.results.joined.extend(joined)
    return Done({"joined": len(joined)} if joined else {})


def _press(desk: Desk) -> Press:
    return Press(desk.store, desk.vault, desk.history, desk.config.commit_user_edits)
