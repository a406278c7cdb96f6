"""Hits as lines for people and as JSON for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from pipeline.recall.searching import Hit


def as_json(hits: Sequence[Hit]) -> list[dict[str, Any]]:
    """One object a hit, the best first."""
    return [asdict(hit) for hit in hits]


def lines(hits: Sequence[Hit]) -> Iterator[str]:
    """Two lines a hit: where it stands, and what stands there."""
    for hit in hits:
        where = hit.title
        if hit.article:
            where = f"[[{hit.article}#{hit.anchor}]]" if hit.anchor else f"[[{hit.article}]]"
        told = [where, hit.place.removesuffix("s"), hit.date, hit.citation]
        yield "  ".join(part for part in told if part)
        yield f"    {hit.snippet}"
    if not hits:
        yield "nothing was found"
