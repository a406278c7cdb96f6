"""Too little left, too much come: floors that compound, stubs, floods."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from benchmarks.gate_corpus.cases import (
    PARAGRAPH,
    Case,
    Expected,
    Night,
    context_of,
    draft_of,
    night,
    whole_night,
)
from benchmarks.gate_corpus.legitimate import pages
from benchmarks.gate_corpus.vaults import Vault, conversation, vaults
from pipeline.gates import section_words
from pipeline.markdown import Kind, parse
from pipeline.records import AppendSentences, CitedSentence, MergeRepeat, Retire, SentenceRef

_NIGHTS = 5
_CONV = "10ad10ad"
_THINGS = (
    "oak", "ash", "elm", "yew", "fir", "box", "bay", "fig",
    "nut", "gum", "teak", "lime", "palm", "pear", "plum", "rose",
)  # fmt: skip
_PARTS = ("root", "stem", "leaf", "bark", "seed", "bud", "cone", "twig")


def amounts() -> Iterator[Case]:
    """All of them."""
    yield from _compounding()
    yield from _stub()
    yield from _sections_emptied()
    yield from _floods()


def _long(sentences: int) -> tuple[Vault, str]:
    """A vault with one long article, a cited sentence of about eight words after the other."""
    said = [
        f"The {_THINGS[n % 16]} number {n} has a {_PARTS[n % 8]} of {n + 3} grams."
        for n in range(sentences)
    ]
    vault = vaults()[0]
    groups = [said[a : a + PARAGRAPH] for a in range(0, sentences, PARAGRAPH)]
    spoken = conversation(_CONV, [("user", " ".join(group)) for group in groups])
    vault = replace(vault, conversations={**vault.conversations, _CONV: spoken})
    lines = "\n\n".join(
        " ".join(f"{sentence}[^{label}]" for sentence in group)
        for label, group in enumerate(groups, 1)
    )
    notes = "".join(
        f"[^{label}]: `conv:{_CONV}` (2026-09-09, pi, message {label}) — Something said\n"
        for label in range(1, len(groups) + 1)
    )
    page = (
        "---\ntitle: Trees\naliases: []\ntags: []\ncreated: 2026-09-09\nupdated: 2026-09-09\n---\n"
        f"# Trees\n\n## Background\n\n{lines}\n\n## References\n\n"
        f"{notes}"
    )
    return replace(vault, pages={**vault.pages, "Trees": page}), page


def _cut(page: str, share: float) -> str:
    """The page with its last sentences gone, so that about `share` of its words is left."""
    text = page
    wanted = share * _words(page)
    while _words(text) > wanted:
        block = [b for b in parse(text).blocks if b.kind is Kind.PARAGRAPH][-1]
        last = block.sentences[-1]
        text = text[: block.start + last.start].rstrip(" ") + text[block.start + last.end :]
    return text


def _words(page: str) -> int:
    return sum(section_words(page).values())


def _compounding() -> Iterator[Case]:
    """From 476 words to 153 in five nights, each within the floor of the night before."""
    vault, page = _long(59)
    baseline = section_words(page)
    before = page
    for number in range(_NIGHTS):
        after = _cut(before, 0.797)
        draft = draft_of("Trees", "Trees", before, [], [])
        made = Night(vault, "Trees", before, after, draft, context_of(vault, before, [], baseline))
        yield made.case("the floor compounds", f"night {number + 1}", Expected.REFUSED)
        before = after
    yield from _retiring_away(vault, page)


def _retiring_away(vault: Vault, page: str) -> Iterator[Case]:
    """A draft that says so: a third of the page retired, half of it merged into one sentence."""
    refs = [
        SentenceRef(block.index, index)
        for block in parse(page).blocks
        if block.kind is Kind.PARAGRAPH
        for index in range(len(block.sentences))
    ]
    retired = [Retire(at, "2026-09-09") for at in refs[: len(refs) * 2 // 5]]
    made = night(vault, "Trees", page, retired, [])
    yield made.case("most of the page retired", "two fifths", Expected.STOPPED)
    merged = [MergeRepeat(refs[0], at) for at in refs[1 : len(refs) // 2]]
    made = night(vault, "Trees", page, merged, [])
    yield made.case("a merge that loses something", "half of the page", Expected.REFUSED)


def _stub() -> Iterator[Case]:
    """From 96 words to 52: a short page has a floor too."""
    vault, page = _long(12)
    draft = draft_of("Trees", "Trees", page, [], [])
    for share in (0.54, 0.69, 0.3, 0.05):
        made = Night(vault, "Trees", page, _cut(page, share), draft, context_of(vault, page, []))
        yield made.case("a stub shrinks", f"to {share:.0%}", Expected.REFUSED)


def _sections_emptied() -> Iterator[Case]:
    """One section is emptied while the rest of the page grows."""
    for vault, stem, before in pages():
        made = whole_night(vault, stem, before)
        page = parse(made.after)
        names = [b.heading_text for b in parse(before).blocks if b.heading_level == 2]
        names = [n for n in names if n not in ("History", "See also", "References")]
        if not names:
            continue
        body = [b for b in page.body(names[0]) if b.kind is not Kind.BLANK]
        after = made.after[: body[0].start] + made.after[body[-1].end :].lstrip("\n")
        yield made.case("a section emptied", names[0], Expected.REFUSED, after)


def _floods() -> Iterator[Case]:
    """Far more true, cited sentences than claims were folded; and one claim many times over."""
    vault, page = _long(80)
    said = [s.text for b in parse(page).blocks if b.kind is Kind.PARAGRAPH for s in b.sentences]
    citations = tuple(
        vault.citation(_CONV, n // PARAGRAPH, n // PARAGRAPH) for n in range(len(said))
    )
    stem = "Session store"
    before = vault.pages[stem]
    sentences = tuple(CitedSentence(said[n], (citations[n],)) for n in range(60))
    made = night(vault, stem, before, [AppendSentences("Background", sentences)], said[:2])
    yield made.case("a flood", "sixty sentences for two claims", Expected.STOPPED)
    again = tuple(CitedSentence(said[0], citations[:1]) for _ in range(6))
    made = night(vault, stem, before, [AppendSentences("Background", again)], said[:6])
    yield made.case("repeated sentences", "six times", Expected.REFUSED)
    for number, (one, other) in enumerate(_RESTATED):
        spoken = conversation(_CONV, [("user", one), ("user", other)])
        fuller = replace(vault, conversations={**vault.conversations, _CONV: spoken})
        cited = tuple(
            CitedSentence(text, (fuller.citation(_CONV, position, position),))
            for position, text in enumerate((one, other))
        )
        edits = [AppendSentences("Background", cited[:1]), AppendSentences("Events", cited[1:])]
        made = night(fuller, stem, before, edits, [one, other])
        yield made.case("repeated sentences", f"in other order {number + 1}", Expected.REFUSED)


_RESTATED = (
    (
        "The nightly backup of the store goes to Oslo.",
        "To Oslo goes the nightly backup of the store.",
    ),
    ("Every night the job deletes expired rows.", "The job deletes expired rows every night."),
    (
        "In March the beds get compost from the shed.",
        "The beds get compost from the shed in March.",
    ),
    (
        "Im Keller steht der große Kompressor der Werkstatt.",
        "Der große Kompressor der Werkstatt steht im Keller.",
    ),
    ("备份服务器在柏林的机房。", "备份服务器，在柏林的机房。"),
    ("図書室の蔵書は五階にあります。", "図書室の蔵書は、五階にあります。"),
    (
        "تفتح المكتبة القديمة أبوابها يوم السبت صباحا.",
        "يوم السبت صباحا تفتح المكتبة القديمة أبوابها.",
    ),
)
