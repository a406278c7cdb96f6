"""`memory rebuild`, `forget`, `backup` and `restore`: what is kept for good."""

from __future__ import annotations

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
