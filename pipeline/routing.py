"""Which topics of the wiki a chunk belongs to, or the name of a new one.

Likeness decides where it is clear; near the line the model chooses among the best candidates and
"none of these". A new bucket is only captured; it earns an article in synthesize.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.desk import Desk
from pipeline.gates import dangers
from pipeline.likeness import Piece, share
from pipeline.models import Choice, Model
from pipeline.policy import ClusterPolicy
from pipeline.profiles import Profiles
from pipeline.prompts import Prompts
from pipeline.prose import flat, plain
from pipeline.records import Assignment, Bucket, Chunk
from pipeline.store.buckets import normalised
from pipeline.support.answering import no_answer, of_example
from pipeline.text import similarity, words
from pipeline.transcript import gist

_STAGE = "cluster"
_NAME_CHARACTERS = 80  # what is longer is no name
_LETTERS = "ABCDEFGH"
_NONE = "none of these"
_NOT_IN_NAMES = re.compile(r"[<>\[\]{}()|%`$^#*\\/~=!]+")
# log odds gained by a bucket of the same conversation or project, and by one whose name is spoken
_NEIGHBOUR, _PROJECT, _NAMED = 1.0, 0.5, 2.0


@dataclass(frozen=True, slots=True)
class Routed:
    """A chunk with the buckets it belongs to; `new` are those it is the first of."""

    chunk: Chunk
    assignments: tuple[Assignment, ...]
    new: tuple[Bucket, ...] = ()


class Router:
    """Routes chunk after chunk: the next one may belong to the bucket this one proposed."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._profiles = Profiles(desk)

    def route(self, chunk: Chunk) -> Routed:
        """Where the chunk belongs. Writes nothing; may ask the model."""
        policy = self._desk.policy
        messages = self._desk.store.conversations.messages(
            chunk.conv, first=chunk.first, last=chunk.last
        )
        said = gist(messages, policy.chunk.gist_words)
        piece = self._profiles.piece(chunk)
        if done := self._desk.store.buckets.that_took(chunk.id):
            # by another machine: under a second topic the same would be written twice
            routed = _to([(bucket, 1.0) for bucket in done], chunk)
        else:
            ranked = self._ranked(chunk, said, piece)
            routed = _route(chunk, said, ranked, self._profiles, self._desk)
        for bucket in routed.new:
            self._profiles.add(bucket)
        for assignment in routed.assignments:
            self._profiles.assign(assignment.bucket, piece)
        return routed

    def twins(self) -> tuple[tuple[str, str], ...]:
        """Captured topics that are likelier part of another one than their own: (name, into)."""
        store = self._desk.store.buckets
        if len(self._profiles.buckets) < self._desk.policy.cluster.sure_from:
            return ()
        into: dict[str, str] = {}
        for gone, other in self._profiles.twins(store.grown(), store.movable()):
            into = {name: other if host == gone else host for name, host in into.items()}
            into[gone] = other
        return tuple(into.items())

    def _ranked(self, chunk: Chunk, said: str, piece: Piece) -> list[tuple[Bucket, float]]:
        """Buckets with how likely the chunk belongs there (0..1), best first; not the unlike."""
        store, buckets = self._desk.store.buckets, self._profiles.buckets
        neighbours, project = (
            set(store.of_conversation(chunk.conv)),
            store.of_project(chunk.project),
        )
        spoken = f" {normalised(said)} "
        reject = self._desk.policy.cluster.reject
        ranked = []
        for bucket, leaning in zip(buckets, self._profiles.leanings(piece), strict=True):
            near = bucket.name in neighbours
            named = any(f" {normalised(n)} " in spoken for n in self._profiles.names(bucket))
            likely = share(
                leaning + _NEIGHBOUR * near + _PROJECT * (bucket.name in project) + _NAMED * named
            )
            # a name that is spoken and a neighbour are worth asking about, however unlike
            if likely >= reject or near or named:
                ranked.append((bucket, likely))
        return sorted(ranked, key=lambda pair: -pair[1])


def _route(
    chunk: Chunk,
    said: str,
    ranked: Sequence[tuple[Bucket, float]],
    profiles: Profiles,
    desk: Desk,
) -> Routed:
    policy = desk.policy.cluster
    shown = ranked[: min(policy.candidates, len(_LETTERS))]
    # how near is near is learnt from the topics; with few of them likeness is overrated
    if shown and shown[0][1] >= policy.accept and len(profiles.buckets) >= policy.sure_from:
        return _to([shown[0]], chunk)
    if shown:
        candidates = [bucket for bucket, _ in shown]
        choice = ask(candidates, chunk.label, said, desk.model, desk.prompts)
        if found := chosen(choice, candidates, policy):
            return _to(found, chunk)
    name = _proposed_name(chunk, said, desk)
    for bucket in profiles.buckets:
        if any(_same_name(name, other, policy.same_name) for other in profiles.names(bucket)):
            return _to([(bucket, 1.0)], chunk)
    bucket = Bucket(name=name, description=chunk.label)
    return Routed(chunk, (Assignment(chunk.id, bucket.name, 1.0),), (bucket,))


def _to(found: Sequence[tuple[Bucket, float]], chunk: Chunk) -> Routed:
    """Assign the chunk; an ignored bucket keeps it out of every article."""
    return Routed(chunk, tuple(Assignment(chunk.id, bucket.name, s) for bucket, s in found))


def ask(
    candidates: Sequence[Bucket], label: str, said: str, model: Model, prompts: Prompts
) -> Choice:
    """Ask the model which of the candidates (at most 8) it is, or none of these, the last."""
    letters = _LETTERS[: len(candidates)]
    listed = "\n".join(
        f"{letter}: {bucket.name}" + (f" ({bucket.description})" if bucket.description else "")
        for letter, bucket in zip(letters, candidates, strict=True)
    )
    asked = prompts.ask(
        "cluster/route",
        {"label": label, "transcript": said, "buckets": listed},
        options=(*letters, _NONE),
    )
    return model.choose([asked], stage=_STAGE, purpose="cluster/route")[0]


def chosen(
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
    asked = desk.prompts.ask("cluster/name", {"label": chunk.label, "transcript": said})
    reply = desk.model.write(
        [asked],
        stage=_STAGE,
        purpose="cluster/name",
        max_tokens=prompt.max_tokens,
        grammar=prompt.grammar,
        seeds=[0],
        temperature=prompt.temperature,
    )[0]
    whole = reply.finish == "stop" and len(reply.text) <= _NAME_CHARACTERS
    given = reply.text if whole and not of_example(reply.text, asked) else ""
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
