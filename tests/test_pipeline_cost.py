"""The reference that a night's tokens are measured beside does the work of that very night."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.pipeline_reference import (
    AT_ONCE,
    ENTITIES,
    REWRITES,
    SECTIONS,
    SEGMENTS,
    asked,
)
from tests.support_night import CONVERSATIONS, make_vault, run_night, write_sessions


def count(text: str) -> int:
    """Words, as a stand-in for tokens."""
    return len(text.split())


def test_the_reference_cuts_names_and_rewrites_what_the_night_cut_and_folded(home: Path) -> None:
    """A list of topics for each conversation, that cover it; names; new sections as they stand."""
    write_sessions(home)
    config = make_vault()
    assert run_night(config).status == "done"
    found = list(asked(config, count))
    cut = [json.loads(one.reply) for one in found if one.part == SEGMENTS]
    assert len(cut) == len(CONVERSATIONS)
    assert sorted(rows[-1]["last"] for rows in cut) == sorted(len(c[3]) for c in CONVERSATIONS)
    assert all(rows[0]["first"] == 1 for rows in cut)
    pieces = sum(len(rows) for rows in cut)
    named = [json.loads(one.reply) for one in found if one.part == ENTITIES]
    assert len(named) == pieces
    assert any("db/sessions.sql" in names for names in named)
    pages = "".join(path.read_text() for path in (config.vault / "articles").glob("*.md"))
    written = [one.reply for one in found if one.part == REWRITES]
    assert all(line in pages for text in written for line in text.splitlines() if "stores" in line)
    assert any("The Lantern project stores the sessions in Postgres." in text for text in written)


def test_the_reference_folds_piece_by_piece_and_ends_with_the_same_sections(home: Path) -> None:
    """The last rewriting of a section is the section; one rewriting for all is counted apart."""
    write_sessions(home)
    config = make_vault()
    run_night(config)
    found = list(asked(config, count))
    pages = "".join(path.read_text() for path in (config.vault / "articles").glob("*.md"))
    at_once = [one.reply for one in found if one.part == AT_ONCE]
    written = [one.reply for one in found if one.part == REWRITES]
    assert at_once and all(text in pages for text in at_once)
    assert set(at_once) < set(written)  # a project has several pieces, so there were states between
    # a new article has no section to be asked about before its first piece is in
    asks = [one for one in found if one.part == SECTIONS]
    states = {text.strip() for text in written}
    assert asks
    assert all(
        one.ask.prompt.partition("Section:\n")[2].partition("\n\nChat:")[0].strip() in states
        for one in asks
    )


def test_the_reference_reads_what_it_is_asked_about(home: Path) -> None:
    """The right reply may be nonsense to a prompt that does not hold what it speaks of."""
    write_sessions(home)
    config = make_vault()
    run_night(config)
    for one in asked(config, count):
        if one.part == ENTITIES:
            assert all(name in one.ask.prompt for name in json.loads(one.reply))
        if one.part == REWRITES:
            notes = one.ask.prompt.partition("Notes:\n")[2]
            assert notes
