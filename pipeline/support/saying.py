"""Messages taken apart: who says what, is it asked, guessed or accepted, and what is denied.

Message → Saying (a sentence) → Clause. Stems are folded content words; keys are what must be right
to the letter: values of numbers, identifiers and names, casefolded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import regex

from pipeline.records import Message, Role
from pipeline.text import (
    content_words,
    identifiers,
    is_negative,
    proper_nouns,
    quantities,
    sentences,
    words,
)
from pipeline.text.lists import word_set

_CLAUSE_BREAK = regex.compile(
    r"[,;:]\s+|[，、；：،؛—–。]|\s[-–—]\s|\n"
    r"|\s(?:but|and|while|whereas|because|aber|und|weil|mais|et|pero|porque|y)\s",
    regex.IGNORECASE,
)
_SCOPE = 5  # words an English negation reaches to its right inside its clause
_ENGLISH_NEGATION = regex.compile(
    r"(?:no|not|never|none|nothing|nobody|neither|nor|nowhere|cannot|cant|without|unable|\w+n't)"
)
# "not only", "don't forget to": the negation takes nothing away.
_EMPTY_NEGATION = word_set("only just forget hesitate worry problem necessarily")
_POINTING = word_set("it that this them those these one any so")
UNNAMED = "*"  # what is denied was named elsewhere: "clients without it"
_GIVEN_UP = regex.compile(
    r"\b(?:avoid|stop|skip|refus|disabl|reject|abandon|drop|exclud|get(?:ting)? rid of"
    r"|turn(?:ed)? off|(?:decid|advis|vot)\w+ against|instead of|rather than)\w*\s+(?P<rest>.+)",
    regex.IGNORECASE | regex.DOTALL,
)
_LETTING_GO = regex.compile(
    r"\b(?:avoid|stop|drop|skip|refus|disabl|remov|reject|abandon|dismiss|declin|exclud|fail|delet"
    r"|retir|instead of|rather than|no longer|get rid of|turn(?:ed)? off|against)\w*",
    regex.IGNORECASE,
)

_ASKED = regex.compile(r"[?？؟][\"'”’»)\]*_\s]*$")
_ASKING_START = regex.compile(
    r"""(?:so|and|but|ok|okay|hm+|well)?[\s,]*
    (?:(?:should|shall|can|could|would)\s(?:i|we|it|they|the|this)\b
      |(?:what|which|how|why|who|where|when)(?:'s)?
        \s(?:is|are|was|do|does|did|can|should|would|about|if)\b
      |(?:is|are|does|did)\s(?:it|this|that|the|we|they|there|you)\b
      |do\s(?:we|you|they)\b
      |(?:i\s)?wonder(?:ing)?\b|not\ssure\s(?:if|whether|how|which)\b)""",
    regex.IGNORECASE | regex.VERBOSE,
)
_REQUEST = regex.compile(
    r"(?:please\b|(?:can|could|would|will) you\b|kannst du\b|könntest du\b|peux-tu\b|puedes\b"
    r"|请|請)",
    regex.IGNORECASE,
)
_GUESS = regex.compile(
    r"\b(?:maybe|perhaps|possibly|probably|might|could|thinking (?:about|of)|consider(?:ing)?"
    r"|what if|(?:one|an|another) option|alternatively|not sure|unsure|i guess|vielleicht|peut-être"
    r"|quizás|tal vez|if (?:you|we) (?:want|like|use|go|choose|prefer))\b"
    r"|也许|可能|かもしれ|ربما|शायद",
    regex.IGNORECASE,
)
# What an assistant says it would do is not yet what is.
_ADVICE = regex.compile(
    r"\b(?:i(?:'d| would)? (?:suggest|recommend|propose|advise)|i'd|(?:you|we) (?:should|can|may)"
    r"|should|would|recommended|how about|let's|best practice|a good (?:choice|option|idea)"
    r"|shall i)\b",
    regex.IGNORECASE,
)
_ACCEPTANCE = regex.compile(
    r"""\s*(?:yes|yep|yeah|yup|ok(?:ay)?|sure|agreed|perfect|exactly|correct|right|great|fine|good
      |sounds?\s(?:good|great|right|fine)|go\s(?:ahead|for\sit|with\s(?:that|it))|do\s(?:that|it|so)
      |please\sdo|let'?s\sdo\s(?:that|it|so)|let'?s\sgo\swith\s(?:that|it)|that\sworks|works\sfor\sme
      |makes\ssense|approved|accepted|lgtm|\+1|ja|jawohl|genau|einverstanden|passt|oui|d'accord|parfait
      |sí|si|vale|de\sacuerdo|perfecto|da|да|давай|хорошо|好|好的|可以|是的|对|行|はい|それで|お願い
      |نعم|موافق|تمام|हाँ|हां|ठीक)(?![\p{L}\p{N}])""",
    regex.IGNORECASE | regex.VERBOSE,
)
_RESERVATION = regex.compile(
    r"\b(?:but|except|instead|however|only if|rather|wait|aber|mais|pero|sauf)\b|但|でも|لكن",
    regex.IGNORECASE,
)
_ALTERNATIVE = regex.compile(r"\b(?:or|oder|ou|o bien)\b|还是|または|أم", regex.IGNORECASE)
_ACCEPTANCE_WORDS = 25


@dataclass(frozen=True, slots=True)
class Clause:
    """stems and keys of a clause; denied: those of both that stand under a negation."""

    text: str
    stems: frozenset[str]
    keys: frozenset[str]
    denied: frozenset[str]
    let_go: bool


@dataclass(frozen=True, slots=True)
class Saying:
    """One sentence of a message.

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
    accepted: bool = False

    @property
    def stems(self) -> frozenset[str]:
        """Folded content words."""
        return frozenset().union(*(clause.stems for clause in self.clauses))

    @property
    def keys(self) -> frozenset[str]:
        """Values, identifiers and names."""
        return frozenset().union(*(clause.keys for clause in self.clauses))

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
        if message.role is Role.ASSISTANT and after and accepts(after):
            said = tuple(
                replace(one, accepted=not (one.asked and _ALTERNATIVE.search(one.text)))
                for one in said
            )
        found += said
    return found


def accepts(message: Message) -> bool:
    """Whether a user's message takes up what the assistant said just before, without reserve."""
    return (
        message.role is Role.USER
        and _ACCEPTANCE.match(message.text) is not None
        and not _RESERVATION.search(message.text)
        and not _ASKED.search(message.text)
        and not any(is_negative(word) for word in words(message.text))
        and len(words(message.text)) <= _ACCEPTANCE_WORDS
    )


def clauses(text: str) -> tuple[Clause, ...]:
    """The clauses of one sentence, none of them empty."""
    parts = (part for part in _CLAUSE_BREAK.split(text) if part and part.strip())
    return tuple(_clause(part) for part in parts)


@lru_cache(maxsize=4096)
def keys(text: str) -> frozenset[str]:
    """Values of numbers, identifiers and names, casefolded."""
    named = identifiers(text) | proper_nouns(text)
    return frozenset(name.casefold() for name in named) | {q.value for q in quantities(text)}


@lru_cache(maxsize=4096)
def _take_apart(text: str, conv: str, position: int, role: Role) -> tuple[Saying, ...]:
    found = []
    for start, end in sentences(text):
        sentence = text[start:end]
        request = role is Role.USER and _REQUEST.match(sentence) is not None
        asked = not request and bool(_ASKED.search(sentence) or _ASKING_START.match(sentence))
        guessed = not request and bool(
            _GUESS.search(sentence) or (role is Role.ASSISTANT and _ADVICE.search(sentence))
        )
        found.append(Saying(conv, position, role, sentence, asked, guessed, clauses(sentence)))
    return tuple(found)


def _clause(text: str) -> Clause:
    tokens = words(text)
    denied: set[str] = set()
    for index, token in enumerate(tokens):
        folded = token.casefold().replace("’", "'")
        if not is_negative(token):
            continue
        if not _ENGLISH_NEGATION.fullmatch(folded):
            # In German, Japanese and many others the negation follows what it denies.
            denied.update(content_words(_no_values(text)), keys(text))
            continue
        reach = tokens[index + 1 : index + 1 + _SCOPE]
        if not reach and folded == "no":
            reach = tokens[:index]  # "type hints yes, mypy no"
        if reach and reach[0].casefold() in _POINTING:
            denied.add(UNNAMED)
        if reach and reach[0].casefold() not in _EMPTY_NEGATION:
            denied |= _tokens(" ".join(reach))
    given_up = _GIVEN_UP.search(text)
    if given_up:
        denied |= _tokens(" ".join(words(given_up.group("rest"))[:_SCOPE]))
    return Clause(
        text,
        frozenset(content_words(_no_values(text))),
        keys(text),
        frozenset(denied),
        bool(_LETTING_GO.search(text)),
    )


def _no_values(text: str) -> str:
    """Without numbers and their units: "not 10 minutes" denies the ten, not the minutes."""
    for quantity in reversed(quantities(text)):
        text = f"{text[: quantity.start]} {text[quantity.end :]}"
    return text


def _tokens(span: str) -> frozenset[str]:
    plain = (word.casefold() for word in words(_no_values(span)))
    return frozenset(
        {*content_words(_no_values(span)), *plain, *(q.value for q in quantities(span))}
    )
