"""`memory review`, `accept`, `reject`, `undo`, `diff`, `log` and `retry`: the user's say."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli.printing import JsonOption, VaultOption, print_diff, print_json, say, warn
from pipeline.errors import EXIT_PARTIAL, ConfigFault

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.records import Change
    from pipeline.review import Reviewer
    from pipeline.review.deciding import Decided
    from pipeline.review.listing import Told

HoldArgument = Annotated[
    str, typer.Argument(help="Number or article of a held draft; none if there is only one.")
]


@contextmanager
def reading(vault: Path | None) -> Iterator[Reviewer]:
    from pipeline import assemble
    from pipeline.config import load_config

    with assemble.reviewer(load_config(vault=vault)) as reviewer:
        yield reviewer


@contextmanager
def deciding(vault: Path | None) -> Iterator[Reviewer]:
    """As for reading, and no run may be at work, nor the vault in the middle of a merge."""
    from pipeline.config import load_config
    from pipeline.lock import one_run
    from pipeline.publish import heal
    from pipeline.synthesis.renames import follow_renames

    config = load_config(vault=vault)
    with one_run(config.lock_path), reading(vault) as reviewer:
        reviewer.press.store.journal.refuse_if_behind(config.journal_dir)
        reviewer.press.history.refuse_if_unfit()
        heal(reviewer.press, reviewer.now())
        follow_renames(reviewer.press.store, reviewer.press.vault)
        try:
            yield reviewer
        finally:
            # also what was decided before a page could not be written
            reviewer.press.store.journal.write()


def review(vault: VaultOption = None, as_json: JsonOption = False) -> None:
    """Held drafts, and what the last run that wrote something changed, each with its diff.

    Example: memory review
    """
    from pipeline.review.listing import held_as_json, hold_diff, run_diff, runs
    from pipeline.review.naming import told_of_another
    from pipeline.review.undoing import standing

    with reading(vault) as reviewer:
        holds = reviewer.press.store.holds.open()
        last = next((told for told in runs(-1, reviewer) if told.changes), None)
        diff = run_diff(last.run.id, reviewer)[1] if last else ""
        if as_json:
            told = last.as_json() | {"diff": diff} if last else None
            print_json({"held": held_as_json(holds), "last": told})
            return
        if not holds and last is None:
            say("nothing to review yet")
        for hold in holds:
            say(f"held {hold.id}: {hold.draft.title} (run {hold.run}): {'; '.join(hold.reasons)}")
            print_diff(hold_diff(hold))
            say(f"  memory accept {hold.id}   or   memory reject {hold.id} --reason TEXT")
            say("")
        if last is not None:
            _say_run(last)
            print_diff(diff)
            say(f"  memory undo {last.run.id}   or   memory undo ARTICLE")
        if other := told_of_another(standing(reviewer.press.history), reviewer):
            say(other)


def accept(
    held: HoldArgument = "",
    every: Annotated[bool, typer.Option("--all", help="Accept every held draft.")] = False,
    vault: VaultOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a held draft into its article after all.

    An article that changed since gets the same edits, if the sentences they are about still stand;
    otherwise the draft is made anew the next night, and the exit code is that of a partial run.

    Example: memory accept 1
    """
    from pipeline.review.deciding import accept as decide
    from pipeline.review.deciding import find

    with deciding(vault) as reviewer:
        holds = (every and reviewer.press.store.holds.open()) or find(held, reviewer)
        _say_decided(decide(holds, reviewer), as_json=as_json)


def reject(
    held: HoldArgument = "",
    reason: Annotated[
        str, typer.Option(help="Why; later drafts on the topic are shown it.", show_default=False)
    ] = "",
    drop: Annotated[
        bool, typer.Option("--drop", help="Never draft these claims again, instead of anew.")
    ] = False,
    every: Annotated[bool, typer.Option("--all", help="Reject every held draft.")] = False,
    vault: VaultOption = None,
    as_json: JsonOption = False,
) -> None:
    """Throw a held draft away; it is drafted anew with your reason in view.

    A topic whose drafts fail or are rejected five times in a row is parked until `memory retry`.

    Example: memory reject 1 --reason "the second sentence is about another project"
    """
    from pipeline.review.deciding import find
    from pipeline.review.deciding import reject as decide

    if not reason.strip():
        raise ConfigFault("a rejection needs a reason", mend='add --reason "what is wrong with it"')
    with deciding(vault) as reviewer:
        holds = (every and reviewer.press.store.holds.open()) or find(held, reviewer)
        _say_decided(decide(holds, reason.strip(), reviewer, drop=drop), as_json=as_json)


