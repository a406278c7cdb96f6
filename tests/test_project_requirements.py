"""Each row of the table of what is asked of a project's memory names a test that is there."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parent
PAGE = (TESTS.parent / "docs" / "project-memory.md").read_text(encoding="utf-8")


def test_every_requirement_has_a_test_that_is_there() -> None:
    """MEM-001 to MEM-033, each once and in order, each with a test of that name in that file."""
    rows = re.findall(r"^\| (MEM-\d{3}) \| .+ \| (.+) \|$", PAGE, re.MULTILINE)
    assert [number for number, _ in rows] == [f"MEM-{number:03}" for number in range(1, 34)]
    assert all("::" in named for _, named in rows)


def test_every_test_that_is_named_is_there() -> None:
    """Anywhere on the page."""
    named = re.findall(r"`(test_\w+\.py)::(test_\w+)`", PAGE)
    assert len(named) >= 33
    for file, test in named:
        assert f"\ndef {test}(" in (TESTS / file).read_text(encoding="utf-8"), f"{file}::{test}"
