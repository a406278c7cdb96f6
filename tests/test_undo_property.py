"""Undo after a run restores the bytes, whatever the page and whatever the run did to it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from pipeline import assemble
from pipeline.config import Config
from pipeline.errors import VaultFault
from pipeline.publish import digest, publish
from pipeline.review import Reviewer
from pipeline.review.undoing import undo
from pipeline.store.ledger import Folding, PageFile
from pipeline.surgery import apply
from tests.support_markdown import NASTY
from tests.support_night import NIGHT, make_vault
from tests.support_pages import drafts, pages

_NUMBERS = count(1)  # each example has a page and a run of its own, in the one vault
_FEW = settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture
def config(home: Path) -> Config:
    """A vault with nothing in it."""
    return make_vault()


@st.composite
def _nights(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A page, and the page after each of one or two drafts of a night."""
    now = before = draw(st.one_of(pages(), pages(), st.sampled_from([*NASTY.values()])))
    assume(before)
    states: list[str] = []
    for _ in range(draw(st.integers(1, 2))):
        try:
            after = apply(now, draw(drafts(now)), today="2026-11-30", paragraph_sentences=3)
        except VaultFault:
            event("refused by the surgeon")
            assume(False)
        if after != now:
            states.append(after)
        now = after
    assume(states)
    return before, states


def _publish(stem: str, run: str, states: Sequence[str], reviewer: Reviewer) -> None:
    """Write each state over the page, as a run does."""
    press = reviewer.press
    path = press.vault.article_path(stem)
    for number, after in enumerate(states):
        publish(
            press,
            PageFile(path, press.vault.hash(path), after),
            run=run,
            at=reviewer.now(),
            subject=f"update: {stem} {number}",
            trailers={"Run": run, "Bucket": stem},
            folding=Folding(stem=stem, written_hash=digest(after)),
        )


@_FEW
@given(_nights())
def test_undo_gives_a_page_its_bytes_back(config: Config, night: tuple[str, list[str]]) -> None:
    """P11: one draft or two to a page, taken back at once."""
    before, states = night
    number = next(_NUMBERS)
    stem, run = f"Page {number}", f"20261128-{number:06}"
    page = config.vault / "articles" / f"{stem}.md"
    page.parent.mkdir(exist_ok=True)
    page.write_bytes(before.encode())
    with assemble.reviewer(config, now=lambda: NIGHT) as reviewer:
        _publish(stem, run, states, reviewer)
        assert page.read_bytes() == states[-1].encode()
        _, (done,) = undo(run, "", reviewer)
    assert done.outcome == "restored"
    assert page.read_bytes() == before.encode()


@_FEW
@given(_nights(), st.sampled_from(("\n\nMine, added since.\n", "\n\n- [ ] mine\n")))
def test_undo_leaves_what_the_user_added_since(
    config: Config, night: tuple[str, list[str]], mine: str
) -> None:
    """P7: below all of the page; where the two cannot be told apart, the page is not touched."""
    before, states = night
    number = next(_NUMBERS)
    stem, run = f"Page {number}", f"20261128-{number:06}"
    page = config.vault / "articles" / f"{stem}.md"
    page.parent.mkdir(exist_ok=True)
    page.write_bytes(before.encode())
    with assemble.reviewer(config, now=lambda: NIGHT) as reviewer:
        _publish(stem, run, states, reviewer)
        edited = page.read_bytes() + mine.encode()
        page.write_bytes(edited)
        _, (done,) = undo(run, "", reviewer)
    event(done.outcome)
    if done.outcome == "kept":
        assert page.read_bytes() == edited
    else:
        assert page.read_bytes() == before.encode() + mine.encode()
