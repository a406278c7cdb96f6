"""Very long messages: a claim is held against what in them speaks of the same."""

from __future__ import annotations

import pytest

from pipeline.records import Message, Role
from pipeline.support import check, evidence
from tests.support_store import START

FILLER = "The crew painted another wall of the shed and went home after lunch. " * 400
STATED = "The Harbor archive keeps its backups for 45 days in Trondheim."


def long(fact: str) -> Message:
    """A message of some 55,000 characters with the fact in its middle."""
    return Message("m1", "c", 1, Role.ASSISTANT, START, f"{FILLER}{fact} {FILLER}")


def test_what_is_said_deep_inside_a_long_message_supports_a_claim() -> None:
    """It is found wherever it stands."""
    messages = [Message("m0", "c", 0, Role.USER, START, "How is it going?"), long(STATED)]
    assert evidence(STATED, messages) == (1,)
    assert check(STATED, [messages[1]], threshold=0.6).supported


@pytest.mark.parametrize(
    "claim",
    [
        "The Harbor archive keeps its backups for 90 days in Trondheim.",
        "The Harbor archive keeps its backups for 45 days in Lisbon.",
        "The Harbor archive does not keep its backups for 45 days in Trondheim.",
    ],
)
def test_what_a_long_message_does_not_say_is_refused(claim: str) -> None:
    """Another value, another place, a denial: as in a short message."""
    assert not check(claim, [long(STATED)], threshold=0.6).supported
