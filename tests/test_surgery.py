"""Drafts applied: what is addressed changes as asked, and nothing else by a single byte."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import VaultFault
from pipeline.footnotes import citations, definitions, format_definition, marks
from pipeline.markdown import Block, Kind, parse
from pipeline.prose import flat
from pipeline.records import (
    AddCitation,
    AppendHistory,
    AppendSentences,
    CitedSentence,
    Edit,
    LinkFirstMention,
    SentenceRef,
    SetSeeAlso,
    Supersede,
)
from tests.support_markdown import NASTY, any_text
from tests.support_surgery import TODAY, applied, cite, note, ref, said

ARTICLE = (
    "---\ntitle: Kiwi Store\naliases: [kiwi]\nmine: kept  # so\nupdated: 2026-11-01\n---\n"
    "# Kiwi Store\n\nThe lead says it.[^1]\n\n"
    "## Facts\n\nIt holds keys.[^1] It is fast.[^1]\n\nMy own words. And more.[^knuth]\n\n"
    "## Decisions\n\nIt was chosen.[^1]\n\n### Details\n\nmine\n\n"
    "## History\n\n- 2026-10-02: It was slow.[^1]\n\n"
    "## See also\n\n- [[Other]]\n\n"
    f"## References\n\n{note(1, 0)}[^knuth]: a book\n"
)


# ------------------------------------------------------------------ a new article


def test_a_new_article_has_the_grammar_of_articles() -> None:
    """Frontmatter, title, lead, sections, History, See also, References, in this order."""
    text = applied(
        None,
        AppendHistory(said("It was slow.", cite(3)), "2026-10-02"),
        SetSeeAlso(("Other Subject",)),
        AppendSentences("", (said("The lead says it.", cite(0)),)),
        AppendSentences("Facts", (said("It holds keys.", cite(0), cite(1)),)),
        AppendSentences("Decisions", (said("It was chosen.", cite(2)),)),
    )
    assert text == (
        "---\ntitle: Kiwi Store\naliases: []\ntags: []\ncreated: 2026-11-30\n"
        "updated: 2026-11-30\n---\n# Kiwi Store\n\nThe lead says it.[^1]\n\n"
        "## Facts\n\nIt holds keys.[^1][^2]\n\n## Decisions\n\nIt was chosen.[^3]\n\n"
        "## History\n\n- 2026-10-02: It was slow.[^4]\n\n## See also\n\n- [[Other Subject]]\n\n"
        f"## References\n\n{note(1, 0)}{note(2, 1)}{note(3, 2)}{note(4, 3)}"
    )


@pytest.mark.parametrize(
    ("title", "line"),
    [
        ("Kiwi Store", "title: Kiwi Store"),
        ("Größe", "title: Größe"),
        ("a: b", 'title: "a: b"'),
        ('say "x" # y', 'title: "say \\"x\\" # y"'),
        ("2026", 'title: "2026"'),
        ("no", 'title: "no"'),
        ("- x\ny: z", 'title: "- x y: z"'),
    ],
)
def test_titles_are_yaml_and_one_line(title: str, line: str) -> None:
    """No title breaks the frontmatter, or adds a key to it."""
    text = applied(None, AppendSentences("", (said("Lead."),)), title=title)
    assert text.splitlines()[1] == line
    heading = parse(text).title
    assert heading is not None and heading.heading_text == flat(title)


# ------------------------------------------------------------------ appending


def test_sentences_join_a_paragraph_of_ours_until_it_is_full() -> None:
    """The last paragraph grows to the policy's length, then new ones begin."""
    before = f"# T\n\n## Facts\n\nOne.[^1] Two.[^1]\n\n## References\n\n{note(1, 0)}"
    more = tuple(said(f"{word}.") for word in ("Three", "Four", "Five", "Six", "Seven"))
    assert applied(before, AppendSentences("Facts", more)) == (
        "# T\n\n## Facts\n\nOne.[^1] Two.[^1] Three.[^1]\n\nFour.[^1] Five.[^1] Six.[^1]\n\n"
        f"Seven.[^1]\n\n## References\n\n{note(1, 0)}"
    )


def test_sentences_never_join_a_paragraph_of_the_user() -> None:
    """A paragraph with a sentence that is not ours stays as it is; ours begins below it."""
    after = applied(ARTICLE, AppendSentences("Facts", (said("New."),)))
    assert "My own words. And more.[^knuth]\n\nNew.[^1]\n\n## Decisions" in after


