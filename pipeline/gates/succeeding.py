"""What follows what: the later evidence is current, dates are those of the evidence."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date

from pipeline.footnotes import citations_of
from pipeline.gates.comparing import Comparison, Write, shown
from pipeline.gates.departing import sentence_at
from pipeline.gates.merging import says_more
from pipeline.markdown import Page
from pipeline.prose import flat
from pipeline.records import (
    AddCitation,
    AppendHistory,
    AppendSentences,
    Citation,
    Retire,
    SentenceRef,
    Supersede,
)
from pipeline.text import content_words

_DATED = re.compile(
    r"^(?P<key>created|updated):[ \t]*(?P<day>[^\s#]*)[ \t]*(?:#.*)?\r?$", re.MULTILINE
)
_HEDGES = re.compile(
    r"\b(?:may|might|can|could|should|would|maybe|perhaps|possibly|probably) ", re.IGNORECASE
)
_ONE_MATTER = 0.2  # share of the words of both that an outdated sentence and its successor share


def brings_news(write: Write) -> list[str]:
    """What takes a sentence's place says something that it does not, and is not just vaguer."""
    return [
        f"“{shown(new)}” says no more than “{shown(old)}”, which it would outdate"
        for old, new in _successions(write)
        if old and not says_more(_HEDGES.sub("", new), old)
    ]


def in_time(write: Write) -> list[str]:
    """Dates are those of the evidence, and no older evidence takes the place of newer."""
    reasons = [*_update(write.pages), *_misdated(write)]
    standing: dict[SentenceRef, tuple[Citation, ...]] = {}
    for edit in write.draft.edits:
        match edit:
            case Supersede(at=ref, sentence=sentence, date=day):
                old = standing.get(ref) or _cited(ref, write)
                if old and _is_older(sentence.citations, old, write):
                    reasons.append(f"“{shown(sentence.text)}” rests on older messages")
                reasons += _otherwise(day, (*old, *sentence.citations))
                standing[ref] = sentence.citations
            case Retire(at=ref, date=day):
                # what made it past may have been said later, but not before the sentence itself
                cited = _cited(ref, write)
                if cited and day < min(citation.date for citation in cited):
                    reasons += _otherwise(day, cited)
            case AppendHistory(sentence=sentence, date=day):
                reasons += _otherwise(day, sentence.citations)
    return list(dict.fromkeys(reasons))


def on_the_matter(write: Write) -> list[str]:
    """What takes a sentence's place has to do with it."""
    return [
        f"“{shown(new)}” would outdate “{shown(old)}”, another matter"
        for old, new in _successions(write)
        if _in_common(old, new) < _ONE_MATTER
    ]


def _successions(write: Write) -> Iterator[tuple[str, str]]:
    """Each sentence that is outdated, and the one that takes its place."""
    standing: dict[SentenceRef, str] = {}
    for edit in write.draft.edits:
        if isinstance(edit, Supersede):
            found = sentence_at(write.pages.before, edit.at)
            old = standing.get(edit.at, found.text if found else "")
            standing[edit.at] = flat(edit.sentence.text)
            yield old, standing[edit.at]


def _update(pages: Comparison) -> Iterator[str]:
    """The dates of the frontmatter are dates, and that of the update does not go back."""
    old, new = _days(pages.before), _days(pages.after)
    for key, day in new.items():
        if day == old.get(key):
            continue
        if not _is_day(day):
            yield f"{key}: {day} is no date"
        elif _is_day(old.get(key, "")) and day < old[key]:
            yield f"the date of the {key} would go back to {day}"


def _days(page: Page) -> dict[str, str]:
    return {found["key"]: found["day"] for found in _DATED.finditer(page.frontmatter)}


def _is_day(text: str) -> bool:
    try:
        return bool(date.fromisoformat(text))
    except ValueError:
        return False


def _misdated(write: Write) -> Iterator[str]:
    """Citations of the draft whose messages were said on another day, in any time zone."""
    for citation in _given(write):
        messages = write.context.evidence(citation)
        days = [message.at.date() for message in messages]
        if not days:
            continue  # for another gate
        day = date.fromisoformat(citation.date)
        if not any(abs((said - day).days) <= 1 for said in days):
            yield f"the messages of {citation.conv} were not said on {citation.date}"


def _given(write: Write) -> Iterator[Citation]:
    for edit in write.draft.edits:
        match edit:
            case AddCitation(citation=citation):
                yield citation
            case AppendSentences(sentences=sentences):
                for sentence in sentences:
                    yield from sentence.citations
            case Supersede(sentence=sentence) | AppendHistory(sentence=sentence):
                yield from sentence.citations


def _cited(ref: SentenceRef, write: Write) -> tuple[Citation, ...]:
    """What the sentence at `ref` cites, what the draft adds included."""
    page = write.pages.before
    sentence = sentence_at(page, ref)
    added = (e.citation for e in write.draft.edits if isinstance(e, AddCitation) and e.at == ref)
    return (*citations_of(page, sentence.marks), *added) if sentence else ()


def _is_older(new: Sequence[Citation], old: Sequence[Citation], write: Write) -> bool:
    """Whether the newest of `new` was said before the newest of `old`, by day, else by the time."""
    day, then = (max((c.date for c in some), default="") for some in (new, old))
    if day != then:
        return day < then
    times = [
        [message.at for citation in some for message in write.context.evidence(citation)]
        for some in (new, old)
    ]
    return all(times) and max(times[0]) < max(times[1])


def _otherwise(day: str, cited: Sequence[Citation]) -> Iterator[str]:
    if day not in {citation.date for citation in cited}:
        yield f"a line of History would be dated {day}, when none of its sources is from"


def _in_common(a: str, b: str) -> float:
    """Share of the words of either that are words of both, numbers aside (0..1)."""
    one, other = _matter(a), _matter(b)
    return len(one & other) / len(one | other) if one | other else 1.0


def _matter(text: str) -> frozenset[str]:
    return frozenset(w for w in content_words(text) if not any(c.isdigit() for c in w))
