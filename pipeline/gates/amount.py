"""Gates 1 and 5: not too much may go, not too much may come, nothing twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pipeline.gates.comparing import Cited, Write, shown
from pipeline.gates.departing import departures
from pipeline.markdown import HISTORY, REFERENCES, SEE_ALSO, Kind, Page, parse
from pipeline.records import Draft, MergeRepeat, MoveSentence, Retire, Supersede
from pipeline.text import content_words, prose_words, similarity, words

# What a draft may add beside its sentences: a link's second name, a date before a History line.
_STRUCTURE_WORDS = 20
_HISTORY_LINE_WORDS = 3
_REPEATS = 0.97
_LONG = 17  # content words from which on a repeat may have one of its own; shorter ones have none
_FEWEST_WORDS_TO_REPEAT = 4
_FEWEST_OUTDATED = 3  # fewer are the course of things, in a short article too
_CLOSING = frozenset(name.casefold() for name in (HISTORY, SEE_ALSO, REFERENCES))


def section_words(text: str) -> dict[str, int]:
    """Words per section of an article, "" for its lead: what floors are measured in."""
    return _counts(parse(text))


def floor(write: Write) -> list[str]:
    """1: the article and each section keep `word_floor` of their words, now and over the window.

    What moved to History is still there; so, for its section, is a sentence that the draft moves
    or merges into another. A draft that takes nothing away is never stopped: if the user has cut
    the page down since the baseline, that is how they want it.
    """
    pages = write.pages
    old, new = _counts(pages.before), _counts(pages.after)
    baseline = write.context.baseline_words
    share = write.policy.word_floor
    reasons = []
    total_old, total_new = sum(old.values()), sum(new.values())
    most = max(total_old, sum(baseline.values()))
    if total_new < total_old and total_new < share * most:
        reasons.append(f"the article would shrink to {total_new} of {most} words")
    moved = max(0, new.get(_history(new), 0) - old.get(_history(old), 0))
    kept = max(
        moved, new.get(_history(new), 0) - (baseline or old).get(_history(baseline or old), 0)
    )
    left = _moved_on(pages.before, write.draft)
    for section, count in old.items():
        most = max(count, baseline.get(section, 0))
        now = new.get(section, 0) + left[section]
        if now + moved < count and now + kept < share * most:
            name = f"“{section}”" if section else "the lead"
            reasons.append(f"{name} would shrink to {new.get(section, 0)} of {most} words")
    return reasons


def growth(write: Write) -> list[str]:
    """5: what comes is in proportion to the claims folded."""
    pages = write.pages
    claimed = max(
        write.draft.claims_words, sum(len(words(claim)) for claim in write.context.claims)
    )
    added = sum(_counts(pages.after).values()) - sum(_counts(pages.before).values())
    structure = _STRUCTURE_WORDS + _scaffold(pages.after) - _scaffold(pages.before)
    if added > claimed * write.policy.growth + structure:
        return [f"{added} words would be added for {claimed} words of claims"]
    return []


def repeats(write: Write) -> list[str]:
    """5: nothing is said twice."""
    pages = write.pages
    return _repeats(pages.new, pages.fresh) + _repeated_blocks(pages.before, pages.after)


def upheaval(write: Write) -> list[str]:
    """One night does not outdate much of an article: sources can be wrong, or of another matter.

    Counted among the sentences that can be outdated, those that cite.
    """
    outdated = sum(isinstance(edit, Supersede | Retire) for edit in write.draft.edits)
    standing = sum(not s.in_history and bool(s.citations) for s in write.pages.old)
    if outdated < _FEWEST_OUTDATED or outdated <= standing * write.policy.upheaval:
        return []
    return [f"{outdated} of {standing} sentences would move to History in one night"]


def _counts(page: Page) -> dict[str, int]:
    counts: dict[str, int] = {}
    for block in page.blocks:
        counts[block.section] = counts.get(block.section, 0) + len(prose_words(block.raw))
    return counts


def _moved_on(page: Page, draft: Draft) -> Counter[str]:
    """Words of the sentences that leave a section for another, or for one that says the same."""
    counts: Counter[str] = Counter()
    for departure in departures(page, draft).values():
        if isinstance(departure.edit, MoveSentence | MergeRepeat):
            counts[departure.block.section] += len(prose_words(departure.sentence.text))
    return counts


def _history(counts: object) -> str:
    names = counts if isinstance(counts, dict) else {}
    return next((name for name in names if name.casefold() == HISTORY.casefold()), HISTORY)


def _scaffold(page: Page) -> int:
    """Words of headings, of lists of links, and of the dates before History's lines."""
    count = 0
    for block in page.blocks:
        if block.heading_level or block.section.casefold() == SEE_ALSO.casefold():
            count += len(prose_words(block.raw))
        elif block.section.casefold() == HISTORY.casefold():
            count += _HISTORY_LINE_WORDS * len(block.sentences)
    return count


def _repeats(new: Sequence[Cited], fresh: Sequence[Cited]) -> list[str]:
    matter = {one.text: Counter(content_words(one.text)) for one in new}
    alike: dict[frozenset[tuple[str, int]], list[Cited]] = {}
    for one in new:
        alike.setdefault(frozenset(matter[one.text].items()), []).append(one)
    long = [one for one in new if matter[one.text].total() >= _LONG]
    reasons = []
    for sentence in fresh:
        own = matter[sentence.text]
        near = long if own.total() >= _LONG else alike[frozenset(own.items())]
        near = [o for o in near if o is not sentence and not _is_return(sentence, o)]
        if any(other.text.casefold() == sentence.text.casefold() for other in near):
            reasons.append(f"“{shown(sentence.text)}” would stand there twice")
        elif own.total() >= _FEWEST_WORDS_TO_REPEAT:
            reasons += [
                f"“{shown(sentence.text)}” repeats “{shown(other.text)}”"
                for other in near
                if similarity(sentence.text, other.text) >= _REPEATS
            ]
    return reasons


def _is_return(a: Cited, b: Cited) -> bool:
    """Whether one is current for a reason that the other, in History, did not have yet.

    Somebody went back to what had been given up: it was so then, and it is so again.
    """
    if a.in_history == b.in_history:
        return False
    past, current = (a, b) if a.in_history else (b, a)
    return not current.places <= past.places


def _repeated_blocks(before: Page, after: Page) -> list[str]:
    """Blocks that stand twice and did not before, headings and one-word lines aside."""
    old, new = _block_texts(before), _block_texts(after)
    return [
        f"the paragraph “{shown(text)}” would stand there twice"
        for text, count in new.items()
        if count > max(1, old[text])
    ]


def _block_texts(page: Page) -> Counter[str]:
    return Counter(
        block.raw.strip()
        for block in page.blocks
        if block.kind not in (Kind.BLANK, Kind.HEADING, Kind.RULE)
        and block.section.casefold() not in _CLOSING
        and len(words(block.raw)) >= _FEWEST_WORDS_TO_REPEAT
    )
