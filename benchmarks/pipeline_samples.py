"""Which conversations a benchmarked night reads: a bounded, seeded choice of the shared samples.

Their words are written as new transcripts, each cut after so many tokens, so that a night takes
minutes. Without the samples, the first conversations of the simulated world stand in.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.nights_world import make
from benchmarks.sessions import write_session
from pipeline.errors import SourceFault
from pipeline.sources import Source, claude_code, codex, pi

SAMPLES = Path(__file__).parents[2] / "shared" / "data" / "transcripts"
_START = datetime(2026, 10, 1, 9, 0, tzinfo=UTC)
_LEAST = 400  # tokens: shorter samples test a format and say little
_SEED = 5

Said = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Sample:
    """Conversations with where they come from: "samples" or "fixtures"."""

    origin: str
    conversations: tuple[Said, ...]


def chosen(number: int, most: int, count: Callable[[str], int]) -> Sample:
    """So many conversations of at most `most` tokens each."""
    origin, found = "samples", list(_samples(count))
    if not found:
        origin, found = "fixtures", list(_fixtures())
    random.Random(_SEED).shuffle(found)
    cut = [_cut(said, most, count) for said in found[:number]]
    return Sample(origin, tuple(cut))


def write(home: Path, sample: Sample) -> dict[str, list[str]]:
    """The conversations as transcripts under a home folder; the roots of their sources."""
    for number, said in enumerate(sample.conversations):
        session = f"5f0c7a3e-1d2b-4c3d-8e4f-{number:012x}"
        write_session(home, "claude-code", session, _START + timedelta(days=number), said)
    return {"claude-code": [str(home / ".claude" / "projects")]}


def night_of(number: int) -> datetime:
    """When the night comes that reads the conversation of this number, counted from 0."""
    return _START + timedelta(days=number, hours=18)


def _cut(said: Said, most: int, count: Callable[[str], int]) -> Said:
    kept: Said = []
    used = 0
    for role, text in said:
        used += count(text)
        if used > most and kept:
            break
        kept.append((role, text))
    return kept


def _samples(count: Callable[[str], int]) -> Iterator[Said]:
    """The longest state of every session that says enough, in a fixed order."""
    kinds: Sequence[tuple[str, Callable[[list[Path]], Source]]] = (
        ("claude-code", claude_code.ClaudeCode),
        ("codex", codex.Codex),
        ("pi", pi.Pi),
    )
    found: dict[str, Said] = {}
    for name, open_source in kinds:
        source = open_source([SAMPLES / name])
        for path in sorted(source.discover()) if (SAMPLES / name).is_dir() else ():
            with suppress(SourceFault):
                for session in source.read(path):
                    said = [(str(one.role), one.text) for one in session.utterances if one.text]
                    if len(said) > len(found.get(session.session_id, [])):
                        found[session.session_id] = said
    return (found[key] for key in sorted(found) if _size(found[key], count) >= _LEAST)


def _size(said: Said, count: Callable[[str], int]) -> int:
    return sum(count(text) for _, text in said)


def _fixtures() -> Iterator[Said]:
    for talk in make(nights=10, seed=_SEED).talks:
        yield [(line.role, line.text) for line in talk.lines]
