"""Meta/Buckets.md and the store brought to say the same, by night and by day.

The page is what counts: what is decided stands there first, and the store follows, so that a kill
between the two leaves an edit that the next night obeys.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime

from pipeline.buckets_page import (
    PAGE,
    Listing,
    cells,
    listed_buckets,
    read_buckets,
    set_cells,
    up_to_date,
)
from pipeline.prose import plain
from pipeline.publish import Press, publish, publish_talk
from pipeline.records import Bucket, BucketState
from pipeline.store.buckets import normalised
from pipeline.store.ledger import Folding, PageFile
from pipeline.topics.choosing import Chosen, choose
from pipeline.topics.edits import Edits, edits
from pipeline.unsettled import conflict
from pipeline.vault import ChangedUnderneath

_JOINED = "Joined"  # the trailer of a commit in which a night joined topics


def page_edits(press: Press) -> Edits:
    """What the user changed on the page since the store was last brought in line with it.

    While the page has conflicts: nothing, which it says.
    """
    text = _text(press)
    if why := conflict(text):
        return Edits(problems=(f"{PAGE} {why}: what it asks for waits",))
    listing = listed_buckets(text, press.store.derived)
    return _edits(listing, press, lambda: _listed_before(press))


def edits_of(text: str, press: Press) -> Edits:
    """What the page would ask for with this text; rows that it lacks are not missed."""
    return _edits(read_buckets(text), press, lambda: ())


def obey(
    asked: Edits, press: Press, *, run: str, at: datetime, trailers: Mapping[str, str]
) -> Sequence[tuple[str, str]]:
    """Let the store say what the page asks for, all of it or nothing.

    Returns what the user did not decide: (name, into) of topics that a night wrote there to be
    joined, and was killed before the store followed.
    """
    joining = _ends_with_a_join(press)
    _follow(asked, press, run=run, at=at, trailers=trailers)
    if joining:
        return asked.merges
    pairs = (*asked.renames, *asked.merges, *asked.parted)
    news = {bucket.name for bucket in asked.wanted} | {other for _, other in pairs}
    press.store.buckets.decided(sorted(news))
    return ()


def join(
    pairs: Sequence[tuple[str, str]],
    press: Press,
    *,
    run: str,
    at: datetime,
    trailers: Mapping[str, str],
) -> Sequence[tuple[str, str]]:
    """Merge the topics of each pair, (name, into), as the user would on the page; what was merged.

    Left out is what has no row as the pipeline writes it, or of which another row wants part: a
    state that is not understood is the user's word all the same. Raises ChangedUnderneath, also
    when the page asks for something.
    """
    if not pairs:
        return ()
    # before it is read: what the user saves in between must not be overwritten
    known = press.vault.hash(PAGE)
    before = page_now(press)
    told = edits_of(before, press)
    if told.any:
        raise ChangedUnderneath(f"{PAGE} was edited meanwhile")
    rows = read_buckets(before).rows
    asked_for = tuple(normalised(row.takes) for row in rows if row.takes)
    plainly = {
        row.name
        for row in rows
        if row.state is BucketState.CAPTURED
        and not row.article
        and not any(said.startswith(normalised(row.name)) for said in asked_for)
    }
    pairs = [pair for pair in pairs if pair[0] in plainly]
    after = set_cells(before, {name: {"state": f"→ {plain(into)}"} for name, into in pairs})
    asked = edits_of(after, press)
    unclear = set(asked.problems) - set(told.problems)
    if not pairs or unclear or not set(pairs) <= set(asked.merges):
        return ()
    subject = f"buckets: {len(pairs)} joined to others"
    joined = {**trailers, _JOINED: str(len(pairs))}
    publish_page(press, after, known, subject, run=run, at=at, trailers=joined)
    _follow(asked, press, run=run, at=at, trailers=trailers)
    return pairs


def _ends_with_a_join(press: Press) -> bool:
    """Whether the page is as a night left it that joined topics: nobody has edited it since."""
    last = next(iter(press.history.log(PAGE)), None)
    if last is None or _JOINED not in last.trailers:
        return False
    return press.history.holds(last.sha, PAGE, _text(press))


def _follow(
    asked: Edits, press: Press, *, run: str, at: datetime, trailers: Mapping[str, str]
) -> None:
    store = press.store
    by_name = {bucket.name: bucket for bucket in store.buckets.all()}
    renamed = {new: old for old, new in asked.renames}
    _set_arrows(asked, press, run=run, at=at, trailers=trailers)
    # first, and each once: if the process dies now, the merge is obeyed later
    for name, into in asked.merges:
        if merged := by_name.get(renamed.get(name, name)):
            target = by_name.get(renamed.get(into, into), Bucket(into))
            _tell(merged, into, target, press, run=run, at=at, trailers=trailers)
    with store.together():
        for old, new in asked.renames:
            store.buckets.rename(old, new)
        for bucket in asked.wanted:
            store.buckets.save(bucket, at)
        for name, host in asked.parted:
            store.buckets.part(name, host)
        for name, into in asked.merges:
            store.buckets.merge(name, into)
        for part in asked.handovers:
            store.buckets.move(part.chunks, part.source, part.target)
            store.buckets.decided([part.source, part.target])
    _say_done(asked, press, run=run, at=at, trailers=trailers)


def page_now(press: Press) -> str:
    """The page as it should stand: a row for each bucket, and who has an article.

    As it is while it asks for something that the store does not say yet, or has conflicts.
    """
    text = _text(press)
    asked = page_edits(press)
    if asked.any or conflict(text):
        return text
    listing = listed_buckets(text, press.store.derived)
    stems = frozenset(press.vault.stems())
    return up_to_date(text, listing, press.store.buckets.all(), stems, asked.obeyed)


def refresh_page(press: Press, *, at: datetime) -> None:
    """Bring the page up to date after the user decided about articles: who has one still.

    Left to the night, a night without news would change something. A page that is to be left alone
    is.
    """
    # before it is read: what the user saves in between must not be overwritten
    known = press.vault.hash(PAGE)
    after = page_now(press)
    if after != _text(press):
        what = "what has an article"
        trailers = {"Topics": what, "At": at.isoformat()}
        with suppress(ChangedUnderneath):
            publish_page(press, after, known, f"buckets: {what}", run="", at=at, trailers=trailers)


def publish_page(
    press: Press,
    after: str,
    known: str,
    subject: str,
    *,
    run: str,
    at: datetime,
    trailers: Mapping[str, str],
) -> None:
    """Write and commit the page. known: the hash of the page that `after` was made from.

    Raises ChangedUnderneath, as `publish`.
    """
    publish(
        press,
        PageFile(PAGE, known, after),
        run=run,
        at=at,
        subject=subject,
        trailers=trailers,
        folding=Folding(),
    )


def _text(press: Press) -> str:
    return press.vault.meta("Buckets.md")


def _edits(listing: Listing, press: Press, before: Callable[[], Sequence[str]]) -> Edits:
    store = press.store

    def look(name: str, words: str) -> Chosen:
        return choose(store.buckets.placed(name), store, match=words)

    return edits(listing, store.buckets.all(), press.vault.stems(), before, look)


def _listed_before(press: Press) -> Sequence[str]:
    """The names on the page as it was last written by the pipeline, not by the user."""
    ours = next((commit for commit in press.history.log(PAGE) if commit.trailers), None)
    text = press.history.show(ours.sha, PAGE) if ours else None
    return [row.name for row in read_buckets(text).rows] if text else []


def _set_arrows(
    asked: Edits, press: Press, *, run: str, at: datetime, trailers: Mapping[str, str]
) -> None:
    """Arrows that lead to a bucket's old name lead to the new one."""
    if not asked.arrows:
        return
    # before it is read: what the user saves in between must not be overwritten
    known = press.vault.hash(PAGE)
    after = set_cells(
        _text(press), {name: {"state": f"→ {plain(into)}"} for name, into in asked.arrows}
    )
    # a page that is to be left alone keeps them, and the user is told that they lead nowhere
    with suppress(ChangedUnderneath):
        subject = f"buckets: {len(asked.arrows)} follow a new name"
        publish_page(press, after, known, subject, run=run, at=at, trailers=trailers)


