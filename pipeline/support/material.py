"""What of the cited messages may count for a claim, and when two words are the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import regex

from pipeline.late import late
from pipeline.records import Message, Role
from pipeline.support.dating import days_in, days_told, own_days
from pipeline.support.saying import Saying, keys, sayings
from pipeline.text import content_words, fold
from pipeline.text.lists import word_set
from pipeline.text.semitic import is_semitic, roots
from pipeline.text.tongues import TONGUES, spelt

# Words a claim needs to be told in the third person; no message has to say them.
FRAME = word_set(
    """
    user assistant project person team decid prefer choos agre want state report note mention
    recommend suggest plan confirm explain describ request accept opt use
    """
).union(
    stem
    for tongue in TONGUES
    for word in tongue.frame
    for stem in (*content_words(word), fold(word))
)
_ASSISTANT_SAYS = late(r"^\W*(?:the\s)?assistant\b", regex.IGNORECASE)
_USER_SAYS = late(
    r"\buser (?:has |had )?"
    r"(?:suggest|propos|recommend|said|says|mention|point|stat|not(?:ed|es))\w*"
    rf"|(?:{spelt('user')}).*(?:{spelt('says')})|(?:{spelt('says')}).*(?:{spelt('user')})",
    regex.IGNORECASE,
)
_OPEN = late(
    r"\b(?:whether|undecided|unclear|open question|(?:remains?|still|is|are) open"
    r"|not (?:yet )?(?:decided|known)|unresolved|offen|ungeklärt)\b|未定|尚未|待定|لم يتقرر|טרם",
    regex.IGNORECASE,
)
_HEDGED = late(
    r"\b(?:may|might|could|maybe|perhaps|possibl[ey]|consider\w*|suggest\w*|recommend\w*|propos\w*|advis\w*"
    rf"|should|option)\b|{spelt('guess')}|{spelt('advice')}",
    regex.IGNORECASE,
)

_HAN = late(r"\p{Han}")
_UMLAUTS = str.maketrans("äöü", "aou")
_GERMAN_ENDING = late(r"(?<=\w{4})(?:ungen|ung|ten|tet|te|est|en|er|es|em|et|e|t|n|s)\Z")
_COMPOUND = 4  # letters of the shortest word worth joining to another
_PARTICIPLE = late(r"\A((?:ab|an|auf|aus|bei|ein|fest|her|hin|mit|nach|um|vor|weg|zu)?)ge(?=\w{4})")


@dataclass(frozen=True, slots=True)
class Material:
    """What may count: `said` supports values and names, `around` only gives context words.

    days: the dates said. near: those of the sentences that speak of what the claim speaks of.
    """

    messages: tuple[Message, ...]
    said: tuple[Saying, ...]
    around: tuple[Saying, ...]
    days: frozenset[str]
    near: frozenset[str]
    beside: str  # projects and touched files: known, though nobody said them

    def stems(self) -> frozenset[str]:
        return frozenset().union(
            *(one.stems for one in (*self.said, *self.around)), content_words(self.beside)
        )

    def heard(self) -> frozenset[str]:
        """Like `stems`, with what was only asked or advised: a word spoken there is not made up."""
        texts = " ".join(message.text for message in self.messages)
        return self.stems() | frozenset(content_words(texts))


def gather(claim: str, evidence: Sequence[Message], *, by_user: bool) -> Material:
    every = sayings(evidence)
    if _OPEN.search(claim):
        said = every
    elif _ASSISTANT_SAYS.match(claim):
        said = [one for one in every if one.role is Role.ASSISTANT and not one.asked]
    elif _HEDGED.search(claim):
        said = [one for one in every if one.accepted or not one.asked]
    else:
        said = [one for one in every if one.stated]
    if by_user and not _ASSISTANT_SAYS.match(claim):
        # what the user took up from the assistant is decided, but not said by the user
        own_words = _USER_SAYS.search(claim) is not None
        said = [one for one in said if one.role is Role.USER or (one.accepted and not own_words)]
    around = [
        one for one in every if one.asked and one not in said and _is_answered(one, claim, said)
    ]
    beside = " ".join(
        f"{message.project} " + " ".join(f"{act.tool} {act.path}" for act in message.actions)
        for message in evidence
    )
    sent = _sent(claim, evidence, every)
    days = days_told(evidence) | sent
    near = _near(claim, evidence, every) or sent or days
    return Material(tuple(evidence), tuple(said), tuple(around), days, near, beside)


def _near(claim: str, evidence: Sequence[Message], every: Sequence[Saying]) -> frozenset[str]:
    own = set(content_words(claim)) - FRAME
    places = {(message.conv, message.position): message for message in evidence}
    return frozenset().union(
        *(
            days_in(one.text, places[one.conv, one.position])
            for one in every
            if shares(own, one.stems)
        )
    )


def _sent(claim: str, evidence: Sequence[Message], every: Sequence[Saying]) -> frozenset[str]:
    """Days the messages were sent on, of those whose words for it name no other day.

    "I sent it yesterday" was said today, and was not done today.
    """
    own = set(content_words(claim)) - FRAME
    found: set[str] = set()
    for message in evidence:
        mine = [
            one for one in every if (one.conv, one.position) == (message.conv, message.position)
        ]
        nearest = max(mine, key=lambda one: sum(matches(s, one.stems) for s in own), default=None)
        if nearest is None or not days_in(nearest.text, message):
            found.update(day.isoformat() for day in own_days(message))
    return frozenset(found)


def _is_answered(question: Saying, claim: str, said: Sequence[Saying]) -> bool:
    """ "Which port?" – "8080.": the question gives the words if the answer gives the value."""
    values = keys(claim)
    return any(
        values & one.keys if values else shares(set(content_words(claim)), one.stems)
        for one in said
        if one.conv == question.conv and one.position - question.position in (0, 1, 2)
    )


@lru_cache(maxsize=50_000)
def matches(stem: str, stems: frozenset[str]) -> bool:
    """Whether `stem`, or a word of the same root ("deploy", "deployment"), is among `stems`."""
    if stem in stems:
        return True
    return any(_same_root(stem, other) for other in stems)


def _same_root(a: str, b: str) -> bool:
    if _semitic(a) or _semitic(b):
        return _semitic(a) and _semitic(b) and not roots(a).isdisjoint(roots(b))
    shorter, longer = (a, b) if len(a) <= len(b) else (b, a)
    if not shorter.isascii() and len(shorter) == 1 and _HAN.fullmatch(shorter):
        return shorter in longer  # the root of a verb: 使う, 使用
    if len(shorter) < 4 or not shorter.isalpha() or not longer.isalpha():
        return False
    if len(shorter) >= 5 and (longer.startswith(shorter) or longer.endswith(shorter)):
        return True
    return (
        _begin_alike(shorter, longer)
        or _begin_alike(_unmarked(shorter), _unmarked(longer))
        or (len(_bare(shorter)) >= 4 and _bare(shorter) == _bare(longer))
    )


def inflected(a: str, b: str) -> bool:
    """Whether two words differ by endings, umlaut or a compound's first part at most."""
    if _bare(a) == _bare(b):
        return True
    shorter, longer = sorted((_unmarked(a), _unmarked(b)), key=len)
    return (
        len(shorter) >= _COMPOUND
        and len(longer) >= len(shorter) + _COMPOUND - 1
        and (longer.startswith(shorter) or longer.endswith(shorter))
    )


_semitic = lru_cache(maxsize=20_000)(is_semitic)


@lru_cache(maxsize=20_000)
def _bare(word: str) -> str:
    return str(_GERMAN_ENDING.sub("", _unmarked(word)))


def _begin_alike(a: str, b: str) -> bool:
    if a[:5] != b[:5]:
        return False
    least = min(len(a), len(b))
    common = next((at for at, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), least)
    return common >= 5 and common >= 0.5 * max(len(a), len(b))


@lru_cache(maxsize=20_000)
def _unmarked(word: str) -> str:
    """Without umlauts and without the "ge" of German participles: umgestellt, Umstellung."""
    plain = word.translate(_UMLAUTS)
    return str(_PARTICIPLE.sub(r"\1", plain))


def shares(own: set[str], stems: frozenset[str]) -> bool:
    """Whether any word of the claim is among `stems`."""
    return any(matches(stem, stems) for stem in own)


def once(reasons: Iterable[str]) -> list[str]:
    return [reason for reason in dict.fromkeys(reasons) if reason]
