"""Reading Markdown: every byte has its block, every sentence its place, plain text stays plain."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.markdown import Block, Kind, Page, list_items, parse
from pipeline.prose import flat, inline, plain, reading
from tests.support_markdown import NASTY, any_text, markdown_pages


def _joined(page: Page) -> str:
    return page.frontmatter + "".join(block.raw for block in page.blocks)


def _kinds(text: str) -> list[str]:
    return [block.kind.value for block in parse(text).blocks if block.kind is not Kind.BLANK]


def _paragraph(text: str) -> Block:
    [block] = parse(text).blocks
    assert block.kind is Kind.PARAGRAPH
    return block


@given(any_text)
def test_any_text_is_given_back_exactly(text: str) -> None:
    """Frontmatter and blocks joined are the page, for any text."""
    page = parse(text)
    assert _joined(page) == text
    for block in page.blocks:
        assert text[block.start : block.end] == block.raw != ""


@pytest.mark.parametrize("name", NASTY)
def test_nasty_files_are_given_back_exactly(name: str) -> None:
    """Frontmatter and blocks joined are the page, for every file that broke others."""
    assert _joined(parse(NASTY[name])) == NASTY[name]


@given(any_text)
def test_sentences_lie_in_their_block_in_order(text: str) -> None:
    """Sentences of a block do not overlap, and a mark belongs to one of them."""
    for block in parse(text).blocks:
        at = 0
        for sentence in block.sentences:
            assert at <= sentence.start < sentence.end <= len(block.raw)
            at = sentence.end
        if block.kind is Kind.PARAGRAPH and block.sentences:
            marks = [token.label for token in block.inlines if token.kind == "mark"]
            assert [mark for sentence in block.sentences for mark in sentence.marks] == marks


def test_kinds_of_blocks() -> None:
    """Each construct of Markdown is a block of its kind; blank lines stand between them."""
    text = (
        "# T\n\npara\nsoft\n\n- a\n- b\n\n> q\n\n```\nx\n```\n\n    code\n\n"
        "| a |\n|---|\n| 1 |\n\n<div>\n</div>\n\n***\n\n[^1]: def\n"
    )
    assert _kinds(text) == [
        "heading", "paragraph", "list", "quote", "fence", "code", "table", "html", "hr",
        "definition",
    ]  # fmt: skip


def test_frontmatter_is_not_a_block() -> None:
    """Frontmatter stands apart, byte for byte, also behind a byte order mark and with CRLF."""
    page = parse("\ufeff---\r\ntitle: 'a'  # c\r\n---\r\n# A\r\n")
    assert page.frontmatter == "\ufeff---\r\ntitle: 'a'  # c\r\n---\r\n"
    assert page.blocks[0].heading_text == "A"
    assert page.newline == "\r\n"


def test_unclosed_frontmatter_is_text() -> None:
    """A `---` that nothing closes is a rule, not a frontmatter that swallows the page."""
    page = parse("---\ntitle: A\n\n# A\n")
    assert page.frontmatter == ""
    assert [block.heading_text for block in page.blocks if block.heading_level == 1] == ["A"]


def test_sections_follow_level_two_headings() -> None:
    """A block stands under the last `##`; sub-headings do not change that, a title does."""
    page = parse("# T\n\nlead\n\n## One\n\na\n\n### Sub\n\nb\n\nTwo\n---\n\nc\n\n# U\n\nd\n")
    sections = {block.raw.strip(): block.section for block in page.blocks}
    assert sections["lead"] == ""
    assert (sections["a"], sections["b"], sections["c"]) == ("One", "One", "Two")
    assert sections["d"] == ""


def test_headings_in_code_open_no_section() -> None:
    """`## See also` inside a fence is code."""
    page = parse("## One\n\n```\n## See also\n```\n\nafter\n")
    assert page.heading("See also") is None
    assert page.blocks[-1].section == "One"


def test_heading_is_found_in_another_case() -> None:
    """The exact heading wins; another case of it is found where there is no exact one."""
    page = parse("## see also\n\n## See also\n\n## history\n")
    exact = page.heading("See also")
    assert exact is not None and exact.raw == "## See also\n"
    folded = page.heading("History")
    assert folded is not None and folded.raw == "## history\n"


def test_body_ends_at_any_heading() -> None:
    """What stands right under a heading ends where the next heading begins, of any level."""
    page = parse("x\n\n# T\n\nlead\n\n## One\n\na\n\n### Sub\n\nb\n")
    assert "".join(block.raw for block in page.body("One")).strip() == "a"
    assert "".join(block.raw for block in page.body("")).strip() == "lead"
    assert "".join(block.raw for block in parse("x\n\n## A\n\na\n").body("")).strip() == "x"


def test_definitions_stand_alone_even_without_blank_lines() -> None:
    """Each `[^x]:` line is a definition; a rule under the last one does not make it a heading."""
    page = parse("text\n[^1]: one\n[^k]: two\n  goes on\n---\nafter\n")
    assert [(block.kind.value, block.raw) for block in page.blocks] == [
        ("paragraph", "text\n"),
        ("definition", "[^1]: one\n"),
        ("definition", "[^k]: two\n  goes on\n"),
        ("hr", "---\n"),
        ("paragraph", "after\n"),
    ]


@pytest.mark.parametrize(
    ("tail", "is_open"),
    [
        ("```\ncode\n", True),
        ("```\ncode\n```\n", False),
        ("~~~~\n~~~\n\n", True),
        ("<!-- note\n\nmore\n", True),
        ("<!-- note -->\n", False),
        ("<div>\n", False),
        ("<script>\n", True),
        ("text\n", False),
    ],
)
def test_unclosed_blocks_are_known(tail: str, is_open: bool) -> None:
    """A fence, comment or script nobody closed swallows what is appended, so it is marked open."""
    blocks = [block for block in parse("# T\n\n" + tail).blocks if block.kind is not Kind.BLANK]
    assert blocks[-1].open is is_open


# ------------------------------------------------------------------ sentences


def test_marks_belong_to_the_sentence_they_follow() -> None:
    """Marks after the full stop, before it and in the middle all have their sentence."""
    block = _paragraph("One is so.[^1][^k] Two[^2] is, too[^3]. Three has none.\n")
    assert [(s.text, s.marks) for s in block.sentences] == [
        ("One is so.", ("1", "k")),
        ("Two is, too.", ("2", "3")),
        ("Three has none.", ()),
    ]
    first = block.sentences[0]
    assert block.raw[first.start : first.end] == "One is so.[^1][^k]"


def test_marks_in_code_are_code() -> None:
    """`a[^9]` in inline code is no mark, and a full stop in it ends nothing."""
    [sentence] = _paragraph("Use `a[^9]. B` and ``x`[^8]`` here.[^1]\n").sentences
    assert sentence.marks == ("1",)
    assert sentence.text == "Use `a[^9]. B` and ``x`[^8]`` here."


def test_a_mark_with_a_colon_belongs_to_one_sentence() -> None:
    """Where a mark ends one sentence, the next begins behind it."""
    first, second = _paragraph("是的。[^1]: more of it.\n").sentences
    assert (first.text, first.marks) == ("是的。", ("1",))
    assert (second.text, second.marks) == (": more of it.", ())


def test_escaped_mark_is_text() -> None:
    """`\\[^1]` is what somebody wrote about footnotes."""
    [sentence] = _paragraph("Write \\[^1] for a note.[^2]\n").sentences
    assert (sentence.text, sentence.marks) == ("Write [^1] for a note.", ("2",))


def test_sentences_over_soft_line_breaks() -> None:
    """A sentence may run over lines, with either line end; its text is one line."""
    [first, second] = _paragraph("One goes\r\non.[^1]\r\nTwo\nends.\n").sentences
    assert (first.text, second.text) == ("One goes on.", "Two ends.")


def test_sentences_without_spaces_between_them() -> None:
    """Scripts that need no space after a full stop have sentences too."""
    [first, second] = _paragraph("他选了数据库。[^1]后来换了。[^2]\n").sentences
    assert (first.text, first.marks) == ("他选了数据库。", ("1",))
    assert (second.text, second.marks) == ("后来换了。", ("2",))


def test_links_read_as_their_shown_text() -> None:
    """Linking a mention does not change what the sentence says."""
    [sentence] = _paragraph("It uses [[Other Page|the store]] and [[Kiwi]].[^1]\n").sentences
    assert sentence.text == "It uses the store and Kiwi."


def test_history_items_are_sentences() -> None:
    """An item of History is one sentence, its date apart; items of several lines are not ours."""
    page = parse("## History\n\n- 2026-10-02: was so. Then not.[^3]\n- a\n  b\n- other\n")
    [block] = [block for block in page.blocks if block.kind is Kind.LIST]
    assert [(s.text, s.marks) for s in block.sentences] == [
        ("was so. Then not.", ("3",)),
        ("other", ()),
    ]
    assert parse("## Notes\n\n- 2026-10-02: was so.\n").blocks[-1].sentences == ()


def test_nothing_but_prose_has_sentences() -> None:
    """Quotes, tables, code, HTML and lists are never addressed."""
    text = "> A. B.\n\n| A. |\n|---|\n| B. |\n\n```\nA. B.\n```\n\n<p>\nA. B.\n</p>\n\n- A. B.\n"
    assert not [block for block in parse(text).blocks if block.sentences]


def test_marks_in_nested_code_are_code() -> None:
    """Fences and indented code inside lists and quotes hide their `[^9]`."""
    text = "- a[^1]\n\n  ```\n  x[^9]\n  ```\n\n- b[^2]\n\n> c[^3]\n>\n>     d[^9]\n"
    labels = [t.label for b in parse(text).blocks for t in b.inlines if t.kind == "mark"]
    assert labels == ["1", "2", "3"]


def test_stray_backticks_hide_no_mark_beyond_their_paragraph() -> None:
    """A backtick without a partner is a backtick, whatever stands in the next item."""
    block = parse("- a ` b[^1]\n- c ` d[^2]\n").blocks[0]
    assert [token.label for token in block.inlines if token.kind == "mark"] == ["1", "2"]


def test_list_items_are_read() -> None:
    """The user's lists are read whatever their markers; code and paragraphs are not items."""
    text = "intro\n\n- one [[Two]]\n* three\n  - four\n1. five\n- [ ] six\n-\n\n```\n- code\n```\n"
    assert list_items(text) == ["one Two", "three", "four", "five", "six"]


