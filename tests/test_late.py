"""A pattern compiled at its first use is in all else the pattern compiled at once."""

from __future__ import annotations

import copy

import pytest
import regex

from pipeline.late import late


def test_it_finds_what_the_compiled_one_finds() -> None:
    """Flags, groups, named lists and every way to ask."""
    text = "Two of the 12 rows, zwei of them empty."
    words, number = r"\b\L<few>\b", r"(?P<n>\d+) rows"
    few = ["two", "zwei"]
    for ours, theirs in (
        (late(words, regex.IGNORECASE, few=few), regex.compile(words, regex.IGNORECASE, few=few)),
        (late(number), regex.compile(number)),
    ):
        assert ours.pattern == theirs.pattern
        assert ours.findall(text) == theirs.findall(text)
        assert [m.span() for m in ours.finditer(text)] == [m.span() for m in theirs.finditer(text)]
        assert ours.sub("x", text) == theirs.sub("x", text)
        assert ours.split(text) == theirs.split(text)
        found, wanted = ours.search(text), theirs.search(text)
        assert found is not None and wanted is not None
        assert found.groupdict() == wanted.groupdict()
        assert ours.fullmatch("") is None and ours.match(text, 4) is None


def test_a_wrong_pattern_is_refused_at_its_first_use() -> None:
    """Not before, and every time."""
    wrong = late("(")
    for _ in range(2):
        with pytest.raises(regex.error):
            wrong.search("x")


def test_it_can_be_copied_before_its_first_use() -> None:
    """What copies objects asks for names that no pattern has."""
    assert copy.copy(late("a+")).findall("baab") == ["aa"]
