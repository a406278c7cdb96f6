"""Bad exports: what is broken costs itself alone, and memory stays bounded."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import SourceFault
from pipeline.sources import exports
from pipeline.sources.chatgpt import ChatGpt
from tests.support_ingest import BEGAN, House, sound_house

OTHER = "7a7a7a7a-5b6d-4e7f-8a9b-0c1d2e3f4a5b"


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """With one sound session, which every test must find read."""
    yield from sound_house(tmp_path)


def raw(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def chat(ident: str, text: str) -> dict[str, Any]:
    message = {
        "id": f"m-{ident}", "author": {"role": "user"}, "create_time": BEGAN.timestamp(),
        "content": {"content_type": "text", "parts": [text]},
    }  # fmt: skip
    return {"id": ident, "title": "", "mapping": {"n": {"parent": None, "message": message}}}


def test_a_zip_that_swells(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small zip with a huge conversation in it is read in pieces, up to what one may be."""
    monkeypatch.setattr(exports, "_LARGEST", 4 * 1024 * 1024)
    house.exports.mkdir()
    path = house.exports / "bomb.zip"
    asked: list[int] = []
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed,
        packed.open("conversations.json", "w") as member,
    ):
        member.write(b"[" + json.dumps(chat("c1", "before")).encode() + b',{"id":"')
        for _ in range(64):
            member.write(b"x" * 1024 * 1024)
    assert path.stat().st_size < 200_000
    real = exports._items

    def counted(stream: Any, *rest: Any) -> Iterator[Any]:
        read = stream.read

        class Counting:
            def read(self, size: int) -> str:
                asked.append(size)
                return str(read(size))

        return real(Counting(), *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(exports, "_items", counted)
    house.night()
    assert house.texts()["c1"] == ["before"]
    assert sum(asked) < 10 * 1024 * 1024
    assert any("larger than fits" in problem for problem in house.desk.results.problems)


@pytest.mark.parametrize(
    "broken",
    [
        '{"id":"c2","mapping":' + '{"a":' * 100_000 + "1" + "}" * 100_001,
        '{"id":"c2" "mapping":{}}',
        '{"id":"c2","title":"}]\\"","mapping":{nope}}',
        '{"id":"c2","mapping":{"a":' + "9" * 10_000 + "}}",
        "nope",
    ],
)
def test_a_broken_conversation_costs_itself_alone(house: House, broken: str) -> None:
    """Those before and behind it are read, and it is told of by its number."""
    one, three = (json.dumps(chat(f"c{n}", f"chat {n}")) for n in (1, 3))
    four = json.dumps(chat("c4", "chat 4"))
    path = raw(house.exports / "e.json", f"[{one},{broken},{three},{four}]".encode())
    house.night()
    assert set(house.texts()) >= {"c1", "c4"}
    assert any(str(path) in p and "conversation 2" in p for p in house.desk.results.problems)


def test_a_zip_damaged_behind_its_first_conversations(tmp_path: Path) -> None:
    """All before the damage is handed over, then the fault is told."""
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        chats = [chat(f"c{n}", os.urandom(2_000).hex()) for n in range(900)]
        packed.writestr("conversations.json", json.dumps(chats))
    data = bytearray(path.read_bytes())
    data[-200_000:-100_000] = b"\xff" * 100_000
    path.write_bytes(data)
    seen = []
    with pytest.raises(SourceFault, match=r"export\.zip"):
        for session in ChatGpt([]).read(path):
            seen.append(session.session_id)
    assert seen[0] == "c0" and seen == [f"c{n}" for n in range(len(seen))]


def test_an_encrypted_zip_is_told_of(house: House) -> None:
    """The flag that says so stands in both of its headers."""
    house.exports.mkdir()
    path = house.exports / "locked.zip"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("conversations.json", json.dumps([chat("c1", "x")]))
    data = bytearray(path.read_bytes())
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)
    house.night()
    assert any("locked.zip" in p and "encrypted" in p for p in house.desk.results.problems)


def test_conversations_without_an_id_are_not_one(tmp_path: Path) -> None:
    """Two that name none, or something that is no name, stay two."""
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([chat("", "one"), {**chat("", "two"), "id": 7}]))
    assert len({s.session_id for s in ChatGpt([]).read(path)} - {""}) == 2
