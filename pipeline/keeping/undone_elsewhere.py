"""What the user has taken back on another machine is taken back in the ledger here as well.

Otherwise a topic keeps an article that is gone: each machine writes its own row of the table every
night, and news for it are given up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from pipeline.history import Commit, History
from pipeline.prose import flat
from pipeline.publish import digest
from pipeline.store import Store
from pipeline.vault import Vault

_ARTICLES = "articles/"


def learn_undone(
    store: Store, history: History, vault: Vault, log: Sequence[Commit], *, whole: bool
) -> None:
    """Let the ledger know of each page of a run that an undo in this log took back.

    log: newest first. whole: no commit is left out of it. A page that stands keeps its topic,
    whatever the undo did: somebody has founded it anew.
    """
    there = frozenset(vault.stems())
    if not whole and not store.ledger.known_articles() <= there:
        # an older version passed over what explains why an article is gone
        log = history.log()
    for commit in _undoings(log):
        run, stem = commit.trailers["Undoes"], PurePosixPath(commit.trailers["Page"]).stem
        if article := store.ledger.standing(run, stem):
            if article in there:
                after = vault.hash(vault.article_path(article))
            else:
                after = _left(commit, history)
            store.ledger.undo(run, article, after)


def _undoings(log: Sequence[Commit]) -> Iterator[Commit]:
    """The commits that took back a page of a run that was not written under it again since."""
    later: set[tuple[str, str]] = set()
    for commit in log:
        undoes, page = commit.trailers.get("Undoes", ""), flat(commit.trailers.get("Page", ""))
        written = (undoes or commit.trailers.get("Run", ""), page)
        if undoes and page.startswith(_ARTICLES) and written not in later:
            yield commit
        later.add(written)


def _left(commit: Commit, history: History) -> str:
    """The hash of the page that this undo left, "" if it deleted it."""
    pages = (history.show(commit.sha, path) for path in history.files([commit.sha])[commit.sha])
    return next((digest(text) for text in pages if text is not None), "")
