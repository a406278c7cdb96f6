"""The pieces of a text are found wherever they stand; a page loses what rests on them alone."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.keeping.searching import Needles, pieces
from pipeline.keeping.striking import strike


@settings(max_examples=80)
@given(
    st.text("abc äß日本", min_size=24, max_size=200),
    st.binary(max_size=40),
    st.binary(max_size=40),
)
def test_no_place_hides_a_piece(text: str, before: bytes, after: bytes) -> None:
    """Between any bytes, at any offset: each piece of a text is found where the text stands."""
    wanted = pieces([text])
    found = Needles(wanted).found(before + text.encode() + after)
    assert found == wanted
    assert Needles(wanted).in_texts(["x", text, "y"]) == wanted


def test_a_piece_is_found_wherever_it_stands() -> None:
    """At any offset, plain or within JSON; and only if it is there."""
    text = "The harbour was closed for 12 days.\nDer Hafen war zwölf Tage lang geschlossen."
    needles = Needles(pieces([text]))
    for offset in range(20):
        assert needles.said("-" * offset + text.splitlines()[0] + "…")
    assert not needles.said("The harbour was open. Der Hafen war")
    assert needles.said(json.dumps({"a": ["b", text]}, ensure_ascii=False))
    assert Needles((), [b"xyz"]).said("a xyz b")
    assert not Needles((), [b"xyz"]).said("a xy z b")


# ------------------------------------------------------------------ struck out of a page

GONE, STAYS = "aaaaaaaa", "bbbbbbbb"
_NOTES = {
    "1": f"`conv:{GONE}` (2000-01-31, pi, message 1) — what was asked",
    "2": f"`conv:{STAYS}` (2000-01-31, pi, message 2) — something else",
    "3": f"`conv:{GONE}` (2000-01-31, pi, messages 3–4) — what was asked",
    "own": "my own note",
}
_MARKS = st.sampled_from(
    [(), ("1",), ("2",), ("3",), ("1", "3"), ("1", "2"), ("own",), ("1", "own")]
)
_PARAGRAPH = st.lists(st.tuples(_MARKS, st.booleans()), min_size=1, max_size=4)
_OTHER = st.sampled_from(
    [
        "```c\nint a[^1];\n```\n",
        "- one[^1]\n- two\n",
        "> quoted[^1]\n",
        "## Heading\n",
        "| a |\n|---|\n| b[^1] |\n",
    ]
)
_PAGE = st.lists(st.one_of(_PARAGRAPH, _OTHER), max_size=8)


@settings(max_examples=60)
@given(_PAGE, st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_a_page_loses_only_what_rests_on_the_forgotten(
    parts: list[str | list[tuple[tuple[str, ...], bool]]], nl: str, history: bool
) -> None:
    """Ours that cite nothing else go; every other sentence and block stays as it was, in order."""
    blocks: list[str] = []
    ours: set[str] = set()
    gone: list[str] = []
    stay: list[str] = []
    number = 0
    for part in parts:
        if isinstance(part, str):
            blocks.append(part)
            continue
        line = []
        for labels, written in part:
            number += 1
            text = f"The sentence {number} says this."
            line.append(text + "".join(f"[^{label}]" for label in labels))
            if written:
                ours.add(text)
            goes = written and labels and set(labels) <= {"1", "3"}
            (gone if goes else stay).append(text)
        blocks.append(" ".join(line) + "\n")
    if history:
        ours.add("It was so before.")
        gone.append("It was so before.")
        blocks.append("## History\n")
        blocks.append("- 2000-01-01: It was so before.[^1]\n- 1999-01-01: And so.[^2]\n")
    notes = "".join(f"[^{label}]: {note}\n" for label, note in _NOTES.items())
    text = "# Page\n\n" + "\n".join([*blocks, "## References\n", notes])
    text = text.replace("\n", nl)
    done = strike(text, {GONE}, ours.__contains__, today="2000-02-01", paragraph_sentences=4)
    stuck = {sentence for sentence, why in done.kept if "neighbours" in why}
    assert sorted(done.sentences) == sorted(set(gone) - stuck)
    left = [s for s in [*stay, *gone] if s in done.after]
    assert left == [s for s in [*stay, *gone] if s not in done.sentences]
    for block in blocks:
        if not block.startswith(("The", "##", "- 2000")):
            assert block.replace("\n", nl) in done.after
    assert "what was asked" not in done.after
    assert "my own note" in done.after and "something else" in done.after
    again = strike(done.after, {GONE}, ours.__contains__, today="2000-02-01", paragraph_sentences=4)
    assert again.after == done.after or stuck
    if not gone:
        own = [line for line in text.splitlines(True) if not line.startswith(("[^1]:", "[^3]:"))]
        now = done.after.splitlines(True)
        assert own == [line for line in now if not line.startswith(("[^1]:", "[^3]:"))]
