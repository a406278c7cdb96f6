"""A night taken back: the articles it wrote stand as before it, your own edits since kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import PurePosixPath

from pipeline.authorship import holds_more, own_pages
from pipeline.chronicle import counted, said
from pipeline.errors import ConfigFault, VaultFault
from pipeline.footnotes import definitions, marks
from pipeline.history import Commit, History
from pipeline.links import wikilinks
from pipeline.markdown import Page, parse
from pipeline.prose import flat, plain
from pipeline.publish import digest, publish
from pipeline.review import Reviewer
from pipeline.review.merging import without
from pipeline.review.naming import own, told_of_another
from pipeline.run_ids import meant
from pipeline.spelling import folded
from pipeline.store.ledger import Folding, PageFile
from pipeline.topics.obeying import refresh_page
from pipeline.vault import ChangedUnderneath

_ARTICLES, _TALK = "articles/", "Talk/"


@dataclass(frozen=True, slots=True)
class Undone:
    """One page of a run. outcome: restored, deleted (the run had made it), or kept.

    reason: why it was kept, or who links still to what was deleted.
    """

    path: str
    outcome: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class _Write:
    """One of our commits to a page."""

    commit: Commit
    path: str


def undo(what: str, reason: str, reviewer: Reviewer) -> tuple[str, list[Undone]]:
    """Take back a run's writes to articles and Talk pages, or those to one article.

    what: a run, an article's name (then the last run that wrote it), "" for the last run of this
    machine that wrote anything. reason: shown to later drafts on those topics, "" for none.
    Returns the run and each page's outcome. What the user changed since stays; where that meets
    what the run wrote, the page is kept as it is. Raises ConfigFault when there is nothing to take
    back.
    """
    writes = _writes(reviewer.press.history)
    run, chosen = _chosen(what, writes, reviewer)
    by_page: dict[str, list[_Write]] = {}
    for write in chosen:
        by_page.setdefault(write.path, []).append(write)
    done = [_undo_page(run, path, found, writes, reviewer) for path, found in by_page.items()]
    done = [_with_links(page, reviewer) if page.outcome == "deleted" else page for page in done]
    taken = [page for page in done if page.outcome != "kept"]
    if taken:
        if reason:
            for bucket in dict.fromkeys(w.commit.trailers.get("Bucket", "") for w in chosen):
                if bucket:
                    now_called = reviewer.press.store.buckets.now_called(bucket)
                    reviewer.press.store.holds.object(now_called, reason, reviewer.now())
        summary = f"{counted(len(taken), 'page')} of run {run} taken back by you"
        reviewer.tell(summary, [_line(page, reason) for page in taken], run=run)
        refresh_page(reviewer.press, at=reviewer.now())
    return run, done


def refuse_another(reviewer: Reviewer) -> None:
    """Raise ConfigFault if the last thing done to the pages was to take a whole run back.

    Whoever repeats `undo` without naming a run, as after a kill, means that run and not the one
    before it. Pages of it that are left to take back are no reason to refuse.
    """
    history = reviewer.press.history
    writes = _writes(history)
    run = next(iter(own(_runs(writes), reviewer)), "")
    newest = next((w.commit for w in writes if w.commit.trailers["Run"] == run), None)
    if newest is None:
        return
    # newest first: an undo that stands before the newest write came after it
    since = takewhile(lambda commit: commit.sha != newest.sha, history.log())
    undone = [commit.trailers["Undoes"] for commit in since if "Undoes" in commit.trailers]
    last = next(iter(own(undone, reviewer)), run)
    if last != run:
        raise ConfigFault(
            f"run {last} has been taken back already",
            mend=f"to take back the night before as well: memory undo {run}",
        )


def standing(history: History) -> list[str]:
    """The runs that wrote pages and were not wholly taken back, newest first."""
    return _runs(_writes(history))


def _runs(writes: Sequence[_Write]) -> list[str]:
    return list(dict.fromkeys(write.commit.trailers["Run"] for write in writes))


def _line(page: Undone, reason: str) -> str:
    name = page.path.removesuffix(".md").removeprefix(_ARTICLES)
    where = f"[[{name}]]" if page.outcome == "restored" else plain(name)
    told = [told for told in (page.reason, reason) if told]
    return f"- {page.outcome} {where}" + (f": {said(told)}" if told else "")


def _with_links(page: Undone, reviewer: Reviewer) -> Undone:
    """The page that is gone, with the articles that link to it still."""
    stem, vault = PurePosixPath(page.path).stem, reviewer.press.vault
    left = []
    for other in vault.stems():
        with suppress(VaultFault):  # a page that cannot be read
            text = vault.read(other) or ""
            if f"[[{stem}" in text and stem in wikilinks(text):
                left.append(other)
    return replace(page, reason=f"still linked from {', '.join(left)}") if left else page


def _writes(history: History) -> list[_Write]:
    """Our commits to pages that were not taken back, newest first."""
    found = []
    undone: set[tuple[str, str]] = set()
    log = [c for c in history.log() if {"Run", "Undoes"} & c.trailers.keys()]
    files, shallow = history.files([commit.sha for commit in log]), history.shallow()
    for commit in log:
        if run := commit.trailers.get("Undoes"):
            undone.add((run, commit.trailers.get("Page", "")))
            continue
        for path in own_pages(commit, files[commit.sha], shallow):
            page = path.startswith((_ARTICLES, _TALK))
            if page and (commit.trailers["Run"], flat(path)) not in undone:
                found.append(_Write(commit, path))
    return found


def _chosen(what: str, writes: Sequence[_Write], reviewer: Reviewer) -> tuple[str, list[_Write]]:
    """The run, and those of its writes that are meant."""
    runs = _runs(writes)
    run = what or next(iter(own(runs, reviewer)), "")
    if run in runs:
        return run, [w for w in writes if w.commit.trailers["Run"] == run]
    vault, ledger = reviewer.press.vault, reviewer.press.store.ledger
    stems = {
        entry.stem
        for entry in vault.catalog()
        if folded(what) in (folded(entry.stem), folded(entry.title))
    } or ({what} if what else set())
    made = {change.commit for stem in stems for change, _ in ledger.changes(article=stem)}
    # the user may have moved or renamed the file since
    paths = {
        write.path
        for write in writes
        if write.path.startswith(_ARTICLES)
        and (PurePosixPath(write.path).stem in stems or write.commit.sha in made)
    }
    of_page = [write for write in writes if write.path in paths]
    if of_page:
        run = of_page[0].commit.trailers["Run"]
        return run, [w for w in of_page if w.commit.trailers["Run"] == run]
    # an article of that name comes first
    if (run := meant(what, runs)) in runs:
        return run, [w for w in writes if w.commit.trailers["Run"] == run]
    raise ConfigFault(
        f"there is nothing to take back of {what!r}" if what else "there is nothing to take back",
        mend=("" if what else told_of_another(runs, reviewer))
        or "`memory log` lists the runs and what they wrote",
    )


def _undo_page(
    run: str, path: str, writes: Sequence[_Write], every: Sequence[_Write], reviewer: Reviewer
) -> Undone:
    press = reviewer.press
    # its own writes first: another article may have the name by now
    here = _place_now(path, [*writes, *(w for w in every if w.path == path)], reviewer)
    current = press.vault.page(here)
    if current is None:
        return Undone(path, "kept", "it is not there any more")
    text: str | None = current
    for write in writes:
        sha = write.commit.sha
        before, after = _sides(write, current, press.history)
        if holds_more(write.commit.trailers, before, after):
            more = (
                f"its commit {sha[:10]} holds more than the run wrote, or less: change it by hand"
            )
            return Undone(path, "kept", more)
        try:
            text = _without([(before, after)], text)
        except _Changed:
            return Undone(path, "kept", _obstacle(write, current, every, press.history))
    if text is not None and (lost := _undefined(parse(text)) - _undefined(parse(current))):
        reason = f"a later night cites the same source ([^{min(lost)}]): take that back first"
        return Undone(path, "kept", reason)
    try:
        publish(
            press,
            PageFile(here, digest(current), text),
            run=run,
            at=reviewer.now(),
            subject=f"undo: {path.removesuffix('.md')}",
            # the time, since a page can be written and taken back again under the same run
            trailers={"Undoes": run, "Page": path, "At": reviewer.now().isoformat()},
            folding=_folding(run, here, text),
        )
    except ChangedUnderneath as error:
        return Undone(path, "kept", str(error))
    return Undone(path, "deleted" if text is None else "restored")


class _Changed(Exception):
    """The very sentences were changed since."""


def _without(written: Iterable[tuple[str | None, str | None]], text: str | None) -> str | None:
    """The text without what led to each `after` from its `before`; None is no page.

    Raises _Changed.
    """
    for before, after in written:
        if text == after:
            text = before
        elif (text := without(text or "", after or "", before or "")) is None:
            raise _Changed
    return text


def _obstacle(write: _Write, current: str, every: Sequence[_Write], history: History) -> str:
    """Why a write cannot be taken back: for what a later night wrote, or for what the user did."""
    of_page = (other for other in every if other.path == write.path)
    since = list(takewhile(lambda other: other.commit.sha != write.commit.sha, of_page))
    run = write.commit.trailers["Run"]
    if all(other.commit.trailers["Run"] == run for other in since):
        return "you changed what the run wrote there"
    try:
        _without((_sides(other, current, history) for other in (*since, write)), current)
    except _Changed:
        return "you changed what the run or a later night wrote there: change it by hand"
    return "a later night wrote there too: take that back first"


def _sides(write: _Write, page: str, history: History) -> tuple[str | None, str | None]:
    """The page before a write and after it, with the line ends of the page as it is now."""
    sha = write.commit.sha
    before = history.show(history.before(sha), write.path)
    return _ended_as(page, before), _ended_as(page, history.show(sha, write.path))


def _ended_as(page: str, text: str | None) -> str | None:
    """The text with the line ends of the page: git may be told to keep and put out others."""
    if text is None or "\n" not in page or _has_crlf(page) == _has_crlf(text):
        return text
    bare = text.replace("\r\n", "\n")
    return bare.replace("\n", "\r\n") if _has_crlf(page) else bare


def _has_crlf(text: str) -> bool:
    """Whether every line ends as on Windows."""
    return text.count("\r\n") == text.count("\n") > 0


def _place_now(path: str, writes: Sequence[_Write], reviewer: Reviewer) -> str:
    """Where the page is by now: the user may have moved or renamed the file of an article."""
    if not path.startswith(_ARTICLES):
        return path
    vault, ledger = reviewer.press.vault, reviewer.press.store.ledger
    known = (ledger.article_of(write.commit.sha) for write in writes)
    return vault.article_path(next(filter(None, known), PurePosixPath(path).stem))


def _undefined(page: Page) -> set[str]:
    """Marks without a definition."""
    return {label for block in page.blocks for label in marks(block)} - definitions(page).keys()


def _folding(run: str, path: str, text: str | None) -> Folding:
    """What the ledger learns of it; of a Talk page it knows nothing."""
    if not path.startswith(_ARTICLES):
        return Folding()
    return Folding(
        stem=PurePosixPath(path).stem,
        written_hash="" if text is None else digest(text),
        undoes=run,
    )
