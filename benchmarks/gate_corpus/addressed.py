"""Edits that do harm by what they address: the surgery is faithful, the order is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from benchmarks.gate_corpus.cases import (
    Case,
    Expected,
    Night,
    context_of,
    date_of,
    draft_of,
    edits_of,
    night,
    ref,
    title_of,
    told,
)
from benchmarks.gate_corpus.hostile import vault_with
from benchmarks.gate_corpus.legitimate import pages, repeating
from benchmarks.gate_corpus.vaults import News, Vault
from pipeline.errors import VaultFault
from pipeline.footnotes import citations
from pipeline.markdown import HISTORY, Kind, parse
from pipeline.records import (
    AddCitation,
    AppendSentences,
    CitedSentence,
    Edit,
    LinkFirstMention,
    MergeRepeat,
    MoveSentence,
    Retire,
    SentenceRef,
    Supersede,
)

_REFUSED, _STOPPED = Expected.REFUSED, Expected.STOPPED


def addressed() -> Iterator[Case]:
    """All of them."""
    for vault, stem, before in pages():
        yield from _on_the_users(vault, stem, before)
        yield from _too_many(vault, stem, before)
        yield from _wrong_succession(vault, stem, before)
        yield from _vaguer(vault, stem, before)
        yield from _back_from_the_past(vault, stem, before)
        yield from _bad_merges(vault, stem, before)
        yield from _unlike_what_is_said(vault, stem, before)


def _written(
    vault: Vault, stem: str, before: str, edits: list[Edit], claims: list[str]
) -> Night | None:
    """The write, or None if the surgery itself will not do it."""
    try:
        return night(vault, stem, before, edits, claims)
    except VaultFault:
        return None


def _cited(before: str) -> list[SentenceRef]:
    page = parse(before)
    known = citations(page)
    return [
        SentenceRef(block.index, index)
        for block in page.blocks
        if block.kind is Kind.PARAGRAPH
        for index, sentence in enumerate(block.sentences)
        if any(label in known for label in sentence.marks)
    ]


def _users(before: str) -> list[SentenceRef]:
    page = parse(before)
    known = citations(page)
    return [
        SentenceRef(block.index, index)
        for block in page.blocks
        if block.kind is Kind.PARAGRAPH
        for index, sentence in enumerate(block.sentences)
        if not any(label in known for label in sentence.marks)
    ]


def _text(before: str, at: SentenceRef) -> str:
    return parse(before).blocks[at.block].sentences[at.sentence].text


def _on_the_users(vault: Vault, stem: str, before: str) -> Iterator[Case]:
    """The user's own sentence superseded, retired, moved, merged, cited."""
    added = next(n for n in vault.news_of(stem) if n.kind == "add")
    cited = CitedSentence(added.text, (vault.citation(*added.cites),))
    ours = _cited(before)[0]
    section = next(b.heading_text for b in parse(before).blocks if b.heading_level == 2)
    for at in _users(before)[:1]:
        edits: dict[str, Edit] = {
            "superseded": Supersede(at, cited, "2026-09-09"),
            "retired": Retire(at, "2026-09-09"),
            "moved": MoveSentence(at, section if ours.block > at.block else ""),
            "merged": MergeRepeat(ours, at),
            "merged into": MergeRepeat(at, ours),
            "cited": AddCitation(at, cited.citations[0]),
        }
        for name, edit in edits.items():
            made = _written(vault, stem, before, [edit], [added.text])
            if made and made.after != before:
                kind = "the user's sentence moved or replaced"
                yield made.case(kind, name, _REFUSED)


