"""What a model leans to whatever it is asked, kept across runs so that it is measured once.

Kept as one small file for each thing measured: several processes may write at once, and what is
lost is measured again. The file's name is a digest of all that the measure depends on.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import os
import tempfile
import uuid
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from pipeline.models import Ask

# What the prompt is replaced by to see which option the model leans to whatever it is asked.
CONTENT_FREE = "N/A"
_HELD = 256  # in memory
_KEPT = 2000  # as files, the most recently used
_ENDING = ".json"
_LOG = logging.getLogger(__name__)

Lean = tuple[float, ...]
"""The log score of each option after a prompt without content."""


class Calibration(Protocol):
    """Leans by key (see `key_of`)."""

    def get(self, key: str) -> Lean | None:
        """The lean measured under this key; None where none is known."""

    def put(self, key: str, lean: Lean) -> None:
        """Keep a lean. Never raises: what cannot be kept is measured again."""


class Held:
    """In memory, for as long as the process lives: the last ones asked for."""

    def __init__(self) -> None:
        self._leans: OrderedDict[str, Lean] = OrderedDict()

    def get(self, key: str) -> Lean | None:
        """As Calibration says."""
        if (lean := self._leans.get(key)) is not None:
            self._leans.move_to_end(key)
        return lean

    def put(self, key: str, lean: Lean) -> None:
        """As Calibration says."""
        self._leans[key] = lean
        self._leans.move_to_end(key)
        while len(self._leans) > _HELD:
            self._leans.popitem(last=False)


class Kept:
    """In a folder, for the next run too; in memory as well. The folder is made when needed.

    A file that holds no lean is as good as none.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held = Held()

    def get(self, key: str) -> Lean | None:
        """As Calibration says."""
        if (lean := self._held.get(key)) is None:
            file = self._file(key)
            lean = _read(file)
            if lean is not None:
                self._held.put(key, lean)
                try:
                    os.utime(file)  # in use: not the next to go
                except OSError:
                    _LOG.debug("%s cannot be marked as used", file)
        return lean

    def put(self, key: str, lean: Lean) -> None:
        """As Calibration says."""
        self._held.put(key, lean)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            handle, draft = tempfile.mkstemp(dir=self._folder, prefix=".")
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as stream:
                    json.dump(lean, stream)
                Path(draft).replace(self._file(key))
            except BaseException:
                Path(draft).unlink(missing_ok=True)
                raise
            self._tidy()
        except OSError as error:
            _LOG.debug("a calibration cannot be kept in %s: %s", self._folder, error)

    def _file(self, key: str) -> Path:
        return self._folder / f"{key}{_ENDING}"

    def _tidy(self) -> None:
        """Headings and rules change, models too: what was not used for longest goes."""
        with os.scandir(self._folder) as found:
            names = [entry.path for entry in found if entry.name.endswith(_ENDING)]
        if len(names) > _KEPT:
            oldest = sorted(names, key=_used)[: len(names) - _KEPT * 9 // 10]
            for name in oldest:
                Path(name).unlink(missing_ok=True)


def key_of(model: str, adapter: str, ask: Ask) -> str:
    """The key of what the model leans to in asks like this one.

    model, adapter: their stamps (see `stamp`); adapter is "" where none is worn. The ask's prompt
    makes no difference, all the rest does.
    """
    said = [model, adapter, CONTENT_FREE, ask.system, ask.examples, ask.options]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:32]


def stamp(folder: Path) -> str:
    """What tells a folder of weights from itself after any of its files was changed.

    By names, sizes and times, since weights are gigabytes. A folder that was moved or fetched anew
    may get another stamp, which costs a few prompts. One that cannot be read has a new one each
    time.
    """
    try:
        return hashlib.sha256(json.dumps(list(_looks(folder))).encode()).hexdigest()
    except OSError:
        return uuid.uuid4().hex


def _looks(folder: Path) -> Iterator[tuple[str, int, int, int]]:
    for path in sorted(folder.iterdir()):
        if path.is_file() and not path.name.startswith("."):
            # through a link: hubs keep the files elsewhere
            state = path.stat()
            yield path.name, state.st_size, state.st_mtime_ns, state.st_ctime_ns


def _read(file: Path) -> Lean | None:
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(values, list) or not values:
        return None
    sound = all(type(value) in (int, float) and math.isfinite(value) for value in values)
    return tuple(map(float, values)) if sound else None


def _used(name: str) -> float:
    try:
        return Path(name).stat().st_mtime
    except OSError:
        return 0.0
