"""What the user decides by day: held drafts, and nights to be taken back. No model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, tzinfo

from pipeline.chronicle import CHANGELOG
from pipeline.policy import Policy
from pipeline.publish import Press, publish
from pipeline.store.ledger import Folding, PageFile
from pipeline.vault import ChangedUnderneath, prepend_section


@dataclass(frozen=True, slots=True)
class Reviewer:
    """The parts a decision needs. now: the clock, aware UTC; zone: of the dates in the wiki."""

    press: Press
    policy: Policy
    zone: tzinfo | None
    now: Callable[[], datetime]

    def today(self) -> str:
        """The local date, ISO."""
        return self.now().astimezone(self.zone).date().isoformat()

    def tell(
        self, summary: str, lines: Sequence[str], *, run: str, all_changes: bool = False
    ) -> None:
        """Put a section about the user's decision on top of the changelog, and commit it.

        all_changes: the lines name every change that was not told yet, as those of a killed night.
        A changelog with edits that are to be left alone gets none: what was decided is done, and
        changes that are not told there yet are told the next night.
        """
        vault = self.press.vault
        now = self.now()
        stamp = now.astimezone(self.zone).strftime("%Y-%m-%d %H:%M")
        section = "\n".join([f"## {stamp} — {summary}", "", *lines])
        # before it is read: what the user saves in between must not be overwritten
        known = vault.hash(CHANGELOG)
        after = prepend_section(vault.meta("Changelog.md"), section)
        with suppress(ChangedUnderneath):
            publish(
                self.press,
                PageFile(CHANGELOG, known, after),
                run=run,
                at=now,
                subject=f"changelog: {summary}",
                # the time, since `heal` tells publications apart by their subject and trailers
                trailers={"Run": run, "At": now.isoformat()},
                folding=Folding(reports=all_changes),
            )