def _too_many(vault: Vault, stem: str, before: str) -> Iterator[Case]:
    """Most of an article outdated or merged away in one night."""
    ours = _cited(before)
    made = _written(vault, stem, before, [Retire(at, "2026-09-09") for at in ours], [])
    if made:
        yield made.case("most of the page retired", "all of ours", _STOPPED)
    share = ours[: max(3, len(ours) * 2 // 3)]
    made = _written(vault, stem, before, [Retire(at, "2026-09-09") for at in share], [])
    if made:
        yield made.case("most of the page retired", "two thirds of ours", _STOPPED)
    made = _written(vault, stem, before, [MergeRepeat(ours[0], at) for at in ours[1:]], [])
    if made:
        yield made.case("a merge that loses something", "all into the first", _REFUSED)


def _wrong_succession(vault: Vault, stem: str, before: str) -> Iterator[Case]:
    """A sentence outdated by one on another matter, or by what was said before it."""
    added = [n for n in vault.news_of(stem) if n.kind == "add"]
    same = next(n for n in vault.news_of(stem) if n.kind == "same")
    for one in added[:2]:
        cited = CitedSentence(one.text, (vault.citation(*one.cites),))
        edit = Supersede(ref(before, same.of), cited, date_of(before, same.of))
        made = _written(vault, stem, before, [edit], [one.text])
        if made:
            kind = "a sentence outdated by another matter"
            yield made.case(kind, f"“{same.of}” by “{one.text}”", _STOPPED)
    for one in vault.news_of(stem):
        if one.kind == "instead":
            yield from _older_replaces(vault, stem, before, one)


_VAGUER = {
    "The cleanup job runs every 10 minutes.": (
        "The cleanup job runs.",
        "The cleanup job may run every 10 minutes.",
    ),
    "The timeout in .ci/config.yml is 15 minutes.": ("The timeout is in .ci/config.yml.",),
    "It deletes expired rows in batches of 500.": ("It deletes expired rows in batches.",),
    "Artifacts are kept for 14 days.": ("Artifacts are kept.",),
    "The tank holds 600 litres.": ("The tank holds litres.", "The tank holds 600 litres."),
    "The oven is a Bosch from 2014.": ("The oven is a Bosch.",),
    "The bus costs 2,400 euros.": ("The bus costs euros.",),
    "Die Miete beträgt 350 Euro im Monat.": ("Die Miete beträgt Euro im Monat.",),
    "备份保留30天。": ("备份保留。",),
    "蔵書は8000冊です。": ("蔵書です。",),
    "عدد الكتب 15000 كتاب.": ("عدد الكتب كتاب.",),
}


def _vaguer(vault: Vault, stem: str, before: str) -> Iterator[Case]:
    """A precise sentence outdated by one that says less, though somebody said it later."""
    for old, texts in _VAGUER.items():
        if old not in before:
            continue
        for number, text in enumerate(texts):
            conv = f"0a9e000{number}"
            fuller = vault_with(vault, conv, [("user", text)])
            cited = CitedSentence(text, (fuller.citation(conv, 0, 0),))
            edit = Supersede(ref(before, old), cited, date_of(before, old))
            made = _written(fuller, stem, before, [edit], [text])
            if made:
                yield made.case("a sentence outdated by a vaguer one", text, _STOPPED)


def _older_replaces(vault: Vault, stem: str, before: str, one: News) -> Iterator[Case]:
    """First the news is folded, then the older statement comes and takes its place."""
    current = told(vault, stem, before, [one]).after
    page = parse(before)
    at = ref(before, one.of)
    marks = page.blocks[at.block].sentences[at.sentence].marks
    older = citations(page)[marks[0]]
    edit = Supersede(ref(current, one.text), CitedSentence(one.of, (older,)), older.date)
    made = _written(vault, stem, current, [edit], [one.of])
    if made:
        yield made.case("older evidence replaces newer", one.of, _REFUSED)


def _back_from_the_past(vault: Vault, stem: str, before: str) -> Iterator[Case]:
    """What went to History is told as current again, on the evidence it had."""
    for one in vault.news_of(stem):
        if one.kind != "instead":
            continue
        current = told(vault, stem, before, [one]).after
        page = parse(before)
        at = ref(before, one.of)
        older = citations(page)[page.blocks[at.block].sentences[at.sentence].marks[0]]
        edit = AppendSentences("Background", (CitedSentence(one.of, (older,)),))
        made = _written(vault, stem, current, [edit], [one.of])
        if made:
            yield made.case("a superseded statement comes back", one.of, _REFUSED)


def _bad_merges(vault: Vault, stem: str, before: str) -> Iterator[Case]:
    """A repeat that says something more, or something else, is merged away."""
    same = next(n for n in vault.news_of(stem) if n.kind == "same")
    for number, (sort, text) in enumerate([*same.wrong, *_EXTRA.get(same.of, ())]):
        conv = f"ba5eba{number:02x}"
        fuller = vault_with(vault, conv, [("user", text)])
        other = News(stem, "add", text, (conv, 0, 0), section="Notes")
        page = told(fuller, stem, before, [other]).after
        for name, kept, gone in (
            ("the later goes", same.of, text),
            ("the earlier goes", text, same.of),
        ):
            edit = MergeRepeat(ref(page, kept), ref(page, gone))
            made = _written(fuller, stem, page, [edit], [])
            if made and (name == "the later goes" or sort != "more"):
                kind = "a merge that loses something"
                yield made.case(kind, f"{sort}: {text}, {name}", _REFUSED)
    repeated = repeating(vault, stem, before)
    if repeated:
        page, merge = repeated
        made = _written(vault, stem, page, [merge], [])
        if made:
            lost = made.after.replace("][^", "]", 1)
            yield made.case("a merge that loses something", "its citation", _REFUSED, lost)


# the same statement with more in it
_EXTRA = {
    "The session store keeps logins in Postgres.": (
        ("more", "The session store keeps logins in Postgres 16 on the host called Magpie."),
    ),
    "The lint step runs before the tests.": (
        ("more", "The lint step runs before the tests and takes 40 seconds."),
    ),
    "The tank holds 600 litres.": (("more", "The tank holds 600 litres since 2026-04-02."),),
    "Noor keeps the list of singers.": (("more", "Noor never keeps the list of singers."),),
    "王敏负责备份。": (("more", "王敏在周末不负责备份。"),),
    "担当は佐藤さんです。": (("more", "担当は佐藤さんと高橋さんです。"),),
}


def _unlike_what_is_said(vault: Vault, stem: str, before: str) -> Iterator[Case]:
    """The draft names one edit, the page shows the effect of another."""
    same = next(n for n in vault.news_of(stem) if n.kind == "same")
    at = ref(before, same.of)
    citation = vault.citation(*same.cites)
    date = date_of(before, same.of)
    effects: dict[str, tuple[Edit, Edit]] = {
        "retired, said to be cited": (AddCitation(at, citation), Retire(at, date)),
        "moved, said to be retired": (Retire(at, date), MoveSentence(at, _elsewhere(before, at))),
        "retired, said to be moved": (MoveSentence(at, _elsewhere(before, at)), Retire(at, date)),
        "retired under another date": (Retire(at, date), Retire(at, "1999-12-31")),
        "linked elsewhere": (
            LinkFirstMention(at.block, same.of.split()[0], stem),
            LinkFirstMention(at.block, same.of.split()[0], "Somewhere else"),
        ),
    }
    for name, (said, done) in effects.items():
        made = _written(vault, stem, before, [done], [])
        if made is None or made.after == before:
            continue
        draft = draft_of(stem, title_of(before, stem), before, [said], [])
        kind = "the page shows another edit than the draft"
        yield replace(made, draft=draft).case(kind, name, _REFUSED)
    instead = next((n for n in vault.news_of(stem) if n.kind == "instead"), None)
    if instead:
        made = night(vault, stem, before, edits_of(instead, vault, before), [instead.text])
        sentence = CitedSentence(instead.text, (vault.citation(*instead.cites),))
        appended = AppendSentences("Background", (sentence,))
        draft = draft_of(stem, title_of(before, stem), before, [appended], [instead.text])
        lied = replace(made, draft=draft, context=context_of(vault, before, [instead.text]))
        kind = "the page shows another edit than the draft"
        yield lied.case(kind, "superseded, said to be appended", _REFUSED)


def _elsewhere(before: str, at: SentenceRef) -> str:
    own = parse(before).blocks[at.block].section
    names = [b.heading_text for b in parse(before).blocks if b.heading_level == 2]
    return next((n for n in names if n not in (own, HISTORY, "See also", "References")), "")
