"""`memory rebuild`, `forget`, `backup` and `restore`: what is kept for good."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli.printing import JsonOption, VaultOption, print_json, say, warn


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


def backup(
    folder: Annotated[
        Path | None, typer.Argument(help="Where to put it; ~/nightly-memory-backups if not given.")
    ] = None,
    vault: VaultOption = None,
    as_json: JsonOption = False,
) -> None:
    """Put the store, the archive, the settings and the vault into one new folder with its date.

    The vault goes with all its commits and with edits that are not committed. Models are left out.

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
        print_json({"backup": str(made.path), "files": made.files, "bytes": made.size})
        return
    say(f"{made.path}: {made.files} files, {made.size / 1e6:.1f} MB")
    say(f"  memory restore {made.path}")


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

    Every file is checked first. On a machine without settings those of the backup count.

    Example: memory restore /Volumes/Disk/backups/nightly-memory-20000131-030000
    """
    from pipeline.keeping.putting_back import restore as put_back
    from pipeline.keeping.putting_back import settings_for
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
        )
        return
    for part in done:
        say(f"{part.name}: {'would go to ' if dry_run else ''}{part.target}")
        if part.aside:
            say(f"  what stood there is {part.aside}")
