"""How claims are read from what the model wrote, and what one unreadable answer takes with it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from pipeline.errors import InvalidReply
from pipeline.models import Ask, Reply
from pipeline.policy import load_policy
from pipeline.prompts import Prompts
from pipeline.records import Chunk, ClaimKind, Message, Role
from pipeline.resources import folder
from pipeline.synthesis.claims import Found, extract
from tests.doubles import CannedModel

SAID = "The exporter writes to Oslo every 8 minutes."
OTHER = "The cache of the exporter holds 40 entries."
THIRD = "The queue of the exporter holds 70 jobs."
UNREADABLE = "so far so good"


def chunk(conv: str, *texts: str) -> tuple[Chunk, list[Message]]:
    """A chunk of messages that say this."""
    at = datetime(2026, 3, 2, 9, tzinfo=UTC)
    messages = [Message(f"m{n}", conv, n, Role.USER, at, text) for n, text in enumerate(texts)]
    return Chunk(f"{conv}:0", conv, 0, 0, len(texts) - 1, "The exporter", True), messages


def extracted(
    *chunks: tuple[Chunk, list[Message]], replies: dict[str, str], entailment: bool = False
) -> list[Found | InvalidReply]:
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
    [found] = extracted(chunk("00000000", SAID), replies={"Oslo": stating(SAID, kind)})
    assert isinstance(found, Found)
    [claim] = found.claims
    assert (claim.kind, claim.text, claim.dropped_reason) == (ClaimKind.FACT, SAID, "")


@pytest.mark.parametrize("entailment", [False, True])
def test_an_answer_that_cannot_be_read_takes_no_other_with_it(entailment: bool) -> None:
    """A long message has hundreds of pieces: what is said of the rest is kept, and it is told."""
    [found] = extracted(
        chunk("00000000", SAID, OTHER, THIRD),
        replies={"Oslo": UNREADABLE, "cache": stating(OTHER), "queue": stating(THIRD)},
        entailment=entailment,
    )
    assert isinstance(found, Found)
    assert [(c.text, c.messages, c.dropped_reason) for c in found.claims] == [
        (OTHER, (1,), ""),
        (THIRD, (2,), ""),
    ]
    assert (found.unread, found.pieces) == (1, 3)


def test_where_half_cannot_be_read_the_chunk_is_tried_another_night() -> None:
    """A model that cannot do it would else empty the backlog, and nothing would stand anywhere."""
    [found] = extracted(
        chunk("00000000", SAID, OTHER), replies={"Oslo": UNREADABLE, "cache": stating(OTHER)}
    )
    assert isinstance(found, InvalidReply)


def test_a_chunk_of_which_nothing_can_be_read_fails_alone() -> None:
    """It is tried again another night; the others of its batch are done."""
    first, second = extracted(
        chunk("00000000", SAID),
        chunk("00000001", OTHER),
        replies={"Oslo": UNREADABLE, "cache": stating(OTHER)},
    )
    assert isinstance(first, InvalidReply)
    assert isinstance(second, Found) and [claim.text for claim in second.claims] == [OTHER]


def test_a_model_that_refuses_a_batch_is_asked_about_its_halves() -> None:
    """A server's reply that breaks the form is raised for all that were asked together."""

    class Served(CannedModel):
        def write(self, asks: Sequence[Ask], **options: Any) -> list[Reply]:
            if any("Oslo" in ask.prompt for ask in asks):
                raise InvalidReply("the reply is not in the form asked for")
            return super().write(asks, **options)

    served = Served(write=[stating(OTHER), stating(THIRD)])
    [found] = extract(
        [chunk("00000000", SAID, OTHER, THIRD)],
        model=served,
        prompts=Prompts(folder("prompts")),
        policy=load_policy(),
        rules="",
    )
    assert isinstance(found, Found)
    assert [claim.text for claim in found.claims] == [OTHER, THIRD]
    assert found.unread == 1 and served.left == 0


def test_where_nothing_is_worth_asking_nothing_comes() -> None:
    """That is no failure."""
    assert extracted(chunk("00000000", "Yes, do that."), replies={}) == [Found(())]
