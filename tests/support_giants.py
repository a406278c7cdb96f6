"""A whole night over one giant, in a process of its own so that its memory is its own.

    python -m tests.support_giants KIND HOME

Prints what was asked and what came of it, as JSON.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.pipeline_giant import SESSION, said, tokens, write
from pipeline import assemble, orchestrator
from pipeline.control import Control
from pipeline.models import Ask
from pipeline.store import Store
from tests.doubles import CannedModel, HashEmbedder
from tests.support_night import NIGHT, Script, make_vault


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


def script(stated: list[str]) -> Script:
    """Finds the facts in what it is shown, and nothing else."""

    def claims(ask: Ask) -> str:
        found = [f"fact: {fact}" for fact in stated if fact in ask.prompt]
        return json.dumps({"claims": found[:4]})

    return Script(overrides={"synthesize/claims": claims})


def run(kind: str, home: Path) -> Told:
    """The night."""
    lines, stated = said(kind)
    size = write(kind, home)
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
    """Of this program alone: on Linux what getrusage tells begins with what its parent held."""
    status = Path("/proc/self/status")
    if status.is_file():
        (row,) = (row for row in status.read_text().splitlines() if row.startswith("VmHWM:"))
        return int(row.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    os.environ["HOME"] = sys.argv[2]
    print(json.dumps(asdict(run(sys.argv[1], Path(sys.argv[2])))))
