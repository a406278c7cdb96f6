"""The gate: pure predicates every write to an article must pass.

To add one: a function in this package and its name in GATES, or in DOUBTS if the user may wave
through what it finds. A gate looks at a Write (the text as it was, the text as it would be, the
draft that claims to explain the difference, the policy and the context) and returns reasons a user
understands; none when it has nothing against it. No gate trusts the code that made the text: each
reads both texts anew.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pipeline.gates.amount import floor, growth, repeats, section_words, upheaval
from pipeline.gates.bearing import sources_bear
from pipeline.gates.citing import citations_survive, marks_defined, sentences_supported
from pipeline.gates.comparing import Context, Write
from pipeline.gates.content import dangers, nothing_dangerous, nothing_hollow
from pipeline.gates.naming import named_well
from pipeline.gates.succeeding import brings_news, in_time, on_the_matter
from pipeline.gates.telling import as_told
from pipeline.gates.untouched import unaddressed_identical
from pipeline.policy import GatePolicy
from pipeline.records import Draft

__all__ = [
    "DOUBTS",
    "GATES",
    "Context",
    "Gate",
    "Verdict",
    "Write",
    "dangers",
    "judge",
    "section_words",
]

Gate = Callable[[Write], list[str]]

GATES: tuple[Gate, ...] = (
    floor,
    citations_survive,
    marks_defined,
    unaddressed_identical,
    as_told,
    in_time,
    brings_news,
    repeats,
    nothing_hollow,
    sentences_supported,
    sources_bear,
    nothing_dangerous,
    named_well,
)
DOUBTS: tuple[Gate, ...] = (growth, upheaval, on_the_matter)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the gate has against a write, in words a user understands.

    refused: damage, never written. doubts: sound as far as code can see, but unusual: held until
    the user has looked at it.
    """

    refused: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()


def judge(before: str, after: str, draft: Draft, policy: GatePolicy, context: Context) -> Verdict:
    """Every reason against writing `after` over `before`, in the order of the gates, once each.

    before: "" for an article to be created.
    """
    write = Write(before, after, draft, policy, context)
    return Verdict(_reasons(GATES, write), _reasons(DOUBTS, write))


def _reasons(gates: tuple[Gate, ...], write: Write) -> tuple[str, ...]:
    return tuple(dict.fromkeys(reason for gate in gates for reason in gate(write)))
