"""Two values or names that changed places, and a single word put in the place of another."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

import regex

from pipeline.late import late
from pipeline.support.material import FRAME, Material, matches
from pipeline.support.saying import Saying
from pipeline.text import content_words, fold, identifiers, is_caseless, quantities
from pipeline.text.lists import word_set

_SPACELESS = r"\p{Han}\p{Hiragana}\p{Katakana}ー々〆"
_LETTER = rf"[\p{{L}}\p{{M}}\p{{N}}_--{_SPACELESS}]"
_TOKEN = late(
    r"[\p{Han}々〆]+|[\p{Katakana}ー]+|\p{Hiragana}+" rf"|{_LETTER}+(?:[.,:'’/@+-]{_LETTER}+)*",
    regex.V1,
)
# Beside these, what stands before and after may change places.
_EVEN = word_set(
    """
    and or with as well plus the a an of at in on und oder sowie mit
    و أو مع と や か 、 和 与 或 ו או
    """
)
# "A is replaced by B" and "B replaces A" say the same.
_PASSIVE = late(
    r"\b(?:by|is|are|was|were|been|durch|von|vom|wird|wurde|wurden)\b"
    r"|によって|により|被|من قبل|على يد|על ידי",
    regex.IGNORECASE,
)
# A word before these is a verb, and a verb may be told by another.
_AFTER_VERBS = word_set(
    """
    0 from to at in on by with for since over into auf von zu seit mit für bei an im am من إلى في
    """
)
# Two names may stand around these in many a way.
_WEAK = word_set("to for is be are has not no")
_SPAN = 60  # characters two values of one statement stand apart at most

Mark = tuple[str, str, int, int]  # key, kind, start, end


def exchanged(claim: str, material: Material) -> list[str]:
    """Pairs that the claim tells in the other order round, although it joins them alike."""
    reasons = []
    for first, second in pairwise(_marks(claim)):
        if first[0] == second[0] or first[1] != second[1]:
            continue
        between = claim[first[3] : second[2]]
        verdicts = [_reversed(claim, between, first, second, one) for one in material.said]
        if True in verdicts and False not in verdicts:
            reasons.append(f"the messages say {second[0]} and {first[0]} the other way round")
    return reasons


def _reversed(claim: str, between: str, first: Mark, second: Mark, said: Saying) -> bool | None:
    """Whether `said` joins the two alike in the other order; None if it does not tell."""
    marks = _marks(said.text)
    places = {key: [mark for mark in marks if mark[0] == key] for key in (first[0], second[0])}
    found: bool | None = None
    for one in places[first[0]]:
        for other in places[second[0]]:
            if one[2] < other[2]:
                if other[2] - one[3] <= _SPAN:
                    return False
            elif one[2] - other[3] <= _SPAN:
                there = said.text[other[3] : one[2]]
                alike = _joints(between) & _joints(there)
                if first[1] == "name":
                    alike -= _WEAK
                same_voice = bool(_PASSIVE.search(claim)) == bool(_PASSIVE.search(said.text))
                if alike and (same_voice or first[1] == "number"):
                    found = True
    return found


def _joints(between: str) -> frozenset[str]:
    """The words that join two values and tell which is which, folded."""
    for quantity in reversed(quantities(between)):
        between = f"{between[: quantity.start]} {between[quantity.end :]}"
    found = (match.group().casefold() for match in _TOKEN.finditer(between))
    return frozenset(fold(word) for word in found if word not in _EVEN)


def _marks(text: str) -> list[Mark]:
    """Numbers (with their units as kind) and names of `text`, in order of place."""
    marks: list[Mark] = [
        (q.value, "number", q.start, q.end) for q in quantities(text) if q.kind != "date"
    ]
    taken = [(q.start, q.end) for q in quantities(text)]
    named = {name.casefold() for name in identifiers(text)}
    for match in _TOKEN.finditer(text):
        word = match.group()
        free = not any(start < match.end() and match.start() < end for start, end in taken)
        is_name = word[0].isupper() or word.casefold() in named or _is_latin_inside(word, text)
        if free and is_name and content_words(word) and fold(word) not in FRAME:
            marks.append((word.casefold(), "name", match.start(), match.end()))
    return sorted(marks, key=lambda mark: mark[2])


def _is_latin_inside(word: str, text: str) -> bool:
    """A word in another script than the text's own is a name there."""
    return word.isascii() and is_caseless(text)


def replaced_words(claim: str, material: Material) -> list[str]:
    """A content word nobody said, between two words that stand together around another one."""
    stems = material.stems()
    tokens = _content_tokens(claim)
    strangers = [
        (before, word, after)
        for (before, _), (word, stem), (after, _) in zip(
            tokens, tokens[1:], tokens[2:], strict=False
        )
        if len(stem) > 2
        and stem not in FRAME
        and not matches(stem, stems)
        and after not in _AFTER_VERBS
    ]
    reasons = []
    for before, word, after in strangers:
        if before in _EVEN and after in _EVEN:
            continue
        for one in material.said:
            there = _content_tokens(one.text)
            if any(
                a == before and c == after and stem
                for (a, _), (_, stem), (c, _) in zip(there, there[1:], there[2:], strict=False)
            ):
                reasons.append(f"the messages have another word in the place of “{word}”")
                break
    return reasons


@lru_cache(maxsize=4096)
def _content_tokens(text: str) -> tuple[tuple[str, str], ...]:
    """Casefolded words, each with its stem; "" for words that carry no content."""
    for quantity in reversed(quantities(text)):
        text = f"{text[: quantity.start]} 0 {text[quantity.end :]}"
    own = set(content_words(text))
    found = []
    for match in _TOKEN.finditer(text):
        stem = next(iter(content_words(match.group())), "")
        found.append((match.group().casefold(), stem if stem in own else ""))
    return tuple(found)
