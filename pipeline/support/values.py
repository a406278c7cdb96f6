"""Every number, date, unit, identifier and name of a claim must have been said."""

from __future__ import annotations

from datetime import date

import regex

from pipeline.support.dating import day_is_said, days_told, year_is_said
from pipeline.support.material import FRAME, Material
from pipeline.text import (
    Quantity,
    content_words,
    fold,
    identifiers,
    is_german,
    proper_nouns,
    quantities,
    sentences,
    words,
)
from pipeline.text.lists import word_set

_COMMON_OPENERS = word_set(
    """
    according additionally after all although an another any as at because before both by currently
    during each every for from he her his if in instead it its later many most new no none nothing
    on one only open our previously several she since some that the their there these they this
    those to today until use using when whenever where whether while with without work you
    """
)
_DERIVED = ("ing", "ly", "ment", "tion", "sion", "ness", "ity", "ance", "ence", "ed")
_DERIVED = ("ing", "ly", "ment", "tion", "sion", "ness", "ity", "ance", "ence", "ed")
_WEEKDAYS = {
    number: regex.compile(rf"\b(?:{names})\b", regex.IGNORECASE)
    for number, names in enumerate(
        (
            r"mondays?|montags?|lundis?|lunes",
            r"tuesdays?|dienstags?|mardis?|martes",
            r"wednesdays?|mittwochs?|mercredis?|miércoles",
            r"thursdays?|donnerstags?|jeudis?|jueves",
            r"fridays?|freitags?|vendredis?|viernes",
            r"saturdays?|samstags?|samedis?|sábados?",
            r"sundays?|sonntags?|dimanches?|domingos?",
        )
    )
}
_RATE = regex.compile(
    r"(?:\b(?:per|every|each|once an?|twice an?)\s+|(?<=[\w%])/)"
    r"(?P<unit>second|sec|s|minute|min|hour|hr|h|day|night|morning|evening|week|month|quarter|year)\b"
    r"|\b(?P<unit>hourly|daily|nightly|weekly|monthly|quarterly|yearly|annually)\b",
    regex.IGNORECASE,
)
_RATE_WORD = regex.compile(r"[^\W\d_]+")
_RATES = {
    "sec": "second", "s": "second", "min": "minute", "m": "minute", "h": "hour", "hr": "hour",
    "hourly": "hour", "daily": "day", "d": "day", "nightly": "night", "nacht": "night",
    "weekly": "week", "monthly": "month", "quarterly": "quarter", "yearly": "year",
    "annually": "year", "annual": "year", "y": "year", "w": "week",
}  # fmt: skip
_SAME_UNIT = ({"m", "min", "metre", "million"}, {"b", "bit", "billion"}, {"g", "gb"}, {"d", "day"})


def missing_values(claim: str, material: Material) -> list[str]:
    said = [quantity for one in material.said for quantity in quantities(one.text)]
    spoken = frozenset().union(*(frozenset(map(fold, words(one.text))) for one in material.said))
    named = identifiers(claim)
    reasons = []
    for quantity in quantities(claim):
        shown = claim[quantity.start : quantity.end].strip()
        if any(shown in name for name in named):
            continue  # judged as part of the name
        if quantity.kind == "date":
            if not day_is_said(quantity.value, material.days):
                reasons.append(f"the date {shown} is not in the messages")
            continue
        same = [other for other in said if other.value == quantity.value]
        if not same:
            if not year_is_said(quantity.value, material.days):
                reasons.append(f"the number {shown} is not in the messages")
        elif not any(_units_agree(quantity, other, spoken) for other in same):
            reasons.append(f"{shown} has another unit in the messages")
    return reasons


def missing_rhythms(claim: str, material: Material) -> list[str]:
    """Days of the week and rates ("per minute", "every night") that nobody said."""
    said = " ".join(one.text for one in (*material.said, *material.around))
    days = {weekday for weekday, name in _WEEKDAYS.items() if name.search(said)}
    told = days_told(material.messages)
    days |= {date.fromisoformat(day).weekday() for day in told if _is_full(day)}
    reasons = [
        f"the messages do not say {match.group()}"
        for weekday, name in _WEEKDAYS.items()
        if weekday not in days and (match := name.search(claim))
    ]
    spoken = {_rate(word) for word in _RATE_WORD.findall(said.casefold())}
    for match in _RATE.finditer(claim):
        if _rate(match.group("unit").casefold()) not in spoken:
            reasons.append(f"the messages do not say {match.group().strip()}")
    return reasons


def _rate(word: str) -> str:
    singular = word.removesuffix("s")
    return _RATES.get(word) or _RATES.get(singular) or singular


def _is_full(day: str) -> bool:
    return len(day) == len("2024-03-05") and day[0].isdigit() and "?" not in day


def _units_agree(claimed: Quantity, said: Quantity, spoken: frozenset[str]) -> bool:
    if claimed.unit == said.unit or not claimed.unit:
        return True
    if not said.unit:
        return claimed.unit != "%" and bool(
            {claimed.unit, fold(claimed.unit)} & spoken
            or any(word.startswith(claimed.unit) for word in spoken if len(claimed.unit) > 2)
        )
    return any(claimed.unit in group and said.unit in group for group in _SAME_UNIT)


def missing_names(claim: str, material: Material) -> list[str]:
    text = " ".join([*(one.text for one in material.said), material.beside]).casefold()
    known = {fold(word) for word in words(text)}
    reasons = [
        f"the messages do not name {name}"
        for name in sorted(identifiers(claim))
        if not _stands(name.casefold(), text)
    ]
    judged = {word.casefold() for name in identifiers(claim) for word in words(name)}
    for name in sorted(proper_nouns(claim) | _opening_names(claim)):
        folded = name.casefold()
        if folded in judged or fold(name) in FRAME:
            continue
        if fold(name) not in known and not _stands(folded, text):
            reasons.append(f"the messages do not name {name}")
    return reasons


def _opening_names(claim: str) -> frozenset[str]:
    """Words that open a sentence and may be a name, since grammar alone explains their capital."""
    found: set[str] = set()
    if is_german(claim):
        return frozenset()
    for start, end in sentences(claim):
        opening = words(claim[start:end])[:1]
        for word in opening:
            plain = word.casefold().removesuffix("'s").removesuffix("’s")
            if (
                word[0].isupper()
                and content_words(plain)
                and plain not in _COMMON_OPENERS
                and fold(plain) not in FRAME
                and not plain.endswith(_DERIVED)
            ):
                found.add(word.removesuffix("'s").removesuffix("’s"))
    return frozenset(found)


def _stands(name: str, text: str) -> bool:
    bare = name.removesuffix("()").strip("/")
    if not bare:
        return True
    pattern = r"\s+".join(regex.escape(part) for part in bare.split())
    return (
        regex.search(rf"(?<![\p{{Latin}}\p{{N}}_]){pattern}(?![\p{{Latin}}\p{{N}}_])", text)
        is not None
    )
