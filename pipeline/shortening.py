"""Texts made shorter until what they stand in fits, the least useful one first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum

MARK = "…"  # stands where something was left out
_HEARD = 40  # characters that are left of each line
_FIRST = 256  # characters tried first; then twice as many each time
_CLOSE = 32  # the search ends when it knows the length to one part in so many


class Way(StrEnum):
    """What of a text goes first: its end, its start, or the ends of its longest lines, so that
    each is heard; of too many lines the last ones go.
    """

    END = "end"
    START = "start"
    EACH = "each"


def shortened(text: str, size: int, way: Way) -> str:
    """A part of the text, the larger `size` the more (0: none; see `largest`), and a mark.

    Cut between lines or words where that costs no more than half of what may stay.
    """
    if way is Way.START:
        return _beginning(text[::-1], size)[::-1]
    if way is Way.END:
        return _beginning(text, size)
    lines = text.split("\n")
    if size < len(lines):
        return "\n".join([*(_beginning(line, _HEARD) for line in lines[:size]), MARK])
    return "\n".join(_beginning(line, _HEARD + size - len(lines)) for line in lines)


def largest(text: str, way: Way) -> int:
    """The size at which nothing is left out."""
    if way is not Way.EACH:
        return len(text)
    lines = text.split("\n")
    return len(lines) + max(0, max(map(len, lines)) - _HEARD)


def fitted(
    values: Mapping[str, str],
    order: Sequence[tuple[str, Way]],
    fits: Callable[[Mapping[str, str]], bool],
) -> dict[str, str] | None:
    """The values, shortened in this order until they fit; None when they do not even without.

    A value is touched only when nothing is left of those before it. `fits` is asked about small
    values first, so that a huge one is never looked at as a whole.
    """
    kept = dict(values)
    for name, way in order:
        if not kept[name]:
            continue
        if fits({**kept, name: MARK}):
            return {**kept, name: _longest(kept, name, way, fits)}
        kept[name] = MARK
    return kept if fits(kept) else None


def _longest(
    values: Mapping[str, str], name: str, way: Way, fits: Callable[[Mapping[str, str]], bool]
) -> str:
    """About as much of one of the values as fits; nothing of it is known to."""
    whole = values[name]

    def fit(size: int) -> bool:
        return fits({**values, name: shortened(whole, size, way)})

    most = largest(whole, way)
    low, high = 0, _FIRST
    while high < most and fit(high):
        low, high = high, 2 * high
    if high >= most:
        if fit(most):
            return whole
        high = most
    while high - low > 1 + low // _CLOSE:
        middle = (low + high) // 2
        low, high = (middle, high) if fit(middle) else (low, middle)
    return shortened(whole, low, way)


def _beginning(text: str, size: int) -> str:
    if len(text) <= size:
        return text
    kept = text[:size]
    for gap in ("\n", " "):
        if (at := kept.rfind(gap)) >= max(1, size // 2):
            # on a line of its own where whole lines were left out
            return f"{kept[:at].rstrip()}{gap}{MARK}"
    return f"{kept}{MARK}"
