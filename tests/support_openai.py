"""A served model on loopback, and what is asked of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pipeline.models import Ask, Grammar, Model
from pipeline.models.address import address
from pipeline.models.openai_api import ServedModel
from pipeline.models.server import Server
from pipeline.records import Call
from tests.support_server import Fault, Place, Upstream, reply, serving

ASK = Ask("You are terse.", "Say it.", (("One?", "1"),))
CHOICE = Ask("Answer.", "Is it?", options=("yes", "no"))
KEY = "k-7Tq0vXw2ZrN4mB8c"
SCHEMA = Grammar("json", '{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}')


def said(text: str) -> Upstream:
    """An upstream that always says this."""
    return lambda body: reply(text)


@contextmanager
def served(
    upstream: Upstream, faults: Sequence[Fault | None] = (), **how: Any
) -> Iterator[tuple[ServedModel, Place, list[Call]]]:
    """A model on a server on loopback. how: key, seconds, pause of the server; rest the model's."""
    of_server = {"seconds": 30.0, "pause": 0.0} | {
        name: how.pop(name) for name in ("seconds", "pause") if name in how
    }
    key, calls = how.pop("key", ""), list[Call]()
    with serving(upstream, faults) as place:
        server = Server(address(place.url, remote=False, keyed=bool(key)), key, **of_server)
        yield ServedModel("openai:m", "m", server, account=calls.append, **how), place, calls


def write(model: Model, asks: Sequence[Ask] = (ASK,), **how: Any) -> list[str]:
    """The texts of the replies."""
    how = {"max_tokens": 9} | how
    return [reply.text for reply in model.write(asks, stage="s", purpose="p", **how)]


def choose(model: Model, *asks: Ask) -> list[dict[str, float]]:
    """The probability of each option."""
    choices = model.choose(asks, stage="s", purpose="p")
    return [dict(zip(c.options, c.probabilities, strict=True)) for c in choices]
