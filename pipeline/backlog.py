"""Which conversations a run takes, and in which order: news first, then the oldest of the rest.

The rest is taken in slices that go through every stage one after the other, so that a night whose
time is up has folded what it has cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from pipeline.desk import Desk
from pipeline.records import Span

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


def left(desk: Desk) -> int:
    """How many conversations from before the desk's span are not cut into chunks yet."""
    if desk.span.since is None:
        return 0
    return len(desk.store.conversations.to_chunk(Span(until=desk.span.since)))
