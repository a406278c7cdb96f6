"""What a command is, what it is given, and what it answers: the same from both command lines."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.errors import ConfigFault, StoreFault
from pipeline.project import machine, place, spool, times
from pipeline.project.store import PATIENCE, ProjectStore
from pipeline.project.vocabulary import TYPES, Clean

_LARGEST = 2**53  # a larger number is none that SQLite and every reader of JSON know


class Flag(NamedTuple):
    """An argument of a command: an option if its name begins with `--`, else a positional one.

    kind: str, int, float or bool (a switch). many: it may be given more than once.
    """

    name: str
    help: str
    kind: type = str
    many: bool = False
    required: bool = False
    default: str | int | float | None = None

    @property
    def key(self) -> str:
        """Its key in `Call.values`."""
        return self.name.removeprefix("--").replace("-", "_")

    @property
    def is_option(self) -> bool:
        """Whether it is given by name."""
        return self.name.startswith("--")


class Answer(NamedTuple):
    """What a command found or did. data: for --json. lines: for a reader. warnings: for stderr.

    as_json: JSON was asked for by another flag than --json. written: it was printed already. code:
    what to exit with.
    """

    data: Any
    lines: Sequence[str]
    warnings: Sequence[str] = ()
    as_json: bool = False
    written: bool = False
    code: int = 0


class Call:
    """One command being carried out: its arguments, and where it is called from."""

    def __init__(
        self,
        values: Mapping[str, Any],
        cwd: Path,
        environ: Mapping[str, str],
        home: Path,
        clock: times.Clock = times.now,
    ) -> None:
        self.values = values
        self.cwd = cwd
        self.environ = environ
        self.home = home
        self.clock = clock

    @classmethod
    def here(cls, values: Mapping[str, Any]) -> Call:
        """A call in the folder and for the user of this process. Raises ConfigFault for neither."""
        try:
            return cls(values, Path.cwd(), os.environ, Path.home())
        except OSError as error:
            raise ConfigFault(
                f"the folder that this was called in cannot be used: {error.strerror}",
                mend="go to a folder that is there",
            ) from error
        except RuntimeError as error:
            raise ConfigFault("no home folder can be found", mend="set HOME") from error

    def __getitem__(self, key: str) -> Any:
        return self.values.get(key)

    @cached_property
    def place(self) -> place.Place:
        """The project that the command is called in."""
        return place.find(self.cwd, self.environ, self.home)

    @cached_property
    def settings(self) -> machine.Settings:
        """The few settings that matter here."""
        return machine.settings(self.environ, self.home)

    @cached_property
    def _cleaner(self) -> Clean:
        from pipeline.project.cleaning import cleaner

        return cleaner(self.settings.redaction)

    def clean(self, text: str) -> str:
        """What everything passes through before it is written; see `cleaning`."""
        return self._cleaner(text)

    @property
    def types(self) -> tuple[str, ...]:
        """The kinds of observations there are."""
        return (*TYPES, *self.settings.types)

    @contextmanager
    def store(self, *, make: bool = False) -> Iterator[ProjectStore]:
        """The project's store, for the block; one transaction, so that a fault leaves nothing."""
        self._drain()
        opened = ProjectStore(self.place.database, self.clean, make=make, clock=self.clock)
        try:
            with opened.transaction():
                yield opened
        finally:
            opened.close()

    @contextmanager
    def reading(self) -> Iterator[ProjectStore]:
        """The project's store, for a block that writes nothing."""
        self._drain()
        opened = ProjectStore(self.place.database, self.clean, clock=self.clock)
        try:
            with opened.guarded():
                yield opened
        finally:
            opened.close()

    def _drain(self) -> None:
        """Write what hooks could not while the store was locked; if it still is, it waits on."""
        if spool.waiting(self.place.database) and self.place.database.is_file():
            from pipeline.project.steps import write

            with suppress(StoreFault):
                write(self.place.database, self.clean, [], patience=PATIENCE, most=spool.MOST)


class Command(NamedTuple):
    """A command. help: a sentence. example: what follows the program's name.

    run: the function in this package that does it, as `module.function`: a command loads what it
    needs and no more.
    """

    name: str
    help: str
    example: str
    flags: tuple[Flag, ...]
    run: str

    def carry_out(self, call: Call) -> Answer:
        """Do it. Raises MemoryFault."""
        for flag in self.flags:
            given = call[flag.key]
            if flag.kind is int and given is not None and abs(given) > _LARGEST:
                raise ConfigFault(
                    f"{flag.name} cannot be {given}", mend=f"it is a number up to {_LARGEST}"
                )
        module, _, function = self.run.partition(".")
        answer = getattr(import_module(f"pipeline.project.{module}"), function)(call)
        assert isinstance(answer, Answer)
        return answer
