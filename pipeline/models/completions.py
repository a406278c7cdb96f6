"""An Ask as the body of a chat completion, and a completion's answer as text and what it cost."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.errors import InvalidReply
from pipeline.models import Ask, Grammar
from pipeline.models.weighing import Listed

_LISTED = 10  # tokens asked for at each place; some servers list no more than 11
_HOTTEST = 2.0  # temperature; the API refuses more, which a prompt of the user's may come to
_BYTES_PER_TOKEN = 3  # rather few, so that an estimate is rather too high than too low

# By these a chat template tells turns apart. The server's tokenizer may take them for such wherever
# they stand, and a transcript that holds one would end its turn and open another.
_CONTROL = re.compile(
    r"<(?=[|｜][^<>\s]{1,40}>)|<(?=[^<>\s]{1,40}[|｜]>)"
    r"|<(?=/?(?:start_of_turn|end_of_turn|bos|eos|pad|unk|s|think)>)"
    r"|\[(?=/?INST\])|<(?=</?SYS>>)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Answer:
    """One completion. finish: "stop" or "length". places: for each token of the reply those that
    the server lists as likeliest there, () where it lists none.
    """

    text: str
    finish: str
    places: tuple[tuple[Listed, ...], ...]
    prompt_tokens: int
    cached_tokens: int
    output_tokens: int


def body(
    model: str,
    ask: Ask,
    *,
    max_tokens: int,
    temperature: float = 0.0,
    seed: int = 0,
    grammar: Grammar | None = None,
    listing: bool = False,
) -> dict[str, Any]:
    """The request. listing: have the server list the likeliest tokens."""
    turns = [("system", ask.system)] if ask.system else []
    for user, assistant in ask.examples:
        turns += [("user", user), ("assistant", assistant)]
    made: dict[str, Any] = {
        "model": model,
        "messages": [
            {"role": role, "content": _harmless(text)}
            for role, text in (*turns, ("user", ask.prompt))
        ],
        "max_tokens": max_tokens,
        "temperature": min(temperature, _HOTTEST),
        # thinking would come before the reply, and eat its tokens
        "chat_template_kwargs": {"enable_thinking": False},
    }
    if temperature > 0:  # greedy text needs no seed, and a server may batch only what has none
        made["seed"] = seed
    if grammar is not None and grammar.kind == "json":
        schema = {"name": "reply", "strict": True, "schema": json.loads(grammar.text)}
        made["response_format"] = {"type": "json_schema", "json_schema": schema}
    if listing:
        made |= {"logprobs": True, "top_logprobs": _LISTED}
    return made


def parsed(data: Mapping[str, Any], ask: Ask) -> Answer:
    """The first choice of an answer. Raises InvalidReply where there is no text in it."""
    try:
        choice = data["choices"][0]
        text, finish = choice["message"].get("content"), choice.get("finish_reason")
    except (LookupError, TypeError, AttributeError) as error:
        raise InvalidReply("the server's answer holds no reply") from error
    if finish not in ("stop", "length", None) or not isinstance(text, str | None):
        raise InvalidReply(f"the server ended the reply with {str(finish)[:40]!r}")
    if text is None and finish != "length":
        raise InvalidReply("the server's reply holds no text")
    # JSON can say what is no text, and what no database takes
    text = (text or "").encode("utf-8", "replace").decode("utf-8").replace("\0", "")
    usage = data.get("usage")
    said = usage if isinstance(usage, dict) else {}
    details = said.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    return Answer(
        text,
        finish or "stop",
        _places(choice.get("logprobs")),
        _number(said.get("prompt_tokens"), estimate_of(ask)),
        _number(cached, 0),
        _number(said.get("completion_tokens"), estimate(text)),
    )


def estimate(text: str) -> int:
    """About how many tokens a text has, rather too many."""
    return math.ceil(len(text.encode("utf-8", "replace")) / _BYTES_PER_TOKEN)


def estimate_of(ask: Ask) -> int:
    """The same for all turns of an ask."""
    pairs = (text for pair in ask.examples for text in pair)
    return sum(map(estimate, (ask.system, *pairs, ask.prompt)))


def _harmless(text: str) -> str:
    """The text with a space in what might be read as a control token, and no lone surrogate."""
    whole = text.encode("utf-8", "replace").decode("utf-8")
    return _CONTROL.sub(lambda match: f"{match[0]} ", whole)


def _places(logprobs: Any) -> tuple[tuple[Listed, ...], ...]:
    """The lists of an answer up to the first that is not of the documented form."""
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    places = []
    for entry in content if isinstance(content, Sequence) else ():
        try:
            place = tuple(
                Listed(str(one["token"]), float(one["logprob"])) for one in entry["top_logprobs"]
            )
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError):
            break
        if not place or not all(math.isfinite(one.logprob) for one in place):
            break
        places.append(place)
    return tuple(places)


def _number(value: Any, otherwise: int) -> int:
    return value if isinstance(value, int) and value >= 0 else otherwise
