"""Numbers, dates, times and versions, in one spelling each.

1,000 / 1 000 / 1_000 / 1k → "1000"      8m → "8 m"      8 MB → "8 mb"     40 percent → "40%"
5 March 2024 / March 5, 2024 / 2024年3月5日 → "2024-03-05"       5 March → "--03-05"
March 2024 → "2024-03"      2:30 pm → "14:30"      v1.2.3 → "1.2.3"      twelve → "12"
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

import regex

_MONTH_NAMES = (
    "january jan januar jänner janvier enero ene",
    "february feb februar février fevrier febrero",
    "march mar märz mars marzo",
    "april apr avril abril abr",
    "may mai mayo",
    "june jun juni juin junio",
    "july jul juli juillet julio",
    "august aug août aout agosto ago",
    "september sep sept septembre septiembre",
    "october oct oktober okt octobre octubre",
    "november nov novembre noviembre",
    "december dec dezember dez décembre decembre diciembre dic",
)
_MONTHS = {name: n for n, names in enumerate(_MONTH_NAMES, 1) for name in names.split()}
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))

_UNITS = {
    spelling: unit
    for unit, spellings in {
        "ns": "ns nanosecond nanoseconds",
        "us": "us µs μs microsecond microseconds",
        "ms": "ms msec millisecond milliseconds millisekunden",
        "s": "s sec secs second seconds sekunde sekunden seconde secondes segundo segundos 秒",
        "min": "min mins minute minutes minuten minuto minutos 分 分钟 分鐘 分間 دقيقة دقائق",
        "h": "h hr hrs hour hours stunde stunden heure heures hora horas 小时 小時 時間 ساعة ساعات",
        "d": "d day days tag tage tagen jour jours día días dias 天 日間 يوم أيام",
        "week": "w wk wks week weeks woche wochen semaine semaines semana semanas 周 週間",
        "month": "month months monat monate monaten mois mes meses 个月 個月 ヶ月",
        "year": "y yr yrs year years jahr jahre jahren an ans année années año años 年間",
        "b": "byte bytes", "kb": "kb kilobyte kilobytes", "mb": "mb megabyte megabytes",
        "gb": "gb gigabyte gigabytes", "tb": "tb terabyte terabytes", "kib": "kib", "mib": "mib",
        "gib": "gib", "tib": "tib", "bit": "bit bits", "kbps": "kbps kbit/s", "mbps": "mbps mbit/s",
        "gbps": "gbps gbit/s", "hz": "hz", "khz": "khz", "mhz": "mhz", "ghz": "ghz", "px": "px",
        "fps": "fps", "rpm": "rpm", "dpi": "dpi", "kwh": "kwh", "w": "watt watts", "kw": "kw",
        "v": "volt volts", "mm": "mm", "cm": "cm",
        "km": "km kilometer kilometers kilometre kilometres",
        "metre": "meter meters metre metres", "mile": "mile miles mi", "ft": "ft feet foot",
        "inch": "inch inches", "g": "g gram grams", "kg": "kg kilo kilos kilogram kilograms",
        "lb": "lb lbs pound pounds", "l": "litre litres liter liters", "ml": "ml",
        "°c": "°c celsius", "°f": "°f fahrenheit",
        "million": "million millions", "billion": "billion",
        "usd": "$ usd dollar dollars", "eur": "€ eur euro euros", "gbp": "£ gbp", "jpy": "¥ yen",
        "token": "tok token tokens", "m": "m", "x": "x ×",
    }.items()
    for spelling in spellings.split()
}  # fmt: skip
# One letter alone is a unit only right after the digits: "3 d" may be anything.
_UNIT = "|".join(
    regex.escape(unit) if len(unit) > 1 or not unit.isascii() else rf"(?<=\d){regex.escape(unit)}"
    for unit in sorted(_UNITS, key=len, reverse=True)
)

_NUMBER_WORDS = {
    "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8",
    "nine": "9", "ten": "10", "eleven": "11", "twelve": "12",
}  # fmt: skip

# Not inside a word, an identifier or a longer number.
_LEFT = r"(?<![\p{Latin}\p{Cyrillic}\p{N}_])(?<!\d\.)"
_RIGHT = r"(?![\p{Latin}\p{Cyrillic}\p{N}_]|[.,:]\d)"
_PATTERN = regex.compile(
    rf"""
      {_LEFT}(?P<iy>(?:19|20)\d\d)[-/.](?P<im>0?[1-9]|1[0-2])[-/.](?P<id>0?[1-9]|[12]\d|3[01])(?!\d)
    | {_LEFT}(?P<dd>0?[1-9]|[12]\d|3[01])\.(?P<dm>0?[1-9]|1[0-2])\.(?P<dy>(?:19|20)\d\d){_RIGHT}
    | {_LEFT}(?:(?P<jy>(?:19|20)\d\d)年)?(?P<jm>0?[1-9]|1[0-2])月(?P<jd>0?[1-9]|[12]\d|3[01])日
    | {_LEFT}(?P<ed>0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th|\.|er)?[ ](?:of[ ]|de[ ])?(?P<em>{_MONTH})\b
        \.?(?:,?[ ](?:de[ ])?(?P<ey>(?:19|20)\d\d)\b)?
    | \b(?P<am>{_MONTH})\b\.?[ ](?P<ad>0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?{_RIGHT}
        (?:,?[ ](?P<ay>(?:19|20)\d\d)\b)?
    | \b(?P<mm>{_MONTH})\b\.?,?[ ](?P<my>(?:19|20)\d\d)\b
    | {_LEFT}(?P<yy>(?:19|20)\d\d)-(?P<ym>0[1-9]|1[0-2])(?![\p{{L}}\p{{N}}_-])
    | (?:{_LEFT}|(?<=\dT))(?P<th>[01]?\d|2[0-3]):(?P<tm>[0-5]\d)(?::(?P<ts>[0-5]\d)(?:\.\d+)?)?
        (?:[ ]?(?P<tp>[ap])\.?m\b\.?)?(?![\d:])
    | {_LEFT}(?P<ph>1[0-2]|0?[1-9])[ ]?(?P<pp>[ap])\.?m\b\.?
    | (?:(?<![\p{{L}}\p{{N}}_])v(?:ersion[ ])?|{_LEFT})
      (?P<version>\d+(?:\.\d+){{2,}}(?:-?(?:alpha|beta|rc|dev|post)[.\d]*)?)
      (?![\p{{Latin}}\p{{N}}_]|\.\d)
    | (?<![\p{{L}}\p{{N}}_])v(?P<short>\d+(?:\.\d+)?){_RIGHT}
    | (?P<money>[$€£¥])?{_LEFT}
      (?P<value>\d{{1,3}}(?:[,_\u00a0\u202f']\d{{3}})+(?:\.\d+)?|\d+(?:[.,]\d+)?)
      (?:(?P<kilo>k)(?![\p{{L}}\p{{N}}_])|(?P<percent>[ ]?(?:%|percent\b|per[ ]cent\b|prozent\b))
         |(?:st|nd|rd|th)\b|[ \u00a0\u202f-]?(?P<unit>{_UNIT})(?![\p{{Latin}}\p{{N}}_]))?
      (?![\p{{Latin}}\p{{Cyrillic}}\p{{N}}_])
    | \b(?P<word>{"|".join(_NUMBER_WORDS)})\b(?:[ -](?P<wunit>{_UNIT})(?![\p{{Latin}}\p{{N}}_]))?
    """,
    regex.VERBOSE | regex.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number as it stands in a text: text[start:end].

    value: normalised digits, an ISO date ("2024-03-05", "2024-03", "--03-05"), a time ("14:30") or
    a version. unit: its canonical unit, "%" for percentages, "" without one.
    kind: "number", "date", "time" or "version".
    """

    value: str
    unit: str
    kind: str
    start: int
    end: int

    def __str__(self) -> str:
        if self.unit == "%":
            return f"{self.value}%"
        return f"{self.value} {self.unit}" if self.unit else self.value


@lru_cache(maxsize=4096)
def quantities(text: str) -> tuple[Quantity, ...]:
    """Every number, date, time and version of `text`, in order.

    A date that cannot be (31 February) is read as plain numbers' digits, never corrected.
    """
    found = []
    for match in _PATTERN.finditer(_ascii_digits(text)):
        value, unit, kind = _read(match)
        found.append(Quantity(value, unit, kind, match.start(), match.end()))
    return tuple(found)


def numbers(text: str) -> frozenset[str]:
    """The numbers of `text`, one spelling each: two texts that agree on them give equal sets."""
    return frozenset(str(quantity) for quantity in quantities(text))


def _read(match: regex.Match[str]) -> tuple[str, str, str]:
    part = match.groupdict()
    for prefix in "idjea":
        if part.get(f"{prefix}d"):
            month = part[f"{prefix}m"].casefold()
            number = _MONTHS.get(month) or int(month)
            return _date(part[f"{prefix}y"], number, int(part[f"{prefix}d"])), "", "date"
    if part["mm"]:
        return f"{part['my']}-{_MONTHS[part['mm'].casefold()]:02d}", "", "date"
    if part["yy"]:
        return f"{part['yy']}-{part['ym']}", "", "date"
    if part["th"] or part["ph"]:
        hour = int(part["th"] or part["ph"])
        half = (part["tp"] or part["pp"] or "").casefold()
        hour = hour % 12 + (12 if half == "p" else 0) if half else hour
        seconds = f":{part['ts']}" if part["ts"] and part["ts"] != "00" else ""
        return f"{hour:02d}:{part['tm'] or '00'}{seconds}", "", "time"
    if part["version"] or part["short"]:
        return (part["version"] or part["short"]).casefold(), "", "version"
    if part["word"]:
        unit = _UNITS[part["wunit"].casefold()] if part["wunit"] else ""
        return _NUMBER_WORDS[part["word"].casefold()], unit, "number"
    return _plain_number(part)


def _plain_number(part: dict[str, str | None]) -> tuple[str, str, str]:
    value = regex.sub(r"[_\u00a0\u202f']", "", part["value"] or "")
    value = regex.sub(r",(?=\d{3}(?:,|\.|$))", "", value).replace(",", ".")
    value = regex.sub(r"^0+(?=\d)", "", value) if "." not in value else value
    if part["kilo"]:
        value = _thousands(value)
    if part["percent"]:
        return value, "%", "number"
    spelling = (part["unit"] or part["money"] or "").casefold()
    return value, _UNITS.get(spelling, spelling), "number"


def _thousands(value: str) -> str:
    whole, _, fraction = value.partition(".")
    return str(int(whole + (fraction + "000")[:3])) if len(fraction) <= 3 else f"{value}k"


def _date(year: str | None, month: int, day: int) -> str:
    try:
        date(int(year or 2000), month, day)
    except ValueError:
        return f"{year or '-'}-{month}-{day}?"
    return f"{int(year):04d}-{month:02d}-{day:02d}" if year else f"--{month:02d}-{day:02d}"


def _ascii_digits(text: str) -> str:
    """Digits of any script and full-width signs as ASCII, length kept so that spans stay true."""
    if text.isascii():
        return text
    return "".join(_ascii_digit(char) for char in text)


def _ascii_digit(char: str) -> str:
    if char.isascii():
        return char
    if char.isdecimal():
        return str(unicodedata.decimal(char))
    return {"％": "%", "．": ".", "，": ",", "：": ":", "٪": "%", "٫": ".", "٬": ","}.get(
        char, char
    )
