"""Which runs are meant where the user names none: those of this machine.

More than one may write to a vault, each with a store of its own. `memory review` shows what this
one's last run did, so `memory undo` takes that back, though another's may have written since.
"""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.review import Reviewer


def own(runs: Sequence[str], reviewer: Reviewer) -> list[str]:
    """Those that this store knows to have begun; all where it knows none of the vault's runs.

    So it is with a store that was lost.
    """
    known = {run.id for run in reviewer.press.store.runs.recent(-1)}
    every = {commit.trailers.get("Run", "") for commit in reviewer.press.history.log()}
    return [run for run in runs if run in known or known.isdisjoint(every)]


def told_of_another(runs: Sequence[str], reviewer: Reviewer) -> str:
    """A sentence that names the newest run where it is another machine's, else "".

    runs: newest first.
    """
    newest = next(iter(runs), "")
    if not newest or own([newest], reviewer):
        return ""
    return (
        f"the newest run in the vault, {newest}, is another machine's, or of a store before this: "
        f"`memory diff {newest}` shows it, `memory undo {newest}` takes it back"
    )
