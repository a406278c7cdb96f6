"""What there is to review: held drafts, what runs wrote, and the diffs of both."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from pipeline.authorship import own_pages
from pipeline.chronicle import CHANGELOG
from pipeline.errors import ConfigFault, VaultFault
from pipeline.history import Commit
from pipeline.records import Change
from pipeline.review import Reviewer
from pipeline.review.naming import own
from pipeline.run_ids import meant
from pipeline.spelling import folded
from pipeline.store.holds import Hold
from pipeline.store.runs import Run


@dataclass(frozen=True, slots=True)
class Told:
    """A run with its changes; True beside those the user has taken back."""

    run: Run
    changes: tuple[tuple[Change, bool], ...]

    def as_json(self) -> dict[str, Any]:
        """The run for a machine to read."""
        return {
            "run": self.run.id,
            "started_at": self.run.started_at,
            "status": self.run.status,
            "model": self.run.model,
            "held": len(self.run.results.get("held", [])),
            "rejected": len(self.run.results.get("rejected", [])),
            "changes": [
                {
                    "article": change.article,
                    "kind": change.kind,
                    "claims": change.claims,
                    "citations": change.citations,
                    "superseded": change.superseded,
                    "conversations": list(change.convs),
                    "commit": change.commit,
                    "undone": undone,
                }
                for change, undone in self.changes
            ],
        }


def runs(limit: int, reviewer: Reviewer) -> list[Told]:
    """The newest runs, newest first, those that had nothing to do left out."""
    store, undone = reviewer.press.store, _undone(reviewer)
    found: list[Told] = []
    for run in store.runs.recent(-1):
        if len(found) == limit:
            break
        if run.status != "nothing":
            found.append(Told(run, tuple(map(undone, store.ledger.changes(run=run.id)))))
    return found


def article_log(name: str, reviewer: Reviewer) -> list[tuple[Change, bool]]:
    """What was done to an article, newest first. Raises ConfigFault when nothing ever was."""
    entries = reviewer.press.vault.catalog()
    stems = [e.stem for e in entries if folded(name) in (folded(e.stem), folded(e.title))]
    undone = _undone(reviewer)
    found = [
        undone(told)
        for stem in stems or [name]
        for told in reviewer.press.store.ledger.changes(article=stem)
    ]
    if not found:
        raise ConfigFault(
            f"no run has written an article called {name!r}", mend="`memory log` lists the runs"
        )
    return found[::-1]


def _undone(reviewer: Reviewer) -> Callable[[tuple[Change, bool]], tuple[Change, bool]]:
    """Marks a change as taken back also where that was done on another machine."""
    undone: set[tuple[str, str]] = set()
    taken: set[tuple[str, str]] = set()
    with suppress(VaultFault):  # what the store says is told without git as well
        for commit in reviewer.press.history.log():
            stem = PurePosixPath(commit.trailers.get("Page", "")).stem
            if run := commit.trailers.get("Undoes"):
                undone.add((run, stem))
            elif run := commit.trailers.get("Run"):
                taken |= {(commit.sha, page) for by, page in undone if by == run}
    return lambda told: (told[0], told[1] or (told[0].commit, told[0].article) in taken)


def hold_diff(hold: Hold) -> str:
    """What a held draft would change, as a unified diff."""
    before, after = (hold.before or "").splitlines(True), hold.after.splitlines(True)
    lines = difflib.unified_diff(
        before, after, f"a/{hold.draft.article}.md", f"b/{hold.draft.article}.md"
    )
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def run_diff(run: str, reviewer: Reviewer) -> tuple[str, str]:
    """The run meant ("" = the last of this machine that wrote) and the diff of what it wrote.

    Each page once, from before the run's first commit to after its last; the changelog is left
    out. Raises ConfigFault when there is no such run.
    """
    history = reviewer.press.history
    log = [commit for commit in history.log() if "Run" in commit.trailers]
    written = list(dict.fromkeys(commit.trailers["Run"] for commit in log))
    begun = [known.id for known in reviewer.press.store.runs.recent(-1)]
    run = meant(run, [*written, *begun]) or next(iter(own(written, reviewer)), "")
    made = [commit for commit in log if commit.trailers["Run"] == run]
    files, shallow = history.files([commit.sha for commit in made]), history.shallow()
    pages: dict[str, list[Commit]] = {}
    for commit in made:
        if commit.sha in shallow:
            continue  # what it was before is not here
        for path in own_pages(commit, files[commit.sha], shallow):
            pages.setdefault(path, []).append(commit)
    pages.pop(CHANGELOG, None)
    if not run or not (pages or run in begun):
        raise ConfigFault(
            f"there is no run {run!r}" if run else "no run has written anything yet",
            mend="`memory log` lists the runs",
        )
    diffs = [
        history.diff(history.before(commits[-1].sha), commits[0].sha, [path])
        for path, commits in sorted(pages.items())
    ]
    return run, "".join(diffs)


def held_as_json(holds: Sequence[Hold]) -> list[dict[str, Any]]:
    """Held drafts for a machine to read."""
    return [
        {
            "id": hold.id,
            "article": hold.draft.article,
            "title": hold.draft.title,
            "bucket": hold.draft.bucket,
            "run": hold.run,
            "at": hold.at,
            "reasons": list(hold.reasons),
            "diff": hold_diff(hold),
        }
        for hold in holds
    ]
