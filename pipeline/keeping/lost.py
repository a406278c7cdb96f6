"""What earlier runs wrote and the vault's history does not hold: it was put back to an earlier day.

The records say that it is done with, so no later night would write it again, or say a word.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

from pipeline.errors import VaultFault
from pipeline.history import History
from pipeline.markdown import parse
from pipeline.store import Store
from pipeline.vault import Vault

CURE = "`memory retry --lost` has it folded again; or check out the branch that has it"
_NAMED = 3


class Lost(NamedTuple):
    """What one run wrote into one article."""

    run: str
    article: str


def lost(store: Store, history: History, vault: Vault) -> list[Lost]:
    """Every such writing, the oldest first.

    Not what came into another commit, as by a rebase, which keeps the trailers, or by a squash,
    which keeps the sentences. What the user deleted from a page is in the history still. Of a clone
    with a depth it cannot be told.
    """
    if history.shallow():
        return []
    log = history.log()
    there = {commit.sha for commit in log}
    kept = {(c.trailers.get("Run", ""), c.trailers.get("Bucket", "")) for c in log}
    missing = [
        one
        for one in store.ledger.foldings()
        if one.commit not in there and (one.run, one.bucket) not in kept
    ]
    found = dict.fromkeys(Lost(one.run, one.article) for one in missing)
    return [one for one in found if not _stands(one, store, vault)]


def reopen(store: Store, vault: Vault, found: Iterable[Lost]) -> None:
    """Let the chunks of these be folded again, as if those runs had not written them."""
    for one in found:
        store.ledger.reopen(one.run, one.article, gone=one.article not in vault.stems())


def told(found: Sequence[Lost]) -> str:
    """How much that is, and of which articles."""
    names = list(dict.fromkeys(one.article for one in found))
    some = ", ".join(repr(name) for name in names[:_NAMED])
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    times = f"{len(found)} times" if len(found) > 1 else "once"
    return f"what earlier runs wrote into {some}{more} ({times}) is not in the vault's history"


def _stands(one: Lost, store: Store, vault: Vault) -> bool:
    """Whether the page holds a sentence of it, or it brought none."""
    written = store.ledger.written_by(one.run, one.article)
    if not written:
        return True
    with suppress(VaultFault):  # a page that cannot be read is told of where it is needed
        return not written.isdisjoint(parse(vault.read(one.article) or "").said)
    return True
