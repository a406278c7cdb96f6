"""What a case of the corpus is, and the drafts and contexts cases are made of."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from benchmarks.gate_corpus.vaults import News, Vault
from pipeline.footnotes import citations_of
from pipeline.gates import Context, section_words
from pipeline.markdown import parse
from pipeline.records import (
    AddCitation,
    AppendHistory,
    AppendSentences,
    CitedSentence,
    Draft,
    Edit,
    LinkFirstMention,
    SentenceRef,
    SetSeeAlso,
    Supersede,
)
from pipeline.surgery import apply
from pipeline.text import words

TODAY = "2026-11-29"
PARAGRAPH = 5  # sentences


class Expected(StrEnum):
    """PASS: written. REFUSED: damage beyond doubt. STOPPED: refused or held, never just written."""

    PASS = "pass"
    REFUSED = "refused"
    STOPPED = "stopped"


@dataclass(frozen=True)
class Case:
    """A write to judge. kind: the row of the table it counts in; name tells it from its like."""

    kind: str
    name: str
    expected: Expected
    before: str
    after: str
    draft: Draft
    context: Context


@dataclass(frozen=True)
class Night:
    """A draft of true news and the page as it would stand, from which damage is made."""

    vault: Vault
    stem: str
    before: str
    after: str
    draft: Draft
    context: Context

    def case(self, kind: str, name: str, expected: Expected, after: str | None = None) -> Case:
        """This night's write, or another text in its place."""
        text = self.after if after is None else after
        named = f"{self.stem}: {name}"
        return Case(kind, named, expected, self.before, text, self.draft, self.context)


def context_of(
    vault: Vault, before: str, claims: Sequence[str], baseline: Mapping[str, int] | None = None
) -> Context:
    """The context the pipeline would give: baseline as the page stands unless told otherwise."""
    return Context(
        baseline_words=section_words(before) if baseline is None else baseline,
        evidence=vault.evidence,
        taken_stems=frozenset(vault.pages),
        claims=tuple(claims),
    )


def draft_of(
    stem: str, title: str, before: str, edits: Sequence[Edit], claims: Sequence[str]
) -> Draft:
    """A draft as folding makes it; `before` "" makes the article."""
    return Draft(
        article=stem,
        title=title,
        base_hash=hashlib.sha256(before.encode()).hexdigest() if before else "",
        bucket=title,
        chunks=("0" * 16,),
        edits=tuple(edits),
        claims_words=sum(len(words(claim)) for claim in claims),
    )


def night(
    vault: Vault, stem: str, before: str, edits: Sequence[Edit], claims: Sequence[str]
) -> Night:
    """The write that makes these edits, by the pipeline's own surgery."""
    title = title_of(before, stem)
    draft = draft_of(stem, title, before, edits, claims)
    after = apply(before, draft, today=TODAY, paragraph_sentences=PARAGRAPH)
    return Night(vault, stem, before, after, draft, context_of(vault, before, claims))


def told(vault: Vault, stem: str, before: str, news: Sequence[News]) -> Night:
    """The night that writes this news."""
    edits = [edit for one in news for edit in edits_of(one, vault, before)]
    return night(vault, stem, before, edits, [one.text for one in news if one.cites])


def whole_night(vault: Vault, stem: str, before: str) -> Night:
    """All the news of an article at once, and a link under See also."""
    return _night_with_links(vault, stem, before, vault.news_of(stem))


def short_night(vault: Vault, stem: str, before: str) -> Night:
    """One piece of news of each kind, and a link under See also."""
    news = {one.kind: one for one in reversed(vault.news_of(stem))}
    return _night_with_links(vault, stem, before, list(news.values())[::-1])


def _night_with_links(vault: Vault, stem: str, before: str, news: Sequence[News]) -> Night:
    other = next(name for name in vault.pages if name != stem and f"[[{name}]]" not in before)
    edits = [edit for one in news for edit in edits_of(one, vault, before)]
    claims = [one.text for one in news if one.cites]
    return night(vault, stem, before, [*edits, SetSeeAlso((other,))], claims)


def edits_of(news: News, vault: Vault, before: str) -> list[Edit]:
    """The typed edits that write one piece of news."""
    if news.kind == "link":
        block = next(b.index for b in parse(before).blocks if _mentions(b.raw, news.text))
        return [LinkFirstMention(block, news.text, news.target)]
    citation = vault.citation(*news.cites)
    sentence = CitedSentence(news.text, (citation,))
    match news.kind:
        case "add":
            return [AppendSentences(news.section, (sentence,))]
        case "instead":
            return [Supersede(ref(before, news.of), sentence, date_of(before, news.of))]
        case "same":
            return [AddCitation(ref(before, news.of), citation)]
    return [AppendHistory(sentence, citation.date)]


def _mentions(raw: str, text: str) -> bool:
    return text in raw and "[^" in raw and not raw.startswith(("[^", "|", ">"))


def ref(page: str, sentence: str) -> SentenceRef:
    """Where a sentence stands."""
    return next(
        SentenceRef(block.index, index)
        for block in parse(page).blocks
        for index, found in enumerate(block.sentences)
        if found.text == sentence
    )


def date_of(page: str, sentence: str) -> str:
    """The date of what the sentence cites."""
    at = ref(page, sentence)
    parsed = parse(page)
    return citations_of(parsed, parsed.blocks[at.block].sentences[at.sentence].marks)[0].date


def title_of(page: str, stem: str) -> str:
    """The title of a page: its first heading's, else its file's name."""
    title = parse(page).title
    return title.heading_text if title else stem


def with_edits(made: Night, edits: Sequence[Edit]) -> Draft:
    """The night's draft saying something else."""
    return replace(made.draft, edits=tuple(edits))
