"""Which requests are computed together: alike in length, and no more than there is memory for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

PADDING = 0.25  # share of the tokens of a pass that may be padding
FREE = 32  # so many tokens of padding cost less than a pass of their own


class Need(NamedTuple):
    """What one request takes. read: tokens to compute. held: tokens kept, its longest reply too."""

    read: int
    held: int


def padding(needs: Sequence[Need]) -> int:
    """Tokens of padding when these are read together."""
    return len(needs) * max(need.read for need in needs) - sum(need.read for need in needs)


def in_order(needs: Sequence[Need]) -> list[int]:
    """Places of the needs, what takes most first: neighbours are alike."""
    return sorted(range(len(needs)), key=lambda place: (-needs[place].read, -needs[place].held))


def joining(waiting: Sequence[Need], going: Sequence[Need], *, rows: int, room: int) -> int:
    """How many of those waiting, from the first on, are read together now beside those going.

    Then at most `rows` go on, and these times the longest of them are at most `room` tokens; of the
    tokens read at most the share PADDING is padding, or FREE tokens are. One alone is always let
    in where nothing goes on: how long it is has been bounded before.
    """
    widest = max((need.held for need in going), default=0)
    count = 0
    for need in waiting:
        total = len(going) + count + 1
        widest = max(widest, need.held)
        if total > 1 and (total > rows or total * widest > room):
            break
        together = waiting[: count + 1]
        tokens = len(together) * max(need.read for need in together)
        if padding(together) > max(FREE, PADDING * tokens):
            break
        count += 1
    return count
