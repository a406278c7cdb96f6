"""How well units match: what is said in one of them, beside it, and in all of its group.

A unit is a message, a section or a claim; a group the conversation or article it stands in. Pure
arithmetic: which units hold a term is found by `postings`.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

_APART = 1 << 20  # units a group may have
_Units = TypeVar("_Units", bound=Iterable[int])


@dataclass(frozen=True, slots=True)
class Weights:
    """How matches count. Those of messages were chosen by `benchmarks/recall.py`.

    beside: what a term counts that stands so many units later (negative: earlier). length: how much
    less it counts in a long unit, 0..1. saturation: how soon a term that stands in many near units
    counts no more. group: what the whole group adds; group_saturation: as saturation, in it.
    group_length: as length, for large groups.
    """

    beside: Mapping[int, float]
    length: float
    saturation: float
    group: float
    group_saturation: float = 1.2
    group_length: float = 0.75


def rarity(total: int, holding: float) -> float:
    """What a term is worth that so many of all units hold (BM25's idf)."""
    return math.log(1 + (total - holding + 0.5) / (holding + 0.5))


def shortness(words: int, average: float, length: float) -> float:
    """What a match counts in a unit of so many words."""
    return 1 / (1 - length + length * words / (average or 1.0))


def ranked(
    matches: Sequence[tuple[float, Mapping[int, float]]],
    places: Mapping[int, tuple[str, int]],
    sizes: Mapping[str, float],
    weights: Weights,
) -> dict[int, float]:
    """Every unit of `places` that a match reaches, scored by the share it covers of the query.

    matches: of each term its rarity and what it counts in each unit that holds it. places: group
    and number in it of each unit. sizes: units of each group.
    """
    first = {group: at * _APART for at, group in enumerate(sizes)}
    at = {unit: first[group] + number for unit, (group, number) in places.items()}
    units = dict.fromkeys(at.values(), 0.0)
    groups: defaultdict[str, float] = defaultdict(float)
    average = sum(sizes.values()) / max(1, len(sizes)) or 1.0
    best = 0.0
    beside = tuple(weights.beside.items())
    saturation = weights.saturation
    for rare, terms, holding in _alike(matches):
        known = [unit for unit in holding if unit in at]
        said = {at[unit]: holding[unit] for unit in known}
        near = said.copy()
        for distance, share in beside:
            for place, strength in said.items():
                other = place + distance
                if other in units:
                    near[other] = near.get(other, 0.0) + share * strength
        whole = rare * (1 + saturation)  # so that a match in a unit of average length counts 1
        for place, value in near.items():
            units[place] += whole * value / (value + saturation)
        # judged by the groups that are looked at, all of which may hold what is rare elsewhere
        within = Counter([places[unit][0] for unit in known])
        worth = terms * rarity(len(sizes), len(within))
        best += rare + weights.group * worth
        for group, count in within.items():
            slack = weights.group_saturation * (
                1 - weights.group_length + weights.group_length * sizes[group] / average
            )
            groups[group] += worth * count / (count + slack)
    return {
        unit: (units[place] + weights.group * groups[places[unit][0]]) / best
        for unit, place in at.items()
        if units[place]
    }


def summed(matches: Iterable[tuple[float, Iterable[int]]]) -> dict[int, float]:
    """Of each unit the rarity of all it holds."""
    sums: dict[int, float] = {}
    for rare, _, holding in _alike(matches):
        if not sums:  # nearly all of them come by the first
            sums = dict.fromkeys(holding, rare)
            continue
        for unit in holding:
            sums[unit] = sums.get(unit, 0.0) + rare
    return sums


def _alike(matches: Iterable[tuple[float, _Units]]) -> Iterator[tuple[float, int, _Units]]:
    """Rarity in all, number, and units of those matches that have one list of units together.

    Common terms often do, for they are looked for together.
    """
    found: dict[int, tuple[list[float], _Units]] = {}
    for rare, holding in matches:
        found.setdefault(id(holding), ([], holding))[0].append(rare)
    for rares, holding in found.values():
        yield sum(rares), len(rares), holding


def likely(
    matches: Iterable[tuple[float, Iterable[int]]], beside: Mapping[int, float], most: int
) -> list[int]:
    """The units most worth a close look, and those beside them, taking numbers for places."""
    sums = summed(matches)
    around = sums.copy()
    for distance, share in beside.items():
        for unit, value in sums.items():
            at = unit + distance
            around[at] = around.get(at, 0.0) + share * value
    return sorted(sorted(around, key=around.__getitem__, reverse=True)[:most])
