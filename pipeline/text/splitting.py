"""Where sentences begin and end, in prose with Markdown in it, in any script."""

from __future__ import annotations

from bisect import bisect_right

import regex

from pipeline.late import late
from pipeline.text.lists import word_set

# Inside these a full stop ends nothing: fenced code, inline code, link targets, bare addresses,
# wikilinks, file names and dotted names are all one word to a reader.
_PROTECTED = late(
    r"""
      ^[ \t]*(?P<fence>```+|~~~+)[^\n]*\n.*?(?:^[ \t]*(?P=fence)[`~]*[ \t]*$|\Z)
    | (?<!`)(?P<ticks>`++)(?:(?!\n[ \t]*\n).)+?(?<!`)(?P=ticks)(?!`)
    | \[\[[^\]\n]+\]\]
    | \]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?:[ ]"[^"\n]*")?\)
    | <[a-z][a-z0-9+.-]{0,20}:[^>\s]*>
    | (?<![a-z0-9+.-])(?:[a-z][a-z0-9+.-]{0,20}://|www\.|mailto:)(?:(?!\[\^)[^\s<>"'`])*
      (?:(?!\[\^)[^\s<>"'`.,;:!?)\]。，！？])
    """,
    regex.VERBOSE | regex.MULTILINE | regex.DOTALL | regex.IGNORECASE,
)
_FENCE_START = late(r"[ \t]*(?:```|~~~)[^`\n]*\n")

# Blocks: a blank line, or a line that opens a list item, heading, quote, table row or fence.
_HARD_BREAK = late(r"\n[ \t\r]*(?:\n\s*|(?=(?:[-*+]|\d{1,9}[.)])[ \t]|\#{1,6}[ \t]|>|\||```|~~~))")

_WIDE = "。！？｡．"
_END = late(
    r"""
    (?P<stop>[.!?…‥؟۔।॥።፧።։᠃᠉႞။។៕។๛]+|[。！？｡．!?…]+)
    (?P<close>(?:["'”’»›)\]}」』）】》〉〗］｝*~]|_+(?!\w))*)
    (?P<marks>(?:[ \t]*\[\^[^\]\s]{1,100}\](?!:))*)
    (?P<close_after>[)\]"”’»」』*]*)
    """,
    regex.VERBOSE,
)

_LAST_WORD = late(r"(?:[\p{L}\p{M}\p{N}]+\.)*[\p{L}\p{M}\p{N}]+\Z")
_LIST_NUMBER = late(r"[ \t]*\d{1,9}")
_INITIALS = late(r"\A(?:\p{L}\.)*\p{L}\Z")

# A full stop after these belongs to the word, whatever follows.
_ABBREVIATIONS = word_set(
    """
    dr mr mrs ms prof rev hon gen col sgt capt lt st mt fr sr.a
    e.g eg i.e ie cf vs viz al approx ca est fig figs eq eqs sec ch vol vols no nos nr pp p
    min max avg dept esp incl excl resp temp ver rev ref refs
    jan feb mar apr jun jul aug sep sept oct nov dec
    bzw z.b d.h u.a usw.a evtl ggf inkl vgl abb str hr fr nr bspw sog zzgl
    p.ex m mme mlle env av bd
    sr sra srta dra ud uds pág núm
    т.е т.к г ул им
    """
)
# After these it may end the sentence too: only a capitalised next word tells.
_MAYBE_END = word_set(
    "etc inc ltd co corp jr sr a.m p.m bros llc usw etc.pp u.s.w т.д т.п ph.d b.sc m.sc"
)
_STARTERS = word_set(
    """
    the a an this that these those it its he she we they you i there here then when while if in on
    at as but and or so for from with after before by to our their his her my your what which who
    how why where no not yes next now later instead however also both each all some any
    der die das ein eine es er sie wir ich und aber dann le la les un une il elle nous el los
    """
)
_MONTHS_AFTER_ORDINAL = word_set(
    """
    januar jänner februar märz april mai juni juli august september oktober november dezember
    januari februari mars maj juni augusti oktober december leden ledna února března dubna
    stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada
    grudnia tammikuuta jahrhundert kapitel
    """
)


