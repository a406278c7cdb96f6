"""How a claim is read from what the model wrote."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from pipeline.policy import load_policy
from pipeline.prompts import Prompts
from pipeline.records import Chunk, ClaimKind, Message, Role
from pipeline.resources import folder
from pipeline.synthesis.claims import extract
from tests.doubles import CannedModel

SAID = "The exporter writes to Oslo every 8 minutes."


@pytest.mark.parametrize("kind", ["fact", "Fact", "FACT", " fact "])
def test_the_kind_counts_however_it_is_spelled(kind: str) -> None:
    """A server that heeds no grammar begins it as one begins a sentence; the claim is the same."""
    at = datetime(2026, 3, 2, 9, tzinfo=UTC)
    message = Message("m0", "00000000", 0, Role.USER, at, SAID)
    chunk = Chunk("00000000:0", "00000000", 0, 0, 0, "The exporter", True)
    model = CannedModel(write=[json.dumps({"claims": [f"{kind}: {SAID}"]})])
    [[claim]] = extract(
        [(chunk, [message])],
        model=model,
        prompts=Prompts(folder("prompts")),
        policy=load_policy(),
        rules="",
    )
    assert (claim.kind, claim.text, claim.dropped_reason) == (ClaimKind.FACT, SAID, "")
