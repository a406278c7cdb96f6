"""The list of things to do, as the lines of an observation: `[ ]`, `[>]` for now, `[x]`.

Agents keep it in two forms: told whole each time, or as tasks with numbers that are changed one by
one. A line of the second form begins with its task's number.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

TITLE = "To do: "
_OPEN, _NOW, _DONE, _GONE = "[ ]", "[>]", "[x]", "[-]"
_BOXES = {"completed": _DONE, "in_progress": _NOW, "deleted": _GONE}
_LINE = re.compile(r"(\[[ >x-]\])(?: task (\d{1,9}):)? ?(.*)")


class Item(NamedTuple):
    """A thing to do. number: its task's, "" in a list that is told whole."""

    box: str
    number: str
    text: str

    @property
    def line(self) -> str:
        """The item as a line of the list."""
        return f"{self.box} {f'task {self.number}: ' if self.number else ''}{self.text}"


def item(text: str, status: object, number: str = "") -> Item:
    """An item by its state, as agents name it; one they do not know is open."""
    return Item(_BOXES.get(str(status), _OPEN), number, text)


def items(content: str) -> list[Item]:
    """The list that an observation holds; [] if it is none."""
    found = [_LINE.fullmatch(line) for line in content.splitlines()]
    return [Item(one[1], one[2] or "", one[3]) for one in found if one] if all(found) else []


class Told(NamedTuple):
    """What the observation of a list says."""

    title: str
    subtitle: str
    content: str


def told(listed: Sequence[Item]) -> Told:
    """The observation of a list: first what is being done now, or is the next."""
    done = sum(one.box == _DONE for one in listed)
    first = next(iter([*doing(listed), *left(listed)]), "all done")
    return Told(
        TITLE + first, f"{done} of {len(listed)} done", "\n".join(one.line for one in listed)
    )


def changed(listed: Sequence[Item], news: Item) -> list[Item]:
    """The list with a task put on it, in another state, or taken from it.

    News without a text leave a task's own; of a task that is not there they are nothing.
    """
    others = [one for one in listed if one.number != news.number]
    old = next((one for one in listed if one.number == news.number), None)
    now = news if news.text or old is None else news._replace(text=old.text)
    if now.box == _GONE or not now.text:
        return others
    if old is None:
        return [*listed, now]
    return [now if one is old else one for one in listed]


def doing(listed: Sequence[Item]) -> list[str]:
    """What is being done now."""
    return [one.text for one in listed if one.box == _NOW]


def left(listed: Sequence[Item]) -> list[str]:
    """What is not begun yet."""
    return [one.text for one in listed if one.box == _OPEN]
