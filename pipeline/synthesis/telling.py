"""Entries on Talk pages: each is told once, and what the user has settled is not told again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pipeline.desk import Desk
from pipeline.prose import flat
from pipeline.publish import Press, publish_talk


def untold(stem: str, entries: Sequence[str], desk: Desk) -> tuple[str, ...]:
    """Those of the entries that never stood on the article's Talk page, in order, once each."""
    told = desk.store.ledger.told(stem)
    return tuple(dict.fromkeys(entry for entry in entries if flat(entry) not in told))


def tell(
    stem: str,
    title: str,
    entries: Sequence[str],
    trailers: Mapping[str, str],
    press: Press,
    desk: Desk,
) -> None:
    """Write the untold ones of these entries to the article's Talk page and commit it.

    Raises ChangedUnderneath when the page is being edited.
    """
    publish_talk(press, stem, title, entries, run=desk.run, at=desk.now(), trailers=trailers)
