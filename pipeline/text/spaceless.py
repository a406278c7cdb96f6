"""Content of runs without spaces: what a Han or Kana run is about, and whether it denies."""

from __future__ import annotations

from functools import lru_cache

import regex

from pipeline.late import late
from pipeline.text.telling import is_japanese
from pipeline.text.tongues import TONGUES
from pipeline.text.tongues.chinese import CHINESE
from pipeline.text.tongues.japanese import JAPANESE

_SCRIPT_RUN = late(
    r"(?P<kanji>[\p{Han}々〆]+)|(?P<katakana>[\p{Katakana}ー]+)|(?P<hiragana>\p{Hiragana}+)"
    r"|\p{Bopomofo}+"
)
_LONGEST = max(len(word) for word in JAPANESE.stop_words)
_LEAST_KANA = 3  # shorter leftovers are endings of verbs, not words
_CHINESE_STOP = late(
    "|".join(
        sorted(
            map(regex.escape, (*CHINESE.stop_words, "没有", "沒有", *CHINESE.negation_parts)),
            key=len,
            reverse=True,
        )
    )
)
_NEGATION = {
    tongue.name: (
        late("|".join(map(regex.escape, tongue.negation_parts))),
        late(tongue.not_negations or r"(?!)"),
    )
    for tongue in TONGUES
    if tongue.negation_parts
}


@lru_cache(maxsize=20_000)
def content_of(run: str) -> tuple[str, ...]:
    """Pairs of Han characters that stand together, Katakana words, and Hiragana that is no grammar.

    A single Han character between Kana is a verb's or a noun's root and stands alone.
    """
    if not is_japanese(run):
        return tuple(pair for part in _CHINESE_STOP.split(run) for pair in _pairs(part)) or _pairs(
            run
        )
    found: list[str] = []
    for match in _SCRIPT_RUN.finditer(run):
        if match.group("kanji"):
            found += _pairs(match.group())
        elif match.group("hiragana"):
            found += _uncommon(match.group())
        elif len(match.group()) > 1:
            found.append(match.group())
    return tuple(found)


def denial(run: str) -> tuple[int, str] | None:
    """Where a run's last negation begins, and how far it reaches: "after" it or its "clause"."""
    tongue = JAPANESE if is_japanese(run) else CHINESE
    parts, lookalikes = _NEGATION[tongue.name]
    plain = lookalikes.sub(lambda match: "＿" * len(match.group()), run)
    found = None
    for found in parts.finditer(plain):  # noqa: B007
        pass
    return (found.start(), tongue.denies) if found else None


def _pairs(run: str) -> tuple[str, ...]:
    if not run:
        return ()
    return tuple(run[i : i + 2] for i in range(max(1, len(run) - 1)))


def _uncommon(run: str) -> list[str]:
    """What is left of a Hiragana run once particles and endings are taken out, longest first."""
    left: list[str] = []
    at = begin = 0
    while at < len(run):
        size = next(
            (n for n in range(min(_LONGEST, len(run) - at), 0, -1)
             if run[at : at + n] in JAPANESE.stop_words),
            0,
        )  # fmt: skip
        if not size:
            at += 1
            continue
        left.append(run[begin:at])
        at += size
        begin = at
    return [part for part in (*left, run[begin:]) if len(part) >= _LEAST_KANA]