def undo(
    what: Annotated[
        str, typer.Argument(help="A run, or an article; none for the last run here that wrote.")
    ] = "",
    reason: Annotated[str, typer.Option(help="Why; later drafts on the topics see it.")] = "",
    vault: VaultOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take back what a run wrote to articles and Talk pages; what you changed since stays.

    The beginning of a run's id will do, as in 20000131. A run of another machine that writes to the
    same vault is taken back where it is named. The same claims do not come back. Right after an
    undo, name the run to take another back. For an article: what the last run that wrote it did to
    it. A page where you changed the very sentences is left as it is, and the exit code is that of a
    partial run.

    Example: memory undo
    """
    from dataclasses import asdict

    from pipeline.review.naming import told_of_another
    from pipeline.review.undoing import refuse_another, standing
    from pipeline.review.undoing import undo as take_back

    with deciding(vault) as reviewer:
        if not what:
            refuse_another(reviewer)
        run, pages = take_back(what, reason.strip(), reviewer)
        other = "" if what else told_of_another(standing(reviewer.press.history), reviewer)
    if as_json:
        print_json({"run": run, "pages": [asdict(page) for page in pages]})
    else:
        say(f"run {run}:")
        for page in pages:
            say(f"  {page.outcome} {page.path}" + (f": {page.reason}" if page.reason else ""))
        if other:
            say(other)
    if any(page.outcome == "kept" for page in pages):
        raise typer.Exit(EXIT_PARTIAL)


def diff(
    run: Annotated[
        str, typer.Argument(help="A run, or how its id begins; none for the last here that wrote.")
    ] = "",
    vault: VaultOption = None,
) -> None:
    """What a run changed in the vault, page by page; the changelog is left out.

    It may be a run of another machine that writes to the same vault.

    Example: memory diff 20000131-030000-k7wq
    """
    from pipeline.review.listing import run_diff
    from pipeline.review.naming import told_of_another
    from pipeline.review.undoing import standing

    with reading(vault) as reviewer:
        print_diff(run_diff(run, reviewer)[1])
        other = "" if run else told_of_another(standing(reviewer.press.history), reviewer)
    if other:
        warn(other)


def log(
    article: Annotated[str, typer.Argument(help="Only what was done to this article.")] = "",
    limit: Annotated[int, typer.Option(min=1, help="So many runs at most.")] = 20,
    vault: VaultOption = None,
    as_json: JsonOption = False,
) -> None:
    """The runs and what each wrote, newest first.

    Example: memory log --limit 5
    """
    from dataclasses import asdict

    from pipeline.review.listing import article_log, runs

    with reading(vault) as reviewer:
        if article:
            changes = article_log(article, reviewer)[:limit]
            if as_json:
                print_json([asdict(change) | {"undone": undone} for change, undone in changes])
                return
            for change, undone in changes:
                say(f"{change.run}  {_change(change, undone)}")
            return
        told = runs(limit, reviewer)
    if as_json:
        print_json([one.as_json() for one in told])
        return
    if not told:
        say("no run has had anything to do yet: memory synthesize")
    for one in told:
        _say_run(one)


def retry(
    job: Annotated[
        str, typer.Argument(help="A job as `memory status` names it, or a topic; none for all.")
    ] = "",
    lost: Annotated[
        bool,
        typer.Option(
            "--lost",
            help="Fold again what the vault's history does not hold any more, as after it was put "
            "back to an earlier day.",
        ),
    ] = False,
    vault: VaultOption = None,
) -> None:
    """Let parked and pausing jobs be tried again the next night.

    Example: memory retry
    """
    if lost:
        _retry_the_lost(vault, job)
        return
    with deciding(vault) as reviewer:
        attempts = reviewer.press.store.attempts
        name = job.partition(": ")[2] or job
        freed = attempts.retry(name) or (attempts.retry(f"bucket {name}") if name else 0)
    if job and not freed:
        raise ConfigFault(
            f"no job called {job!r} is parked or pausing", mend="`memory status` lists them"
        )
    say(f"{freed} {'job is' if freed == 1 else 'jobs are'} tried again the next night")


def _retry_the_lost(vault: Path | None, job: str) -> None:
    from pipeline.keeping import lost

    if job:
        raise ConfigFault("--lost is for all articles", mend="leave the job out")
    with deciding(vault) as reviewer:
        press = reviewer.press
        found = lost.lost(press.store, press.history, press.vault)
        lost.reopen(press.store, press.vault, found)
    if found:
        say(f"{lost.told(found)}; it is folded again the next night")
    else:
        say("the vault's history holds all that earlier runs wrote")


def _say_run(told: Told) -> None:
    results = told.run.results
    counted = [f"{len(results[key])} {key}" for key in ("held", "rejected") if results.get(key)]
    say("  ".join([told.run.id, told.run.status, ", ".join(counted)]).rstrip())
    for change, undone in told.changes:
        say(f"  {_change(change, undone)}")


def _change(change: Change, undone: bool) -> str:
    from pipeline.chronicle import counted

    parts = [counted(change.claims, "claim")]
    if change.citations:
        parts.append(f"{counted(change.citations, 'citation')} added")
    if change.superseded:
        parts.append(f"{change.superseded} superseded")
    line = f"{change.kind} {change.title}: {', '.join(parts)}"
    return f"{line} (taken back)" if undone else line


def _say_decided(decided: list[Decided], *, as_json: bool) -> None:
    if as_json:
        print_json(
            [
                {
                    "id": one.hold.id,
                    "article": one.hold.draft.article,
                    "outcome": one.outcome,
                    "reasons": list(one.reasons),
                }
                for one in decided
            ]
        )
    else:
        for one in decided:
            why = f": {'; '.join(one.reasons)}; made anew the next night" if one.reasons else ""
            say(f"{one.outcome} {one.hold.draft.title}{why}")
    if any(one.outcome == "stale" for one in decided):
        raise typer.Exit(EXIT_PARTIAL)
