"""Commits of ours that the ledger knows nothing of: what their trailers tell is entered there.

Another machine made them that writes to the same vault, or this one before its records were lost.
Without this their chunks would be folded a second time where the conversations are here too, and
what the user deleted since would come back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from pathlib import PurePosixPath

from pipeline.authorship import own_pages
from pipeline.chronicle import CHANGELOG
from pipeline.footnotes import citations_of
from pipeline.gates import section_words
from pipeline.history import Commit, History
from pipeline.keeping.undone_elsewhere import learn_undone
from pipeline.markdown import Page, parse
from pipeline.prose import flat
from pipeline.publish import digest
from pipeline.records import Bucket, BucketState, Change
from pipeline.store import Store
from pipeline.store.ledger import Folding, PageFile
from pipeline.vault import Vault

_ARTICLES = "articles/"


def adopt(
    store: Store,
    history: History,
    vault: Vault,
    at: datetime,
    *,
    since: str = "",
    step: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> int:
    """Enter every commit that folded chunks and is not in the ledger; return how many.

    First what was taken back of those that are.

    since: a commit; those that it comes after are known. "" for none. step: what each is entered
    within; it may stop the rest.

    What the user had forgotten stays so. Of a commit whose page cannot be told only the chunks are
    entered. Each is entered whole or not at all.

    What was merged or led in an article, and which claims the commit counted, its trailers do not
    tell; the sentences it wrote and the words of the article are read from the page.
    """
    log = history.log(since=since)
    with step():
        store.forgetting.learn(
            (conv for commit in log for conv in commit.trailers.get("Forgets", "").split()), at
        )
    with step(), store.together():
        learn_undone(store, history, vault, log, whole=not since)
    final = {bucket.name: bucket.merged_into or bucket.name for bucket in store.buckets.all()}
    missing = [commit for commit in log if _is_missing(commit, store, final)]
    if not missing:
        return 0
    files, shallow = history.files([commit.sha for commit in missing]), history.shallow()
    told = history.show(history.head(), CHANGELOG) or ""
    taken_back, known = _taken_back(log), store.ledger.known_articles()
    there = frozenset(vault.stems())
    for commit in reversed(missing):
        pages = own_pages(commit, files[commit.sha], shallow)
        with step(), store.together():
            if not pages:
                _note(commit, "", store, at, outcome="nothing new")
            for path in pages:
                if not path.startswith(_ARTICLES):
                    continue
                stem, article = PurePosixPath(path).stem, _article_now(commit, path, store, there)
                undone = (commit.trailers["Run"], flat(path)) in taken_back
                if undone or article in known or article != stem:
                    # done with all the same: what was taken back does not come back, and what is
                    # known of the article may be later than this commit
                    outcome = "undone" if undone else "folded"
                    _note(commit, article, store, at, outcome=outcome)
                    fresh, _ = _written(commit, path, store, history)
                    store.ledger.shut_out(article, list(fresh), commit.trailers["Run"])
                else:
                    _enter(commit, path, store, history, at, told=told)
    return len(missing)


def _article_now(commit: Commit, path: str, store: Store, there: frozenset[str]) -> str:
    """The stem of the article into which the topic's news go here.

    The user may have renamed the file on this machine; git merges what another then writes under
    the old name.
    """
    bucket = store.buckets.now_called(commit.trailers["Bucket"])
    own = next((known.article for known in store.buckets.all() if known.name == bucket), "")
    return own if own in there else PurePosixPath(path).stem


def _is_missing(commit: Commit, store: Store, final: Mapping[str, str]) -> bool:
    """final: the name under which each bucket goes on, itself unless it was merged."""
    if not {"Run", "Bucket", "Chunks"} <= commit.trailers.keys():
        return False
    run, bucket = commit.trailers["Run"], commit.trailers["Bucket"]
    chunks = commit.trailers["Chunks"].split()
    gone = store.forgetting.chunks(chunks)
    return any(
        not store.restoring.folded(chunk, run, final.get(bucket, bucket))
        for chunk in chunks
        if chunk not in gone
    )


def _taken_back(log: Sequence[Commit]) -> set[tuple[str, str]]:
    """(run, path) of pages that the user has taken back."""
    return {
        (commit.trailers["Undoes"], commit.trailers.get("Page", ""))
        for commit in log
        if "Undoes" in commit.trailers
    }


def _note(commit: Commit, article: str, store: Store, at: datetime, *, outcome: str) -> None:
    store.ledger.record(
        store.buckets.now_called(commit.trailers["Bucket"]),
        commit.trailers["Chunks"].split(),
        run=commit.trailers["Run"],
        article=article,
        commit=commit.sha if outcome == "folded" else "",
        outcome=outcome,
        at=at,
    )


def _written(
    commit: Commit, path: str, store: Store, history: History
) -> tuple[dict[str, tuple[str, ...]], str]:
    """The cited sentences that a commit brought, with their sources; the page after it.

    Without those of forgotten conversations that stand there no more.
    """
    after = history.show(commit.sha, path) or ""
    before = history.show(history.before(commit.sha), path)
    old = _cited(parse(before)) if before else {}
    new = {text: convs for text, convs in _cited(parse(after)).items() if text not in old}
    gone = store.forgetting.convs({conv for convs in new.values() for conv in convs})
    if gone:
        standing = _cited(parse(history.show(history.head(), path) or ""))
        new = {t: convs for t, convs in new.items() if t in standing or not gone >= set(convs)}
    return new, after


def _enter(
    commit: Commit, path: str, store: Store, history: History, at: datetime, *, told: str
) -> None:
    run, bucket = commit.trailers["Run"], store.buckets.now_called(commit.trailers["Bucket"])
    stem = PurePosixPath(path).stem
    fresh, after = _written(commit, path, store, history)
    convs = dict.fromkeys(conv for sources in fresh.values() for conv in sources)
    gone = store.forgetting.convs(convs)
    if bucket not in {known.name for known in store.buckets.all()}:
        store.buckets.save(Bucket(bucket, state=BucketState.CAPTURED), at)
    folding = Folding(
        bucket=bucket,
        chunks=tuple(commit.trailers["Chunks"].split()),
        change=Change(
            run=run,
            article=stem,
            title=commit.subject.partition(": ")[2] or stem,
            commit=commit.sha,
            kind="new" if commit.subject.startswith("new: ") else "updated",
            claims=len(fresh),
            citations=0,
            superseded=0,
            sections=(),
            convs=tuple(conv for conv in convs if conv not in gone),
        ),
        stem=stem,
        written_hash=digest(after),
        sentences=tuple(fresh),
        words=section_words(after),
        linked=True,
    )
    trailers = dict(commit.trailers)
    intent = store.ledger.announce(
        run, PageFile(path, "", after), commit.subject, trailers, folding
    )
    store.ledger.settle(intent, commit.sha, at)
    if f"run {run}" in told:
        store.ledger.count_as_told(run)


def _cited(page: Page) -> dict[str, tuple[str, ...]]:
    """Sentences that cite conversations, with those."""
    found = {}
    for block in page.blocks:
        for sentence in block.sentences:
            cited = citations_of(page, sentence.marks)
            if cited:
                found[sentence.text] = tuple(citation.conv for citation in cited)
    return found
