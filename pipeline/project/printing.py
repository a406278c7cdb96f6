"""What a command answered, on the terminal."""

from __future__ import annotations

import json
import sys

from pipeline.project.call import Answer
from pipeline.terminal import shown_on


def show(answer: Answer, *, as_json: bool) -> None:
    """Print the answer: as JSON in ASCII, or as lines; its warnings go to standard error."""
    for warning in answer.warnings:
        sys.stderr.write(shown_on(sys.stderr, f"warning: {warning}\n"))
    if answer.written:
        return
    if as_json or answer.as_json:
        sys.stdout.write(json.dumps(answer.data, ensure_ascii=True) + "\n")
    else:
        sys.stdout.writelines(f"{_printable(line)}\n" for line in answer.lines)


def _printable(line: str) -> str:
    """The line as this terminal can show it."""
    encoding = sys.stdout.encoding or "utf-8"
    return shown_on(sys.stdout, line).encode(encoding, "replace").decode(encoding)
