"""Asking the model whether the messages say what the rules let through: optional, only refuses."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from pipeline.policy import Policy, load_policy
from pipeline.prompts import Prompts
from pipeline.records import Chunk, Claim, Message, Role
from pipeline.resources import folder
from pipeline.synthesis.claims import Found, extract
from tests.doubles import CannedModel

SAID = "The exporter writes to Oslo every 8 minutes. The cache of the exporter holds 40 entries."
CLAIMS = (
    "The exporter writes to Oslo every 8 minutes.",
    "The exporter writes to Turku every 8 minutes.",
    "The cache of the exporter holds 40 entries.",
)


def claims(model: CannedModel, *, entailment: bool) -> tuple[Claim, ...]:
    policy: Policy = load_policy()
    synthesize = policy.synthesize.model_copy(update={"entailment": entailment})
    policy = policy.model_copy(update={"synthesize": synthesize})
    at = datetime(2026, 3, 2, 9, tzinfo=UTC)
    message = Message("m0", "00000000", 0, Role.USER, at, SAID)
    chunk = Chunk("00000000:0", "00000000", 0, 0, 0, "The exporter", True)
    found = extract(
        [(chunk, [message])],
        model=model,
        prompts=Prompts(folder("prompts")),
        policy=policy,
        rules="",
    )
    assert isinstance(found[0], Found)
    return found[0].claims


def reply() -> str:
    return json.dumps({"claims": [f"fact: {text}" for text in CLAIMS]})


def test_without_the_policy_nobody_is_asked() -> None:
    """As shipped, the rules decide alone."""
    assert load_policy().synthesize.entailment is False
    model = CannedModel(write=[reply()])
    kept = [claim.text for claim in claims(model, entailment=False) if not claim.dropped_reason]
    assert kept == [CLAIMS[0], CLAIMS[2]]
    assert not [asked for asked in model.asked if asked.call == "choose"]


@pytest.mark.parametrize(
    ("answers", "expected"), [(["yes", "no"], [CLAIMS[0]]), (["no", "yes"], [CLAIMS[2]])]
)
def test_what_the_model_does_not_find_is_dropped_and_nothing_is_let_back_in(
    answers: list[str], expected: list[str]
) -> None:
    """One question for each claim the rules let through, none for what they refused."""
    model = CannedModel(write=[reply()], choose=answers)
    found = claims(model, entailment=True)
    assert [claim.text for claim in found if not claim.dropped_reason] == expected
    assert model.left == 0
    dropped = {claim.text: claim.dropped_reason for claim in found if claim.dropped_reason}
    assert "Turku" in dropped[CLAIMS[1]]
    missed = next(text for text in dropped if text != CLAIMS[1])
    assert "the model does not find it" in dropped[missed]
