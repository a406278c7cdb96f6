"""Where conversations come from: one transcript format per file.

To add a source: one file here with a class that keeps the Source protocol, its name in `SOURCES`
(assemble.py takes the roots from the config), and fixtures under fixtures/sources/<name>/.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from pipeline.records import Session


class Source(Protocol):
    """One transcript format. Constructed with the roots to look under: `Pi(roots=[Path(...)])`."""

    @property
    def name(self) -> str:
        """As it stands in citations and in the config, e.g. "claude-code"."""

    @property
    def roots(self) -> Sequence[Path]:
        """The folders it looks under; a missing one is no fault."""

    def discover(self) -> Iterator[Path]:
        """Every transcript file under the roots, sorted by path. Opens no file; never follows a
        symlink out of its root."""

    def read(self, path: Path, start: int = 0) -> Iterator[Session]:
        """The sessions in the file, one after the other; most formats hold one.

        start: a `read_offset` of an earlier read of this file, whose bytes before it are as they
        were; a format that is always read whole pays no heed to it. Bad lines are reported in the
        Session, the rest is kept. Raises SourceFault when the file cannot be opened or holds no
        recognisable line.
        """
