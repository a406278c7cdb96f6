"""What counts and measures are called: units, months, number words, Han numerals."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.late import late
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
    "v": "v volt volts", "mm": "mm millimetre millimetres millimeter millimeters",
    "cm": "cm centimetre centimetres centimeter centimeters",
    "km": "km kilometer kilometers kilometre kilometres",
    "metre": "meter meters metre metres", "mile": "mile miles mi", "ft": "ft feet foot",
    "inch": "inch inches", "yard": "yd yard yards", "acre": "acre acres",
    "ha": "ha hectare hectares",
    "gallon": "gal gallon gallons", "quart": "qt quart quarts", "pint": "pint pints",
    "cup": "cup cups", "tsp": "tsp teaspoon teaspoons", "tbsp": "tbsp tablespoon tablespoons",
    "oz": "oz ounce ounces", "mph": "mph", "kmh": "km/h kph kmh", "knot": "knots",
    "decade": "decade decades", "fortnight": "fortnight fortnights",
    "century": "century centuries",
    "amp": "amp amps ampere amperes", "ohm": "ohm ohms ω", "lumen": "lumen lumens lm",
    "kj": "kj kilojoule kilojoules", "kelvin": "kelvin", "db": "db decibel decibels",
    "mg": "mg milligram milligrams",
    "g": "g gram grams", "kg": "kg kilo kilos kilogram kilograms",
    "lb": "lb lbs", "pound": "pound pounds", "l": "l litre litres liter liters",
    "ml": "ml millilitre millilitres milliliter milliliters",
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

_UPTO_TEN = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_TEENS = (
    "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen",
    "eighteen", "nineteen",
)  # fmt: skip
_DECADES = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")


def _english_number_words() -> Iterator[tuple[str, str]]:
    # "one" alone is a pronoun, "a second one"
    yield from ((word, str(n)) for n, word in enumerate(_UPTO_TEN, 1) if n > 1)
    yield from ((word, str(n)) for n, word in enumerate(_TEENS, 10))
    for tens, decade in enumerate(_DECADES, 2):
        yield decade, str(10 * tens)
        for n, word in enumerate(_UPTO_TEN, 1):
            yield from ((f"{decade}{joint}{word}", str(10 * tens + n)) for joint in "- ")
    for n, word in enumerate(("a", *_UPTO_TEN[1:]), 1):
        yield f"{word} hundred", f"{n}00"
        yield f"{word} thousand", f"{n}000"
    yield from (("one hundred", "100"), ("one thousand", "1000"))


NUMBER_WORDS = {
    **dict(_english_number_words()),
    **{word: value for tongue in TONGUES for word, value in tongue.number_words.items()},
}  # fmt: skip
"""Casefolded number word → digits."""

_DIGITS = ("〇零", "一", "二两兩", "三", "四", "五", "六", "七", "八", "九")
_ONES = {char: number for number, chars in enumerate(_DIGITS) for char in chars}
_TENS = {"十": 10, "百": 100, "千": 1000}
_MYRIADS = {"万": 10**4, "萬": 10**4, "億": 10**8, "亿": 10**8, "兆": 10**12}
_PIECE = late(r"\d[\d,]*(?:\.\d+)?|\D")

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
