"""A change taken out of a page that was edited since, sentence by sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import pairwise

from pipeline.markdown import parse

_UPDATED = re.compile(r"(?<=[\r\n])updated:[^\r\n]*")
_LINE_END = re.compile(r"\r\n|\r|\n")

_Change = tuple[int, int, list[str]]  # pieces from..to, the latter not included, give way to these


def without(current: str, after: str, before: str) -> str | None:
    """The page as it is without what led from `before` to `after`.

    What stands directly beside what goes stays. None where the very sentences were changed.
    """
    if _updated(current) != _updated(after):  # a later night moved the date on, and it stays
        after, before = _dated_as(current, after), _dated_as(current, before)
    base = _pieces(after)
    back = _changes(base, _pieces(before))
    own = [_beside(change, base, back) for change in _changes(base, _pieces(current))]
    merged: list[str] = []
    at = 0
    # what is put in comes before what stands at its place, and the user's before what returns
    for start, end, put in sorted([*own, *back], key=lambda c: (c[0], c[1])):
        if start < at:
            return None
        merged += base[at:start] + put
        at = end
    if any(_at_one_place(mine, other) for mine in own for other in back):
        return None
    return "".join(merged + base[at:])


def _updated(text: str) -> str:
    """The line that dates the page, "" if it has none."""
    found = _UPDATED.search(parse(text).frontmatter)
    return found[0] if found else ""


def _dated_as(current: str, text: str) -> str:
    """The text with the date of `current`."""
    head, now = parse(text).frontmatter, _updated(current)
    return (_UPDATED.sub(lambda _: now, head, count=1) if now else head) + text[len(head) :]


def _pieces(text: str) -> list[str]:
    """Each sentence, and what stands between sentences."""
    cuts = {0, len(text), *(match.end() for match in _LINE_END.finditer(text))}
    for block in parse(text).blocks:
        for sentence in block.sentences:
            cuts |= {block.start + sentence.start, block.start + sentence.end}
    return [text[start:end] for start, end in pairwise(sorted(cuts))]


def _changes(old: Sequence[str], new: Sequence[str]) -> list[_Change]:
    steps = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [(i, j, list(new[k:m])) for kind, i, j, k, m in steps if kind != "equal"]


def _beside(change: _Change, base: Sequence[str], back: Sequence[_Change]) -> _Change:
    """The same change where it does not stand within one of `back`, if it can stand elsewhere.

    "A. Mine. B." comes of "A. B." by "Mine. " put before "B." and by " Mine." put after "A.".
    """
    start, end, put = change
    for first, last, _ in back:
        if start != end or not first < start < last:
            continue
        at, moved = start, list(put)
        while first < at and base[at - 1] == moved[-1]:
            at, moved = at - 1, [moved[-1], *moved[:-1]]
        if at == first:
            return at, at, moved
        at, moved = start, list(put)
        while at < last and base[at] == moved[0]:
            at, moved = at + 1, [*moved[1:], moved[0]]
        if at == last:
            return at, at, moved
    return change


def _at_one_place(mine: _Change, other: _Change) -> bool:
    """Whether both put something in at one place: nothing says which comes first."""
    return mine[0] == mine[1] == other[0] == other[1]
