"""Rows that say `← Topic: words`: which part of which topic goes over to theirs.

It is done once, and then the row says again what its topic is. Done a second time, as after a kill
between the two, it changes nothing: so what would go on from a topic that only now gets something
waits for the next look at the page, and parts never go in a circle.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from pipeline.buckets_page import Row
from pipeline.records import Bucket, BucketState
from pipeline.store.buckets import normalised
from pipeline.topics.choosing import Chosen

Look = Callable[[str, str], Chosen]
"""What of a topic of the store, by its name there, is chosen by these words."""

COLON = re.compile("[:：]")
_WRITE = (
    "to split part of a topic off, write `← Topic: words`, with words that all stand in that part"
)


@dataclass(frozen=True, slots=True)
class Handover:
    """Part of a topic that goes to another one; both under their new names.

    said: as the row has it. chunks: ids of what goes. staying: why the others that are chosen do
    not, a reason for each.
    """

    source: str
    target: str
    said: str
    chunks: tuple[str, ...]
    staying: tuple[str, ...] = ()


@dataclass(slots=True)
class Handovers:
    """What is to be done. obeyed: rows whose part went over before, which still say so."""

    todo: list[Handover] = field(default_factory=list)
    obeyed: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Order:
    source: str
    words: str
    said: str


def handovers(
    now: Mapping[str, Bucket],
    rows: Mapping[str, Row],
    stored: Mapping[str, str],
    gaining: Collection[str],
    look: Look,
) -> Handovers:
    """What the rows ask for, the upper ones first.

    now: buckets as they are to be. stored: by the new name of each that the store has, its name
    there. gaining: those that get chunks by what else is edited.
    """
    found = Handovers()
    orders = _orders(now, rows, stored, found.problems)
    asked = {
        name: look(stored[order.source], order.words) if order.source in stored else Chosen()
        for name, order in orders.items()
    }
    gaining = {*gaining, *(name for name, chosen in asked.items() if chosen.moving)}
    gone: set[tuple[str, str]] = set()
    for name, order in orders.items():
        chosen = asked[name]
        if order.source in gaining:
            continue
        moving = [one.chunk.id for one in chosen.moving if (order.source, one.chunk.id) not in gone]
        gone |= {(order.source, chunk) for chunk in moving}
        why = [reason for _, reason in chosen.staying]
        if moving:
            handover = Handover(order.source, name, order.said, tuple(moving), tuple(why))
            found.todo.append(handover)
        elif not chosen.moving:  # else a row above has taken it all
            _nothing(name, order, why, stored, look, found)
    return found


def wish(source: str, target: str) -> str:
    """How what is said of a row that asks for a part begins."""
    return f"Buckets.md wants part of {source!r} for {target!r}"


def _nothing(
    name: str,
    order: _Order,
    why: Sequence[str],
    stored: Mapping[str, str],
    look: Look,
    found: Handovers,
) -> None:
    """A part in which nothing is left to go: it went before, or never can."""
    asks = wish(order.source, name)
    has = look(stored[name], order.words) if name in stored else Chosen()
    because = "; ".join(dict.fromkeys(why))
    if any(one.chosen for one in has.every):
        found.obeyed.append(name)
        if why:
            found.problems.append(f"{asks}, and no more of it goes there: {because}")
    elif why:
        found.problems.append(f"{asks}, but nothing of it would go: {because}")
    else:
        found.problems.append(f"{asks}, but no chunk of it holds all these words: {order.words}")


# ------------------------------------------------------------------ what a row says


def _orders(
    now: Mapping[str, Bucket],
    rows: Mapping[str, Row],
    stored: Mapping[str, str],
    problems: list[str],
) -> dict[str, _Order]:
    """By row what can be done, with the problems of those that cannot."""
    taking = {name: row.takes for name, row in rows.items() if row.takes is not None}
    if not taking:
        return {}
    called = _called(now, stored)
    orders: dict[str, _Order] = {}
    for name, said in taking.items():
        order = _read(said, called)
        if isinstance(order, _Order):
            order = _unfit(name, order, now) or order
        if isinstance(order, _Order):
            orders[name] = order
        else:
            problems.append(f"Buckets.md says ← {said!r} of {name!r}: {order}")
    for name in [name for name in orders if _is_circle(name, orders)]:
        problems.append(
            f"Buckets.md says ← {orders[name].said!r} of {name!r}: it leads in a circle"
        )
    return {name: order for name, order in orders.items() if not _is_circle(name, orders)}


def _called(now: Mapping[str, Bucket], stored: Mapping[str, str]) -> dict[str, set[str]]:
    """The buckets that go by each name as normalised: their own, else an old one or an alias."""
    called: dict[str, set[str]] = {}
    for name, bucket in now.items():
        live = bucket.state is not BucketState.MERGED
        for alias in (*(bucket.aliases if live else ()), stored.get(name, name)):
            called.setdefault(normalised(alias), set()).add(name)
    return called | {normalised(name): {name} for name in now}


def _read(said: str, called: Mapping[str, Collection[str]]) -> _Order | str:
    """The order, else what is wrong with it. The longest name that is known counts."""
    for colon in reversed([*COLON.finditer(said)]):
        named = called.get(normalised(said[: colon.start()]), ())
        words = said[colon.end() :].strip()
        if len(named) > 1:
            return f"more than one topic is called so: {', '.join(map(repr, sorted(named)))}"
        for name in named:
            return _Order(name, words, said) if words else _WRITE
    known = normalised(said) in called or not COLON.search(said)
    return _WRITE if known else "no topic is called so"


def _unfit(name: str, order: _Order, now: Mapping[str, Bucket]) -> str:
    """Why it cannot be, "" if it can."""
    source, target = now[order.source], now[name]
    if order.source == name:
        return "a topic cannot be split into itself"
    if source.state is BucketState.MERGED:
        return f"{source.name!r} is merged into {source.merged_into!r}, which has its chunks"
    if target.state is BucketState.MERGED:
        return f"{name!r} is merged into {target.merged_into!r}: give it the state captured first"
    if target.state is BucketState.IGNORED:
        return f"{name!r} is ignored: give it the state captured first"
    return ""


def _is_circle(name: str, orders: Mapping[str, _Order]) -> bool:
    """Whether what this row gets comes from itself, by way of other rows."""
    passed = {name}
    at = name
    while at in orders:
        at = orders[at].source
        if at in passed:
            return at == name
        passed.add(at)
    return False