def _say_done(
    asked: Edits, press: Press, *, run: str, at: datetime, trailers: Mapping[str, str]
) -> None:
    """Rows that asked for part of a topic say again what theirs is.

    If the process dies before, or the page is to be left alone, they do when it is next brought up
    to date.
    """
    if not asked.handovers:
        return
    # before it is read: what the user saves in between must not be overwritten
    known = press.vault.hash(PAGE)
    text = _text(press)
    said = {row.name: row.takes for row in read_buckets(text).rows}
    done = [part.target for part in asked.handovers if said.get(part.target) == part.said]
    states = {name: {"state": cells(press.store.buckets.get(name))["state"]} for name in done}
    if states:
        subject = f"buckets: {len(states)} got part of another"
        with suppress(ChangedUnderneath):
            after = set_cells(text, states)
            publish_page(press, after, known, subject, run=run, at=at, trailers=trailers)


def _tell(
    merged: Bucket,
    into: str,
    target: Bucket,
    press: Press,
    *,
    run: str,
    at: datetime,
    trailers: Mapping[str, str],
) -> None:
    """An article that gets no more news says so on its Talk page; it stays as it is."""
    stem = merged.article
    if stem in ("", target.article) or stem not in press.vault.stems():
        return
    where = f"the article “{target.article}”" if target.article else f"the topic “{into}”"
    entry = (
        f"You merged this topic into {where}: its news go there, and this article stays as it is. "
        "Move over what only this one says, if you want it all in one place."
    )
    with suppress(ChangedUnderneath):  # a page that is being edited; the table says it as well
        publish_talk(press, stem, stem, [entry], run=run, at=at, trailers=trailers)