def test_sentences_go_before_sub_headings() -> None:
    """A section's own prose ends where its first sub-heading begins."""
    after = applied(ARTICLE, AppendSentences("Decisions", (said("So."),)))
    assert "It was chosen.[^1] So.[^1]\n\n### Details\n\nmine\n" in after


def test_a_section_is_found_in_another_case() -> None:
    """`facts` is `Facts`: no second section of one name."""
    after = applied(ARTICLE, AppendSentences("facts", (said("New."),)))
    assert after.lower().count("## facts") == 1


def test_new_sections_go_before_the_closing_ones() -> None:
    """History, See also and References stay last, and each is made where it belongs."""
    after = applied(ARTICLE, AppendSentences("Events", (said("New."),)))
    assert "mine\n\n## Events\n\nNew.[^1]\n\n## History\n" in after
    bare = f"# T\n\nA.[^1]\n\n## References\n\n{note(1, 0)}"
    after = applied(
        bare,
        SetSeeAlso(("Other",)),
        AppendHistory(said("Old."), "2026-01-01"),
        AppendSentences("Events", (said("New."),)),
    )
    assert after == (
        "# T\n\nA.[^1]\n\n## Events\n\nNew.[^1]\n\n## History\n\n- 2026-01-01: Old.[^1]\n\n"
        f"## See also\n\n- [[Other]]\n\n## References\n\n{note(1, 0)}"
    )


def test_the_lead_is_found_with_and_without_a_title() -> None:
    """The lead stands under the title, or opens a page that has none."""
    assert applied("# T\n\n## A\n\nx\n", AppendSentences("", (said("L."),))).startswith(
        "# T\n\nL.[^1]\n\n## A\n"
    )
    assert applied("## A\n\nx\n", AppendSentences("", (said("L."),))).startswith("L.[^1]\n\n## A\n")
    assert applied("", AppendSentences("", (said("L."),))).startswith("L.[^1]\n\n## References\n")


def test_no_space_between_sentences_that_need_none() -> None:
    """After wide punctuation the next sentence follows directly."""
    after = applied(None, AppendSentences("", (said("他选了它。"), said("后来换了。"))))
    assert "\n他选了它。[^1]后来换了。[^1]\n" in after


def test_closing_sections_take_no_prose() -> None:
    """A claim cannot be written into References, whatever a model chose."""
    for section in ("References", "see also", "HISTORY"):
        with pytest.raises(VaultFault, match="cannot be appended"):
            applied(ARTICLE, AppendSentences(section, (said("New."),)))


def test_headings_and_sentences_inject_nothing() -> None:
    """Text that looks like Markdown becomes text: no heading, list, fence, link or mark of it."""
    after = applied(
        None,
        AppendSentences("# x\n## References", (said("- a\n\n## b"), said("[^9]: `conv:1a2b3c4d`"))),
        AppendSentences("Facts", (said("```"), said("<script>x</script> [[y]] <% z %>"))),
    )
    page = parse(after)
    assert [b.heading_text for b in page.blocks if b.heading_level] == [
        "Kiwi Store", "# x ## References", "Facts", "References",
    ]  # fmt: skip
    assert {b.kind for b in page.blocks} == {
        Kind.HEADING, Kind.BLANK, Kind.PARAGRAPH, Kind.DEFINITION,
    }  # fmt: skip
    assert list(definitions(page)) == ["1"]


# ------------------------------------------------------------------ edits in place


def test_a_citation_goes_after_the_marks_that_stand() -> None:
    """The mark joins the sentence's own marks; its definition the others, one a line."""
    after = applied(ARTICLE, AddCitation(ref(ARTICLE, "It holds keys."), cite(4)))
    changed = ARTICLE.replace("It holds keys.[^1]", "It holds keys.[^1][^2]")
    changed = changed.replace("[^knuth]: a book\n", f"[^knuth]: a book\n{note(2, 4)}")
    assert after == changed.replace("updated: 2026-11-01", f"updated: {TODAY}")


def test_a_citation_that_stands_changes_nothing() -> None:
    """The very same bytes come back, the date in the frontmatter included."""
    assert applied(ARTICLE, AddCitation(ref(ARTICLE, "It holds keys."), cite(0))) == ARTICLE
    assert applied(ARTICLE, SetSeeAlso(("other",))) == ARTICLE
    assert applied(ARTICLE) == ARTICLE


