"""What only the user should do, proposed on Talk pages: split an article, merge two.

Candidates are found by code, a bounded number an article; the model judges whether it makes sense.
An entry holds no counts, so the same proposal is the same text every night and is told once.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import regex

from pipeline.desk import Desk
from pipeline.links import ArticleEntry
from pipeline.markdown import Page
from pipeline.prose import flat
from pipeline.records import BucketState
from pipeline.store.buckets import normalised
from pipeline.store.derived import Worked
from pipeline.synthesis.placement import Statement, statements
from pipeline.text import content_words, fold, numbers, similarity, words

SPLIT, MERGE = "wikify/split", "wikify/merge"
_STAGE = "wikify"
_TOLD = "told by names 1"  # another number when `content_words` or `numbers` tell something else
_OWN, _SAME = "own", "same"
_MOST = 0.5  # share of an article's sentences that a topic holds to be most of it
_SHOWN = 6  # sentences of a topic shown to the model
_COMPARED, _ASKED = 12, 2  # articles compared with one, and asked about
# Scripts without spaces between words: a piece of a run is no word that could name a topic.
_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]")


@dataclass(frozen=True, slots=True)
class Proposal:
    """An entry for the Talk page of an article."""

    stem: str
    title: str
    entry: str


def proposals(
    page: Page, own: ArticleEntry, catalog: Sequence[ArticleEntry], desk: Desk
) -> tuple[Proposal, ...]:
    """What to propose about an article that changed; nothing that was ever told before."""
    return (*_splits(page, own, catalog, desk), *_merges(own, catalog, desk))


def _is_told(proposal: Proposal, desk: Desk) -> bool:
    return flat(proposal.entry) in desk.store.ledger.told(proposal.stem)


# ------------------------------------------------------------------ split


def _splits(
    page: Page, own: ArticleEntry, catalog: Sequence[ArticleEntry], desk: Desk
) -> list[Proposal]:
    """The topic that most of a long article is about, if it is a subject of its own."""
    current = [s for s in statements(page, frozenset(), desk) if not s.past]
    if len(current) <= desk.policy.wikify.split_after:
        return []
    taken = {normalised(name) for name in _all_names(catalog, desk)}
    topic, about = _topic(current, own, taken, desk)
    proposal = Proposal(own.stem, own.title, _split_entry(topic))
    if not topic or _is_told(proposal, desk):
        return []
    ask = desk.prompts.ask(
        SPLIT,
        {
            "title": own.title,
            "topic": topic,
            "sentences": "\n".join(f"- {s.text}" for s in about[:_SHOWN]),
            "rules": desk.vault.rules("Article_Conventions.md"),
        },
        options=desk.prompts.get(SPLIT).options,
    )
    choice = desk.model.choose([ask], stage=_STAGE, purpose=SPLIT)[0]
    sure = choice.best == _OWN and choice.margin >= desk.policy.wikify.margin
    return [proposal] if sure else []


def _topic(
    current: Sequence[Statement], own: ArticleEntry, taken: set[str], desk: Desk
) -> tuple[str, list[Statement]]:
    """The topic that over half of these sentences are about, and they; "" if there is none.

    A section under a heading that is no kind of statement, as the shipped ones are; else the most
    frequent word that is not in the article's own names.
    """
    for about in (_by_heading(current, desk), _by_word(current, own)):
        best = [
            (topic, found)
            for topic, found in about.items()
            if len(found) > _MOST * len(current) and normalised(topic) not in taken
        ]
        if best:
            return max(best, key=lambda pair: len(pair[1]))
    return "", []


def _by_heading(current: Sequence[Statement], desk: Desk) -> dict[str, list[Statement]]:
    kinds = {normalised(heading) for heading in desk.policy.headings.values()}
    about: dict[str, list[Statement]] = {}
    for statement in current:
        if statement.section and normalised(statement.section) not in kinds:
            about.setdefault(statement.section, []).append(statement)
    return about


def _by_word(current: Sequence[Statement], own: ArticleEntry) -> dict[str, list[Statement]]:
    """Each word, as it is spelled most often, with the sentences that hold it in any form."""
    named = {fold(word) for name in _names(own) for word in words(name)}
    spelled: dict[str, Counter[str]] = {}
    holding: dict[str, list[Statement]] = {}
    for statement in current:
        spoken = {fold(word): word for word in words(statement.text) if _could_name(word)}
        for stem in spoken.keys() - named:
            spelled.setdefault(stem, Counter())[spoken[stem]] += 1
            holding.setdefault(stem, []).append(statement)
    return {spelled[stem].most_common(1)[0][0]: holding[stem] for stem in sorted(holding)}


def _could_name(word: str) -> bool:
    return bool(content_words(word)) and not _UNSPACED.search(word)


def _split_entry(topic: str) -> str:
    return (
        f"Much of this article is about “{topic}”, which may be a subject of its own. To split it "
        f"off, add a row for “{topic}” to Meta/Buckets.md, so that new conversations about it go "
        "there, and move the sentences that belong there with their footnotes."
    )


# ------------------------------------------------------------------ merge


def _merges(own: ArticleEntry, catalog: Sequence[ArticleEntry], desk: Desk) -> list[Proposal]:
    """Articles much like this one that are about the same thing."""
    buckets = {
        bucket.article: bucket.name
        for bucket in desk.store.buckets.all()
        if bucket.state is BucketState.ARTICLE
    }
    if own.stem not in buckets:
        return []
    others = [e for e in catalog if e.stem in buckets and e.stem != own.stem]
    asked: list[tuple[ArticleEntry, Proposal]] = []
    for other in _alike(own, others, desk)[:_ASKED]:
        # on one page of the two, whichever of them changed
        first, second = sorted((own, other), key=lambda entry: entry.stem)
        entry = _merge_entry(second, buckets[first.stem], buckets[second.stem])
        proposal = Proposal(first.stem, first.title, entry)
        if not _is_told(proposal, desk):
            asked.append((other, proposal))
    if not asked:
        return []
    rules = desk.vault.rules("Article_Conventions.md")
    choices = desk.model.choose(
        [
            desk.prompts.ask(
                MERGE,
                {"one": _beginning(own), "other": _beginning(other), "rules": rules},
                options=desk.prompts.get(MERGE).options,
            )
            for other, _ in asked
        ],
        stage=_STAGE,
        purpose=MERGE,
    )
    return [
        proposal
        for (_, proposal), choice in zip(asked, choices, strict=True)
        if choice.best == _SAME and choice.margin >= desk.policy.wikify.margin
    ]


def _alike(own: ArticleEntry, others: Sequence[ArticleEntry], desk: Desk) -> list[ArticleEntry]:
    """Those at least as alike as the policy says, most alike first.

    Names, and who shares conversations with it, tell which few are compared more closely.
    """
    near = {stem: -rank for rank, stem in enumerate(desk.store.ledger.neighbours(own.stem))}
    told = _told_by((own, *others), desk)
    ranked = sorted(
        ((_named_alike(own, e, told), near.get(e.stem, -len(near) - 1), e) for e in others),
        key=lambda row: (-row[0], -row[1], row[2].stem),
    )
    some = [(named, e) for named, _, e in ranked if named or e.stem in near][:_COMPARED]
    if not some:
        return []
    scores = [max(named, similarity(_beginning(own), _beginning(e))) for named, e in some]
    if desk.embedder is not None:
        vectors = desk.embedder.embed([_beginning(own), *(_beginning(e) for _, e in some)])
        near_by = np.clip(vectors[1:] @ vectors[0], 0.0, 1.0)
        scores = [max(score, float(v)) for score, v in zip(scores, near_by, strict=True)]
    found = sorted(zip(scores, some, strict=True), key=lambda pair: -pair[0])
    return [entry for score, (_, entry) in found if score >= desk.policy.wikify.merge_likeness]


def _named_alike(
    one: ArticleEntry, other: ArticleEntry, told: Mapping[str, frozenset[str]]
) -> float:
    """Shared words and numbers of the two names most alike (0..1)."""
    pairs = ((told[a], told[b]) for a in _names(one) for b in _names(other))
    return max(2 * len(a & b) / (len(a) + len(b)) if a and b else 0.0 for a, b in pairs)


def _told_by(entries: Iterable[ArticleEntry], desk: Desk) -> dict[str, frozenset[str]]:
    """The content words and numbers of each name; worked out once a name, not every night."""
    names = {name for entry in entries for name in _names(entry)}
    kept = desk.store.derived.all(_TOLD)
    fresh = {
        name: Worked("", json.dumps([*content_words(name), *numbers(name)]).encode())
        for name in names - kept.keys()
    }
    if fresh:
        desk.store.derived.put(_TOLD, fresh, gone=kept.keys() - names)
    return {name: frozenset(json.loads(w.value)) for name, w in (kept | fresh).items()}


def _beginning(entry: ArticleEntry) -> str:
    return f"{entry.title}. {entry.lead}"


def _names(entry: ArticleEntry) -> tuple[str, ...]:
    return (entry.title, *entry.aliases)


def _all_names(catalog: Iterable[ArticleEntry], desk: Desk) -> list[str]:
    """What articles and topics are called: such a topic has been split off already."""
    names = [name for entry in catalog for name in (entry.stem, *_names(entry))]
    return names + [n for b in desk.store.buckets.all() for n in (b.name, *b.aliases)]


def _merge_entry(other: ArticleEntry, own_bucket: str, other_bucket: str) -> str:
    return (
        f"This article and “{other.title}” may be about the same subject. To merge them, write "
        f"“→ {other_bucket}” as the state of “{own_bucket}” in Meta/Buckets.md, or the other way "
        "round, and move over what only the merged one says."
    )
