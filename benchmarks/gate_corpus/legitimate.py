"""Writes that must pass: true news, written by the pipeline's own surgery into users' pages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from benchmarks.gate_corpus.belongings import BELONGINGS, UNCLOSED
from benchmarks.gate_corpus.cases import (
    Case,
    Expected,
    Night,
    context_of,
    date_of,
    draft_of,
    night,
    ref,
    told,
    whole_night,
)
from benchmarks.gate_corpus.vaults import News, Vault, vaults
from pipeline.markdown import Kind, parse
from pipeline.records import (
    AppendSentences,
    CitedSentence,
    Draft,
    Edit,
    MergeRepeat,
    MoveSentence,
    Retire,
    SetSeeAlso,
)
from pipeline.surgery import apply

_PASS = Expected.PASS
_SORTS = {
    "add": "append sentences",
    "instead": "supersede",
    "same": "add a citation",
    "past": "append to History",
    "link": "link a first mention",
}
_TITLES = ("{}", "C# & {}", "[{}]", "{}: a start", '"{}"', "#{}", "{} (2)", "yes", "2026-11-29")


def legitimate() -> list[Case]:
    """All of them; deterministic."""
    return [
        case
        for make in (
            _single_edits,
            _whole_nights,
            _among_belongings,
            _under_other_line_ends,
            _two_nights,
            _tidying,
            _two_sources,
            _creations,
        )
        for case in make()
    ]


def pages() -> Iterator[tuple[Vault, str, str]]:
    """Every article of every vault: vault, stem, text."""
    for vault in vaults():
        for stem, text in vault.pages.items():
            yield vault, stem, text


def _single_edits() -> Iterator[Case]:
    for vault, stem, before in pages():
        for news in vault.news_of(stem):
            yield told(vault, stem, before, [news]).case(_SORTS[news.kind], news.text, _PASS)
        others = tuple(name for name in vault.pages if name != stem)
        made = night(vault, stem, before, [SetSeeAlso(others)], [])
        yield made.case("set See also", "all the others", _PASS)


def _whole_nights() -> Iterator[Case]:
    for vault, stem, before in pages():
        yield whole_night(vault, stem, before).case("a whole night", "all news", _PASS)


def _among_belongings() -> Iterator[Case]:
    """Each belonging in two pages, in two places of each."""
    every = list(pages())
    for number, (name, text) in enumerate(BELONGINGS.items()):
        for turn in range(2):
            vault, stem, page = every[(number + 5 * turn) % len(every)]
            before = put_in(page, text, place=(number + turn) % 3)
            made = whole_night(vault, stem, before)
            yield made.case("among the user's own things", name, _PASS)
    for number, (name, text) in enumerate(UNCLOSED.items()):
        vault, stem, page = every[3 * number]
        before = f"{page}\n{text}"
        yield whole_night(vault, stem, before).case("among the user's own things", name, _PASS)


def put_in(page: str, text: str, *, place: int) -> str:
    """`text` as blocks of its own: 0 after the lead, 1 before the last heading, 2 after the first
    level-2 heading's last block."""
    parsed = parse(page)
    headings = [block for block in parsed.blocks if block.heading_level]
    if place == 0:
        lead = next(b for b in parsed.body("") if b.kind is Kind.PARAGRAPH)
        at = lead.end
    elif place == 1:
        at = headings[-1].start
    else:
        first = next(block for block in headings if block.heading_level == 2)
        at = parsed.body(first.heading_text)[-1].end
    return f"{page[:at].rstrip()}\n\n{text}\n\n{page[at:].lstrip()}"


def _under_other_line_ends() -> Iterator[Case]:
    for vault, stem, page in pages():
        for name, before in {
            "CRLF": page.replace("\n", "\r\n"),
            "no final line end": page.rstrip("\n"),
            "blank lines at the end": page + "\n\n \n",
            "byte order mark": "\ufeff" + page,
        }.items():
            yield whole_night(vault, stem, before).case("other line ends", name, _PASS)
        if page.startswith("---"):
            bare = page.split("---\n", 2)[2]
            made = whole_night(vault, stem, bare)
            yield made.case("other line ends", "no frontmatter", _PASS)


def _two_nights() -> Iterator[Case]:
    """The second night's news over the first's page."""
    for vault, stem, before in pages():
        news = vault.news_of(stem)
        middle = len(news) // 2
        first = told(vault, stem, before, news[:middle])
        second = told(vault, stem, first.after, news[middle:])
        yield second.case("the night after", "second half of the news", _PASS)


def _tidying() -> Iterator[Case]:
    """Sentences that go to History, to another section, or into the sentence they repeat."""
    for vault, stem, before in pages():
        for name, edit in tidying_edits(vault, stem, before):
            yield night(vault, stem, before, [edit], []).case(name, "one sentence", _PASS)
        repeated = repeating(vault, stem, before)
        if repeated is not None:
            page, merge = repeated
            yield night(vault, stem, page, [merge], []).case("merge a repeat", "one", _PASS)


