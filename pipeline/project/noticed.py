"""An observation that a rule makes, and what all rules do with texts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from pipeline.project.cleaning import fit_to_cut
from pipeline.project.vocabulary import Clean

EDIT, TODO, TASK = "edit", "todo", "task"
LINE = 200  # characters of a line of output
LOOK = 20_000  # characters of an output, at either end
MOST = 100  # items of a list
_NESTED = 6  # deep, what a tool is given or answers; what is told of stands far above that


class Noticed(NamedTuple):
    """An observation that a rule makes. group: EDIT, or TODO and TASK for the list of things to do,
    which are one as long as they go on.

    tests: whether a run of tests passed, None for anything else; one that passed is worth keeping
    only after one that did not.
    """

    type: str
    title: str
    subtitle: str = ""
    content: str = ""
    files: tuple[str, ...] = ()
    concepts: tuple[str, ...] = ()
    issue: str = ""
    group: str = ""
    tests: bool | None = None


def text(value: Any) -> str:
    """The value if it is a text, else ""."""
    return value if isinstance(value, str) else ""


def short(value: str, most: int) -> str:
    """A text as one line of at most so many characters."""
    line = " ".join(whole(value, 4 * most).split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def whole(value: str, most: int) -> str:
    """The first characters of a text, or with a negative number the last, in whole words.

    Half of a secret is one that no rule knows.
    """
    if len(value) <= abs(most):
        return value
    if most > 0:
        return re.sub(r"(?<=\s)\S{1,1000}\Z", "", value[:most])
    return re.sub(r"\A\S{1,1000}(?=\s)", "", value[most:])


def bounded(value: Any, clean: Clean, depth: int = _NESTED) -> Any:
    """The same with texts cleaned; of long ones both ends, of long lists the beginning."""
    if isinstance(value, str):
        if len(value) <= 2 * LOOK:
            return clean(value)
        value = fit_to_cut(value)
        if len(value) <= 2 * LOOK:
            return clean(value)
        # each on its own, since what a rule joins to a secret would go over the gap
        return f"{clean(whole(value, LOOK))}\n{clean(whole(value, -LOOK))}"
    if isinstance(value, Mapping):
        fields = list(value.items())[:MOST] if depth else []
        return {bounded(str(key), clean, 0): bounded(one, clean, depth - 1) for key, one in fields}
    if isinstance(value, list):
        return [bounded(one, clean, depth - 1) for one in value[:MOST]] if depth else []
    return value
