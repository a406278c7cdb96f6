"""Topics by day: renamed, merged, described, ignored. The page is edited, and the store follows.

A decision is first an edit of Meta/Buckets.md, read back by the very code that reads the user's own
edits: the next night finds nothing to do, and what the page cannot say is not done at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from rapidfuzz import fuzz, process

from pipeline.buckets_page import PAGE, append_buckets, as_alias, cells, set_cells
from pipeline.errors import ConfigFault
from pipeline.prose import flat
from pipeline.records import Bucket, BucketState
from pipeline.review import Reviewer
from pipeline.store.buckets import normalised
from pipeline.topics.edits import Edits, unfit
from pipeline.topics.obeying import edits_of, obey, page_edits, page_now, publish_page

_ALIKE, _SUGGESTED = 60, 3  # of 100: names worth suggesting, and how many


def catch_up(reviewer: Reviewer) -> tuple[str, ...]:
    """Obey what the user changed on the page so far; what of it could not be understood or done."""
    asked = page_edits(reviewer.press)
    stays: list[str] = []
    while asked.any:
        trailers = {"Topics": "as on the page", "At": reviewer.now().isoformat()}
        joined = obey(asked, reviewer.press, run="", at=reviewer.now(), trailers=trailers)
        stays += [
            f"a night that was cut short had joined the topic {one!r} to {other!r}"
            for one, other in joined
        ]
        stays += [
            f"of {part.source!r} not all that was asked for went to {part.target!r}: {why}"
            for part in asked.handovers
            for why in dict.fromkeys(part.staying)
        ]
        # what waited for this, as a part of what just went over
        before, asked = asked, page_edits(reviewer.press)
        if asked == before:
            break
    return (*stays, *asked.problems)


def find(name: str, reviewer: Reviewer) -> Bucket:
    """The topic of this name, else the only one with this alias; case and spacing do not count.

    Raises ConfigFault, with the names most like it, when there is none.
    """
    buckets = reviewer.press.store.buckets.all()
    wanted = normalised(name)
    exact = [bucket for bucket in buckets if bucket.name == name]
    named = exact or [bucket for bucket in buckets if normalised(bucket.name) == wanted]
    aliased = [
        bucket
        for bucket in buckets
        if bucket.state is not BucketState.MERGED and wanted in map(normalised, bucket.aliases)
    ]
    found = named or aliased
    if found and (named or len(found) == 1):
        return found[0]
    if found:
        names = ", ".join(repr(bucket.name) for bucket in found)
        raise ConfigFault(f"{name!r} is an alias of more than one topic", mend=f"one of: {names}")
    alike = process.extract(
        name,
        [bucket.name for bucket in buckets],
        scorer=fuzz.WRatio,
        processor=normalised,
        score_cutoff=_ALIKE,
        limit=_SUGGESTED,
    )
    near = ", ".join(repr(choice) for choice, _, _ in alike)
    mend = f"did you mean {near}?" if near else "`memory buckets` lists the topics"
    raise ConfigFault(f"there is no topic called {name!r}", mend=mend)


def rename(name: str, new: str, reviewer: Reviewer) -> Bucket:
    """Give a topic another name; the old one becomes an alias, and its article stays as it is.

    Raises ConfigFault for a name that another topic goes by, or that no file can have.
    """
    bucket, new = _own(name, reviewer), flat(new)
    if new == bucket.name:
        return bucket
    refuse_name(new, reviewer, but=bucket)
    gone = {normalised(new), normalised(bucket.name)}
    kept = [alias for alias in bucket.aliases if normalised(alias) not in gone]
    old = [] if normalised(new) == normalised(bucket.name) else [bucket.name]
    after = replace(bucket, name=new, aliases=(*kept, *old))
    decide(
        f"{bucket.name} is called {new}",
        lambda text: set_cells(text, {bucket.name: _some(after, "bucket", "aliases")}),
        lambda asked: (bucket.name, new) in asked.renames,
        reviewer,
    )
    return reviewer.press.store.buckets.get(new)


def merge(name: str, into: str, reviewer: Reviewer) -> Bucket:
    """Hand a topic's chunks, folded and not, over to another; return that one.

    Raises ConfigFault for one that is merged into itself, into what is merged into it, or into one
    that is ignored.
    """
    bucket, target = find(name, reviewer), _target(into, reviewer)
    if target.name == bucket.name:
        raise ConfigFault(
            f"{bucket.name!r} cannot be merged into itself",
            mend="name two topics, the one that goes first; `memory buckets` lists them",
        )
    after = replace(bucket, state=BucketState.MERGED, merged_into=target.name)
    _set(f"{bucket.name} is merged into {target.name}", bucket, after, "state", reviewer)
    return reviewer.press.store.buckets.get(target.name)


def alias(name: str, add: Sequence[str], remove: Sequence[str], reviewer: Reviewer) -> Bucket:
    """Give a topic more names to be known by, or take some away.

    Raises ConfigFault for a name that another topic goes by, or one to remove that it has not.
    """
    bucket = _own(name, reviewer)
    have = {normalised(alias): alias for alias in bucket.aliases}
    for one in remove:
        if have.pop(normalised(one), None) is None:
            raise ConfigFault(
                f"{bucket.name!r} has no alias {one!r}",
                mend=f"it has: {', '.join(bucket.aliases) or 'none'}",
            )
    for one in (as_alias(flat(one)) for one in add):
        if not one:
            raise ConfigFault("an alias is a word or more", mend="add one with letters in it")
        _refuse_taken(one, reviewer, but=bucket)
        have.setdefault(normalised(one), one)
    after = replace(bucket, aliases=tuple(have.values()))
    return _set(f"the aliases of {bucket.name}", bucket, after, "aliases", reviewer)


def describe(name: str, description: str, reviewer: Reviewer) -> Bucket:
    """Say what belongs into a topic; later conversations are routed by it. "" says nothing."""
    bucket = _own(name, reviewer)
    after = replace(bucket, description=flat(description))
    return _set(f"what {bucket.name} is about", bucket, after, "description", reviewer)


def ignore(name: str, reviewer: Reviewer) -> Bucket:
    """Write nothing more about a topic; its article stays as it is, its chunks are kept."""
    bucket = _own(name, reviewer)
    after = replace(bucket, state=BucketState.IGNORED)
    return _set(f"{bucket.name} is ignored", bucket, after, "state", reviewer)


def heed(name: str, reviewer: Reviewer) -> Bucket:
    """Let a topic that is ignored, or merged into another, stand for itself again.

    What waited while it was ignored is folded the next night. From the other topic it gets back
    what stands in its own article.
    """
    bucket = find(name, reviewer)
    state = BucketState.ARTICLE if bucket.article else BucketState.CAPTURED
    after = replace(bucket, state=state, merged_into="")
    return _set(f"{bucket.name} is heeded again", bucket, after, "state", reviewer)


def refuse_name(name: str, reviewer: Reviewer, *, but: Bucket | None = None) -> None:
    """Raise ConfigFault for what cannot be a topic's name, or is taken by another one than `but`.

    A topic's name is the title and the file of its article.
    """
    fit = reviewer.press.vault.stem_for(name, ())
    if unfit(name) or fit != name:
        other = "" if unfit(fit) else f"for instance {fit!r}"
        raise ConfigFault(
            f"{name!r} cannot be the name of a file on every system",
            mend=other or "use a word or more, without signs that Markdown or a template runs",
        )
    _refuse_taken(name, reviewer, but=but)


def decide(
    what: str, edit: Callable[[str], str], meant: Callable[[Edits], bool], reviewer: Reviewer
) -> None:
    """Edit the page, commit it, and obey it.

    what: the decision in a few words. meant: whether what the page then asks for is it. Raises
    ConfigFault, with nothing written, when it is not; ChangedUnderneath when the page is being
    edited, or has edits of the user's that are to be left alone.
    """
    press, at = reviewer.press, reviewer.now()
    # before it is read: what the user saves in between must not be overwritten
    known = press.vault.hash(PAGE)
    before = page_now(press)
    after = edit(before)
    told, asked = (edits_of(text, press) for text in (before, after))
    if fresh := [problem for problem in asked.problems if problem not in told.problems]:
        raise ConfigFault(fresh[0], mend=f"see the table in {PAGE}")
    if not meant(asked):
        raise ConfigFault(
            f"{PAGE} cannot say that {what}",
            mend="its table needs the columns bucket, article, aliases, description and state",
        )
    trailers = {"Topics": what, "At": at.isoformat()}
    publish_page(press, after, known, f"buckets: {what}", run="", at=at, trailers=trailers)
    obey(asked, press, run="", at=at, trailers=trailers)


def _set(what: str, bucket: Bucket, after: Bucket, column: str, reviewer: Reviewer) -> Bucket:
    """Set one cell of the topic's row, if that changes anything."""
    if after != bucket:
        decide(
            what,
            lambda text: set_cells(text, {bucket.name: _some(after, column)}),
            lambda asked: after in asked.wanted,
            reviewer,
        )
    return reviewer.press.store.buckets.get(bucket.name)


