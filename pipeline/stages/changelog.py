"""What the night did → one section of Meta/Changelog.md, newest first. No model.

A night that changed nothing writes only what is not told yet: a failure that lasts is told when it
is first seen, when it changes and when it is given up, not every night.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pipeline.chronicle import CHANGELOG, change_line, counted, handed_line, joined_line, said
from pipeline.errors import VaultFault
from pipeline.prose import plain
from pipeline.publish import Press, publish
from pipeline.records import Change, Done, Outcome, Skipped
from pipeline.results import RunResults
from pipeline.stages import Desk
from pipeline.store.ledger import Folding, PageFile
from pipeline.vault import prepend_section

NAME = "changelog"
_RUN = re.compile(r" · run (\S+)\s*\Z")  # as `_totals` ends a section


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
    if not changes and not _has_news(desk):
        return []
    if f"run {desk.run}" in desk.vault.meta("Changelog.md"):
        return []
    return [Section(_section(changes, desk))]


def work(jobs: Sequence[Section], desk: Desk) -> list[Section]:  # noqa: ARG001
    """Nothing to work out: the section was written from the records."""
    return list(jobs)


def keep(result: Section, desk: Desk) -> Outcome:
    """Publish the page with the section on top.

    Where that cannot be, the next night tells of these changes too: it never rests or is parked.
    """
    press = Press(desk.store, desk.vault, desk.history, desk.config.commit_user_edits)
    # before it is read: what the user saves in between must not be overwritten
    known = desk.vault.hash(CHANGELOG)
    after = prepend_section(desk.vault.meta("Changelog.md"), result.text)
    try:
        publish(
            press,
            PageFile(CHANGELOG, known, after),
            run=desk.run,
            at=desk.now(),
            subject=f"changelog: run {desk.run}",
            trailers={"Run": desk.run},
            folding=Folding(reports=True),
        )
    except VaultFault as error:
        problem = f"the changelog was not written: {error}"
        if problem not in desk.results.problems:
            desk.results.problems.append(problem)
        return Skipped(problem)
    return Done()


def _has_news(desk: Desk) -> bool:
    """Whether the night that changed no article has something to tell that the page does not."""
    results = desk.results
    page = desk.vault.meta("Changelog.md")
    # what lasts stands in every section, so it is told if it stands in our last one
    newest = _last_section(page, desk).splitlines()
    tries = {f"{attempt.stage}: {attempt.job}": attempt for attempt in desk.store.attempts.all()}
    told = page.splitlines()
    for job, reasons in results.rejected:
        attempt = tries.get(job)
        if attempt is None or attempt.count == 1 or attempt.parked:
            return True
        if _rejected_line(job, reasons) not in told:
            return True
    untold = any(line not in newest for line in _trouble_lines(results))
    return bool(results.held or results.joined or results.handed) or untold


def _last_section(page: str, desk: Desk) -> str:
    """The newest section that a run of this store wrote, without one the newest.

    Another machine that writes to this vault tells of its own troubles, the user's decisions of
    none.
    """
    sections = re.split(r"^## ", page, flags=re.MULTILINE)[1:]
    runs = ((section, _RUN.search(section)) for section in sections)
    own = (section for section, run in runs if run and desk.store.runs.get(run[1]))
    return next(own, next(iter(sections), ""))


def _section(changes: Sequence[Change], desk: Desk) -> str:
    results = desk.results
    local = desk.started_at.astimezone(desk.config.zone)
    lines = [
        f"## {_stamp(local)} — {_summary(changes, results)}",
        "",
        *(change_line(change, desk.store, desk.config.zone) for change in changes),
        *(_held_line(article, reasons, desk) for article, reasons in results.held),
        *_rejected_lines(desk),
        *(joined_line(one, other) for one, other in results.joined),
        *(handed_line(*part) for part in results.handed),
        *_trouble_lines(results),
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


def _rejected_lines(desk: Desk) -> list[str]:
    rejected = desk.results.rejected
    tries = {f"{a.stage}: {a.job}": a.count for a in desk.store.attempts.all() if a.parked}
    resting = [(job, reasons) for job, reasons in rejected if job not in tries]
    parked = [(job, reasons) for job, reasons in rejected if job in tries]
    lines = []
    if resting:
        lines.append(f"- rejected {counted(len(resting), 'draft')}, tried again another night:")
        lines += [_rejected_line(job, reasons) for job, reasons in resting]
    if parked:
        most = max(tries[job] for job, _ in parked)
        lines.append(
            f"- parked {counted(len(parked), 'draft')}, not tried again after {most} tries:"
        )
        lines += [_rejected_line(job, reasons) for job, reasons in parked]
    return lines


def _rejected_line(job: str, reasons: Sequence[str]) -> str:
    return f"    - {plain(job)}: {said(reasons)}"


def _trouble_lines(results: RunResults) -> list[str]:
    lines = [f"- {plain(problem)}" for problem in results.problems]
    return [*lines, f"- ended early: {plain(results.failure)}"] if results.failure else lines


def _totals(changes: Sequence[Change], desk: Desk) -> str:
    folded = sum(change.claims + change.citations for change in changes)
    counts = desk.results.counts
    spent = desk.store.runs.spent(desk.run)
    return (
        f"{counted(counts['conversations'], 'conversation')}, "
        f"{counted(counts['chunks'], 'chunk')} ({counts['dropped']} dropped), "
        f"{counted(counts['claims'], 'claim')} ({counts['unsupported']} refused) · "
        f"{desk.model.name} worked {spent['seconds'] / 60:.1f} min, "
        f"{int(spent['prompt_tokens'])} tokens read, {int(spent['output_tokens'])} written"
        + (f" ({spent['output_tokens'] / folded:.0f} a claim folded)" if folded else "")
        + f" · run {desk.run}"
    )
