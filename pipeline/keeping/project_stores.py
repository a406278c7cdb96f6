"""The memories of projects, each in its project's folder: kept in a backup, looked through when
something is forgotten.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from pipeline.config import Config
from pipeline.errors import StoreFault
from pipeline.keeping.searching import Needles
from pipeline.project import transfer
from pipeline.project.machine import registered
from pipeline.sources import observations
from pipeline.sqlite import files_of, reading


def stores(config: Config) -> list[Path]:
    """The stores that are there: those the settings name, else those begun on this machine."""
    named = config.sources.roots.get(observations.NAME) or registered(config.data_dir)
    return sorted({path for path in named if path.is_file()})


def export(path: Path, file: Path) -> None:
    """All of a store as JSON Lines, which `anvil-memory import` takes in; closed to others.

    Raises StoreFault for a store that cannot be read.
    """
    with reading(path) as connection:
        connection.execute("BEGIN")  # all of it as it is at one moment
        opened = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(opened, "w", encoding="utf-8") as written:
            written.writelines(transfer.as_lines(connection))


def holding(config: Config, needles: Needles) -> Iterator[Path]:
    """Stores in which a piece stands."""
    for path in stores(config):
        try:
            with reading(path) as connection:
                if needles.in_texts(transfer.as_lines(connection)):
                    yield path
        except StoreFault:  # damaged: its bytes tell
            if any(needles.in_file(file) for file in files_of(path) if file.is_file()):
                yield path
