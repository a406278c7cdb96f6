"""`memory rebuild`, `forget`, `backup` and `restore`: what is kept for good."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipeline.cli.printing import JsonOption, VaultOption, print_json, say, warn
from pipeline.errors import EXIT_PARTIAL, ConfigFault

if TYPE_CHECKING:
    from pipeline.keeping.forgetting import Plan


def rebuild(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would come of it.")
    ] = False,
    vault: VaultOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make memory.sqlite anew from the archive, its journal and the vault's commits.

    The database that stands there is moved aside, never deleted. What was folded stays folded, what
    was decided stays decided: the next night has nothing to do that it would not have had anyway.

    Example: memory rebuild
    """
    from pipeline.config import load_config
    from pipeline.keeping.rebuilding import rebuild as make_anew
    from pipeline.lock import one_run

    config = load_config(vault=vault)
    with one_run(config.lock_path):
        done = make_anew(config, dry_run=dry_run)
    if as_json:
        aside = str(done.aside) if done.aside else None
        print_json({"counts": dict(done.counts), "problems": list(done.problems), "aside": aside})
        return
    for problem in done.problems:
        warn(f"warning: {problem}")
    counted = ", ".join(f"{number} {name}" for name, number in done.counts.items())
    say(f"{'would hold' if dry_run else 'made anew'}: {counted}")
    if done.aside:
        say(f"the database that stood there is {done.aside}")


