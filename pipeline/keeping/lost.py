"""What earlier runs wrote and the vault's history does not hold: it was put back to an earlier day.

The records say that it is done with, so no later night would write it again, or say a word.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

from pipeline.errors import VaultFault
from pipeline.footnotes import citations
from pipeline.history import History
from pipeline.markdown import Page, parse
from pipeline.store import Store
from pipeline.vault import Vault

CURE = (
    "`memory retry --lost` has it folded again, also what you had deleted or reworded of it; "
    "or check out the branch that has it"
)
_NAMED = 3


class Lost(NamedTuple):
    """What one run wrote into one article."""

    run: str
    article: str


def lost(store: Store, history: History, vault: Vault) -> list[Lost]:
    """Every such writing, the oldest first.

    Not what came into another commit, as by a rebase, which keeps the trailers, or by a squash,
    which keeps sentences or what they cite, in whatever page. What the user deleted from a page is
    in the history still. What another machine folded is that one's to tell. Of a clone with a depth
    it cannot be told.
    """
    if history.shallow():
        return []
    log = history.log()
    there = {commit.sha for commit in log}
    # by its chunks, since the topic may have another name by now
    kept = {
        (commit.trailers.get("Run", ""), chunk)
        for commit in log
        for chunk in commit.trailers.get("Chunks", "").split()
    }
    found: dict[Lost, list[str]] = {}
    folded: defaultdict[str, set[str]] = defaultdict(set)
    for one in store.reopening.foldings():
        folded[one.chunk].add(one.article)
        if one.commit not in there:
            found.setdefault(Lost(one.run, one.article), []).append(one.chunk)
    missing = {
        one: chunks
        for one, chunks in found.items()
        if kept.isdisjoint((one.run, chunk) for chunk in chunks)
    }
    pages = _pages(vault) if missing else {}
    gone = []
    for writing, chunks in missing.items():
        # what another topic made of the same chunk is no trace of this
        apart = set().union(*(folded[chunk] for chunk in chunks)) - {writing.article}
        others = [page for stem, page in pages.items() if page and stem not in apart]
        # a page that cannot be read is told of where it is needed
        if pages.get(writing.article, True) and not _stands(writing, chunks, store, others):
            gone.append(writing)
    return gone


def reopen(store: Store, vault: Vault, found: Sequence[Lost]) -> None:
    """Let the chunks of these be folded again, as if those runs had not written them.

    Should the user go back to a vault that has them, the next run enters them from there.
    """
    if found:
        store.runs.clear_found()
    for one in found:
        store.reopening.reopen(one.run, one.article, gone=one.article not in vault.stems())


def told(found: Sequence[Lost]) -> str:
    """How much that is, and of which articles."""
    names = list(dict.fromkeys(one.article for one in found))
    some = ", ".join(repr(name) for name in names[:_NAMED])
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    times = f"{len(found)} times" if len(found) > 1 else "once"
    return f"what earlier runs wrote into {some}{more} ({times}) is not in the vault's history"


def _pages(vault: Vault) -> dict[str, Page | None]:
    """Every article by its stem, None for one that cannot be read."""
    found: dict[str, Page | None] = dict.fromkeys(vault.stems())
    for stem in found:
        with suppress(VaultFault):
            found[stem] = parse(vault.read(stem) or "")
    return found


def _stands(one: Lost, chunks: Sequence[str], store: Store, pages: Iterable[Page]) -> bool:
    """Whether a page holds a sentence of it, or cites what it was made from; or it brought none.

    The user may have reworded all of it, or moved it. True also of what cannot be folded here.
    """
    written = store.reopening.written_by(one.run, one.article)
    pieces = list(filter(None, map(store.chunks.get, chunks)))
    if not (written and pieces):
        return True
    return any(
        not written.isdisjoint(page.said)
        or any(
            cited.conv == piece.conv and cited.first <= piece.last and cited.last >= piece.first
            for cited in citations(page).values()
            for piece in pieces
        )
        for page in pages
    )
