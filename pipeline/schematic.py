"""What is wrong with a prompt that can be read: places, answers, and what a model would copy.

Small models copy whatever concrete thing a prompt holds into articles it has nothing to do with, so
a prompt holds placeholders in capitals and nothing concrete at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from string import Template

from pipeline.models.conforming import fitted, valid
from pipeline.prompt_files import Prompt

_PLACE = re.compile(Template.pattern.pattern, re.VERBOSE | re.IGNORECASE)
_NAMES_OF_DAYS = re.compile(
    r"\b(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)\b"
)
# a capitalised word inside a sentence is a name, unless it is a placeholder in capitals
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]+")
_NUMBER = re.compile(r"\d[\d.,:/-]*")
_HASH = re.compile(r"\b(?=[a-z]*\d)(?=\d*[a-z])[0-9a-f]{7,}\b")
_QUOTED = 60  # characters of an example that are shown


def faults(prompt: Prompt, shipped: Prompt) -> list[str]:
    """Each fault of a prompt in a clause; `shipped` is the one of the same name that came along."""
    return [*_form(prompt, shipped), *_answers(prompt), *_concrete(prompt)]


def _form(prompt: Prompt, shipped: Prompt) -> Iterator[str]:
    """What the stage that asks it relies on."""
    for place in sorted(shipped.places() - prompt.places()):
        yield f"the place ${place} is missing: the model would never see what goes there"
    for place in sorted(prompt.places() - shipped.places()):
        yield f"nothing fills the place ${place}"
    for place in dict(shipped.cut).keys() & prompt.places() - dict(prompt.cut).keys():
        yield f"cut does not name ${place}, so a long one would be too much for the model"
    if prompt.options != shipped.options:
        yield f"its options are {_list(prompt.options)}, not {_list(shipped.options)}"
    if bool(prompt.max_tokens) != bool(shipped.max_tokens):
        yield "max_tokens is missing" if shipped.max_tokens else "a choice has max_tokens"
    if shipped.grammar is not None:
        named = "schema" if shipped.grammar.kind == "json" else shipped.grammar.kind
        if prompt.grammar is None:
            yield f"it has no {named}"
        elif not valid(prompt.grammar) and any(
            fitted(said, prompt.grammar) != said for _, said in shipped.examples
        ):
            yield f"its {named} is not of the form that is read, which the shipped examples show"


def _answers(prompt: Prompt) -> Iterator[str]:
    """Examples show the answers that are asked for."""
    if prompt.grammar is not None and (wrong := valid(prompt.grammar)):
        yield wrong.rstrip(".")
        return
    for _, said in prompt.examples:
        shown = repr(said[:_QUOTED])
        if prompt.grammar is not None and fitted(said, prompt.grammar) != said:
            yield f"the example answer {shown} has not the form asked for"
        if prompt.options and said not in prompt.options:
            yield f"the example answer {shown} is none of the options"


def _concrete(prompt: Prompt) -> Iterator[str]:
    pairs = (text for pair in prompt.examples for text in pair)
    text = "\n".join(_PLACE.sub(" ", part) for part in (prompt.system, *pairs, prompt.user))
    for pattern, what in (
        (_HASH, "a hash"),
        (_NUMBER, "a number or a date"),
        (_NAMES_OF_DAYS, "a date"),
        (_NAME, "a name"),
    ):
        found = list(dict.fromkeys(pattern.findall(text)))
        if found:
            yield f"{_list(found)}: {what}, which a model would copy"
            text = pattern.sub(" ", text)


def _list(words: tuple[str, ...] | list[str]) -> str:
    return ", ".join(map(repr, words)) or "none"
