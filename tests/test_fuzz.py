"""The fuzzing of parsers: what it finds can be repeated."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import strategies as st

from pipeline.records import Session
from pipeline.sources.pi import Pi
from scripts import fuzz


class Brittle(Pi):
    """Breaks at three bytes."""

    def read(self, path: Path, start: int = 0) -> Iterator[Session]:
        if len(path.read_bytes()) > 2:
            raise ZeroDivisionError("too long")
        yield from super().read(path, start)


def test_every_parser_is_fed() -> None:
    """One round each, without a fault."""
    for name in fuzz.PARSERS:
        told, fed, fault = fuzz.feed(name, 0)
        assert (told, fed > 0, fault) == (name, True, "")


def test_a_crash_tells_how_to_repeat_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The smallest input, as it is and as the command takes it."""
    monkeypatch.setitem(fuzz.PARSERS, "pi", (Brittle, st.binary(max_size=50), "a.jsonl"))
    name, fed, fault = fuzz.feed("pi", 0)
    assert (name, fed > 0) == ("pi", True)
    assert "ZeroDivisionError: too long" in fault
    assert repr(bytes(3)) in fault
    packed = fault.split("--again pi ")[1]
    with pytest.raises(ZeroDivisionError):
        fuzz.again("pi", base64.b64decode(packed))
