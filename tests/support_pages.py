"""Whole pages for property tests: Markdown composed of blocks, and drafts made for a page."""

from __future__ import annotations

from hypothesis import strategies as st

from pipeline.footnotes import citations
from pipeline.markdown import Kind, Page, parse
from pipeline.records import (
    AddCitation,
    AppendHistory,
    AppendSentences,
    Citation,
    CitedSentence,
    Draft,
    Edit,
    LinkFirstMention,
    MergeRepeat,
    MoveSentence,
    Retire,
    SentenceRef,
    SetSeeAlso,
    Supersede,
)

# ------------------------------------------------------------------ pages

_SENTENCES = (
    "The kiwi store holds keys.", "It runs `a  b` at 03:00!", "Is it 3.5 MB or *more*?",
    "See [[Other|the other]] and <https://a.org/x.y>.", "e.g. this one goes on.", "甲は乙です。",
    "他选了它！", "مرحبا بالعالم.", "שלום עולם.", "🧑‍💻 ships 🚀.",
    "A\\_b is \\# no \\[^1\\] mark.",
    "- not a list here.", "# nor a heading.", "1. or one of these.", "> nor a quote.", "No stop",
    "Tab\there.", "Odd\x0cfeed.", "Line\u2028sign.", "Bell\x07.", "Zero\u200bwidth.", "“Quoted.”",
    "It trails off…", "&amp; **bold**.", "$x_1$ is math.", "%%hidden%% text.", "Größe über alles.",
)  # fmt: skip
_MARKS = ("", "", "[^1]", "[^1]", "[^2]", "[^1][^3]", "[^knuth]", "[^1][^knuth]", " [^2]")
_GAPS = (" ", " ", " ", "\n", "  \n", "\\\n", "  ", "")
_BLOCKS = (
    "# Title", "## Facts", "## Facts #", "### Deep", "###### Six", "#", "Under\n===", "Line\n---",
    "- a\n- b\n  - c\n\n    d", "* [ ] task\n* [x] done", "1. one\n2. two[^1]", "3) three\n\n   p",
    "+ x\n\n      code", "> quote[^1]\n> more\nlazy", "> [!note] Title\n> body\n> - item", ">",
    "***",
    "```python\nx = a[^9]\n\n## no\n```", "~~~\n```\n~~~", "    indented [^9]",
    "``` `x\nnot a fence",
    "| a | b |\n|---|:-:|\n| 1[^1] | `x\\|y` |", "| no table |", "<div>\n\n**x**\n\n</div>",
    "<!-- note\n\n[^9] -->", "<script>\nlet a;\n</script>", "<br/>", "$$\na^2\n$$",
    "%%\nhidden\n%%",
    "![[Embed]]", "![img](x.png)", "[ref]: https://a.org 'T'", "[^long]: one\n    two\n\n    three",
    "[^a]: x\n[^b]: y\n---", "[[Wiki]]\n: definition", "^block-id", "#tag", "\x0c", "\u2028",
    "\x85",
    "---\nsecond: frontmatter\n---", "```\nnever closed", "<!-- never closed", "  \t", "\\",
    "&nbsp;",
    "مرحبا\n- قائمة", "1986\\. A great year.", "word " * 40,
)  # fmt: skip
_FRONTMATTER = (
    "", "", "---\ntitle: T\nupdated: 2026-01-01\n---\n", "---\n---\n", "\ufeff---\ntitle: T\n---\n",
    "\ufeff", "---\ntitle: open\n", "---\nupdated: 2026-01-01  # so\nx:\n  - y\n---\n\n",
)  # fmt: skip
_SEPARATORS = ("\n\n", "\n\n", "\n\n", "\n\n", "\n", "\n\n\n", "\n \t\n")
_CLOSING = (
    "## History\n\n- 2026-01-02: It was so.[^1]\n- 2026-01-03: And so.[^2]",
    "## See also\n\n- [[Other]]",
    "## references\n\nmine[^1]",
)


def note(label: int, first: int) -> str:
    """A definition as the pipeline writes it, without a line end."""
    return f"[^{label}]: `conv:1a2b3c4d` (2026-11-28, pi, message {first + 1}) — talk"


_NOTES = "\n".join([*(note(label, label) for label in (1, 2, 3)), "[^knuth]: a book"])


@st.composite
def paragraphs(draw: st.DrawFn) -> str:
    """Sentences, most of them cited, with any white space between them."""
    text = ""
    for index in range(draw(st.integers(1, 4))):
        gap = draw(st.sampled_from(_GAPS)) if index else ""
        text += gap + draw(st.sampled_from(_SENTENCES)) + draw(st.sampled_from(_MARKS))
    return text


