"""Hand-made transcripts, and the shared samples where they are."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable
from pathlib import Path

import pytest

FIXTURES = Path(__file__).parents[1] / "fixtures" / "sources"


def samples() -> Path:
    """The folder of shared sample transcripts; skips the test where there is none."""
    root = os.environ.get("NIGHTLY_MEMORY_DATA")
    data = Path(root) if root else Path(__file__).parents[2] / "shared" / "data"
    if not (data / "transcripts" / "INDEX.tsv").is_file():
        pytest.skip(f"no sample transcripts under {data} (set NIGHTLY_MEMORY_DATA)")
    return data / "transcripts"


def index(prefix: str, suffix: str = ".jsonl") -> list[dict[str, str]]:
    """Rows of the samples' INDEX.tsv whose file is a transcript of this source."""
    with (samples() / "INDEX.tsv").open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [r for r in rows if r["file"].startswith(prefix) and r["file"].endswith(suffix)]


def write_lines(path: Path, entries: Iterable[object]) -> Path:
    """Write entries, or lines as they are given, one a line."""
    lines = (e if isinstance(e, str) else json.dumps(e, ensure_ascii=False) for e in entries)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
    return path
