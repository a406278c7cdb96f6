"""Does the evidence say what a claim says? Asked of the model where the rules found no fault.

The answer only ever refuses: what the rules refused is not asked about.
"""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.models import Model
from pipeline.prompts import Prompts
from pipeline.records import Message
from pipeline.transcript import line

STAGE = "synthesize"
PURPOSE = "synthesize/entails"
_NO = "no"


def entailed(
    claims: Sequence[tuple[str, Sequence[Message]]], *, model: Model, prompts: Prompts
) -> list[bool]:
    """For each claim with its messages whether the model finds it said there; one batch for all."""
    if not claims:
        return []
    choices = model.choose(
        [
            prompts.ask(
                PURPOSE, {"claim": text, "messages": "\n".join(line(one) for one in messages)}
            )
            for text, messages in claims
        ],
        stage=STAGE,
        purpose=PURPOSE,
    )
    return [choice.best != _NO for choice in choices]
