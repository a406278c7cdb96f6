"""Messages taken apart: who says what, is it asked, guessed or accepted, and what is denied.

Message → Saying (a sentence) → Clause. Stems are folded content words; keys are what must be right
to the letter: values of numbers, identifiers and names, casefolded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import regex

from pipeline.late import late
from pipeline.records import Message, Role
from pipeline.text import (
    content_words,
    identifiers,
    negations,
    proper_nouns,
    quantities,
    sentences,
    words,
)
from pipeline.text.lists import word_set
from pipeline.text.scales import UNITS
from pipeline.text.tongues import TONGUES, spelt

_CLAUSE_BREAK = late(
    r"[,;:]\s+|[，、；：،؛—–。]|\s[-–—]\s|\n"
    r"|\s(?:but|and|while|whereas|because|aber|und|weil)\s|"
    + "|".join(tongue.clause_break for tongue in TONGUES if tongue.clause_break),
    regex.IGNORECASE,
)
_SCOPE = 5  # words an English negation reaches to its right inside its clause
# "not only", "don't forget to": the negation takes nothing away.
_EMPTY_NEGATION = word_set("only just forget hesitate worry problem necessarily")
_DROPPED = 3  # words after "dropped", "removed" that name what is gone
_POINTING = word_set("it that this them those these one any so")
UNNAMED = "*"  # what is denied was named elsewhere: "clients without it"
_GIVEN_UP = late(
    r"\b(?:avoid|stop|skip|refus|disabl|reject|abandon"
    r"|drop(?!\w*\s(?:from|to|by)\b)|exclud|get(?:ting)? rid of"
    r"|turn(?:ed)? off|(?:decid|advis|vot)\w+ against|instead of|rather than)\w*\s+(?P<rest>.+)",
    regex.IGNORECASE | regex.DOTALL,
)
_LETTING_GO = late(
    r"\b(?:avoid|stop|drop|skip|refus|disabl|remov|reject|abandon|dismiss|declin|exclud|fail|delet"
    r"|retir|prefer\w*\s.+\sover|instead of|rather than|no longer|get rid of"
    r"|turn(?:ed)? off|(?:decid|advis|vot)\w+ against)\w*"
    rf"|{spelt('lets_go')}",
    regex.IGNORECASE,
)

_ASKED = late(r"[?？؟][\"'”’»)\]*_\s]*$")
_ASKING_START = late(
    r"""(?:so|and|but|ok|okay|hm+|well)?[\s,]*
    (?:(?:should|shall|can|could|would)\s(?:i|we|it|they|the|this)\b
      |(?:what|which|how|why|who|where|when)(?:'s)?
        \s(?:is|are|was|do|does|did|can|should|would|about|if)\b
      |(?:is|are|does|did)\s(?:it|this|that|the|we|they|there|you)\b
      |do\s(?:we|you|they)\b
      |(?:i\s)?wonder(?:ing)?\b|not\ssure\s(?:if|whether|how|which)\b)""",
    regex.IGNORECASE | regex.VERBOSE,
)
_ASKING_START_ELSEWHERE = late(rf"\W*(?:{spelt('asks')})", regex.IGNORECASE)
_REQUEST = late(
    rf"\W*(?:please\b|(?:can|could|would|will) you\b|{spelt('request')})",
    regex.IGNORECASE,
)
_GUESS = late(
    r"\b(?:maybe|perhaps|possibly|probably|might|could|thinking (?:about|of)|consider(?:ing)?"
    r"|what if|(?:one|an|another) option|alternatively|not sure|unsure|i guess"
    rf"|if (?:you|we) (?:want|like|use|go|choose|prefer))\b|{spelt('guess')}",
    regex.IGNORECASE,
)
# What an assistant says it would do is not yet what is.
_ADVICE = late(
    r"\b(?:i(?:'d| would)? (?:suggest|recommend|propose|advise)|i'd|(?:you|we) (?:should|can|may)"
    r"|should|would|recommended|how about|let's|best practice|a good (?:choice|option|idea)"
    rf"|shall i)\b|{spelt('advice')}",
    regex.IGNORECASE,
)
_ACCEPTANCE = late(
    r"""\s*(?:yes|yep|yeah|yup|ok(?:ay)?|sure|agreed|perfect|exactly|correct|right|great|fine|good
      |sounds?\s(?:good|great|right|fine)|go\s(?:ahead|for\sit|with\s(?:that|it))|do\s(?:that|it|so)
      |please\sdo|let'?s\sdo\s(?:that|it|so)|let'?s\sgo\swith\s(?:that|it)|that\sworks|works\sfor\sme
      |makes\ssense|approved|accepted|lgtm|\+1|(?:i\s)?did\s(?:that|it|so)|i'?ll\sdo\s(?:that|it|so)
      )(?![\p{L}\p{N}])""",
    regex.IGNORECASE | regex.VERBOSE,
)
_ACCEPTANCE_ELSEWHERE = late(rf"\W*(?:{spelt('acceptance')})", regex.IGNORECASE)
_RESERVATION = late(
    rf"\b(?:but|except|instead|however|only if|rather|wait)\b|{spelt('reservation')}",
    regex.IGNORECASE,
)
_HALF = late(r"(?<=[;；؛])\s+")
_KATAKANA = late(r"\p{Katakana}")
ALTERNATIVE = late(rf"\bor\b|{spelt('alternative')}", regex.IGNORECASE)
_ACCEPTANCE_WORDS = 25


@dataclass(frozen=True, slots=True)
class Clause:
    """stems and keys of a clause; denied: those of both that stand under a negation.

    negated: whether it negates anything. let_go: whether it tells of stopping, dropping, failing;
    dropped: what it names after that.
    """

    text: str
    stems: frozenset[str]
    keys: frozenset[str]
    denied: frozenset[str]
    let_go: bool
    negated: bool
    dropped: frozenset[str]


@dataclass(frozen=True, slots=True)
class Saying:
    """One sentence of a message. stems and keys: those of all its clauses.

    asked: a question. guessed: said as a possibility, or as an assistant's advice.
    accepted: an assistant's sentence the user took up in the very next message.
    """

    conv: str
    position: int
    role: Role
    text: str
    asked: bool
    guessed: bool
    clauses: tuple[Clause, ...]
    stems: frozenset[str]
    keys: frozenset[str]
    accepted: bool = False

    @property
    def stated(self) -> bool:
        """Whether the sentence says that something is so, or is taken up by the user."""
        return self.accepted or not (self.asked or self.guessed)


def sayings(messages: Sequence[Message]) -> list[Saying]:
    """Every sentence of `messages`, in order of position, acceptance resolved among them."""
    ordered = sorted(messages, key=lambda message: (message.conv, message.position))
    by_place = {(message.conv, message.position): message for message in ordered}
    found: list[Saying] = []
    for message in ordered:
        said = _take_apart(message.text, message.conv, message.position, message.role)
        after = by_place.get((message.conv, message.position + 1))
        if message.role is Role.ASSISTANT and after:
            taken_up = _answered_by(after)
            said = tuple(replace(one, accepted=True) if taken_up(one) else one for one in said)
        found += said
    return found


def _answered_by(message: Message) -> Callable[[Saying], bool]:
    """Which sentences of the assistant a user's answer takes up: all of them, or by naming."""
    if message.role is not Role.USER:
        return lambda _one: False
    answer = _take_apart(message.text, message.conv, message.position, message.role)
    parts = [clause for one in answer if one.stated for clause in one.clauses]
    denied = frozenset().union(*(clause.denied for clause in parts))
    if accepts(message):
        return lambda one: (
            not (one.asked and ALTERNATIVE.search(one.text)) and one.stems.isdisjoint(denied)
        )
    if _RESERVATION.search(message.text):
        return lambda _one: False
    # "set it to 5" takes up the advice that names the 5
    said = frozenset().union(*(clause.keys - clause.denied for clause in parts))
    named = frozenset(key for key in said if not _KATAKANA.match(key))  # any loanword is one
    return lambda one: one.guessed and not one.asked and not named.isdisjoint(one.keys)


def accepts(message: Message) -> bool:
    """Whether a user's message takes up what the assistant said just before, without reserve."""
    return (
        message.role is Role.USER
        and (_ACCEPTANCE.match(message.text) or _ACCEPTANCE_ELSEWHERE.match(message.text))
        is not None
        and not _RESERVATION.search(message.text)
        and not _ASKED.search(message.text)
        and not negations(_statements(message.text)[0])
        and len(words(message.text)) <= _ACCEPTANCE_WORDS
    )


def clauses(text: str) -> tuple[Clause, ...]:
    """The clauses of one sentence, none of them empty."""
    parts = (part for part in _CLAUSE_BREAK.split(text) if part and part.strip())
    return tuple(_clause(part) for part in parts)


@lru_cache(maxsize=4096)
def keys(text: str) -> frozenset[str]:
    """Values of numbers, identifiers and names, casefolded."""
    named = (name.casefold() for name in identifiers(text) | proper_nouns(text))
    values = frozenset(q.value for q in quantities(text))
    return values.union(name for name in named if name not in UNITS)


@lru_cache(maxsize=4096)
def _take_apart(text: str, conv: str, position: int, role: Role) -> tuple[Saying, ...]:
    found = []
    for sentence in _statements(text):
        request = role is Role.USER and _REQUEST.match(sentence) is not None
        asked = not request and bool(
            _ASKED.search(sentence)
            or _ASKING_START.match(sentence)
            or _ASKING_START_ELSEWHERE.match(sentence)
        )
        guessed = not request and bool(
            _GUESS.search(sentence) or (role is Role.ASSISTANT and _ADVICE.search(sentence))
        )
        parts = clauses(sentence)
        stems = frozenset().union(*(clause.stems for clause in parts))
        named = frozenset().union(*(clause.keys for clause in parts))
        found.append(Saying(conv, position, role, sentence, asked, guessed, parts, stems, named))
    return tuple(found)


def _statements(text: str) -> list[str]:
    """Sentences, cut at semicolons too: one half may be a guess and the other not."""
    spans = (text[start:end] for start, end in sentences(text))
    return [part.strip() for span in spans for part in _HALF.split(span) if part.strip()]


def _clause(text: str) -> Clause:
    denied: set[str] = set()
    found = negations(text)
    none = any(quantity.value == "0" for quantity in quantities(text))
    for negation in found:
        after = text[negation.end :]
        if negation.reach == "clause":
            # In German, Japanese and many others the negation follows what it denies.
            denied |= _tokens(text)
        elif negation.reach == "after":
            denied |= _tokens(after) or _tokens(text)
        else:
            denied |= _reached(text[: negation.start], text[negation.start : negation.end], after)
    for quantity in quantities(text):
        if quantity.value == "0":
            denied |= _tokens(" ".join(words(text[quantity.end :])[:_SCOPE]))
    letting_go = _LETTING_GO.search(text)
    given_up = _GIVEN_UP.search(text)
    if given_up:
        # "bed 7 instead of bed 3" denies the three, not the bed
        kept = _tokens(text[: given_up.start()])
        denied |= _tokens(" ".join(words(given_up.group("rest"))[:_SCOPE])) - kept
    return Clause(
        text,
        frozenset(content_words(without_values(text))),
        keys(text),
        frozenset(denied),
        letting_go is not None,
        bool(found) or none or given_up is not None,
        _dropped(text, letting_go) if letting_go else frozenset(),
    )


def _dropped(text: str, letting_go: regex.Match[str]) -> frozenset[str]:
    """English names what was dropped right after the verb; elsewhere it may stand before it."""
    if letting_go.group().isascii():
        text = " ".join(words(text[letting_go.end() :])[:_DROPPED])
    # "dropped from 900 to 310": a value that falls is not gone
    return frozenset(token for token in _tokens(text) if not token[0].isdigit())


def _reached(before: str, negation: str, after: str) -> set[str]:
    """What an English negation denies: a few words to its right."""
    reach = words(after)[:_SCOPE]
    if not reach and negation.casefold() == "no":
        reach = words(before)  # "type hints yes, mypy no"
    denied = {UNNAMED} if reach and reach[0].casefold() in _POINTING else set()
    if reach and reach[0].casefold() not in _EMPTY_NEGATION:
        denied |= _tokens(" ".join(reach))
    return denied


def without_values(text: str) -> str:
    """Without numbers and their units: "not 10 minutes" denies the ten, not the minutes."""
    for quantity in reversed(quantities(text)):
        text = f"{text[: quantity.start]} {text[quantity.end :]}"
    return text


def _tokens(span: str) -> frozenset[str]:
    plain = (word.casefold() for word in words(without_values(span)))
    return frozenset(
        {*content_words(without_values(span)), *plain, *(q.value for q in quantities(span))}
    )
