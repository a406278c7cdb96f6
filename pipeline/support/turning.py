"""Old against new: which value a sentence leaves behind, and which one it ends with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import regex

from pipeline.late import late
from pipeline.support.saying import Saying, keys, without_values
from pipeline.text import content_words, quantities
from pipeline.text.tongues import TONGUES, spelt

# A span of a few words; it ends at punctuation or where the sentence goes on.
# No word of prose is longer than 60 characters; without the bound a pasted blob takes minutes.
_SPAN = r"[^\s,;()]{{1,60}}(?:[ ][^\s,;()]{{1,60}}){{0,{0}}}"
_OLD = rf"(?P<old>{_SPAN.format(4)}?)"
_NEW = (
    r"(?P<new>[^\s,;()]{1,60}"
    r"(?:[ ](?!(?:because|since|so|for|as|and|but|when|after|until|which|that)\b)"
    r"[^\s,;()]{1,60}){0,4})"
)
_CHANGE = (
    r"(?:chang|switch|mov|migrat|rais|increas|reduc|lower|bump|upgrad|downgrad|went|go|renam|updat"
    r"|cut|rewrit|rewrot|port|convert|grew|shrank|dropp|drop|extend|shorten|turn)\w*"
)
_ENDS = r"(?=[\s,;.!)]|$)"


def _old(words_after: int) -> str:
    return rf"(?P<old>{_SPAN.format(words_after)})"


_TURNS = tuple(
    late(pattern, regex.IGNORECASE)
    for pattern in (
        # was A, now B
        rf"\b(?:was|were|had been|used to be|started (?:at|as))\s+(?:set to |at |on |in )?{_OLD}"
        r"(?:\s*[,;:–—-]+\s*|\s+)(?:and |but )?(?:it'?s |it is |that'?s |is |are )?"
        r"(?:now|today|these days)\s+(?:is |are |it'?s |it is |set to |at |on |in |uses? )?"
        rf"{_NEW}",
        # changed from A to B
        rf"\b{_CHANGE}\b.{{0,60}}?\bfrom\s+{_OLD}\s+(?:over to|to|into)\s+{_NEW}",
        # not A but B; instead of A, B; B instead of A; prefer B over A
        rf"\bnot\s+(?!only\b|just\b){_OLD},?\s+but\s+(?:rather\s+)?{_NEW}",
        rf"^\W*(?:instead of|rather than)\s+{_OLD},\s*{_NEW}",
        rf"{_NEW},?\s+(?:instead of|rather than|in place of|(?:and )?no longer)\s+{_OLD}{_ENDS}",
        rf"\b(?:prefer|choose|chose|chosen|pick|favou?r)\w*\s+{_NEW}\s+over\s+{_OLD}{_ENDS}",
        # B replaces A; A was replaced by B; replace A with B; swap A for B; A → B
        rf"(?P<new>{_SPAN.format(1)})\s+(?:has |have )?(?:replace[sd]?|supersede[sd]?)\s+"
        rf"{_old(2)}(?!.{{0,40}}\b(?:with|by)\b)",
        rf"{_old(1)}\s+(?:is|are|was|were|has been|have been|gets?|got)\s+"
        rf"(?:replaced|superseded)\s+(?:with|by)\s+{_NEW}",
        rf"\breplac\w+\s+{_OLD}\s+(?:with|by)\s+{_NEW}",
        rf"\bswap\w*\s+(?:out\s+)?{_OLD}\s+for\s+{_NEW}",
        r"(?P<old>[^\s,;()]{1,60})\s*(?:→|->|=>|➜)\s*(?P<new>[^\s,;()]{1,60})",
        # only A is told
        r"\b(?:old|former|previous|legacy)\s+(?:[a-z]+\s+){0,2}(?P<old>[^\s,;()]*[\d_][^\s,;()]*)(?P<new>)",
        r"(?P<old>[^\s,;()]{1,60})\s+(?:is|was|were)\s+too\s+(?P<new>)\p{L}",
        rf"\b(?:no longer|anymore)\s+(?:uses?\s+|on\s+|at\s+|in\s+)?{_old(2)}(?P<new>)",
        r"\b(?:used to (?:be|use|run on|live in)|previously|formerly|originally)\s+"
        rf"{_old(2)}(?P<new>)",
        *(turn for tongue in TONGUES for turn in tongue.turns),
    )
)
_SPOKEN_OF_AS_PAST = late(
    r"""\b(?:previously|formerly|originally|earlier|before|until|used\sto|former|old|outdated|replac\w+
    |instead\sof|rather\sthan|no\slonger|from\b.+\bto|away\sfrom|dropp?\w*|remov\w+|retir\w+|abandon\w+
    |had\b|(?:was|were)\s(?!set|chosen|changed|decided|configured|moved|switched|kept|made|agreed
      |selected|picked|updated|raised|lowered|increased|reduced|put|fixed|placed|given))""",
    regex.IGNORECASE | regex.VERBOSE,
)
_NOW = late(
    rf"\b(?:now|these days|by now|back (?:to|at|down to|up to))\b|{spelt('now')}", regex.IGNORECASE
)
# A goal or a bound is not outdated by what was measured.
_BOUND = late(
    r"\b(?:goal|target|limit|at most|at least|under|within|below|above|ziel|höchstens|mindestens"
    r"|maximal)\b|目標|以内|以下|以上|目标|هدف|أقل من|أكثر من|יעד|לכל היותר",
    regex.IGNORECASE,
)
_PAST_ELSEWHERE = late(spelt("past"), regex.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Turn:
    """What a sentence leaves behind and what it turns to; new is empty where it does not say."""

    old: frozenset[str]
    new: frozenset[str]


@lru_cache(maxsize=1024)
def turns(sentence: str) -> tuple[Turn, ...]:
    """Every change from an old value to a new one that `sentence` tells."""
    found = []
    for pattern in _TURNS:
        for match in pattern.finditer(sentence):
            old, new = _tokens(match.group("old") or ""), _tokens(match.group("new") or "")
            if old - new:
                found.append(Turn(old - new, new - old))
    return tuple(found)


def outdated(claim: str, sentence: str) -> str:
    """The value `claim` states as current although `sentence` left it behind; "" if none."""
    stated = _tokens(claim)
    own_turns = turns(claim)
    past = _past(claim)
    for turn in turns(sentence):
        for own in own_turns:
            if own.old & turn.new and own.new & turn.old:
                return _shown(own.new & turn.old)
        current = stated - frozenset().union(*(own.old for own in own_turns))
        left = turn.old & current
        if not left or turn.new & current or (past and not own_turns):
            continue
        # One ordinary word in common is chance; a value, a name or the whole of it is not.
        if left & _values(claim) or left == turn.old:
            return _shown(left)
    return ""


def renewed(claim: str, one: Saying) -> str:
    """The value `claim` states although `one` names another as the one of now; "" if none.

    Of the same unit, and of something the claim speaks of, or of nothing else at all.
    """
    if not _NOW.search(one.text) or _past(claim) or _BOUND.search(claim):
        return ""
    there = [q for q in quantities(one.text) if q.kind == "number" and q.unit]
    own = frozenset(content_words(without_values(claim)))
    about = len(one.stems) <= 1 or not own.isdisjoint(one.stems)
    for quantity in quantities(claim):
        rivals = [q for q in there if q.unit == quantity.unit]
        if about and rivals and all(q.value != quantity.value for q in rivals):
            return f"{quantity.value} {quantity.unit}"
    return ""


def _past(claim: str) -> bool:
    return bool(_SPOKEN_OF_AS_PAST.search(claim) or _PAST_ELSEWHERE.search(claim))


def _tokens(span: str) -> frozenset[str]:
    return frozenset(content_words(without_values(span))) | _values(span)


def _values(span: str) -> frozenset[str]:
    named = keys(span)
    return named | frozenset(word for key in named for word in content_words(key))


def _shown(tokens: frozenset[str]) -> str:
    return ", ".join(sorted(tokens, key=lambda token: (not token[0].isdigit(), token))[:2])