def test_a_superseded_sentence_moves_to_history_with_its_marks() -> None:
    """The new sentence stands in the old one's place; the old one is dated, cited and not lost."""
    at = ref(ARTICLE, "It is fast.")
    after = applied(
        ARTICLE,
        AddCitation(at, cite(5)),
        Supersede(at, said("It is faster.", cite(6)), "2026-11-28"),
    )
    assert "It holds keys.[^1] It is faster.[^3]\n" in after
    assert (
        "- 2026-10-02: It was slow.[^1]\n- 2026-11-28: It is fast.[^1][^2]\n\n## See also" in after
    )
    assert after.endswith(f"[^knuth]: a book\n{note(2, 5)}{note(3, 6)}")


def test_a_mark_does_not_follow_the_backslash_of_a_line_break() -> None:
    """`\\[^2]` would be text; the mark goes before the backslash, which keeps breaking the line."""
    before = f"One.[^1]\\\nTwo.[^1]\\\\\n\n{note(1, 0)}"
    at = SentenceRef(0, 0)
    assert applied(before, AddCitation(at, cite(4))).startswith("One.[^1][^2]\\\nTwo.[^1]\\\\\n\n")
    after = applied(before, AddCitation(SentenceRef(0, 1), cite(4)))
    assert after.startswith("One.[^1]\\\nTwo.[^1]\\\\[^2]\n\n")


def test_a_sentence_superseded_twice_leaves_both_in_history() -> None:
    """Two updates of one sentence in one night: the last stands, neither other is lost."""
    at = ref(ARTICLE, "It is fast.")
    after = applied(
        ARTICLE,
        Supersede(at, said("Second."), "2026-11-01"),
        Supersede(at, said("Third."), "2026-11-02"),
    )
    assert "It holds keys.[^1] Third.[^1]\n" in after
    assert "- 2026-11-01: It is fast.[^1]\n- 2026-11-02: Second.[^1]\n" in after


def test_neighbours_in_a_paragraph_keep_their_bytes() -> None:
    """Of a paragraph with odd spacing, only the sentence addressed changes."""
    before = f"Mine,  so   spaced.  \nIt is fast.[^1]   `a.  b` is *mine*.\n\n{note(1, 0)}"
    after = applied(
        before, Supersede(ref(before, "It is fast."), said("It is slow."), "2026-01-01")
    )
    assert after.startswith("Mine,  so   spaced.  \nIt is slow.[^1]   `a.  b` is *mine*.\n\n")


def test_mentions_are_linked_where_they_stand() -> None:
    """A link shows what the sentence said; one target is written short."""
    before = f"# T\n\nThe kiwi store uses Kiwi.[^1]\n\n{note(1, 0)}"
    after = applied(
        before, LinkFirstMention(2, "kiwi store", "Kiwi Store"), LinkFirstMention(2, "Kiwi", "Kiwi")
    )
    assert "The [[Kiwi Store|kiwi store]] uses [[Kiwi]].[^1]\n" in after
    assert parse(after).blocks[2].sentences[0].text == "The kiwi store uses Kiwi."


def test_a_mention_in_a_superseded_sentence_is_not_linked() -> None:
    """The sentence moves to History as it was; a link never splits an edit."""
    at = ref(ARTICLE, "It is fast.")
    link = LinkFirstMention(at.block, "fast", "Fast")
    new = Supersede(at, said("It is slow."), "2026-11-28")
    assert "- 2026-11-28: It is fast.[^1]\n" in applied(ARTICLE, link, new)


def test_see_also_keeps_the_users_entries() -> None:
    """Entries are added once, below those that stand."""
    after = applied(ARTICLE, SetSeeAlso(("Third", "OTHER", "Third", "a]]b|c")))
    assert "## See also\n\n- [[Other]]\n- [[Third]]\n- [[abc]]\n\n## References" in after


def test_addresses_that_do_not_fit_are_refused() -> None:
    """A draft made from another page fails instead of editing the wrong place."""
    for at in (SentenceRef(99, 0), SentenceRef(-1, 0), SentenceRef(0, 0), SentenceRef(2, 7)):
        with pytest.raises(VaultFault, match="no sentence"):
            applied(ARTICLE, AddCitation(at, cite(4)))
    with pytest.raises(VaultFault, match="no block"):
        applied(ARTICLE, LinkFirstMention(99, "Kiwi", "Kiwi"))


# ------------------------------------------------------------------ the file around it


def test_line_ends_are_the_files_own() -> None:
    """A file with CRLF gets CRLF in every line that is added."""
    before = ARTICLE.replace("\n", "\r\n")
    edits = (
        AppendSentences("Facts", (said("New.", cite(7)),)),
        AppendSentences("Events", (said("E."),)),
        AppendHistory(said("Old."), "2026-01-01"),
        SetSeeAlso(("Third",)),
    )
    after = applied(before, *edits)
    assert after.count("\n") == after.count("\r\n") == applied(ARTICLE, *edits).count("\n")
    assert after == applied(ARTICLE, *edits).replace("\n", "\r\n")


