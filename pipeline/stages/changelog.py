"""What the night did → one section of Meta/Changelog.md, newest first. No model.

A night that changed nothing and refused nothing writes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pipeline.footnotes import short_title
from pipeline.prose import plain
from pipeline.publish import Press, publish
from pipeline.records import Change, Done, Failed, Outcome
from pipeline.results import RunResults
from pipeline.stages import Desk
from pipeline.store.ledger import Folding, PageFile
from pipeline.vault import ChangedUnderneath, prepend_section

NAME = "changelog"
_PAGE = "Meta/Changelog.md"
_CONVS_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Section:
    """The text of one run's section."""

    text: str


def key(job: Section) -> str:  # noqa: ARG001 - there is one such job a run
    """The job's name in `attempts`."""
    return _PAGE


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
            PageFile(_PAGE, desk.vault.hash(_PAGE), after),
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
        *(_change_line(change, desk) for change in changes),
        *(f"- held {plain(job)}: {_said(reasons)}" for job, reasons in results.held),
        *_rejected_lines(results),
        *(f"- {plain(problem)}" for problem in results.problems),
        *([f"- ended early: {plain(results.failure)}"] if results.failure else []),
        "",
        _totals(desk),
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
            ("held", len(results.held)),
            ("rejected", len(results.rejected)),
        )
        if count
    ]
    return ", ".join(parts) or "nothing written"


def _change_line(change: Change, desk: Desk) -> str:
    told = [_counted(change.claims, "claim", "+" if change.kind == "updated" else "")]
    if change.citations:
        told.append(_counted(change.citations, "citation") + " added")
    if change.superseded:
        told.append(f"{change.superseded} superseded")
    sections = [f"[[{change.article}#{section}]]" for section in dict.fromkeys(change.sections)]
    where = (
        ", ".join(sections) if change.kind == "updated" and sections else f"[[{change.article}]]"
    )
    return f"- {change.kind} {where}: {', '.join(told)} from {_sources(change.convs, desk)}"


def _sources(convs: Sequence[str], desk: Desk) -> str:
    named = []
    for conv in convs[:_CONVS_SHOWN]:
        conversation = desk.store.conversations.get(conv)
        date = conversation.started_at.astimezone(desk.config.zone).date().isoformat()
        title = plain(short_title(conversation.title))
        named.append(f'`conv:{conv}` ({date}, {conversation.source}, "{title}")')
    if more := len(convs) - _CONVS_SHOWN:
        named += [f"{more} more"] if more > 0 else []
    return ", ".join(named)


def _said(reasons: Sequence[str]) -> str:
    """Reasons quote what was refused: as plain text, which runs and links nothing."""
    return plain("; ".join(reasons))


def _rejected_lines(results: RunResults) -> list[str]:
    if not results.rejected:
        return []
    lines = [f"- rejected {_counted(len(results.rejected), 'draft')}, tried again another night:"]
    lines += [f"    - {plain(job)}: {_said(reasons)}" for job, reasons in results.rejected]
    return lines


def _totals(desk: Desk) -> str:
    counts = desk.results.counts
    spent = desk.store.runs.spent(desk.run)
    return (
        f"{_counted(counts['conversations'], 'conversation')}, "
        f"{_counted(counts['chunks'], 'chunk')} ({counts['dropped']} dropped), "
        f"{_counted(counts['claims'], 'claim')} ({counts['unsupported']} refused) · "
        f"{desk.model.name}, {spent['seconds'] / 60:.1f} min, "
        f"{int(spent['prompt_tokens'])} + {int(spent['output_tokens'])} tokens · run {desk.run}"
    )


def _counted(number: int, noun: str, sign: str = "") -> str:
    return f"{sign}{number} {noun}" + ("" if number == 1 else "s")
