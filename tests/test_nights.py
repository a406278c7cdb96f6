"""Nights in a row over a world whose truth is known: what is promised holds after each of them.

The world, the scripted model, the owner and the measures are those of benchmarks/nights.py.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from tests.support_night import NIGHT, Script, make_vault, run_night, write_session


def test_what_the_gate_refuses_of_one_claim_keeps_no_other_out(home: Path) -> None:
    """A citation that does not carry its sentence is left out and told; the rest is folded."""
    writes = ("The Lantern importer writes the report of Amina Okafor at night.", "fact")
    never = ("The Lantern importer never writes the report of Amina Okafor at night.", "fact")
    threads = ("The Lantern worker runs with 4 threads at night.", "fact")
    claims = {said[0]: [said] for said in (writes, never, threads)}
    config = make_vault()

    def tell(session: str, days: int, *said: tuple[str, str]) -> None:
        start = NIGHT - timedelta(days=days)
        lines = [("user", text) for text, _ in said]
        write_session(home, "pi", f"01a227d3-5ba7-760c-a6c2-{session}", start, lines)

    tell("4a98371937f3", 3, writes)
    tell("4a98371937f4", 2, ("The Lantern project has a worker and its reports.", "fact"))
    script = Script({"synthesize/relation": lambda _ask: "same"}, claims)
    first = run_night(config, script)
    assert first.status == "done"
    tell("4a98371937f5", 1, never, threads)
    second = run_night(config, script, at=NIGHT + timedelta(days=1))
    assert second.results.rejected == []
    (page,) = (config.vault / "articles").glob("*.md")
    assert f"{threads[0]}[^" in page.read_text("utf-8")