# ------------------------------------------------------------------ plain text


@given(st.one_of(st.text(), markdown_pages))
def test_plain_text_reads_back(text: str) -> None:
    """What goes in through `plain` is what a reader reads."""
    assert reading(plain(text)) == flat(text)


@given(st.one_of(st.text(), markdown_pages))
def test_plain_text_is_one_paragraph_that_does_nothing(text: str) -> None:
    """No text can make a heading, list, link, mark, embed, tag, comment or command of itself."""
    line = plain(text)
    blocks = parse(f"{line}\n").blocks if line else ()
    assert [block.kind for block in blocks] in ([], [Kind.PARAGRAPH])
    assert {token.kind for token in inline(line)} <= {"escape", "code"}
    prose, at = [], 0
    for token in inline(line):
        if token.kind == "code":
            prose.append(line[at : token.start])
            at = token.end
    assert not re.search(r"\[\[|(?<!\\)[<\[\]`]|!\[|%%|==|\{\{|<%", "\n".join([*prose, line[at:]]))
    assert "<%" not in line
    line.encode()


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("see [[Page]] now", r"see \[\[Page\]\] now"),
        ("an ![image](http://x.example/a.png)", r"an !\[image\](http://x.example/a.png)"),
        ("fake[^1] mark", r"fake\[^1\] mark"),
        ("<script>x</script>", r"\<script>x\</script>"),
        ("run <% tp.x %> now", r"run \<\% tp.x %> now"),
        ("{{date}}", r"\{\{date}}"),
        ("a %%hidden%% b", r"a \%\%hidden\%\% b"),
        ("is ==marked==", r"is \=\=marked\=\="),
        ("# not a heading", r"\# not a heading"),
        ("- not a list", r"\- not a list"),
        ("> not a quote", r"\> not a quote"),
        ("12. not a list", r"12\. not a list"),
        ("1.5 GB stays", "1.5 GB stays"),
        ("a stray ` tick", r"a stray \` tick"),
        ("use `rm -rf [[x]]` here", "use `rm -rf [[x]]` here"),
        ("use ``a ` b`` here", "use ``a ` b`` here"),
        ("query `= this.file` runs", r"query \`= this.file\` runs"),
        ("query `$= dv.x` runs", r"query \`\$= dv.x\` runs"),
        ("a #tag and #12", r"a \#tag and #12"),
        ("C# and F#", "C# and F#"),
        ("snake_case and __init__.py", r"snake_case and \_\_init\_\_.py"),
        ("costs $5 or $6", r"costs \$5 or \$6"),
        (r"C:\Users\[x]", r"C:\Users\\\[x\]"),
        ("ends in \\", "ends in \\\\"),
        ("two\n# lines\r\n- of text", "two \\# lines - of text"),
        ("see https://x.example/a_b_/c?d=_e_ now", "see https://x.example/a_b_/c?d=_e_ now"),
        ("a\u202eb\x00c", "abc"),
        ("&lt;b&gt; R&D", r"\&lt;b\&gt; R&D"),
    ],
)
def test_what_would_run_or_resolve_is_neutralised(text: str, written: str) -> None:
    """Each construct that Obsidian or a plugin would act on is written so that it shows as text."""
    assert plain(text) == written


def test_many_stray_backticks_take_no_time() -> None:
    """A page of backticks in runs of many lengths is read in one pass."""
    text = " ".join("`" * (1 + i % 50) + "a" for i in range(5000, 0, -1))
    assert "".join(block.raw for block in parse(text).blocks) == text
    assert parse("---\n" + "\r" * 5000).frontmatter == ""


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (
            "One is so.\\\nTwo is so.\n",
            [("One is so.", "One is so."), ("Two is so.", "Two is so.")],
        ),
        ("One.[^1]\\\r\nTwo.[^2]\r\n", [("One.[^1]", "One."), ("Two.[^2]", "Two.")]),
        ("One goes\\\non.\n", [("One goes\\\non.", "One goes\\ on.")]),
        ("One ends in \\\\\nand on.\n", [("One ends in \\\\\nand on.", "One ends in \\ and on.")]),
        ("One ends.\\\n", [("One ends.\\", "One ends.\\")]),
    ],
)
def test_a_hard_break_between_sentences_is_no_part_of_them(
    raw: str, expected: list[tuple[str, str]]
) -> None:
    """Between two its backslash separates them as a blank does."""
    block = _paragraph(raw)
    assert [(raw[s.start : s.end], s.text) for s in block.sentences] == expected
