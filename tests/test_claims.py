"""How claims are read from what the model wrote, and what one unreadable answer takes with it."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from pipeline.errors import InvalidReply
from pipeline.models import Ask
from pipeline.policy import load_policy
from pipeline.prompts import Prompts
from pipeline.records import Chunk, Claim, ClaimKind, Message, Role
from pipeline.resources import folder
from pipeline.synthesis.claims import extract
from tests.doubles import CannedModel

SAID = "The exporter writes to Oslo every 8 minutes."
OTHER = "The cache of the exporter holds 40 entries."
UNREADABLE = "so far so good"


def chunk(conv: str, *texts: str) -> tuple[Chunk, list[Message]]:
    """A chunk of messages that say this."""
    at = datetime(2026, 3, 2, 9, tzinfo=UTC)
    messages = [Message(f"m{n}", conv, n, Role.USER, at, text) for n, text in enumerate(texts)]
    return Chunk(f"{conv}:0", conv, 0, 0, len(texts) - 1, "The exporter", True), messages


def extracted(
    *chunks: tuple[Chunk, list[Message]], replies: dict[str, str], entailment: bool = False
) -> list[tuple[Claim, ...] | InvalidReply]:
    """What comes of them where the model answers so about the messages in which a word stands."""
    policy = load_policy()
    synthesize = policy.synthesize.model_copy(update={"entailment": entailment})

    def write(_purpose: str, ask: Ask) -> str:
        return next(reply for word, reply in replies.items() if word in ask.prompt)

    return extract(
        chunks,
        model=CannedModel(write=write, choose=lambda _purpose, _ask: "yes"),
        prompts=Prompts(folder("prompts")),
        policy=policy.model_copy(update={"synthesize": synthesize}),
        rules="",
    )


def stating(text: str, kind: str = "fact") -> str:
    """A reply with one claim."""
    return json.dumps({"claims": [f"{kind}: {text}"]})


@pytest.mark.parametrize("kind", ["fact", "Fact", "FACT", " fact "])
def test_the_kind_counts_however_it_is_spelled(kind: str) -> None:
    """A server that heeds no grammar begins it as one begins a sentence; the claim is the same."""
    [claims] = extracted(chunk("00000000", SAID), replies={"Oslo": stating(SAID, kind)})
    assert isinstance(claims, tuple)
    [claim] = claims
    assert (claim.kind, claim.text, claim.dropped_reason) == (ClaimKind.FACT, SAID, "")


@pytest.mark.parametrize("entailment", [False, True])
def test_an_answer_that_cannot_be_read_takes_no_other_with_it(entailment: bool) -> None:
    """A long message has hundreds of pieces: what is said of the rest is kept, and it is told."""
    [claims] = extracted(
        chunk("00000000", SAID, OTHER),
        replies={"Oslo": UNREADABLE, "cache": stating(OTHER)},
        entailment=entailment,
    )
    assert isinstance(claims, tuple)
    kept, refused = claims
    assert (kept.text, kept.messages, kept.dropped_reason) == (OTHER, (1,), "")
    assert SAID in refused.text
    assert "cannot be read" in refused.dropped_reason
    assert kept.id != refused.id


def test_a_chunk_of_which_nothing_can_be_read_fails_alone() -> None:
    """It is tried again another night; the others of its batch are done."""
    first, second = extracted(
        chunk("00000000", SAID),
        chunk("00000001", OTHER),
        replies={"Oslo": UNREADABLE, "cache": stating(OTHER)},
    )
    assert isinstance(first, InvalidReply)
    assert isinstance(second, tuple) and [claim.text for claim in second] == [OTHER]


def test_where_nothing_is_worth_asking_nothing_comes() -> None:
    """That is no failure."""
    assert extracted(chunk("00000000", "Yes, do that."), replies={}) == [()]