def test_a_list_right_above_a_heading_stays_right_above_it() -> None:
    """Lines that come to a list bring no blank line that was not there."""
    before = (
        "# T\n\n## History\n\n- 2026-01-01: It was so.[^1]\n## See also\n- [[Other]]\n## Mine\n"
    )
    after = applied(before, AppendHistory(said("Old."), "2026-01-02"), SetSeeAlso(("Third",)))
    assert (
        "was so.[^1]\n- 2026-01-02: Old.[^2]\n## See also\n- [[Other]]\n- [[Third]]\n## Mi" in after
    )


def test_a_file_without_frontmatter_stays_without() -> None:
    """Nothing is put before the user's first line."""
    assert applied("My notes.\n", AppendSentences("", (said("New."),))).startswith("My notes.\n\n")


@pytest.mark.parametrize(
    ("line", "dated"),
    [
        ("updated: 2026-11-01", f"updated: {TODAY}"),
        ("updated:   '2026-11-01'   # nightly", f"updated: {TODAY}   # nightly"),
        ("updated:", f"updated: {TODAY}"),
        ("updated: 2099-01-01  # typed", "updated: 2099-01-01  # typed"),
        ("updated:\n  by: me", "updated:\n  by: me"),
        ("last updated: never", "last updated: never"),
        ("  updated: nested", "  updated: nested"),
    ],
)
def test_only_the_date_in_the_frontmatter_changes(line: str, dated: str) -> None:
    """`updated:` gets today's date, where it is a plain value and no later one; no other byte."""
    before = f"---\nx: '1'\n{line}\ny: [ a,b ]\n---\n# T\n"
    after = applied(before, AppendSentences("", (said("New."),)))
    assert after.startswith(f"---\nx: '1'\n{dated}\ny: [ a,b ]\n---\n# T\n")


@pytest.mark.parametrize("heading", ["## Quellen\n\n", "## [[Books]] and sources ##\n\n"])
def test_definitions_stay_together_whatever_their_heading(heading: str) -> None:
    """The user may have renamed References: none is made beside it."""
    before = f"# T\n\nA.[^1]\n\n## Facts\n\nB.[^1]\n\n{heading}{note(1, 0)}"
    after = applied(before, AppendSentences("Facts", (said("New.", cite(1)),)))
    assert after == before.replace("B.[^1]", "B.[^1] New.[^2]") + note(2, 1)


def test_a_new_section_goes_before_references_of_another_name() -> None:
    """They close the article in any language; so do notes of the user's own among ours."""
    notes = f"## Quellen\n\n{note(1, 0)}[^knuth]: a book\n"
    after = applied(f"# T\n\nA.[^1]\n\n{notes}", AppendSentences("Facts", (said("New."),)))
    assert after == f"# T\n\nA.[^1]\n\n## Facts\n\nNew.[^1]\n\n{notes}"


def test_nothing_is_appended_into_an_open_fence() -> None:
    """What the user left open at the end would swallow our text: ours goes before it."""
    for tail in ("```\nx = a[^9]\n", "<!-- todo\n\n## References\n", "~~~~\n"):
        after = applied(f"# T\n\nmine\n\n{tail}", AppendSentences("Facts", (said("New."),)))
        assert after == (
            f"# T\n\nmine\n\n## Facts\n\nNew.[^1]\n\n## References\n\n{note(1, 0)}\n{tail}"
        )


def test_a_heading_right_below_is_kept_apart() -> None:
    """An underlined heading without a blank line before it does not swallow the new paragraph."""
    before = "# T\n\n- mine\n## A\ntext\n\nB\n---\n\nx\n"
    after = applied(
        before, AppendSentences("", (said("L."),)), AppendSentences("A", (said("New."),))
    )
    assert after.startswith("# T\n\n- mine\n\nL.[^1]\n\n## A\ntext\n\nNew.[^1]\n\nB\n---\n\nx\n")


# ------------------------------------------------------------------ properties

_sentences = st.builds(
    CitedSentence,
    st.one_of(st.text(min_size=1), any_text),
    st.lists(st.builds(cite, st.integers(0, 4)), min_size=1, max_size=3).map(tuple),
)
_sections = st.sampled_from(["", "Facts", "facts", "Events", "B", "title: x"])


