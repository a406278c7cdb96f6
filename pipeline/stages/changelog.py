"""What the night did → one section of Meta/Changelog.md, newest first. No model.

A night that changed nothing and refused nothing writes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pipeline.chronicle import CHANGELOG, change_line, counted, said
from pipeline.prose import plain
from pipeline.publish import Press, publish
from pipeline.records import Change, Done, Failed, Outcome
from pipeline.results import RunResults
from pipeline.stages import Desk
from pipeline.store.ledger import Folding, PageFile
from pipeline.vault import ChangedUnderneath, prepend_section

NAME = "changelog"


@dataclass(frozen=True, slots=True)
class Section:
    """The text of one run's section."""

    text: str


def key(job: Section) -> str:  # noqa: ARG001 - there is one such job a run
    """The job's name in `attempts`."""
    return CHANGELOG


def pending(desk: Desk) -> list[Section]:
    """The section to be written, if there is anything to tell that is not told yet."""
    changes = desk.store.ledger.unreported_changes()
    if not changes and not desk.results.to_tell():
        return []
    if f"run {desk.run}" in desk.vault.meta("Changelog.md"):
        return []
    return [Section(_section(changes, desk))]


def work(jobs: Sequence[Section], desk: Desk) -> list[Section]:  # noqa: ARG001
    """Nothing to work out: the section was written from the records."""
    return list(jobs)


def keep(result: Section, desk: Desk) -> Outcome:
    """Publish the page with the section on top."""
    press = Press(desk.store, desk.vault, desk.history, desk.config.commit_user_edits)
    after = prepend_section(desk.vault.meta("Changelog.md"), result.text)
    try:
        publish(
            press,
            PageFile(CHANGELOG, desk.vault.hash(CHANGELOG), after),
            run=desk.run,
            at=desk.now(),
            subject=f"changelog: run {desk.run}",
            trailers={"Run": desk.run},
            folding=Folding(reports=True),
        )
    except ChangedUnderneath as error:
        return Failed((str(error),))
    return Done()


def _section(changes: Sequence[Change], desk: Desk) -> str:
    results = desk.results
    local = desk.started_at.astimezone(desk.config.zone)
    lines = [
        f"## {_stamp(local)} — {_summary(changes, results)}",
        "",
        *(change_line(change, desk.store, desk.config.zone) for change in changes),
        *(_held_line(article, reasons, desk) for article, reasons in results.held),
        *_rejected_lines(results),
        *(f"- {plain(problem)}" for problem in results.problems),
        *([f"- ended early: {plain(results.failure)}"] if results.failure else []),
        "",
        _totals(changes, desk),
    ]
    return "\n".join(lines)


def _stamp(local: datetime) -> str:
    return local.strftime("%Y-%m-%d %H:%M")


def _summary(changes: Sequence[Change], results: RunResults) -> str:
    kinds = Counter(change.kind for change in changes)
    parts = [
        f"{count} {word}"
        for word, count in (
            ("updated", kinds["updated"]),
            ("new", kinds["new"]),
            ("tidied", kinds["tidied"]),
            ("held", len(results.held)),
            ("rejected", len(results.rejected)),
        )
        if count
    ]
    return ", ".join(parts) or "nothing written"


def _held_line(article: str, reasons: Sequence[str], desk: Desk) -> str:
    known = article in desk.vault.stems()
    named = f"[[{article}]]" if known else f"a new article, {plain(article)}"
    return f"- held {named}: {said(reasons)} (see it with `memory review`)"


def _rejected_lines(results: RunResults) -> list[str]:
    if not results.rejected:
        return []
    lines = [f"- rejected {counted(len(results.rejected), 'draft')}, tried again another night:"]
    lines += [f"    - {plain(job)}: {said(reasons)}" for job, reasons in results.rejected]
    return lines


def _totals(changes: Sequence[Change], desk: Desk) -> str:
    folded = sum(change.claims + change.citations for change in changes)
    counts = desk.results.counts
    spent = desk.store.runs.spent(desk.run)
    return (
        f"{counted(counts['conversations'], 'conversation')}, "
        f"{counted(counts['chunks'], 'chunk')} ({counts['dropped']} dropped), "
        f"{counted(counts['claims'], 'claim')} ({counts['unsupported']} refused) · "
        f"{desk.model.name}, {spent['seconds'] / 60:.1f} min, "
        f"{int(spent['prompt_tokens'])} tokens read, {int(spent['output_tokens'])} written"
        + (f" ({spent['output_tokens'] / folded:.0f} a claim folded)" if folded else "")
        + f" · run {desk.run}"
    )