def tidying_edits(vault: Vault, stem: str, before: str) -> list[tuple[str, Edit]]:
    """One Retire and one MoveSentence of a sentence of ours."""
    same = next((one for one in vault.news_of(stem) if one.kind == "same"), None)
    if same is None:
        return []
    section = _other_section(before, same.of)
    moved: list[tuple[str, Edit]] = [
        ("retire a sentence", Retire(ref(before, same.of), date_of(before, same.of)))
    ]
    if section is not None:
        moved.append(("move a sentence", MoveSentence(ref(before, same.of), section)))
    return moved


def repeating(vault: Vault, stem: str, before: str) -> tuple[str, MergeRepeat] | None:
    """A page on which a sentence of ours stands twice, by other messages, and the merging edit."""
    same = next((one for one in vault.news_of(stem) if one.kind == "same"), None)
    if same is None:
        return None
    again = News(stem, "add", f"{same.text}", same.cites, section="Notes")
    page = told(vault, stem, before, [again]).after
    at = ref(page, same.text)
    repeat = next(
        type(at)(block.index, index)
        for block in parse(page).blocks
        for index, found in enumerate(block.sentences)
        if found.text == same.text and (block.index, index) != (at.block, at.sentence)
    )
    ours, theirs = sorted([at, repeat], key=lambda place: place.block)
    return page, MergeRepeat(ours, theirs)


def _other_section(page: str, sentence: str) -> str | None:
    parsed = parse(page)
    own = parsed.blocks[ref(page, sentence).block].section
    closing = ("History", "See also", "References", own)
    names = [b.heading_text for b in parsed.blocks if b.heading_level == 2]
    return next((name for name in names if name not in closing), None)


# stem → a sentence that needs two messages, and these
_JOINED = {
    "Session store": (
        "Sessions expire after 30 days, and the cleanup job runs every 5 minutes.",
        ("b07e52a4", 2, 4),
    ),
    "Build pipeline": (
        "Release builds are signed on the machine called Heron, and Ingrid announces them.",
        ("c6a2f018", 0, 2),
    ),
    "Allotment": (
        "Copper tape around the beds keeps slugs away, and beer traps did not help against slugs.",
        ("7c20d5b9", 0, 1),
    ),
    "Sourdough": (
        "The crust does not burn in the new oven, and Mateo brought a second starter.",
        ("19f7c64d", 1, 2),
    ),
    "Choir trip": (
        "The concert begins at 19:30, and dogs are not allowed in the hostel.",
        ("f31a7be4", 0, 2),
    ),
    "Fahrradwerkstatt": (
        "Bei der Inventur fehlten 14 Schläuche, und Aylin führt das Kassenbuch.",
        ("4e02b9f6", 1, 2),
    ),
    "备份方案": ("照片不进入备份，备份使用restic。", ("70a6d2f5", 0, 2)),
    "図書室の移転": ("担当は佐藤さんで、新しい棚はオカムラの製品です。", ("d95c04ae", 1, 2)),
    "المكتبة المحلية": (
        "انتهى التجديد في 2026-06-01، ولا يسمح بالطعام في القاعة.",
        ("35d8a1c4", 1, 2),
    ),
}


def _two_sources() -> Iterator[Case]:
    for vault, stem, before in pages():
        if stem not in _JOINED:
            continue
        text, (conv, one, other) = _JOINED[stem]
        sources = (vault.citation(conv, one, one), vault.citation(conv, other, other))
        edit = AppendSentences("Background", (CitedSentence(text, sources),))
        made = night(vault, stem, before, [edit], [text])
        yield made.case("a sentence of two sources", text, _PASS)


def _creations() -> Iterator[Case]:
    for number, (vault, stem, _) in enumerate(pages()):
        title = _TITLES[number % len(_TITLES)].format(stem)
        made = creation(vault, stem, title=title)
        yield made.case("a new article", title, _PASS)


def creation(vault: Vault, stem: str, *, title: str, name: str = "") -> Night:
    """The news of `stem` as an article of its own."""
    news = [one for one in vault.news_of(stem) if one.kind in ("add", "instead")]
    sections: dict[str, list[CitedSentence]] = {"": []}
    for position, one in enumerate(news):
        place = one.section if position else ""
        cited = CitedSentence(one.text, (vault.citation(*one.cites),))
        sections.setdefault(place or "", []).append(cited)
    edits = [AppendSentences(section, tuple(cited)) for section, cited in sections.items()]
    claims = [one.text for one in news]
    draft: Draft = replace(draft_of(name or f"New {number_of(stem)}", title, "", edits, claims))
    after = apply(None, draft, today="2026-11-29", paragraph_sentences=5)
    return Night(vault, draft.article, "", after, draft, context_of(vault, "", claims))


def number_of(stem: str) -> int:
    """A small number for a stem, the same each time."""
    return sum(map(ord, stem)) % 1000
