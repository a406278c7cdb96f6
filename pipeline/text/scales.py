"""What counts and measures are called: units, months, number words, Han numerals."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from pipeline.text.tongues import TONGUES

_MONTH_NAMES = (
    "january jan janv ene", "february feb févr", "march mar", "april apr avr abr", "may",
    "june jun", "july jul juil", "august aug ago", "september sep sept", "october oct okt",
    "november nov", "december dec dez déc dic",
)  # fmt: skip


def _months() -> Iterator[tuple[str, int]]:
    for number, names in enumerate(_MONTH_NAMES, 1):
        yield from ((name, number) for name in names.split())
    for tongue in TONGUES:
        if tongue.spaced:
            for number, names in enumerate(tongue.months, 1):
                yield from ((name, number) for name in names.split("|"))


MONTHS = dict(_months())
"""Casefolded name → 1..12, in every language that has names for months."""

_ENGLISH_UNITS = {
    "ns": "ns nanosecond nanoseconds",
    "us": "us µs μs microsecond microseconds",
    "ms": "ms msec millisecond milliseconds",
    "s": "s sec secs second seconds",
    "min": "min mins minute minutes",
    "h": "h hr hrs hour hours",
    "d": "d day days",
    "week": "w wk wks week weeks",
    "month": "month months",
    "year": "y yr yrs year years",
    "night": "night nights",
    "b": "byte bytes", "kb": "kb kilobyte kilobytes", "mb": "mb megabyte megabytes",
    "gb": "gb gigabyte gigabytes", "tb": "tb terabyte terabytes", "kib": "kib", "mib": "mib",
    "gib": "gib", "tib": "tib", "bit": "bit bits", "kbps": "kbps kbit/s", "mbps": "mbps mbit/s",
    "gbps": "gbps gbit/s", "hz": "hz", "khz": "khz", "mhz": "mhz", "ghz": "ghz", "px": "px",
    "fps": "fps", "rpm": "rpm", "dpi": "dpi", "kwh": "kwh", "w": "watt watts", "kw": "kw",
    "mw": "megawatt megawatts",
    "v": "volt volts", "mm": "mm", "cm": "cm",
    "km": "km kilometer kilometers kilometre kilometres",
    "metre": "meter meters metre metres", "mile": "mile miles mi", "ft": "ft feet foot",
    "inch": "inch inches",
    "mg": "mg milligram milligrams",
    "g": "g gram grams", "kg": "kg kilo kilos kilogram kilograms",
    "lb": "lb lbs pound pounds", "l": "litre litres liter liters",
    "ml": "ml",
    "cl": "cl", "dl": "dl", "t": "tonne tonnes", "kcal": "kcal",
    "mah": "mah", "wh": "wh", "mwh": "mwh", "bar": "bar", "psi": "psi",
    "°c": "°c celsius", "°f": "°f fahrenheit", "degree": "° degree degrees",
    "million": "million millions", "billion": "billion",
    "usd": "$ usd dollar dollars", "eur": "€ eur euro euros", "gbp": "£ gbp", "jpy": "¥ yen",
    "chf": "chf", "token": "tok token tokens", "m": "m", "x": "x ×",
}  # fmt: skip


def _units() -> Iterator[tuple[str, str]]:
    for table in (*(tongue.units for tongue in TONGUES), _ENGLISH_UNITS):
        for unit, spellings in table.items():
            yield from ((spelling, unit) for spelling in spellings.split())


UNITS = dict(_units())
"""Casefolded spelling → canonical unit."""

NUMBER_WORDS = {
    "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8",
    "nine": "9", "ten": "10", "eleven": "11", "twelve": "12",
    **{word: value for tongue in TONGUES for word, value in tongue.number_words.items()},
}  # fmt: skip
"""Casefolded number word → digits."""

_DIGITS = ("〇零", "一", "二两兩", "三", "四", "五", "六", "七", "八", "九")
_ONES = {char: number for number, chars in enumerate(_DIGITS) for char in chars}
_TENS = {"十": 10, "百": 100, "千": 1000}
_MYRIADS = {"万": 10**4, "萬": 10**4, "億": 10**8, "亿": 10**8, "兆": 10**12}
_PIECE = regex.compile(r"\d[\d,]*(?:\.\d+)?|\D")

HAN_NUMERAL = "".join((*_ONES, *_TENS, *_MYRIADS))
"""The characters a Han numeral is written with."""


def han_number(text: str) -> str:
    """The digits of a Han numeral, plain or mixed with digits: 3億2千万 → "320000000"."""
    total = section = 0.0
    current: float | None = None
    for piece in _PIECE.findall(text):
        if piece in _TENS:
            section += (1 if current is None else current) * _TENS[piece]
            current = None
        elif piece in _MYRIADS:
            total += (section + (current or 0) or 1) * _MYRIADS[piece]
            section, current = 0.0, None
        else:
            digit = _ONES.get(piece)
            value = float(piece.replace(",", "")) if digit is None else float(digit)
            current = value if current is None or digit is None else current * 10 + value
    number = total + section + (current or 0)
    return str(int(number)) if number.is_integer() else str(number)
