"""What belongs to what: a value said of one thing must not be told of another."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import regex

from pipeline.late import late
from pipeline.support.material import FRAME, Material, matches, shares
from pipeline.support.saying import Clause, Saying, clauses, keys
from pipeline.support.turning import turns
from pipeline.text import content_words, quantities, sentences, words

_POINTS_BACK = late(r"\b(?:it|its|it's|that|this|these|those|they|both|each)\b", regex.I)


def misplaced(claim: str, material: Material) -> list[str]:
    """Values and names that stand in the messages, but are said of something else."""
    reasons = []
    for start, end in sentences(claim):
        part = claim[start:end]
        here = _judged_keys(part)
        stems = {stem for stem in content_words(part) if stem not in FRAME}
        for key in sorted(here):
            own = stems - set(content_words(key))
            homes = [one for one in material.said if _holds(one, key)]
            if homes and own and _has_rival(own, key, here, homes, material.said):
                reasons.append(f"the messages say {key} of something else")
        reasons += [
            f"the messages say {key} of something else"
            for clause in clauses(part)
            for key in sorted(clause.keys & here)
            if _swapped(clause, key, material.said)
        ]
        reasons += _mismatched(part, here, material.said)
    return reasons


def _swapped(clause: Clause, key: str, said: Sequence[Saying]) -> bool:
    """ "350 g flour and 500 g water" of "500 g flour, 350 g water": judged clause by clause."""
    own = {stem for stem in clause.stems if stem not in FRAME} - set(content_words(key))
    homes = [one for one in said if _holds(one, key)]
    return bool(own and homes) and all(_clause_rival(own, key, clause.keys, home) for home in homes)


def _mismatched(part: str, here: frozenset[str], said: Sequence[Saying]) -> list[str]:
    """ "Run 12 lost 0.47" of "Run 11 lost 0.47": after the same word stands another number."""
    bare = part
    for quantity in reversed(quantities(part)):
        bare = f"{bare[: quantity.start]} {bare[quantity.end :]}"  # "°C" and "MB" are no names
    capitals = {
        word.casefold() for word in words(bare) if word[0].isupper() and content_words(word)
    }
    numbered = {
        value: label
        for label, value in _labelled(part)
        if value in here and value[0].isdigit() and any(_holds(one, value) for one in said)
    }
    places = [clause for one in said for clause in one.clauses]
    reasons = []
    for value, label in numbered.items():
        for other in sorted((here | capitals) - {value}):
            homes = [clause for clause in places if _holds(clause, other)]
            if not homes or any(_holds(clause, value) for clause in homes):
                continue
            rivals = [
                {v for name, v in _labelled(clause.text) if name == label} - here
                for clause in homes
            ]
            if all(rivals):
                reasons.append(f"the messages do not say {value} with {other}")
    return reasons


def _labelled(text: str) -> list[tuple[str, str]]:
    """The word before each number, casefolded, and the number's value."""
    found = []
    for quantity in quantities(text):
        before = words(text[: quantity.start])[-1:]
        if before and quantity.kind != "date":
            found.append((before[0].casefold(), quantity.value))
    return found


def _has_rival(
    own: set[str],
    key: str,
    here: frozenset[str],
    homes: Sequence[Saying],
    said: Sequence[Saying],
) -> bool:
    """Whether what the claim tells of `key` is told of another value or name instead."""
    if all(_clause_rival(own, key, here, home) for home in homes):
        return True
    elsewhere = [one for one in said if one not in homes]
    if not any(shares(own, home.stems) for home in homes):
        # No sentence with the key says anything the claim says; does one with a rival?
        subject = frozenset().union(*(home.stems for home in homes)) - set(content_words(key))
        if subject and any(
            _rivals(one.keys, key, here) and shares(own, one.stems) for one in elsewhere
        ):
            return True
    units = {_unit(home, key) for home in homes} - {""}
    for stem in own if units else ():
        places = [one for one in said if matches(stem, one.stems)]
        if places and all(
            one not in homes
            and any(_unit(one, rival) in units for rival in _rivals(one.keys, key, here))
            for one in places
        ):
            return True
    return False


def _clause_rival(own: set[str], key: str, here: frozenset[str], saying: Saying) -> bool:
    """ "15m for builds, 30m for tests": the clause of the key, or that of another value?"""
    mine = [clause for clause in saying.clauses if _holds(clause, key)]
    if turns(saying.text) or any(_POINTS_BACK.search(clause.text) for clause in mine):
        return False
    if any(shares(own, clause.stems - set(content_words(key))) for clause in mine):
        return False
    if not any(clause.stems - set(content_words(key)) for clause in mine):
        return False
    return any(
        _rivals(clause.keys, key, here) and shares(own, clause.stems)
        for clause in saying.clauses
        if clause not in mine
    )


def _rivals(keys_there: frozenset[str], key: str, here: frozenset[str]) -> set[str]:
    return {other for other in keys_there - here if other[0].isdigit() == key[0].isdigit()}


def _unit(saying: Saying, key: str) -> str:
    return next((q.unit for q in quantities(saying.text) if q.value == key), "")


def _judged_keys(text: str) -> frozenset[str]:
    dates = {q.value for q in quantities(text) if q.kind == "date"}
    return keys(text) - dates


def _holds(part: Saying | Clause, key: str) -> bool:
    return key in part.keys or key in _spoken(part.text)


@lru_cache(maxsize=4096)
def _spoken(text: str) -> frozenset[str]:
    return frozenset(word.casefold() for word in words(text))