@st.composite
def pages(draw: st.DrawFn) -> str:
    """A page of blocks of every kind: any line ends, any last line, with and without sources."""
    blocks = draw(
        st.lists(st.one_of(paragraphs(), paragraphs(), st.sampled_from(_BLOCKS)), max_size=8)
    )
    if draw(st.booleans()):
        blocks.insert(0, "# Kiwi Store")
    blocks += [block for block in _CLOSING if draw(st.booleans())]
    if draw(st.integers(0, 3)):
        blocks.append(f"## References\n\n{_NOTES}")
    text = draw(st.sampled_from(_FRONTMATTER))
    for block in blocks:
        text += block + draw(st.sampled_from(_SEPARATORS))
    if draw(st.booleans()):
        text = text.rstrip("\n") + draw(st.sampled_from(("", "\n")))
    return text.replace("\n", draw(st.sampled_from(("\n", "\n", "\n", "\r\n", "\r"))))


# ------------------------------------------------------------------ drafts

_DATES = st.sampled_from(("2026-01-01", "2026-02-02"))
_SECTIONS = st.sampled_from(("", "Facts", "facts", "New section", "Line", "# odd"))
_NEW = (
    "It is new.",
    "新しいです。",
    "So ends this",
    "- looks like a list.",
    "A. B! C?",
    "a_b [^1] `c`.",
)


def _cite(first: int) -> Citation:
    return Citation("1a2b3c4d", first, first, "2026-11-28", "pi", "talk")


_CITATIONS = st.builds(_cite, st.integers(0, 6))
_CITED = st.builds(
    CitedSentence, st.sampled_from(_NEW), st.lists(_CITATIONS, min_size=1, max_size=2).map(tuple)
)


def _refs(page: Page, *, ours_in_paragraphs: bool) -> list[SentenceRef]:
    known = citations(page)
    return [
        SentenceRef(block.index, index)
        for block in page.blocks
        for index, sentence in enumerate(block.sentences)
        if not ours_in_paragraphs
        or (block.kind is Kind.PARAGRAPH and any(label in known for label in sentence.marks))
    ]


def draft_of(*edits: Edit) -> Draft:
    """A draft of these edits to a page that is there."""
    return Draft("Kiwi Store", "Kiwi Store", "0" * 64, "kiwi", (), edits)


@st.composite
def drafts(draw: st.DrawFn, text: str) -> Draft:
    """Any mix of edits that fits the page: no two want one sentence elsewhere."""
    page = parse(text)
    anywhere = _refs(page, ours_in_paragraphs=False)
    ours = _refs(page, ours_in_paragraphs=True)
    made: list[Edit] = draw(
        st.lists(
            st.one_of(
                st.builds(AppendSentences, _SECTIONS, st.lists(_CITED, max_size=3).map(tuple)),
                st.builds(AppendHistory, _CITED, _DATES),
                st.builds(SetSeeAlso, st.lists(st.sampled_from(("Other", "Third"))).map(tuple)),
            ),
            max_size=2,
        )
    )
    free = list(draw(st.permutations(ours)))
    kept: list[SentenceRef] = []
    for _ in range(draw(st.integers(0, 4))):
        if not free:
            break
        ref = free.pop()
        what = draw(st.integers(0, 3))
        if what == 0:
            made.append(Retire(ref, draw(_DATES)))
        elif what == 1:
            made.append(MoveSentence(ref, draw(_SECTIONS)))
        elif what == 2 and (free or kept):
            at = draw(st.sampled_from([*free, *kept]))
            if at in free:
                free.remove(at)
                kept.append(at)
                if draw(st.sampled_from((False, False, True))):
                    made.append(MoveSentence(at, draw(_SECTIONS)))
            made.append(MergeRepeat(at, ref))
        else:
            made += [
                Supersede(ref, draw(_CITED), draw(_DATES)) for _ in range(draw(st.integers(1, 2)))
            ]
    for ref in draw(st.lists(st.sampled_from(anywhere), max_size=2)) if anywhere else []:
        made.append(AddCitation(ref, draw(_CITATIONS)))
    for ref in draw(st.lists(st.sampled_from(anywhere), max_size=1)) if anywhere else []:
        name = draw(st.sampled_from(("kiwi store", "It", "keys", "甲")))
        made.append(LinkFirstMention(ref.block, name, "Other"))
    return draft_of(*draw(st.permutations(made)))
