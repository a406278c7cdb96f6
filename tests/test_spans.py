"""What stands between <private> and </private> is gone before anything looks at the text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.redact import redact
from pipeline.spans import without_spans


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a <private>b</private> c", "a  c"),
        ("a <PRIVATE>b</Private> c", "a  c"),
        ('a <private reason="health">b</private> c', "a  c"),
        ('a <private\nreason="health">b</private\n> c', "a  c"),
        ("a <private >b</private > c", "a  c"),
        ("a <private>b <private>c</private> d</private> e", "a  e"),
        ("a <private>b</private> c <private>d</private> e", "a  c  e"),
        ("a <private>b <private>c</private> d", "a "),
        ("a <private>b", "a "),
        ("a <private>\nb\n\nc\n", "a "),
        ("<private>all</private>", ""),
        ("a </private> b", "a </private> b"),
        ("a <private/> b", "a <private/> b"),
        ("a <private /> b", "a <private /> b"),
        ("a <privately>b</privately>", "a <privately>b</privately>"),
        ("x < private > y", "x < private > y"),
        ("List<private> is no Java", "List"),
    ],
)
def test_what_is_private_goes(text: str, left: str) -> None:
    """In either case, nested, with attributes, and to the end when nothing closes it."""
    assert without_spans(text) == left


@given(st.text("ab <>/\n"), st.text("ab\n"), st.text("ab <>/\n"))
def test_no_character_of_a_private_span_is_left(before: str, inside: str, after: str) -> None:
    """Whatever stands around it."""
    left = without_spans(f"{before}<private>Q{inside}Q</private>{after}")
    assert "Q" not in left
    assert left == before + after


@given(st.lists(st.sampled_from(["<private>", "</private>", "<private x=1>", "a", "\n", "<"])))
def test_what_is_left_has_no_open_span(pieces: list[str]) -> None:
    """Taking spans out twice changes nothing more."""
    once = without_spans("".join(pieces))
    assert without_spans(once) == once


def test_tags_that_close_nothing_take_no_time() -> None:
    """However many others are open; to look for each among all of them would take hours."""
    text = "<private>" * 200_000 + "</nightly-memory-context>" * 200_000
    assert without_spans(f"a {text}") == "a "


def test_private_text_is_not_even_counted() -> None:
    """A secret in a private span is gone before redaction looks, and no mark tells of it."""
    token = "gh" + "p_" + "A1b2C3d4" * 5
    done = redact(without_spans(f"Use <private>{token}</private> here."))
    assert done.text == "Use  here."
    assert done.counts == {}
