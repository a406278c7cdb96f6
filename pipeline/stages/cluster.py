"""Chunk → bucket(s): which topic of the wiki it belongs to, or a new one.

Likeness decides where it is clear; near the line the model chooses among the best candidates and
"none of these". A new bucket is only captured; it earns an article in synthesize.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pipeline.buckets_page import listed_buckets
from pipeline.gates import dangers
from pipeline.models import Choice
from pipeline.policy import ClusterPolicy
from pipeline.profiles import Profiles
from pipeline.prose import flat, plain
from pipeline.records import Assignment, Bucket, BucketState, Chunk, Done, Outcome
from pipeline.stages import Desk
from pipeline.store.buckets import normalised
from pipeline.support.answering import no_answer
from pipeline.text import similarity, words
from pipeline.transcript import gist

NAME = "cluster"
_NAME_CHARACTERS = 80  # what is longer is no name
_LETTERS = "ABCDEFGH"
_NONE = "none of these"
_NOT_IN_NAMES = re.compile(r"[<>\[\]{}()|%`$^#*\\/~=!]+")
# likeness gained by a bucket of the same conversation, and by one whose name is spoken
_NEIGHBOUR, _NAMED = 0.05, 0.10


@dataclass(frozen=True, slots=True)
class PageEdits:
    """The user's edits of Meta/Buckets.md that the store does not know yet."""

    buckets: tuple[Bucket, ...]
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Routed:
    """A chunk with the buckets it belongs to; `new` are those it is the first of."""

    chunk: Chunk
    assignments: tuple[Assignment, ...]
    new: tuple[Bucket, ...] = ()


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
    """Route each chunk in turn: the next one may belong to the bucket this one proposed."""
    results: list[Result] = []
    profiles: Profiles | None = None
    for job in jobs:
        if isinstance(job, PageEdits):
            results.append(job)
            continue
        profiles = profiles or Profiles(desk)
        routed = _route(job, profiles, desk)
        for bucket in routed.new:
            profiles.add(bucket)
        for assignment in routed.assignments:
            profiles.assign(assignment.bucket, job.label)
        results.append(routed)
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


def _route(chunk: Chunk, profiles: Profiles, desk: Desk) -> Routed:
    policy = desk.policy.cluster
    messages = desk.store.conversations.messages(chunk.conv, first=chunk.first, last=chunk.last)
    said = gist(messages, desk.policy.chunk.gist_words)
    ranked = _ranked(chunk, said, profiles, desk)[: min(policy.candidates, len(_LETTERS))]
    if ranked and ranked[0][1] >= policy.accept:
        return _to([ranked[0]], chunk)
    if ranked:
        choice = _ask([bucket for bucket, _ in ranked], chunk, said, desk)
        chosen = _chosen(choice, [bucket for bucket, _ in ranked], policy)
        if chosen:
            return _to(chosen, chunk)
    name = _proposed_name(chunk, said, desk)
    for bucket in profiles.buckets:
        names = (bucket.name, *bucket.aliases)
        if any(_same_name(name, other, policy.same_name) for other in names):
            return _to([(bucket, 1.0)], chunk)
    bucket = Bucket(name=name, description=chunk.label)
    return Routed(chunk, (Assignment(chunk.id, bucket.name, 1.0),), (bucket,))


def _to(found: Sequence[tuple[Bucket, float]], chunk: Chunk) -> Routed:
    """Assign the chunk, following merges; an ignored bucket keeps it out of every article."""
    names = dict.fromkeys(bucket.merged_into or bucket.name for bucket, _ in found)
    scores = [score for _, score in found]
    return Routed(
        chunk,
        tuple(
            Assignment(chunk.id, name, score) for name, score in zip(names, scores, strict=False)
        ),
    )


def _ranked(chunk: Chunk, said: str, profiles: Profiles, desk: Desk) -> list[tuple[Bucket, float]]:
    """Buckets with their likeness to the chunk (0..1), best first, the unlike left out."""
    if not profiles.buckets:
        return []
    likeness = profiles.likeness(f"{chunk.label}. {said}")
    neighbours = set(desk.store.buckets.of_conversation(chunk.conv))
    spoken = f" {normalised(said)} "
    ranked = [
        (
            bucket,
            float(like)
            + (_NEIGHBOUR if bucket.name in neighbours else 0.0)
            + (_NAMED if _is_named(bucket, spoken) else 0.0),
        )
        for bucket, like in zip(profiles.buckets, likeness, strict=True)
    ]
    ranked = [(b, s) for b, s in ranked if s >= desk.policy.cluster.reject]
    return sorted(ranked, key=lambda pair: -pair[1])


def _is_named(bucket: Bucket, spoken: str) -> bool:
    return any(f" {normalised(name)} " in spoken for name in (bucket.name, *bucket.aliases))


def _ask(candidates: Sequence[Bucket], chunk: Chunk, said: str, desk: Desk) -> Choice:
    letters = _LETTERS[: len(candidates)]
    listed = "\n".join(
        f"{letter}: {bucket.name}" + (f" ({bucket.description})" if bucket.description else "")
        for letter, bucket in zip(letters, candidates, strict=True)
    )
    ask = desk.prompts.ask(
        "cluster/route",
        {"label": chunk.label, "transcript": said, "buckets": listed},
        options=(*letters, _NONE),
    )
    return desk.model.choose([ask], stage=NAME, purpose="cluster/route")[0]


def _chosen(
    choice: Choice, candidates: Sequence[Bucket], policy: ClusterPolicy
) -> list[tuple[Bucket, float]]:
    """The best bucket if it leads "none of these" clearly, and further ones that clear the bar."""
    *scores, none = choice.probabilities
    ranked = sorted(zip(candidates, scores, strict=True), key=lambda pair: -pair[1])
    if ranked[0][1] - none < policy.margin:
        return []
    further = [(b, s) for b, s in ranked[1 : policy.buckets_per_chunk] if s >= policy.bar]
    return [ranked[0], *further]


def _proposed_name(chunk: Chunk, said: str, desk: Desk) -> str:
    prompt = desk.prompts.get("cluster/name")
    reply = desk.model.write(
        [desk.prompts.ask("cluster/name", {"label": chunk.label, "transcript": said})],
        stage=NAME,
        purpose="cluster/name",
        max_tokens=prompt.max_tokens,
        grammar=prompt.grammar,
        seeds=[0],
        temperature=prompt.temperature,
    )[0]
    given = reply.text if reply.finish == "stop" and len(reply.text) <= _NAME_CHARACTERS else ""
    return _nameable(given) or _nameable(chunk.label) or "Untitled"


def _nameable(text: str) -> str:
    """The text as a name: one line without what tables, links and templates give a meaning.

    "" when nothing is left, or it is no name: the gate would keep an article of that title from
    ever being written, and with it all that is said about the topic.
    """
    name = flat(_NOT_IN_NAMES.sub(" ", flat(text))).strip(" .\"'")
    return "" if no_answer(flat(text)) or dangers(plain(name)) or not words(name) else name


def _same_name(one: str, other: str, bar: float) -> bool:
    return normalised(one) == normalised(other) or similarity(one, other) >= bar