@st.composite
def _pages_and_drafts(draw: st.DrawFn) -> tuple[str, tuple[Edit, ...]]:
    text = draw(st.one_of(any_text, st.sampled_from([ARTICLE, *NASTY.values()])))
    refs = [
        SentenceRef(block.index, index)
        for block in parse(text).blocks
        for index in range(len(block.sentences))
    ]
    edits: list[st.SearchStrategy[Edit]] = [
        st.builds(AppendSentences, _sections, st.lists(_sentences, max_size=4).map(tuple)),
        st.builds(AppendHistory, _sentences, st.just("2026-01-01")),
        st.builds(SetSeeAlso, st.lists(st.sampled_from(["Other", "Third"])).map(tuple)),
    ]
    if refs:
        edits.append(
            st.builds(AddCitation, st.sampled_from(refs), st.builds(cite, st.integers(0, 9)))
        )
        edits.append(st.builds(Supersede, st.sampled_from(refs), _sentences, st.just("2026-01-01")))
        edits.append(
            st.builds(
                LinkFirstMention,
                st.sampled_from(refs).map(lambda at: at.block),
                st.just("sentence"),
                st.just("Other"),
            )
        )
    return text, tuple(draw(st.lists(st.one_of(edits), max_size=5)))


def _stands(old: Block, new: Block, grows: bool) -> bool:
    """Whether the block is there as it was; one that may grow keeps what it had, as it had it."""
    was, now = old.raw.rstrip("\r\n"), new.raw.rstrip("\r\n")
    return old.kind is new.kind and (now == was or (grows and now.startswith(was.rstrip())))


@given(_pages_and_drafts())
def test_unaddressed_blocks_keep_their_bytes(case: tuple[str, tuple[Edit, ...]]) -> None:
    """Whatever the page and the draft, a block no edit addresses is there as it was.

    The last block of a section may grow at its end; no other changes at all.
    """
    text, edits = case
    addressed = {e.at.block for e in edits if isinstance(e, AddCitation | Supersede)}
    addressed |= {e.block for e in edits if isinstance(e, LinkFirstMention)}
    solid = [block for block in parse(text).blocks if block.kind is not Kind.BLANK]
    rest = iter(parse(applied(text, *edits)).blocks)
    for index, block in enumerate(solid):
        grows = index + 1 == len(solid) or bool(solid[index + 1].heading_level)
        if block.index not in addressed:
            assert any(_stands(block, new, grows) for new in rest), block


@given(_pages_and_drafts())
def test_no_footnote_is_lost(case: tuple[str, tuple[Edit, ...]]) -> None:
    """Every definition stands as it was, every mark still stands, every new mark is defined."""
    text, edits = case
    after = parse(applied(text, *edits))
    before = parse(text)
    now = definitions(after)
    for label, raw in definitions(before).items():
        assert now[label].rstrip("\r\n") == raw.rstrip("\r\n")
    old = sorted(label for block in before.blocks for label in marks(block))
    new = sorted(label for block in after.blocks for label in marks(block))
    left = list(new)
    for label in old:
        left.remove(label)
    assert set(left) <= set(citations(after))


@given(_pages_and_drafts())
def test_the_users_text_stands_in_order(case: tuple[str, tuple[Edit, ...]]) -> None:
    """When nothing is superseded, taking out what was put in gives the page back."""
    text, edits = case
    edits = tuple(edit for edit in edits if not isinstance(edit, Supersede))
    body = text[len(parse(text).frontmatter) :]
    rest = iter(applied(text, *edits))
    assert all(char in rest for char in body)


@given(st.lists(st.one_of(st.text(), any_text), min_size=1, max_size=5))
def test_every_sentence_written_is_cited(texts: list[str]) -> None:
    """No text between two words leaves a sentence without a mark, whatever stops it holds."""
    sentences = tuple(said(f"So {text} it is.", cite(0)) for text in texts)
    page = parse(applied(None, AppendSentences("Facts", sentences)))
    cited = citations(page)
    written = [s for block in page.blocks if block.section == "Facts" for s in block.sentences]
    assert written
    assert all(set(sentence.marks) & set(cited) for sentence in written)


def test_two_sentences_in_one_claim_are_both_cited() -> None:
    """A claim that turns out to be two sentences leaves no sentence that looks like the user's."""
    after = applied(
        None, AppendSentences("", (said("It is fast. It is small.", cite(0), cite(1)),))
    )
    assert "\nIt is fast.[^1][^2] It is small.[^1][^2]\n" in after


def test_definitions_written_are_definitions_read() -> None:
    """Sanity of this file's own helper."""
    assert note(3, 4) == format_definition("3", cite(4)) + "\n"