def protected(text: str) -> list[tuple[int, int]]:
    """Spans, in order, that no sentence end can fall into: code, links, addresses."""
    return [match.span() for match in _PROTECTED.finditer(text)]


def sentences(text: str) -> list[tuple[int, int]]:
    """Spans of the sentences of `text`, in order, covering every non-space character once.

    Closing quotes, brackets and footnote marks belong to the sentence before them, and so does a
    tail without any letter or digit (an emoticon). Blocks (blank line, list item, heading) end a
    sentence without a full stop.
    """
    shields = protected(text)
    starts = [start for start, _ in shields]

    def shielded(index: int) -> bool:
        at = bisect_right(starts, index) - 1
        return at >= 0 and index < shields[at][1]

    hard = {m.end() for m in _HARD_BREAK.finditer(text) if not shielded(m.start())}
    hard |= {end for start, end in shields if _FENCE_START.match(text, start)}
    soft = {
        match.end()
        for match in _END.finditer(text)
        if not shielded(match.start()) and _ends(text, match)
    }
    spans: list[tuple[int, int]] = []
    begin = 0
    for end in sorted(soft | hard | {len(text)}):
        span = _trim(text, begin, end)
        if span is None:
            begin = end
            continue
        joins = spans and begin not in hard and not _has_word(text, *span)
        if joins:
            spans[-1] = (spans[-1][0], span[1])
        else:
            spans.append(span)
        begin = end
    return spans


def _trim(text: str, begin: int, end: int) -> tuple[int, int] | None:
    while begin < end and text[begin].isspace():
        begin += 1
    while end > begin and text[end - 1].isspace():
        end -= 1
    return (begin, end) if begin < end else None


def _has_word(text: str, begin: int, end: int) -> bool:
    return any(char.isalnum() for char in text[begin:end])


def _ends(text: str, match: regex.Match[str]) -> bool:
    stop = match.group("stop")
    after = text[match.end() :]
    rest = after.lstrip()
    if not rest:
        return True
    if stop[-1] in _WIDE:
        # Wide punctuation needs no space after it, but a quotation may go on: 「はい。」と言った。
        return not (match.group("close") and regex.match(r"[とってのは、，,]", rest))
    spaced = len(rest) < len(after)
    if not spaced and stop[-1] in ".!?…‥" and not match.group("marks"):
        return False
    following = regex.match(r"[\p{L}\p{M}\p{N}]+", rest.lstrip("\"'“‘«([{*_¿¡"))
    word = following.group() if following else ""
    if word[:1].islower() and (stop[0] in "…‥" or stop.startswith("..") or match.group("close")):
        return False
    if stop != "." or match.group("marks"):
        return True
    line = text.rfind("\n", 0, match.start()) + 1
    return _full_stop_ends(text[max(line, match.start() - 40) : match.start()], word)


def _full_stop_ends(before: str, next_word: str) -> bool:
    if _LIST_NUMBER.fullmatch(before):
        return False
    found = _LAST_WORD.search(before)
    last = found.group() if found else ""
    folded = last.casefold()
    capital = next_word[:1].isupper()
    starter = next_word.casefold() in _STARTERS
    if folded in _MAYBE_END:
        return capital
    if folded in _ABBREVIATIONS:
        # "no", "min", "sec", "mar" are words as well: before a sentence opener they end one.
        return capital and starter and "." not in folded and folded not in {"dr", "mr", "mrs", "st"}
    if _INITIALS.match(last) and (last[0].isupper() or "." in last):
        return capital and starter
    if last.isdigit() and len(last) <= 2:
        return next_word.casefold() not in _MONTHS_AFTER_ORDINAL
    return True
