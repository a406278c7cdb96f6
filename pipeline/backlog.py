"""Which conversations a run takes, and in which order: news first, then the oldest of the rest.

The rest is taken in slices that go through every stage one after the other, so that a night whose
time is up has folded what it has cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from pipeline.config import Config
from pipeline.desk import Desk
from pipeline.records import Span
from pipeline.store import Store
from pipeline.store.times import from_text

Passes = Callable[[Desk], Iterator[Desk]]


def news(desk: Desk) -> Iterator[Desk]:
    """What the desk's own span holds, at once."""
    yield desk


def news_then_backlog(desk: Desk) -> Iterator[Desk]:
    """The news, then what was said before the first night's horizon."""
    yield desk
    if desk.span.since is not None:
        yield from oldest_first(replace(desk, span=Span(until=desk.span.since)))


def oldest_first(desk: Desk) -> Iterator[Desk]:
    """The desk's span in slices; the last one takes up what earlier nights left half done."""
    waiting = sorted(c.updated_at for c in desk.store.conversations.to_chunk(desk.span))
    size = desk.policy.night.slice
    for until in [*waiting[size - 1 :: size], desk.span.until]:
        yield replace(desk, span=replace(desk.span, until=until))


def horizon(store: Store, config: Config) -> datetime | None:
    """Where the first night began to look: a fixed day, so that missed nights lose nothing.

    None when there is no such day: all is looked at, or there was no night yet.
    """
    first = store.runs.first_started()
    if config.since_days is None or not first:
        return None
    return from_text(first) - timedelta(days=config.since_days)


def left(desk: Desk) -> int:
    """How many conversations from before the first night's horizon are not cut into chunks yet.

    Whatever span the run itself takes: the numbers of several runs tell how the backlog shrinks.
    """
    since = horizon(desk.store, desk.config)
    return 0 if since is None else len(desk.store.conversations.to_chunk(Span(until=since)))
