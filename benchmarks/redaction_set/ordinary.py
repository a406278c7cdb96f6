"""Ordinary texts, in which hardly a secret can be: chat messages and lines of code."""

from __future__ import annotations

import json
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_REPOSITORY = Path(__file__).parents[2]
_LINES = 300_000
_SPOKEN = ("text", "utterance", "content", "thinking", "message")


def messages(data: Path) -> Iterator[str]:
    """Every text of a message in the JSON files under transcripts, locomo and dialseg."""
    for folder in ("transcripts", "locomo", "dialseg"):
        files = [path for path in sorted((data / folder).rglob("*")) if path.is_file()]
        if not files:
            print(f"{data / folder}: not there, skipped")
        for path in files:
            content = path.read_text("utf-8", errors="replace")
            if path.suffix == ".json":
                yield from _spoken(_parsed(content))
            elif path.suffix == ".jsonl":
                for line in content.splitlines():
                    yield from _spoken(_parsed(line))


def _parsed(content: str) -> Any:
    try:
        return json.loads(content)
    except ValueError:
        return None


def _spoken(node: Any, key: str = "") -> Iterator[str]:
    """What stands under the keys that hold text, at any depth; tool results among it."""
    if isinstance(node, str):
        if key in _SPOKEN and node.strip():
            yield node
    elif isinstance(node, list):
        for item in node:
            yield from _spoken(item, key)
    elif isinstance(node, dict):
        for name, item in node.items():
            yield from _spoken(item, name)


def code_lines() -> Iterator[str]:
    """Lines that are not blank, of the repository's own sources and of the installed packages."""
    folders = [_REPOSITORY / name for name in ("pipeline", "tests", "scripts", "benchmarks")]
    folders.append(Path(sysconfig.get_paths()["purelib"]))
    count = 0
    for path in (path for folder in folders for path in sorted(folder.rglob("*.py"))):
        for line in path.read_text("utf-8", errors="replace").splitlines():
            if line.strip():
                yield line
                count += 1
        if count >= _LINES:
            return