def add(bucket: Bucket, reviewer: Reviewer) -> None:
    """Put a new topic into the table and the store."""
    decide(
        f"{bucket.name} is a topic",
        lambda text: append_buckets(text, [bucket]),
        lambda asked: bucket in asked.wanted,
        reviewer,
    )


def _some(bucket: Bucket, *columns: str) -> dict[str, str]:
    made = cells(bucket)
    return {column: made[column] for column in columns}


def _own(name: str, reviewer: Reviewer) -> Bucket:
    """The topic, which must not be merged into another: then that one is what the user sees."""
    bucket = find(name, reviewer)
    if bucket.state is BucketState.MERGED:
        raise ConfigFault(
            f"{bucket.name!r} was merged into {bucket.merged_into!r}",
            mend=f'`memory buckets heed "{bucket.name}"` lets it stand for itself again',
        )
    return bucket


def _target(name: str, reviewer: Reviewer) -> Bucket:
    return heeded(find(name, reviewer), reviewer)


def heeded(bucket: Bucket, reviewer: Reviewer) -> Bucket:
    """The topic, or the one it was merged into. Raises ConfigFault when that is ignored."""
    if bucket.state is BucketState.MERGED:
        bucket = reviewer.press.store.buckets.get(bucket.merged_into)
    if bucket.state is BucketState.IGNORED:
        raise ConfigFault(
            f"{bucket.name!r} is ignored: nothing would be written of what goes there",
            mend=f'`memory buckets heed "{bucket.name}"` first, or ignore the other one as well',
        )
    return bucket


def _refuse_taken(name: str, reviewer: Reviewer, *, but: Bucket | None) -> None:
    for other in reviewer.press.store.buckets.all():
        if but is not None and other.name == but.name:
            continue
        if normalised(other.name) == normalised(name):
            mend = f'`memory buckets merge` makes one of two; `memory buckets show "{other.name}"`'
            raise ConfigFault(f"there is a topic called {other.name!r}", mend=mend)
        live = other.state is not BucketState.MERGED
        if live and normalised(name) in map(normalised, other.aliases):
            raise ConfigFault(
                f"{name!r} is an alias of {other.name!r}",
                mend=f'memory buckets alias "{other.name}" --remove "{name}"',
            )
