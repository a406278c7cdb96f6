"""What a claim must look like before anyone asks whether it is true."""

from __future__ import annotations

from collections.abc import Callable

import regex

from pipeline.late import late
from pipeline.support.phrases import (
    aimed_at_agent,
    elision,
    meta_talk,
    prompt_echo,
    refusal,
    unquoted,
)
from pipeline.text import sentences, words
from pipeline.text.tongues import spelt

_ENDING = late(r"[.!。！．｡؟۔।॥။។][\"'”’»›)\]}」』）】》*_]*\Z")
_TRAILING_OFF = late(r"(?:\.\.\.|…|‥)[.。]?[\"'”’»)\]]*\Z")
_QUESTION = late(r"[?？؟][\"'”’»)\]*_]*\Z")
_STRUCTURE = late(
    r"[\n\r]|^\s*(?:[-*+>|]\s|#{1,6}\s|\d{1,3}[.)]\s)|```|\[\^[^\]]+\]|!?\[\[|!?\[[^\]]*\]\(|</?[a-z][^>]*>"
    r"|\A\||\|\s*\Z|^\s*[{\[]",
    regex.IGNORECASE,
)
_GREETING = late(
    r"""\s*(?:hi|hello|hey|greetings|good\s(?:morning|afternoon|evening|plan|idea|point|question|job)
      |thanks|thank\syou|you're\swelcome|welcome|sure|ok(?:ay)?|yes|no\sproblem|great|perfect|sounds\sgood
      |got\sit|of\scourse|certainly|absolutely|understood|done)(?:\s(?:there|all|everyone|you))?\s*[,.!]""",
    regex.IGNORECASE | regex.VERBOSE,
)
_GREETING_ELSEWHERE = late(rf"\s*(?:{spelt('greeting')})\s*[,.!。！،、，]", regex.IGNORECASE)
_FIRST_OR_SECOND = late(
    r"""(?<![\p{L}\p{N}_.'/-])(?:
      I(?:'(?:m|ve|ll|d))?(?![\p{L}\p{N}/.-]|\.\w)
      |(?i:me|my|myself|we|we're|we've|we'll|we'd|our|ours|ourselves|let's|you|you're|you've|you'll
        |you'd|your|yours|yourself)
      |us|Us
    )(?![\p{L}\p{N}_/-])""",
    regex.VERBOSE,
)
_PERSON_ELSEWHERE = late(spelt("person"), regex.IGNORECASE)
_ROMAN_ONE = late(r"(?:Part|Type|Phase|Volume|Book|War|Class|Stage|Chapter|Grade|Tier)\s+I\b")
_BRACKETS = (("(", ")"), ("[", "]"), ("{", "}"), ("“", "”"), ("「", "」"), ("«", "»"))


def well_formed(text: str, *, max_words: int) -> str:
    """Why `text` cannot be a claim whatever it says; "" if it can.

    A claim is plain, finished, third-person prose of at most `max_words` words.
    """
    return next((reason for rule in _RULES if (reason := rule(text, max_words))), "")


def _is_empty(text: str, _max_words: int) -> str:
    return "" if words(text) else "says nothing"


def _is_structure(text: str, _max_words: int) -> str:
    return "is Markdown structure, not a sentence" if _STRUCTURE.search(_code_blank(text)) else ""


def _is_too_long(text: str, max_words: int) -> str:
    count = len(words(text))
    return f"has {count} words, more than {max_words}" if count > max_words else ""


def _asks(text: str, _max_words: int) -> str:
    asked = any(_QUESTION.search(text[start:end]) for start, end in sentences(unquoted(text)))
    return "asks a question" if asked else ""


def _is_unfinished(text: str, _max_words: int) -> str:
    stripped = text.strip()
    if _TRAILING_OFF.search(stripped):
        return "trails off"
    if not _ENDING.search(stripped):
        return "does not end as a sentence"
    for opening, closing in _BRACKETS:
        if stripped.count(opening) != stripped.count(closing):
            return f"leaves {opening} open"
    return "leaves a back-tick or a quotation open" if _odd(stripped) else ""


def _odd(text: str) -> bool:
    return text.count("`") % 2 == 1 or text.count('"') % 2 == 1


def _greets(text: str, _max_words: int) -> str:
    greets = _GREETING.match(text) or _GREETING_ELSEWHERE.match(text)
    return "is a greeting or an acknowledgement" if greets else ""


def _speaks_in_person(text: str, _max_words: int) -> str:
    plain = _ROMAN_ONE.sub("", unquoted(text).replace("’", "'"))
    match = _FIRST_OR_SECOND.search(plain) or _PERSON_ELSEWHERE.search(plain)
    return f"speaks in the first or second person ({match.group()})" if match else ""


def _phrase(finder: Callable[[str], str], reason: str) -> Callable[[str, int], str]:
    def rule(text: str, _max_words: int) -> str:
        found = finder(text)
        return f"{reason} ({found})" if found else ""

    return rule


def _code_blank(text: str) -> str:
    return str(regex.sub(r"(?<!`)`[^`\n]+`(?!`)", "code", text))


_RULES: tuple[Callable[[str, int], str], ...] = (
    _is_empty,
    _phrase(refusal, "is a refusal"),
    _phrase(aimed_at_agent, "gives orders to an agent"),
    _phrase(elision, "leaves content out"),
    _phrase(prompt_echo, "repeats the prompt"),
    _is_structure,
    _is_too_long,
    _asks,
    _greets,
    _phrase(meta_talk, "talks about the conversation"),
    _speaks_in_person,
    _is_unfinished,
)
