"""What a check is, and the machine it looks at."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from functools import cached_property
from pathlib import Path

from pipeline import schedule, silence
from pipeline.archive import Archive
from pipeline.config import Config
from pipeline.lock import Holder, holder
from pipeline.schedule import State
from pipeline.store import Store
from pipeline.system import Ask, ask


class Level(StrEnum):
    """warn: the night goes on, but something wants looking at. fail: something does not work."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a check found. cure: what the user can do; "" when nothing is wrong."""

    level: Level
    what: str
    cure: str = ""


def ok(what: str) -> Verdict:
    """Nothing is wrong."""
    return Verdict(Level.OK, what)


def warn(what: str, cure: str) -> Verdict:
    """Something wants looking at."""
    return Verdict(Level.WARN, what, cure)


def fail(what: str, cure: str) -> Verdict:
    """Something does not work."""
    return Verdict(Level.FAIL, what, cure)


@dataclass
class Machine:
    """The machine as one examination sees it; what several checks need is looked up once.

    now: aware UTC. platform: as sys.platform. A context manager, which closes what was opened.
    """

    config: Config
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    ask: Ask = ask
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    home: Path = field(default_factory=Path.home)
    platform: str = sys.platform
    _opened: list[Store] = field(default_factory=list)

    @cached_property
    def store(self) -> Store | None:
        """memory.sqlite, None before the first run. Raises StoreFault when it cannot be opened."""
        if not self.config.store_path.is_file():
            return None
        self._opened.append(Store(self.config.store_path))
        return self._opened[-1]

    @cached_property
    def archived(self) -> frozenset[str]:
        """Conversations that have a file in the archive."""
        return frozenset(Archive(self.config.archive_dir).convs())

    @cached_property
    def at_work(self) -> Holder | None:
        """The run that is at work."""
        return holder(self.config.lock_path)

    @cached_property
    def schedule(self) -> State:
        """How the schedule does. Raises ConfigFault for a program that was not installed."""
        return schedule.state(self.config, self.ask, self.now)

    @cached_property
    def nights(self) -> silence.Nights:
        """How the runs went. Raises StoreFault when the store cannot be read."""
        if not self.config.store_path.is_file():
            return silence.Nights()
        return silence.nights(self.config.store_path, self.now)

    def __enter__(self) -> Machine:
        return self

    def __exit__(self, *_: object) -> None:
        for store in self._opened:
            store.close()


@dataclass(frozen=True, slots=True)
class Check:
    """One thing to look at. The first line of the docstring of `look` says what it is.

    mend: does what is safe about it and says in a sentence what it did; None where only the user
    can. after: codes of checks without whose success this one makes no sense.
    """

    code: str
    title: str
    look: Callable[[Machine], Verdict]
    mend: Callable[[Machine], str] | None = None
    after: tuple[str, ...] = ()


def counted(number: int, noun: str) -> str:
    """ "1 page", "2 pages"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def named(things: list[str], noun: str) -> str:
    """How many, and the first few by name."""
    shown = ", ".join(things[:3]) + (", …" if len(things) > 3 else "")
    return f"{counted(len(things), noun)} ({shown})"
