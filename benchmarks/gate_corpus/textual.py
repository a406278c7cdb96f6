"""Damage done to the text beside an innocent draft, as by a faulty renderer or a rewrite."""

from __future__ import annotations

from collections.abc import Iterator

# importing these registers their mutators
from benchmarks.gate_corpus import (  # noqa: F401
    damage_belongings,
    damage_frames,
    damage_pages,
    damage_sentences,
    damage_signs,
)
from benchmarks.gate_corpus.cases import Case, short_night
from benchmarks.gate_corpus.legitimate import pages
from benchmarks.gate_corpus.mutating import MUTATORS

_ARTICLES = 4  # each mutator damages this many


def textual() -> Iterator[Case]:
    """Every mutator over some of the articles it applies to, other ones each time."""
    nights = [short_night(vault, stem, before) for vault, stem, before in pages()]
    for number, (kind, expected, mutator) in enumerate(MUTATORS):
        found = []
        for turn in range(len(nights)):
            # three steps on is another vault
            made = nights[(number + 3 * turn) % len(nights)]
            text = mutator(made)
            if text is not None and text != made.after:
                name = mutator.__name__.replace("_", " ")
                found.append(made.case(kind, name, expected, text))
            if len(found) == _ARTICLES:
                break
        yield from found
