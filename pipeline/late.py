"""Regular expressions that are compiled when they are first used.

Those for the words of many languages take a third of a second together, and a night with nothing
new looks at no sentence.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import regex


def late(pattern: str, flags: int = 0, **lists: Iterable[str]) -> regex.Pattern[str]:
    """As `regex.compile`, but a pattern that is wrong is refused at its first use."""
    return cast("regex.Pattern[str]", _Late(pattern, flags, lists))


class _Late:
    def __init__(self, pattern: str, flags: int, lists: dict[str, Iterable[str]]) -> None:
        self._given = pattern, flags, lists

    def __getattr__(self, name: str) -> Any:
        """Called once: from then on the names of the compiled pattern are this one's own."""
        if name.startswith("_"):
            raise AttributeError(name)
        pattern, flags, lists = self._given
        compiled = cast("Any", regex.compile)(pattern, flags, **lists)
        vars(self).update({n: getattr(compiled, n) for n in dir(compiled) if n[0] != "_"})
        return getattr(compiled, name)
