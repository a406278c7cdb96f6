"""Every number, date, unit, identifier and name of a claim must have been said."""

from __future__ import annotations

from datetime import date

import regex

from pipeline.late import late
from pipeline.support.calendar import MONTHS, WEEKDAYS, named
from pipeline.support.dating import day_is_said, days_told, year_is_said
from pipeline.support.material import FRAME, Material, inflected, matches, once
from pipeline.support.saying import ALTERNATIVE
from pipeline.text import (
    Quantity,
    content_words,
    fold,
    identifiers,
    is_caseless,
    is_german,
    proper_nouns,
    quantities,
    sentences,
    words,
)
from pipeline.text.lists import word_set
from pipeline.text.semitic import is_semitic

_NOUN = late(r"(?<![\p{L}\p{N}_.`/])\p{Lu}\p{Ll}[\p{L}\p{M}]*")
_COMMON_OPENERS = word_set(
    """
    according additionally after all although an another any as at because before both by currently
    during each every for from he her his if in instead it its later many most new no none nothing
    on one only open our previously several she since some that the their there these they this
    those to today until use using when whenever where whether while with without work you
    """
)
_DERIVED = ("ing", "ly", "ment", "tion", "sion", "ness", "ity", "ance", "ence", "ed")
_RATE = late(
    r"(?:\b(?:per|every|each|once an?|twice an?)\s+|(?<=[\w%])/)"
    r"(?P<unit>second|sec|s|minute|min|hour|hr|h|day|night|morning|evening|week|month|quarter|year)\b"
    r"|\b(?P<unit>hourly|daily|nightly|weekly|monthly|quarterly|yearly|annually)\b",
    regex.IGNORECASE,
)
_LATIN_RUN = late(r"[A-Za-z][\w'’-]*(?:[ ]+[A-Za-z][\w'’-]*)*", regex.ASCII)
_NAME_WORDS = 3  # words of the longest name in Latin letters
_MEASURED = late(r"[ \u00a0-](?P<noun>\p{Ll}[\p{L}\p{M}]+)")
_RATE_WORD = late(r"[^\W\d_]+")
_RATES = {
    "sec": "second", "s": "second", "min": "minute", "m": "minute", "h": "hour", "hr": "hour",
    "hourly": "hour", "daily": "day", "d": "day", "nightly": "night", "nacht": "night",
    "weekly": "week", "monthly": "month", "quarterly": "quarter", "yearly": "year",
    "annually": "year", "annual": "year", "y": "year", "w": "week",
}  # fmt: skip
_GROUPED = late(r"[1-9]\d{0,2}(?:\.\d{3})+")
_SIZES: dict[str, dict[str, float]] = {
    "time": {"ms": 0.001, "s": 1, "min": 60, "h": 3600, "d": 86_400, "week": 604_800},
    "length": {
        "mm": 1, "cm": 10, "metre": 1000, "km": 1_000_000, "inch": 25.4, "ft": 304.8,
        "yard": 914.4, "mile": 1_609_344,
    },
    "mass": {"mg": 0.001, "g": 1, "kg": 1000, "t": 1e6},
    "volume": {"ml": 1, "cl": 10, "dl": 100, "l": 1000},
    "bytes": {"b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12},
}  # fmt: skip
_SAME_UNIT = (
    {"°c", "degree"},
    {"°f", "degree"},
    {"m", "min", "metre", "million"},
    {"b", "bit", "billion"},
    {"g", "gb"},
    {"d", "day"},
    {"pound", "lb"},
    {"pound", "gbp"},
)


def missing_values(claim: str, material: Material) -> list[str]:
    said = [quantity for one in material.said for quantity in quantities(one.text)]
    spoken = frozenset().union(*(frozenset(map(fold, words(one.text))) for one in material.said))
    spoken |= {quantity.unit for quantity in said}  # "84 kg, and 91 before"
    named = identifiers(claim)
    heard = material.heard()
    reasons = []
    for quantity in quantities(claim):
        shown = claim[quantity.start : quantity.end].strip()
        if any(shown in name for name in named):
            continue  # judged as part of the name
        if quantity.kind == "date":
            # a month is the month of many a day, so only that of the thing itself counts
            days = material.near if len(quantity.value) == len("2024-03") else material.days
            if not day_is_said(quantity.value, days):
                reasons.append(f"the date {shown} is not in the messages")
            continue
        same = [other for other in said if spellings(other.value) & spellings(quantity.value)]
        amount = _amount(quantity)
        if amount and any(_amount(other) == amount for other in said):
            continue  # 24 hours and 1 day
        if not same:
            if not year_is_said(quantity.value, material.days):
                reasons.append(f"the number {shown} is not in the messages")
        elif not any(_units_agree(quantity, other, spoken) for other in same) or (
            all(other.unit for other in same) and _measures_anew(claim, quantity, heard)
        ):
            reasons.append(f"{shown} has another unit in the messages")
    return reasons


def _measures_anew(claim: str, quantity: Quantity, heard: frozenset[str]) -> bool:
    """Whether the word right after a number without a unit is one nobody said: it measures it.

    No table has every unit, so the "600 firkins" of "600 litres" is told by the stranger.
    """
    after = _MEASURED.match(claim, quantity.end)
    if quantity.unit or quantity.kind != "number" or not after:
        return False
    return any(
        stem not in FRAME and not matches(stem, heard) for stem in content_words(after["noun"])
    )


def spellings(value: str) -> frozenset[str]:
    """1.150 is 1150 to many; only the text around it tells, and a claim may have too little."""
    grouped = _GROUPED.fullmatch(value)
    return frozenset({value, value.replace(".", "")} if grouped else {value})


def _amount(quantity: Quantity) -> tuple[str, float] | None:
    """Dimension and size in its smallest unit, of what can be converted."""
    for dimension, sizes in _SIZES.items():
        if quantity.unit in sizes and quantity.kind == "number":
            return dimension, round(float(quantity.value) * sizes[quantity.unit], 6)
    return None


def missing_rhythms(claim: str, material: Material) -> list[str]:
    """Days of the week and rates ("per minute", "every night") that nobody said."""
    claimed = [list(named(patterns, claim)) for patterns in (WEEKDAYS, MONTHS)]
    rates = list(_RATE.finditer(claim))
    if not any((*claimed, rates)):
        return []
    said = " ".join(one.text for one in (*material.said, *material.around))
    told = days_told(material.messages)
    days = {weekday for weekday, _ in named(WEEKDAYS, said)}
    days |= {date.fromisoformat(day).weekday() for day in told if _is_full(day)}
    months = {month for month, _ in named(MONTHS, said)}
    months |= {int(day[5:7]) for day in (*told, *material.days) if day[5:7].isdigit()}
    months |= {int(day[2:4]) for day in told if day.startswith("--")}
    reasons = [
        f"the messages do not say {word}"
        for known, names in zip((days, months), claimed, strict=True)
        for number, word in names
        if number not in known
    ]
    spoken = {_rate(word) for word in _RATE_WORD.findall(said.casefold())}
    for match in rates:
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
    asked = (clause for one in material.around for clause in one.clauses)
    # what a question offers to choose from is not chosen by asking
    settled = [clause.text for clause in asked if not ALTERNATIVE.search(clause.text)]
    text = " ".join([*(one.text for one in material.said), *settled, material.beside]).casefold()
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
    reasons += [f"the messages do not name {name}" for name in _unmarked_names(claim, material)]
    return once(reasons)


def _unmarked_names(claim: str, material: Material) -> list[str]:
    """Words nobody said where capitals do not tell names: German nouns, scripts without case.

    Any of them may be a name in the place of another, so none is let through.
    """
    said = material.heard()
    german = is_german(claim)
    for quantity in reversed(quantities(claim)):
        claim = f"{claim[: quantity.start]} {claim[quantity.end :]}"
    if german:
        nouns = (match.group() for match in _NOUN.finditer(claim))
        return [
            noun
            for noun in nouns
            if content_words(f"{noun} der die")
            and fold(noun) not in FRAME
            and not any(inflected(fold(noun), stem) for stem in said)
        ]
    if not is_caseless(claim):
        return []
    found = _latin_names(claim, said)
    heard = "".join(said)
    for stem in content_words(claim):
        if stem in FRAME or stem.isascii() or matches(stem, said):
            continue
        if is_semitic(stem) or len(stem) > 2 or not set(stem) & set(heard):
            found.append(stem)
    return found


def _latin_names(claim: str, said: frozenset[str]) -> list[str]:
    """Latin words in a script without capitals: names of things, to be said like any name.

    A run of them is a quotation or a sentence in another language, judged by its words.
    """
    runs = (match.group() for match in _LATIN_RUN.finditer(claim))
    return [
        word
        for run in runs
        if len(run.split()) <= _NAME_WORDS
        for word in words(run)
        for stem in content_words(word)
        if stem not in FRAME and len(stem) > 1 and not matches(stem, said)
    ]


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
