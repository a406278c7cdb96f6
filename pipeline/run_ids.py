"""How a run is named: by its local start, and by what tells it from a run of another machine.

A night is known by its beginning, so that a user need not type the rest.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from datetime import datetime

from pipeline.errors import ConfigFault

_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # none that looks like another
_NIGHT = len("20000131")  # less of an id names no night


def fresh(local: datetime) -> str:
    """An id for a run that begins now: `20000131-030000-k7wq`."""
    tail = "".join(secrets.choice(_LETTERS) for _ in range(4))
    return f"{local:%Y%m%d-%H%M%S}-{tail}"


def meant(said: str, runs: Iterable[str]) -> str:
    """The id of the run that is named so, or whose id alone begins so; `said` itself if none does.

    Raises ConfigFault when several begin so.
    """
    known = dict.fromkeys(runs)
    if said in known or len(said) < _NIGHT:
        return said
    found = [run for run in known if run.startswith(said)]
    if len(found) > 1:
        raise ConfigFault(
            f"several runs begin with {said!r}: {', '.join(found)}",
            mend="name the one that is meant in full",
        )
    return found[0] if found else said
