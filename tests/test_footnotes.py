"""Footnotes: ours are read and written exactly, the user's are never ours."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.footnotes import (
    Notes,
    citations_of,
    definitions,
    format_definition,
    marks,
    parse_citation,
)
from pipeline.markdown import Kind, parse
from pipeline.prose import inline
from pipeline.records import Citation
from tests.support_markdown import any_text

LINE = "[^1]: `conv:1a2b3c4d` (2026-11-28, claude-code, message 12) — title of it"
CITATION = Citation("1a2b3c4d", 11, 11, "2026-11-28", "claude-code", "title of it")


def test_a_definition_is_read() -> None:
    """Messages count from 1 on the page and from 0 in the record."""
    assert parse_citation(LINE) == CITATION
    several = "[^22]: `conv:1a2b3c4d5e` (2026-11-28, pi, messages 12–15)\r\n"
    assert parse_citation(several) == Citation("1a2b3c4d5e", 11, 14, "2026-11-28", "pi", "")


def test_a_definition_is_written() -> None:
    """What is written is the line the vault's grammar gives."""
    assert format_definition("1", CITATION) == LINE
    assert (
        format_definition("22", replace(CITATION, last=14, title=""))
        == "[^22]: `conv:1a2b3c4d` (2026-11-28, claude-code, messages 12–15)"
    )


@pytest.mark.parametrize(
    "definition",
    [
        "[^knuth]: The Art of Computer Programming",
        "[^1]: see `conv:1a2b3c4d` and `conv:5e6f7a8b`",
        "[^1]: `conv:1a2b3c4d` and `conv:5e6f7a8b` (2026-11-28, pi, message 1)",
        "[^1]: `conv:1a2b3c4d` (2026-11-28, pi, message 0)",
        "[^1]: `conv:1a2b3c4d` (2026-11-28, pi, messages 4–2)",
        "[^1]: `conv:xyz` (2026-11-28, pi, message 1)",
        "text `conv:1a2b3c4d` (2026-11-28, pi, message 1)",
        "",
    ],
)
def test_other_footnotes_cite_no_conversation(definition: str) -> None:
    """A note the user wrote, even about conversations, is the user's."""
    assert parse_citation(definition) is None


@pytest.mark.parametrize(
    "title",
    [
        "two\nlines\r\n# and a heading",
        "[^2]: `conv:5e6f7a8b` (2026-01-01, pi, message 1)",
        "[[Link]] ![[Embed]] ![i](http://x.example/i.png) [a](javascript:x)",
        "`code` ``` fence",
        "<script>alert(1)</script> <% tp %> {{date}} %%c%%",
        "a | b | c",
        "x" * 500,
        "$x$ ==y== #tag **b**",
    ],
)
def test_titles_inject_nothing(title: str) -> None:
    """Whatever a conversation is called, its definition is one line that cites one conversation."""
    line = format_definition("1", replace(CITATION, title=title))
    [block] = parse(f"{line}\n").blocks
    assert block.kind is Kind.DEFINITION
    assert "\n" not in line and "\r" not in line
    assert len(re.findall(r"conv:[0-9a-f]", line)) == 1
    assert {t.kind for t in inline(line)} <= {"mark", "code", "escape"}
    shown = line.partition(" — ")[2]
    assert not re.search(r"[\[\]`|{}]|(?<!\\)<|%%|==|<%", shown)
    read = parse_citation(line)
    assert read is not None and len(read.title) <= 80
    assert replace(read, title="") == replace(CITATION, title="")


@given(st.text())
def test_any_title_reads_back_to_the_same_citation(title: str) -> None:
    """Formatting and reading a definition lose nothing but the shape of the title."""
    once = parse_citation(format_definition("7", replace(CITATION, title=title)))
    assert once is not None
    assert parse_citation(format_definition("7", once)) == once
    assert replace(once, title="") == replace(CITATION, title="")


def test_marks_are_read_where_marks_count() -> None:
    """Marks of prose, headings, lists, tables and quotes; none of code in any form."""
    text = (
        "# T[^1]\n\na[^2] `x[^9]` \\[^9]\n\n- b[^3]\n\n| c[^4] |\n|---|\n\n> d[^5]\n\n"
        "```\nint a[^9];\n```\n\n    b[^9]\n\n<p>[^9]</p>\n"
    )
    found = [label for block in parse(text).blocks for label in marks(block)]
    assert found == ["1", "2", "3", "4", "5"]


def test_first_definition_of_a_label_counts() -> None:
    """Two definitions of one label: a reader is shown the first."""
    page = parse(f"[^1]: the user's\n{LINE}\n[^k]: k\n")
    assert list(definitions(page)) == ["1", "k"]
    assert citations_of(page, ("1", "k", "absent")) == ()


def test_marks_resolve_to_what_they_cite() -> None:
    """Of a sentence's marks, those that cite conversations give citations, in order."""
    page = parse(f"A.[^k][^1]\n\n{LINE}\n[^k]: the user's own\n")
    assert citations_of(page, ("k", "1")) == (CITATION,)


def test_a_citation_keeps_its_label() -> None:
    """One definition for each conversation and message range, whoever cites it again."""
    notes = Notes(parse(f"A.[^1]\n\n{LINE}\n"))
    assert notes.label(replace(CITATION, title="renamed since")) == "1"
    assert notes.added == []
    assert notes.label(replace(CITATION, last=12)) == "2"
    assert notes.label(replace(CITATION, last=12)) == "2"
    assert len(notes.added) == 1


def test_a_new_label_is_the_lowest_number_that_stands_nowhere() -> None:
    """Not a number of the user's, nor one that code or prose uses for something else."""
    text = "A.[^1] B.[^3]\n\n```\na[^2]\n```\n\n[^1]: mine\n[^3]: mine, too\n"
    assert Notes(parse(text)).label(CITATION) == "4"
    assert Notes(parse("no notes")).label(CITATION) == "1"


@given(any_text)
def test_notes_of_any_page_are_read(text: str) -> None:
    """Reading footnotes never fails, and a new label never stands on the page already."""
    label = Notes(parse(text)).label(replace(CITATION, conv="ffffffffffff"))
    assert f"[^{label}]" not in text
