"""Reading on where the last night stopped says what reading all of it at once says."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.errors import SourceFault
from pipeline.reading.discovery import start_of
from pipeline.records import Session
from pipeline.sources import Source
from pipeline.sources.claude_code import ClaudeCode
from pipeline.sources.codex import Codex
from pipeline.sources.pi import Pi
from pipeline.stages import ingest
from tests.support_ingest import new_house
from tests.support_transcripts import FIXTURES, index, samples

SOURCES: dict[str, Callable[[list[Path]], Source]] = {
    "pi": Pi, "claude-code": ClaudeCode, "codex": Codex,
}  # fmt: skip
CUTS = 7


def said(session: Session) -> set[tuple[object, ...]]:
    return {(u.role, u.at, u.text, u.actions) for u in session.utterances}


def transcripts(name: str) -> list[Path]:
    fixtures = [p for p in (FIXTURES / name).rglob("*.jsonl") if "index" not in p.name]
    try:
        given = [samples() / row["file"] for row in index(f"{name}/")]
    except pytest.skip.Exception:
        given = []
    return fixtures + given


@pytest.mark.parametrize("name", SOURCES)
def test_what_is_read_on_is_what_was_not_read(name: str, tmp_path: Path) -> None:
    """Every transcript there is, cut at several places, also in the middle of a line: what the
    whole has and the part had not is in what is read on, which has nothing else, and the session
    is the same."""
    source = SOURCES[name]([])
    checked = 0
    for path in transcripts(name):
        data = path.read_bytes()
        copy = tmp_path / path.name
        copy.write_bytes(data)
        try:
            (whole,) = source.read(copy)
        except SourceFault:
            continue
        for cut in range(1, CUTS):
            copy.write_bytes(data[: len(data) * cut // CUTS])
            try:
                (part,) = source.read(copy)
            except SourceFault:
                continue
            copy.write_bytes(data)
            if not part.read_offset:
                continue
            (rest,) = source.read(copy, part.read_offset)
            assert rest.session_id == whole.session_id, path
            assert said(rest) <= said(whole), (path, cut)
            assert said(whole) <= said(part) | said(rest), (path, cut)
            checked += 1
    assert checked >= CUTS


def test_the_growth_series_is_read_on_not_again(tmp_path: Path) -> None:
    """Each step but the first begins where the last turn of the one before does."""
    data = samples()
    house = new_house(tmp_path / "house")
    path = "claude/p/session.jsonl"
    starts = []
    for step, file in enumerate(
        json.loads((data / "EXPECTED.json").read_text())["growth_series"]["files"]
    ):
        house.put(data / file, path, age=99 - step)
        (job,) = ingest.pending(house.desk)
        starts.append(start_of(job))
        house.night()
    house.desk.store.close()
    assert starts[0] == 0 < starts[1] < starts[2] < starts[3]
