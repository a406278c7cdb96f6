"""What a run and the process its model works in say to each other, pickled, over one socket."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.errors import MemoryFault
from pipeline.models import Model
from pipeline.records import Call

Make = Callable[..., Model]
"""Makes the model in its process; called with `account`, `beat` and `batch`. Must pickle: a class
or a function that can be imported, or a partial of one."""


@dataclass(frozen=True, slots=True)
class Setup:
    """The first thing said. batch: requests worked on side by side. level: of the log."""

    make: Make
    batch: int
    level: int


@dataclass(frozen=True, slots=True)
class Request:
    """Call the model's method of this name."""

    call: str
    args: Sequence[Any]
    kwargs: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Beat:
    """The model goes on with what it was asked."""


@dataclass(frozen=True, slots=True)
class Accounted:
    """A call of the model to be entered in `model_calls`."""

    call: Call


@dataclass(frozen=True, slots=True)
class Logged:
    """A line for the log of the run."""

    logger: str
    level: int
    message: str


@dataclass(frozen=True, slots=True)
class Answered:
    """What the method returned."""

    value: Any


@dataclass(frozen=True, slots=True)
class Refused:
    """The method raised a fault of ours."""

    kind: type[MemoryFault]
    message: str
    mend: str


@dataclass(frozen=True, slots=True)
class Broke:
    """The method raised what nobody foresaw."""

    error: str


Message = Beat | Accounted | Logged | Answered | Refused | Broke
