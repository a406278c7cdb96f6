"""Key-value caches of prompt beginnings, kept so that a beginning is computed once."""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

# Shorter beginnings cost less to compute again than to copy for every row of a batch.
_WORTH = 32

_Key = tuple[Path | None, tuple[int, ...]]
_Kept = OrderedDict[_Key, list[Any]]


def common(sequences: Sequence[tuple[int, ...]]) -> int:
    """How many tokens all sequences begin with in common."""
    first, last = min(sequences), max(sequences)
    for index, (left, right) in enumerate(zip(first, last, strict=False)):
        if left != right:
            return index
    return min(len(first), len(last))


class Prefixes:
    """The beginnings used last, as many as `room` bytes hold.

    fresh: makes an empty cache. read: feeds tokens to one.

    A stem, which all requests made with one prompt begin with, is used all night long. What some
    requests share beyond it is used by those alone, and is given up before any stem is.
    """

    def __init__(
        self,
        room: int,
        *,
        fresh: Callable[[], list[Any]],
        read: Callable[[tuple[int, ...], list[Any]], None],
    ) -> None:
        self._room = room
        self._fresh = fresh
        self._read = read
        self._stems: _Kept = OrderedDict()
        self._longer: _Kept = OrderedDict()

    def get(
        self, tokens: tuple[int, ...], stem: int, worn: Path | None = None
    ) -> tuple[list[Any], int]:
        """A cache that holds `tokens`, and how many of them had to be computed now.

        stem: how many of them a prompt's stem has. worn: the adapter they are computed with. The
        cache is shared: merge it into a batch or copy it, never feed it.
        """
        if not _WORTH <= stem < len(tokens):
            return self._held(self._stems, (worn, tokens))
        _, computed = self._held(self._stems, (worn, tokens[:stem]))
        cache, more = self._held(self._longer, (worn, tokens))
        return cache, computed + more

    @property
    def held_bytes(self) -> int:
        """What is kept now takes."""
        return sum(map(_bytes, (*self._stems.values(), *self._longer.values())))

    def clear(self) -> None:
        """Forget all of them."""
        self._stems.clear()
        self._longer.clear()

    def _held(self, kept: _Kept, key: _Key) -> tuple[list[Any], int]:
        if key in kept:
            kept.move_to_end(key)
            return kept[key], 0
        worn, tokens = key
        begun = [
            (len(start), cache)
            for among in (self._stems, self._longer)
            for (on, start), cache in among.items()
            if on == worn and tokens[: len(start)] == start
        ]
        known, longest = max(begun, key=lambda found: found[0], default=(0, None))
        cache = self._fresh() if longest is None else copy.deepcopy(longest)
        if known < len(tokens):
            self._read(tokens[known:], cache)
        kept[key] = cache
        self._make_room()
        return cache, len(tokens) - known

    def _make_room(self) -> None:
        for kept in (self._longer, self._stems):
            while kept and self.held_bytes > self._room:
                kept.popitem(last=False)


def _bytes(cache: list[Any]) -> int:
    return sum(int(layer.nbytes) for layer in cache)


def plan(rows: Sequence[tuple[int, ...]], stems: Sequence[int]) -> list[int]:
    """How many tokens of each row to take from a shared cache; 0 where it would not pay.

    Rows with the same stem share it; those of them that go on alike share more. At least one token
    of each row is left to read.
    """
    groups: dict[tuple[int, ...], list[int]] = {}
    for index, (row, stem) in enumerate(zip(rows, stems, strict=True)):
        groups.setdefault(row[:stem], []).append(index)
    lengths = [0] * len(rows)
    for stem_tokens, members in groups.items():
        for alike in _alike(rows, members, len(stem_tokens) + _WORTH):
            shared = [rows[index] for index in alike]
            length = common(shared) if len(alike) > 1 else len(stem_tokens)
            length = min(length, min(map(len, shared)) - 1)
            for index in alike:
                lengths[index] = length if length >= _WORTH else 0
    return lengths


def _alike(rows: Sequence[tuple[int, ...]], members: Sequence[int], least: int) -> list[list[int]]:
    """The members, those together that begin with at least `least` tokens in common."""
    found: list[list[int]] = []
    for index in sorted(members, key=lambda index: rows[index]):
        if found and common([rows[found[-1][-1]], rows[index]]) >= least:
            found[-1].append(index)
        else:
            found.append([index])
    return found
