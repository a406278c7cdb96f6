"""A conversation goes on: what the user put under a topic, or is to decide about, stays."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from pipeline import assemble
from pipeline.records import Draft
from pipeline.store.ledger import Folding
from tests.support_night import NIGHT, make_vault, run_night, write_session, write_sessions
from tests.test_buckets_commands import LATER, LONE, SESSION, ledger, memory, script

DAY = timedelta(days=1)
MORE = "The Zeppelin hangar got a new roof of tin."


def told(home: Path, *more: str) -> None:
    """A conversation on the third topic, as far as it went."""
    said = [("user", LONE), ("assistant", "The Zeppelin hangar lease is noted in leases.md.")]
    write_session(home, "claude-code", SESSION, LATER - DAY, [*said, *(("user", m) for m in more)])


def test_a_split_stands_when_its_conversation_goes_on(home: Path) -> None:
    """The chunk stays under the topic chosen for it; what is said later is routed as ever."""
    write_sessions(home)
    told(home)
    config = make_vault()
    run_night(config, script(), at=NIGHT)
    memory("split", "Zeppelin hangar", "Hangar lease", "--match", "leased", "--yes")
    assert ledger(config)["Hangar lease"] == [""]
    told(home, MORE)
    run_night(config, script(), at=NIGHT + DAY)
    assert LONE in memory("show", "Hangar lease")
    assert LONE not in memory("show", "Zeppelin hangar")
    assert len(ledger(config)["Zeppelin hangar"]) == len(ledger(config)["Hangar lease"]) == 1


def test_what_a_held_draft_is_made_of_is_not_cut_again(home: Path) -> None:
    """Else it would be drafted a second time, as part of a longer chunk, and folded twice."""
    write_sessions(home)
    told(home)
    config = make_vault()
    run_night(config, script(), at=NIGHT)
    with assemble.reviewer(config) as reviewer:
        store = reviewer.press.store
        (one,) = store.buckets.placed("Zeppelin hangar")
        folding = Folding("Zeppelin hangar", (one.chunk.id,))
        draft = Draft("Z", "Z", "", "Zeppelin hangar", (one.chunk.id,), ())
        store.holds.add("r", draft, None, "x", folding, ["odd"], NIGHT)
    told(home, MORE)
    run_night(config, script(), at=NIGHT + DAY)
    with assemble.reviewer(config) as reviewer:
        placed = reviewer.press.store.buckets.placed("Zeppelin hangar")
    assert [(each.chunk.id == one.chunk.id, each.held) for each in placed] == [
        (True, True),
        (False, False),
    ]
