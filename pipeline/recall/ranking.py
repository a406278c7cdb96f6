"""How well units match: what is said in one of them, beside it, and in all of its group.

A unit is a message, a section or a claim; a group the conversation or article it stands in. Pure
arithmetic: which units hold a term is found by `postings`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass


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
    return 1 / (1 - length + length * words / max(average, 1.0))


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
    at = {place: unit for unit, place in places.items()}
    units: defaultdict[int, float] = defaultdict(float)
    groups: defaultdict[str, float] = defaultdict(float)
    average = sum(sizes.values()) / max(1, len(sizes)) or 1.0
    best = 0.0
    beside = tuple(weights.beside.items())
    whole = 1 + weights.saturation  # so that a match in a unit of average length counts 1
    for rare, holding in matches:
        near: defaultdict[int, float] = defaultdict(float)
        within: defaultdict[str, int] = defaultdict(int)
        for unit, strength in holding.items():
            place = places.get(unit)
            if place is None:
                continue
            group, number = place
            within[group] += 1
            near[unit] += strength
            for distance, share in beside:
                other = at.get((group, number + distance))
                if other is not None:
                    near[other] += share * strength
        for unit, value in near.items():
            units[unit] += rare * whole * value / (value + weights.saturation)
        # judged by the groups that are looked at, all of which may hold what is rare elsewhere
        worth = rarity(len(sizes), len(within))
        best += rare + weights.group * worth
        for group, count in within.items():
            slack = weights.group_saturation * (
                1 - weights.group_length + weights.group_length * sizes[group] / average
            )
            groups[group] += worth * count / (count + slack)
    return {
        unit: (score + weights.group * groups[places[unit][0]]) / best
        for unit, score in units.items()
    }


def likely(
    matches: Iterable[tuple[float, Iterable[int]]], beside: Mapping[int, float], most: int
) -> list[int]:
    """The units most worth a close look, and those beside them, taking numbers for places."""
    sums: defaultdict[int, float] = defaultdict(float)
    for rare, holding in matches:
        for unit in holding:
            sums[unit] += rare
    if len(sums) <= most:
        return sorted({unit + distance for unit in sums for distance in (0, *beside)})
    around: defaultdict[int, float] = defaultdict(float)
    for unit, value in sums.items():
        around[unit] += value
        for distance, share in beside.items():
            around[unit + distance] += share * value
    return sorted(sorted(around, key=around.__getitem__, reverse=True)[:most])
