"""A whole night over one giant, in a process of its own so that its memory is its own.

    python -m tests.support_giants KIND HOME

Prints what was asked and what came of it, as JSON. Tokens are four characters of ASCII or one of
anything else, which is about what tokenizers make of them.
"""

from __future__ import annotations

import json
import os
import random
import resource
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from pipeline import assemble, orchestrator
from pipeline.control import Control
from pipeline.models import Ask
from pipeline.store import Store
from tests.doubles import CannedModel, HashEmbedder
from tests.support_night import NIGHT, Script, make_vault, write_session

SESSION = "5f0c7a3e-1d2b-4c3d-8e4f-a0b1c2d3e4f5"
CONVERSATION, MESSAGE, UNBROKEN = "conversation", "message", "unbroken"
TOKENS = {CONVERSATION: 400_000, MESSAGE: 200_000, UNBROKEN: 200_000}
_EACH = 400  # tokens of a message of the conversation
_FACT_EVERY = 50  # messages between two that state a fact
_FEW = 4  # facts beside or inside a giant message
_SYLLABLES = [f"{a}{b}" for a in "bdfgklmnprstvz" for b in "aeiou"]


def tokens(text: str) -> int:
    """The tokens of a text."""
    ascii_ = sum(character.isascii() for character in text)
    return -(-ascii_ // 4) + len(text) - ascii_


@dataclass(frozen=True, slots=True)
class Told:
    """What the night did. covered: messages that stand in exactly one chunk. largest: tokens of the
    longest prompt with all its turns. facts: those stated; claimed: of them, those kept as claims.
    peak: bytes the process held at most.
    """

    status: str
    tokens: int
    messages: int
    covered: int
    asks: int
    largest: int
    cap: int
    facts: int
    claimed: int
    rejected: list[str]
    peak: int


class Counting(CannedModel):
    """The canned model with tokens in the place of words."""

    def count(self, text: str) -> int:
        """Tokens."""
        return tokens(text)


def facts(number: int) -> Iterator[str]:
    """Sentences that each say something of their own."""
    draw = random.Random(7)
    for at in range(number):
        name = "".join(draw.choices(_SYLLABLES, k=3)).capitalize()
        yield f"The {name} depot of the Lantern project holds {at + 11} crates."


def said(kind: str) -> tuple[list[tuple[str, str]], list[str]]:
    """What is said, and the facts among it."""
    draw = random.Random(3)
    vocabulary = ["".join(draw.choices(_SYLLABLES, k=draw.randint(1, 4))) for _ in range(4000)]

    def prose(size: int) -> str:
        words: list[str] = []
        left = size * 4
        while left > 0:
            sentence = draw.choices(vocabulary, k=draw.randint(6, 18))
            words += [sentence[0].capitalize(), *sentence[1:-1], f"{sentence[-1]}."]
            left -= sum(map(len, sentence)) + len(sentence) + 1
        return " ".join(words)

    if kind == CONVERSATION:
        count = TOKENS[kind] // _EACH
        stated = list(facts(count // _FACT_EVERY))
        lines = []
        for at in range(count):
            fact = f"{stated[at // _FACT_EVERY]} " if at % _FACT_EVERY == _FACT_EVERY - 1 else ""
            lines.append(("assistant" if at % 2 else "user", f"{fact}{prose(_EACH)}"))
        return lines, stated
    stated = list(facts(_FEW))
    opening = ("user", f"Here is what came out of the Lantern project. {prose(40)}")
    if kind == MESSAGE:
        parts = [part for fact in stated for part in (prose(TOKENS[kind] // len(stated)), fact)]
        return [
            opening,
            ("assistant", " ".join(parts)),
            ("user", f"Thank you. {prose(40)}"),
        ], stated
    blob = "".join(chr(draw.randint(0x4E00, 0x8FFF)) for _ in range(TOKENS[kind]))
    return [opening, ("assistant", blob), ("user", " ".join(stated))], stated


def script(stated: list[str]) -> Script:
    """Finds the facts in what it is shown, and nothing else."""

    def claims(ask: Ask) -> str:
        found = [{"text": fact, "kind": "fact"} for fact in stated if fact in ask.prompt]
        return json.dumps({"claims": found[:4]})

    return Script(overrides={"synthesize/claims": claims})


def run(kind: str, home: Path) -> Told:
    """The night."""
    lines, stated = said(kind)
    write_session(home, "claude-code", SESSION, datetime(2026, 11, 26, 9, 0, tzinfo=UTC), lines)
    size = sum(tokens(text) for _, text in lines)
    config = make_vault()
    answers = script(stated)
    made: list[Counting] = []

    def model(account: object) -> Counting:
        made.append(Counting(answers.choose, answers.write, account=account))  # type: ignore[arg-type]
        return made[0]

    desk = assemble.desk(
        config,
        models=assemble.Models(model, HashEmbedder()),
        say=lambda _event: None,
        now=lambda: NIGHT,
    )
    try:
        status = orchestrator.run(desk, Control(10))
    finally:
        desk.store.close()
    asked = [_whole(one.ask) for one in made[0].asked]
    covered, claimed = _kept(Store(config.store_path))
    return Told(
        status=status,
        tokens=size,
        messages=len(lines),
        covered=covered,
        asks=len(asked),
        largest=max(map(tokens, asked)),
        cap=config.max_prompt_tokens,
        facts=len(stated),
        claimed=len(claimed & set(stated)),
        rejected=[f"{what}: {'; '.join(why)}" for what, why in desk.results.rejected],
        peak=_peak(),
    )


def _kept(store: Store) -> tuple[int, set[str]]:
    """Messages that stand in exactly one chunk, and the claims that were kept."""
    places: dict[int, int] = {}
    claims: set[str] = set()
    try:
        conversation = store.conversations.by_session("claude-code", SESSION)
        assert conversation is not None
        for chunk in store.chunks.of(conversation.conv):
            claims |= {c.text for c in store.claims.of(chunk.id) if not c.dropped_reason}
            for position in range(chunk.first, chunk.last + 1):
                places[position] = places.get(position, 0) + 1
    finally:
        store.close()
    return sum(number == 1 for number in places.values()), claims


def _whole(ask: Ask) -> str:
    turns = [text for pair in ask.examples for text in pair]
    return "\n".join([ask.system, *turns, ask.prompt])


def _peak() -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


if __name__ == "__main__":
    os.environ["HOME"] = sys.argv[2]
    print(json.dumps(asdict(run(sys.argv[1], Path(sys.argv[2])))))
