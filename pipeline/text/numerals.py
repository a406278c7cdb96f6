"""Numbers, dates, times and versions, in one spelling each.

1,000 / 1 000 / 1_000 / 1k → "1000"      8m → "8 m"      8 MB → "8 mb"     40 percent → "40%"
5 March 2024 / March 5, 2024 / 2024年3月5日 → "2024-03-05"       5 March → "--03-05"
March 2024 → "2024-03"      3月 → "--03"      2:30 pm → "14:30"      v1.2.3 → "1.2.3"
twelve → "12"      thirty-five / fünfunddreißig / 三十五天 → "35"
3億2千万 → "320000000"      ٤٥٠ → "450"      1.150 Euro and 4,2 kW in German → "1150 eur", "4.2 kw"
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

import regex

from pipeline.late import late
from pipeline.text.scales import HAN_NUMERAL, MONTHS, NUMBER_WORDS, UNITS, han_number
from pipeline.text.telling import is_german

_MONTH = "|".join(regex.escape(name) for name in sorted(MONTHS, key=len, reverse=True))
# One letter alone is a unit right after the digits; after a blank only those that are no words of
# any language and stand for a measure nearly always ("5 y 6" is Spanish for five and six).
_AFTER_BLANK = r"(?<=\d[ \u00a0\u202f])(?-i:[dghlms]|[LVW])(?!['’])"
_UNIT = "|".join(
    [
        *(
            regex.escape(unit)
            if len(unit) > 1 or not unit.isascii() or unit in "$"
            else rf"(?<=\d){regex.escape(unit)}"
            for unit in sorted(UNITS, key=len, reverse=True)
        ),
        _AFTER_BLANK,
    ]
)
_UNIT_ENDS = r"(?![\p{Latin}\p{N}_]|(?<=[\p{Arabic}\p{Hebrew}])[\p{Arabic}\p{Hebrew}\p{M}])"
# A Han numeral by itself is a number only before what it counts: 三泊, but 一緒 and 三菱 are words.
_COUNTED = (
    "[泊日週周年時时分秒円元天人名個个つ回次件本枚台冊倍度歳岁階层社行章条页頁種种項项位家月ヶか"
    "小毫公克升米张張块塊座只支瓶杯袋箱辆篇段盒匹]"
)

# Not inside a word, an identifier or a longer number.
_LEFT = r"(?<![\p{Latin}\p{Cyrillic}\p{N}_])(?<!\d\.)"
_RIGHT = r"(?![\p{Latin}\p{Cyrillic}\p{N}_]|[.,:]\d)"
_PATTERN = late(
    rf"""
      {_LEFT}(?P<iy>(?:19|20)\d\d)[-/.](?P<im>0?[1-9]|1[0-2])[-/.](?P<id>0?[1-9]|[12]\d|3[01])(?!\d)
    | {_LEFT}(?P<dd>0?[1-9]|[12]\d|3[01])\.(?P<dm>0?[1-9]|1[0-2])\.(?P<dy>(?:19|20)\d\d){_RIGHT}
    | {_LEFT}(?:(?P<jy>(?:19|20)\d\d)年)?(?P<jm>0?[1-9]|1[0-2])月
        (?P<jd>0?[1-9]|[12]\d|3[01])[日号號]
    | {_LEFT}(?P<cy>(?:19|20)\d\d)年(?P<cm>0?[1-9]|1[0-2])月
    | {_LEFT}(?P<bm>0?[1-9]|1[0-2])月
    | {_LEFT}(?P<ed>0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th|\.|er)?[ ]
        (?:of[ ]|de[ ]|من[ ])?[בל]?(?P<em>{_MONTH})\b
        \.?(?:,?[ ](?:de[ ])?(?P<ey>(?:19|20)\d\d)\b)?
    | \b(?P<am>{_MONTH})\b\.?[ ](?P<ad>0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?{_RIGHT}
        (?:,?[ ](?P<ay>(?:19|20)\d\d)\b)?
    | \b(?P<mm>{_MONTH})\b\.?,?[ ](?P<my>(?:19|20)\d\d)\b
    | {_LEFT}(?P<yy>(?:19|20)\d\d)-(?P<ym>0[1-9]|1[0-2])(?![\p{{L}}\p{{N}}_-])
    | (?:{_LEFT}|(?<=\dT))(?P<th>[01]?\d|2[0-3]):(?P<tm>[0-5]\d)(?::(?P<ts>[0-5]\d)(?:\.\d+)?)?
        (?:[ ]?(?P<tp>[ap])\.?m\b\.?)?(?:[ ]uhr\b)?(?![\d:])
    | {_LEFT}(?P<uh>[01]?\d|2[0-3])(?:\.(?P<um>[0-5]\d))?[ ]uhr\b
    | (?P<kp>午前|午後|上午|下午)?{_LEFT}(?P<kh>[01]?\d|2[0-3])[時时点點](?![間间])
        (?:(?P<km>[0-5]?\d)分|(?P<half>半))?
    | {_LEFT}(?P<ph>1[0-2]|0?[1-9])[ ]?(?P<pp>[ap])\.?m\b\.?
    | {_LEFT}(?P<grouped>\d{{1,3}}(?:\.\d{{3}}){{2,}}(?:,\d+)?|\d{{1,3}}\.\d{{3}},\d+)
      (?:[ \u00a0\u202f-]?(?P<gunit>{_UNIT}){_UNIT_ENDS})?{_RIGHT}
    | (?:(?<![\p{{L}}\p{{N}}_])v(?:ersion[ ])?|{_LEFT})
      (?P<version>\d+(?:\.\d+){{2,}}(?:-?(?:alpha|beta|rc|dev|post)[.\d]*)?)
      (?![\p{{Latin}}\p{{N}}_]|\.\d)
    | (?<![\p{{L}}\p{{N}}_])v(?P<short>\d+(?:\.\d+)?){_RIGHT}
    | {_LEFT}(?!十分)
      (?P<han>\d[\d,]*(?:\.\d+)?[十百千万萬億亿兆](?:[\d,]*[{HAN_NUMERAL}])*\d*
        |[{HAN_NUMERAL}]*[十百][{HAN_NUMERAL}]+|[{HAN_NUMERAL}]+[十百千万萬億亿](?={_COUNTED})
        |[二三四五六七八九十两兩](?={_COUNTED})|一(?=[泊日週年秒円元天]))
      (?P<hunit>{_UNIT})?
    | (?P<money>[$€£¥])?{_LEFT}
      (?P<value>\d{{1,3}}(?:[,_\u00a0\u202f']\d{{3}})+(?:\.\d+)?|\d+(?:[.,]\d+)?)
      (?:(?P<kilo>k)(?![\p{{L}}\p{{N}}_])|(?P<percent>[ ]?(?:%|percent\b|per[ ]cent\b|prozent\b))
         |(?:st|nd|rd|th)\b|[ \u00a0\u202f-]?(?P<unit>{_UNIT}){_UNIT_ENDS})?
      (?![\p{{Latin}}\p{{Cyrillic}}\p{{N}}_])
    | \b(?P<word>\L<number_words>)\b
      (?:[ -](?P<wunit>{_UNIT}){_UNIT_ENDS})?
    """,
    regex.VERBOSE | regex.IGNORECASE,
    number_words=list(NUMBER_WORDS),
)
_GERMAN_THOUSANDS = late(r"[1-9]\d{0,2}\.\d{3}")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number as it stands in a text: text[start:end].

    value: normalised digits, an ISO date ("2024-03-05", "2024-03", "--03-05", "--03"), a time
    ("14:30") or a version. unit: its canonical unit, "%" for percentages, "" without one.
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
    german = is_german(text)
    for match in _PATTERN.finditer(_ascii_digits(text)):
        value, unit, kind = _read(match, german=german)
        found.append(Quantity(value, unit, kind, match.start(), match.end()))
    return tuple(found)


def numbers(text: str) -> frozenset[str]:
    """The numbers of `text`, one spelling each: two texts that agree on them give equal sets."""
    return frozenset(str(quantity) for quantity in quantities(text))


def _read(match: regex.Match[str], *, german: bool) -> tuple[str, str, str]:
    part = match.groupdict()
    for prefix in "idjea":
        if part.get(f"{prefix}d"):
            month = part[f"{prefix}m"].casefold()
            number = MONTHS.get(month) or int(month)
            return _date(part[f"{prefix}y"], number, int(part[f"{prefix}d"])), "", "date"
    if part["cy"]:
        return f"{part['cy']}-{int(part['cm']):02d}", "", "date"
    if part["bm"]:
        return f"--{int(part['bm']):02d}", "", "date"
    if part["mm"]:
        return f"{part['my']}-{MONTHS[part['mm'].casefold()]:02d}", "", "date"
    if part["yy"]:
        return f"{part['yy']}-{part['ym']}", "", "date"
    if part["th"] or part["ph"] or part["uh"] or part["kh"]:
        return _time(part), "", "time"
    if part["version"] or part["short"]:
        return (part["version"] or part["short"]).casefold(), "", "version"
    if part["word"]:
        return NUMBER_WORDS[part["word"].casefold()], _unit(part["wunit"]), "number"
    if part["han"]:
        return han_number(part["han"]), _unit(part["hunit"]), "number"
    if part["grouped"]:
        value = part["grouped"].replace(".", "").replace(",", ".")
        return value, _unit(part["gunit"]), "number"
    return _plain_number(part, german=german)


def _unit(spelling: str | None) -> str:
    if spelling == "W":
        return "w"  # a watt; small, it is a week
    return UNITS[spelling.casefold()] if spelling else ""


def _time(part: dict[str, str | None]) -> str:
    hour = int(part["th"] or part["ph"] or part["uh"] or part["kh"] or 0)
    half = {"午前": "a", "上午": "a", "午後": "p", "下午": "p"}.get(part["kp"] or "") or (
        part["tp"] or part["pp"] or ""
    )
    if half and hour <= 12:
        hour = hour % 12 + (12 if half.casefold() == "p" else 0)
    minutes = part["tm"] or part["um"] or part["km"] or ("30" if part["half"] else "00")
    seconds = f":{part['ts']}" if part["ts"] and part["ts"] != "00" else ""
    return f"{hour:02d}:{int(minutes):02d}{seconds}"


def _plain_number(part: dict[str, str | None], *, german: bool) -> tuple[str, str, str]:
    value = regex.sub(r"[_\u00a0\u202f']", "", part["value"] or "")
    if german:
        value = value.replace(".", "") if _GERMAN_THOUSANDS.fullmatch(value) else value
        value = value.replace(",", ".")
    else:
        value = regex.sub(r",(?=\d{3}(?:,|\.|$))", "", value).replace(",", ".")
    value = regex.sub(r"^0+(?=\d)", "", value) if "." not in value else value
    if part["kilo"]:
        value = _thousands(value)
    if part["percent"]:
        return value, "%", "number"
    return value, _unit(part["unit"] or part["money"]), "number"


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
