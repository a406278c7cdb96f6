"""Packed rollouts: read whole, or told of and tried again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard

from pipeline.errors import SourceFault
from pipeline.sources.codex import Codex
from tests.support_ingest import House, sound_house


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    yield from sound_house(tmp_path)


def test_a_packed_rollout_that_swells_or_is_broken(tmp_path: Path) -> None:
    """A huge line in a small file is passed over; a broken one is a fault of that file."""
    rows = [
        {"type": "session_meta", "payload": {"id": "a"}},
        {"type": "event_msg", "payload": {"type": "user_message", "message": "Which beds?"}},
    ]
    data = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    path = tmp_path / "rollout-a.jsonl.zst"
    path.write_bytes(zstandard.compress(data + b"x" * (60 * 1024 * 1024) + b"\n"))
    assert path.stat().st_size < 100_000
    (session,) = Codex([tmp_path]).read(path)
    assert [u.text for u in session.utterances] == ["Which beds?"]
    assert [bad.line for bad in session.bad_lines] == [3]
    path.write_bytes(b"no longer packed")
    with pytest.raises(SourceFault, match="rollout-a"):
        list(Codex([tmp_path]).read(path))


def test_a_packed_rollout_that_is_cut_short_is_tried_again(house: House) -> None:
    """Told of and counted, nothing of it kept; read when it is whole."""
    rows = [{"type": "session_meta", "payload": {"id": "a"}}] + [
        {"type": "event_msg", "payload": {"type": "user_message", "message": f"Bed {n}?"}}
        for n in range(50)
    ]
    packed = zstandard.compress(b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    path = house.codex / "rollout-a.jsonl.zst"
    path.parent.mkdir(parents=True)
    path.write_bytes(packed[:-4])
    house.night()
    house.night()
    (told,) = house.desk.results.problems
    assert str(path) in told and "cut short" in told
    assert house.desk.store.conversations.files()[path].failures == 2
    assert "a" not in house.texts()
    path.write_bytes(packed)
    house.night()
    assert house.texts()["a"] == [f"Bed {n}?" for n in range(50)]
