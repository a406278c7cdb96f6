"""Articles whose file the user gave another name: found again by what stands in them."""

from __future__ import annotations

from contextlib import suppress

from pipeline.copies import original
from pipeline.errors import VaultFault
from pipeline.markdown import parse
from pipeline.store import Store
from pipeline.vault import Vault

_SAME_ARTICLE = 0.5  # share of the sentences we wrote that the renamed page still holds


def follow_renames(store: Store, vault: Vault) -> list[str]:
    """Let the records go along with renamed files; say what was found, a line each.

    Only pages the pipeline does not know can be renamed ones, so an undisturbed vault costs one
    listing of its files.
    """
    known, there = store.ledger.known_articles(), set(vault.stems())
    lines = []
    for old in sorted(known - there):
        written = store.ledger.written_sentences(old)
        others = there - known - set(copies(old, vault))
        held = {new: len(written & _sentences(new, vault)) for new in sorted(others)}
        new = max(held, key=lambda stem: held[stem], default="")
        if new and held[new] >= max(1, _SAME_ARTICLE * len(written)):
            store.ledger.rename(old, new)
            known = known - {old} | {new}
            lines.append(f"the article {old!r} is {new!r} now")
    return lines


def copies(article: str, vault: Vault) -> list[str]:
    """Stems of the copies that a syncer made of this article: they never are the article.

    `NAME 2` is none of them: a user may call the article so.
    """
    return [stem for stem in vault.stems() if original(stem) == article]


def _sentences(stem: str, vault: Vault) -> set[str]:
    with suppress(VaultFault):  # a page that cannot be read is told of where it is needed
        return set(parse(vault.read(stem) or "").said)
    return set()
