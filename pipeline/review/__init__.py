"""What the user decides by day: held drafts, and nights to be taken back. No model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo

from pipeline.chronicle import CHANGELOG
from pipeline.config import Policy
from pipeline.publish import Press, publish
from pipeline.store.ledger import Folding, PageFile
from pipeline.vault import prepend_section


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

    def tell(self, summary: str, lines: Sequence[str], *, run: str) -> None:
        """Put a section about the user's decision on top of the changelog, and commit it."""
        vault = self.press.vault
        now = self.now()
        stamp = now.astimezone(self.zone).strftime("%Y-%m-%d %H:%M")
        section = "\n".join([f"## {stamp} — {summary}", "", *lines])
        publish(
            self.press,
            PageFile(
                CHANGELOG,
                vault.hash(CHANGELOG),
                prepend_section(vault.meta("Changelog.md"), section),
            ),
            run=run,
            at=now,
            subject=f"changelog: {summary}",
            # the time, since `heal` tells publications apart by their subject and trailers
            trailers={"Run": run, "At": now.isoformat()},
            folding=Folding(reports=True),
        )