def forget(
    conv: Annotated[str, typer.Argument(help="conv:HASH, as it stands in a footnote.")] = "",
    match: Annotated[str, typer.Option(help="Every conversation in which this text stands.")] = "",
    project: Annotated[
        str, typer.Option(help="Every conversation of this project: its folder, or its name.")
    ] = "",
    from_articles: Annotated[
        bool,
        typer.Option(
            "--from-articles",
            help="Also strike out of the vault's pages what rests on nothing else.",
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what it would do.")] = False,
    vault: VaultOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take conversations out of the store, the archive, the journal and the logs, for good.

    They are known by hashes alone afterwards, so that they are not read from the agent's own
    transcripts again. In the end every file of ours is searched for pieces of what was said, and
    what still holds one is named; then the exit code is that of a partial run.

    Example: memory forget conv:HASH --from-articles
    """
    from pipeline.config import load_config
    from pipeline.keeping.forgetting import Forgetter, Wanted, history_advice
    from pipeline.lock import one_run
    from pipeline.store import Store

    if sum(map(bool, (conv, match, project))) != 1:
        raise ConfigFault(
            "say what is to be forgotten, in one way",
            mend="memory forget conv:HASH, or --match TEXT, or --project FOLDER",
        )
    if as_json and not (yes or dry_run):
        raise ConfigFault("with --json nobody can be asked", mend="add --yes, or --dry-run")
    config = load_config(vault=vault)
    with one_run(config.lock_path):
        store = Store(config.store_path, config.journal_dir)
        try:
            store.journal.refuse_if_behind(config.journal_dir)
            forgetter = Forgetter(config, store)
            plan = forgetter.plan(Wanted(conv, match, project))
            if not as_json:
                _say_plan(plan, from_articles=from_articles)
            if dry_run:
                if as_json:
                    print_json(_plan_as_json(plan))
                return
            if not yes and not typer.confirm("Forget this?"):
                raise typer.Exit(1)
            done = forgetter.forget(plan, from_articles=from_articles)
        finally:
            store.close()
    if as_json:
        told = {"struck": done.struck, "kept": done.kept, "left": done.left}
        print_json(_plan_as_json(plan) | told)
    else:
        for path, sentence, why in done.kept:
            say(f"stays in {path}: {sentence} ({why})" if sentence else f"stays: {path}: {why}")
        say(f"forgotten: {len(done.convs)} conversations")
        if not done.left:
            say("no file holds a piece of them any more")
        for place, advice in done.left:
            say(f"left in {place}: {advice}")
        if plan.commits:
            for line in history_advice(config.vault):
                say(f"  {line}")
    if done.left:
        raise typer.Exit(EXIT_PARTIAL)


def _say_plan(plan: Plan, *, from_articles: bool) -> None:
    for one in plan.conversations:
        day = one.started_at.date().isoformat()
        say(f"conv:{one.conv}  {day}, {one.source}, {one.title}")
    for conv in plan.others:
        say(f"conv:{conv}  (not in the store any more)")
    for cited in plan.pages:
        what = f"{len(cited.sentences)} sentences that rest on nothing else"
        say(f"{cited.path}: {what if cited.sentences else 'tells of it'}")
        for sentence in cited.sentences:
            say(f"    {sentence}")
    if plan.pages and not from_articles:
        say("  these pages stay as they are; add --from-articles to strike that out of them")
    for commit in plan.commits:
        say(f"commit {commit.sha[:10]} {commit.subject}")
    for topic in sorted(plan.topics):
        say(f"the topic {topic!r}, of which nothing else was said")
    for path in plan.deleted:
        say(f"deleted with it: {path}")


def _plan_as_json(plan: Plan) -> dict[str, Any]:
    return {
        "conversations": plan.convs,
        "pages": {cited.path: list(cited.sentences) for cited in plan.pages},
        "commits": [commit.sha for commit in plan.commits],
        "topics": sorted(plan.topics),
        "deleted": [str(path) for path in plan.deleted],
    }


def backup(
    folder: Annotated[
        Path | None, typer.Argument(help="Where to put it; ~/nightly-memory-backups if not given.")
    ] = None,
    vault: VaultOption = None,
    as_json: JsonOption = False,
) -> None:
    """Put the store, the archive, the settings and the vault into one new folder with its date.

    The vault goes with all its commits and with edits that are not committed; the memories of
    projects as exports. Models are left out. If the memory of a project cannot be read it is named,
    and the exit code is that of a partial run.

    Example: memory backup /Volumes/Disk/backups
    """
    from pipeline.config import load_config
    from pipeline.keeping.backing_up import backup as make
    from pipeline.lock import one_run

    config = load_config(vault=vault)
    place = (folder or Path.home() / "nightly-memory-backups").expanduser().absolute()
    with one_run(config.lock_path):
        made = make(config, place)
    if as_json:
        told = {"backup": str(made.path), "files": made.files, "bytes": made.size}
        print_json(told | {"lacks": made.lacks})
    else:
        for problem in made.lacks:
            warn(f"warning: not in it: {problem}")
        say(f"{made.path}: {made.files} files, {made.size / 1e6:.1f} MB")
        say(f"  memory restore {made.path}")
    if made.lacks:
        raise typer.Exit(EXIT_PARTIAL)


def restore(
    folder: Annotated[Path, typer.Argument(help="The folder that `memory backup` made.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check the backup; say where its parts would go.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Also where something newer than the backup stands.")
    ] = False,
    vault: VaultOption = None,
    as_json: JsonOption = False,
) -> None:
    """Put a backup back, each part where the settings say; what stands there is moved aside.

    Every file is checked first. On a machine without settings those of the backup count. The
    memories of projects are left to `anvil-memory import`, which adds to what is there.

    Example: memory restore /Volumes/Disk/backups/nightly-memory-20000131-030000
    """
    from pipeline.keeping.putting_back import project_memories, settings_for
    from pipeline.keeping.putting_back import restore as put_back
    from pipeline.lock import one_run

    place = folder.expanduser().absolute()
    config = settings_for(place, vault)
    with one_run(config.lock_path):
        done = put_back(place, config, dry_run=dry_run, force=force)
    if as_json:
        print_json(
            [
                {
                    "part": part.name,
                    "place": str(part.target),
                    "aside": str(part.aside) if part.aside else None,
                }
                for part in done
            ]
            + [
                {"part": "project", "place": store, "import": str(file)}
                for file, store in project_memories(place).items()
            ]
        )
        return
    for part in done:
        say(f"{part.name}: {'would go to ' if dry_run else ''}{part.target}")
        if part.aside:
            say(f"  what stood there is {part.aside}")
    for file, store in project_memories(place).items():
        say(f"memory of a project, {store}: anvil-memory import {file}")
