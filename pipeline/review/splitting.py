"""Part of a topic handed over to another one, new or known, by day.

The page can say it too, by words; of chunks by their ids, and of what is folded already, only a
command can.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from pipeline.errors import ConfigFault
from pipeline.prose import flat
from pipeline.publish import publish_talk
from pipeline.records import Bucket, BucketState
from pipeline.review import Reviewer
from pipeline.review.topics import add, find, heeded, refuse_name
from pipeline.store.buckets import Placed, normalised
from pipeline.topics.choosing import Chosen, choose
from pipeline.vault import ChangedUnderneath


@dataclass(frozen=True, slots=True)
class Split:
    """What a split would do with the chunks that are chosen. is_new: the target is no topic yet."""

    source: Bucket
    target: Bucket
    is_new: bool
    chosen: Chosen


def plan(
    name: str,
    into: str,
    reviewer: Reviewer,
    *,
    match: str = "",
    chunks: Collection[str] = (),
    folded: bool = False,
) -> Split:
    """Which chunks of a topic go where.

    match: those in whose label, claims or messages every one of these words stands. chunks: the
    beginnings of their ids. folded: what stands in the topic's article is to be written into the
    other's as well; it stays where it stands either way. Raises ConfigFault when nothing is chosen,
    or nothing of it would go.
    """
    source = find(name, reviewer)
    placed = reviewer.press.store.buckets.placed(source.name)
    ids = [one.chunk.id for one in placed]
    if unknown := [c for c in chunks if not c or not any(one.startswith(c) for one in ids)]:
        raise ConfigFault(
            f"no chunk of {source.name!r} has an id that begins with {unknown[0]!r}",
            mend=f'`memory buckets show "{source.name}"` lists them',
        )
    chosen = choose(placed, reviewer.press.store, match=match, chunks=chunks, folded=folded)
    if not chosen.every:
        raise ConfigFault(
            f"no chunk of {source.name!r} is chosen",
            mend="choose some by --match WORDS, or by --chunk ID as `memory buckets show` has them",
        )
    target, is_new = _target(into, chosen.every[0], reviewer)
    if target.name == source.name:
        raise ConfigFault(f"{source.name!r} cannot be split into itself", mend="name another topic")
    return Split(source, target, is_new, chosen)


def split(planned: Split, reviewer: Reviewer) -> None:
    """Do what was planned. Raises ConfigFault when nothing of it would go."""
    chosen = planned.chosen
    if not chosen.moving and not chosen.sharing:
        raise ConfigFault(
            f"nothing of {planned.source.name!r} would go: {chosen.staying[0][1]}",
            mend="`--folded` lets what is folded already go into the other article as well",
        )
    press = reviewer.press
    if planned.is_new:
        add(planned.target, reviewer)
    if chosen.sharing and planned.source.article in press.vault.stems():
        _tell(planned, reviewer)
    with press.store.together():
        press.store.buckets.move(_ids(chosen.moving), planned.source.name, planned.target.name)
        press.store.buckets.share(_ids(chosen.sharing), planned.target.name)
        press.store.buckets.decided([planned.source.name, planned.target.name])


def _target(into: str, first: Placed, reviewer: Reviewer) -> tuple[Bucket, bool]:
    """The topic that is meant, else a new one of that name; and whether it is new."""
    name = flat(into)
    for bucket in reviewer.press.store.buckets.all():
        if normalised(bucket.name) == normalised(name):
            return heeded(bucket, reviewer), False
    refuse_name(name, reviewer)
    return Bucket(name, description=flat(first.chunk.label), state=BucketState.CAPTURED), True


def _tell(planned: Split, reviewer: Reviewer) -> None:
    stem = planned.source.article
    entry = (
        f"You split off the topic “{planned.target.name}”: its article gets what this one says of "
        "it as well. Delete here what you want to stand there alone, once it stands there."
    )
    at = reviewer.now()
    trailers = {"Topics": f"{planned.target.name} is split off", "At": at.isoformat()}
    try:
        publish_talk(reviewer.press, stem, stem, [entry], run="", at=at, trailers=trailers)
    except ChangedUnderneath:
        return  # a page that is being edited is left alone


def _ids(placed: Sequence[Placed]) -> list[str]:
    return [one.chunk.id for one in placed]
