"""Whether a reply has the form asked for, where nothing bound the model to it.

llguidance walks the grammar over the reply's bytes, so that the very grammars that bind a model
that runs here judge what another machine's model wrote.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache

from llguidance import LLMatcher, LLTokenizer

from pipeline.errors import ModelFault
from pipeline.models import Grammar

_FENCED = re.compile(r"```\w*\n(.*?)\n```", re.DOTALL)


def fitted(text: str, grammar: Grammar) -> str | None:
    """What of `text` has the form asked for, without what a model likes to put around it.

    The whole, what stands in a code fence, the first JSON value or the first line; None where none
    of these has the form. Raises ModelFault for a grammar that is not valid.
    """
    compiled = _compiled(grammar)
    for part in _parts(text, grammar):
        if _matches(part, compiled):
            return part
    return None


def valid(grammar: Grammar) -> str:
    """What is wrong with a grammar, "" if nothing is."""
    try:
        _compiled(grammar)
    except ModelFault as fault:
        return str(fault)
    return ""


def _parts(text: str, grammar: Grammar) -> Iterator[str]:
    stripped = text.strip()
    yield stripped
    if fence := _FENCED.search(text):
        yield fence[1].strip()
    if grammar.kind == "json":
        start = stripped.find("{")
        try:
            _, end = json.JSONDecoder().raw_decode(stripped, max(0, start))
        except ValueError:
            return
        yield stripped[max(0, start) : end]
    else:
        yield stripped.partition("\n")[0].strip()


def _matches(text: str, grammar: str) -> bool:
    matcher = LLMatcher(_bytes(), grammar)
    # a lone surrogate is no text; what stands for it then breaks or keeps the form as any sign does
    data = list(text.encode("utf-8", "replace"))
    return matcher.try_consume_tokens(data) == len(data) and matcher.is_accepting()


@lru_cache(maxsize=1)
def _bytes() -> LLTokenizer:
    return LLTokenizer("byte")


@lru_cache(maxsize=32)
def _compiled(grammar: Grammar) -> str:
    try:
        if grammar.kind == "json":
            text = LLMatcher.grammar_from_json_schema(grammar.text)
        elif grammar.kind == "regex":
            text = LLMatcher.grammar_from_regex(grammar.text)
        elif grammar.kind == "lark":
            text = LLMatcher.grammar_from_lark(grammar.text)
        else:
            raise ModelFault(f"There is no grammar kind {grammar.kind!r}.")
    except ValueError as fault:
        raise ModelFault(f"The {grammar.kind} grammar is not valid: {fault}.") from fault
    if error := LLMatcher.validate_grammar(text, _bytes()):
        raise ModelFault(f"The {grammar.kind} grammar is not valid: {error}.")
    return text
