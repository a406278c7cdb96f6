"""Ralph iterations: an agent started again and again on one list of things to do."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

from pipeline.errors import UnknownIdFault
from pipeline.project import times
from pipeline.project.observations import NewObservation, Observations
from pipeline.project.vocabulary import CONTINUATION, Clean
from pipeline.sqlite import transaction

Row = dict[str, Any]


class NewIteration(NamedTuple):
    """An iteration to be stored. session: the name of the loop it belongs to."""

    session: str
    iteration: int
    status: str
    percent: float | None = None
    checkpoint_id: int | None = None
    todo_start: int | None = None
    todo_end: int | None = None
    completed: tuple[str, ...] = ()
    project: str = ""
    session_id: int | None = None


class Iterations:
    """The ralph_iterations table."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        clean: Clean,
        clock: times.Clock,
        observations: Observations,
    ) -> None:
        self._connection = connection
        self._clean = clean
        self._clock = clock
        self._observations = observations

    def add(self, new: NewIteration) -> tuple[int, int]:
        """Store an iteration; its id, and that of the observation that tells of it.

        The same iteration of the same loop told again takes the place of the first. Raises
        UnknownIdFault for a checkpoint that is not there.
        """
        done = [kept for item in new.completed if (kept := self._clean(item))]
        loop = self._clean(new.session)
        now = times.iso(self._clock())
        with transaction(self._connection):
            if new.checkpoint_id is not None and not self._has_checkpoint(new.checkpoint_id):
                raise UnknownIdFault(
                    f"there is no checkpoint {new.checkpoint_id}",
                    mend="`anvil-memory checkpoint` prints the id of the one it makes",
                )
            (identity,) = self._connection.execute(
                """INSERT INTO ralph_iterations
                       (ralph_session_id, iteration, context_peak_percent, checkpoint_triggered,
                        checkpoint_id, todo_items_start, todo_items_end, items_completed, status,
                        created_at, ended_at)
                   VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                   ON CONFLICT (ralph_session_id, iteration) DO UPDATE SET
                       context_peak_percent = excluded.context_peak_percent,
                       checkpoint_triggered = excluded.checkpoint_triggered,
                       checkpoint_id = excluded.checkpoint_id,
                       todo_items_start = excluded.todo_items_start,
                       todo_items_end = excluded.todo_items_end,
                       items_completed = excluded.items_completed, status = excluded.status,
                       ended_at = excluded.ended_at
                   RETURNING id""",
                (
                    loop,
                    new.iteration,
                    new.percent,
                    int(new.checkpoint_id is not None or new.status == "checkpoint"),
                    new.checkpoint_id,
                    new.todo_start,
                    new.todo_end,
                    json.dumps(done, ensure_ascii=False),
                    new.status,
                    now,
                    now,
                ),
            ).fetchone()
            told = self._observations.add(
                NewObservation(
                    type="ralph_iteration",
                    title=f"Iteration {new.iteration} of {loop}: {new.status}",
                    subtitle=_todo(new.todo_start, new.todo_end),
                    content="\n".join(f"- {item}" for item in done),
                    concepts=(CONTINUATION,),
                    project=new.project,
                    session_id=new.session_id,
                    checkpoint_id=new.checkpoint_id,
                )
            )
        return int(identity), told

    def history(self, session: str = "") -> list[Row]:
        """Every iteration, or those of one loop, in order. Raises UnknownIdFault for no loop."""
        rows = self._connection.execute(
            """SELECT * FROM ralph_iterations WHERE ? IN ('', ralph_session_id)
               ORDER BY ralph_session_id, iteration""",
            (session,),
        ).fetchall()
        if session and not rows:
            raise UnknownIdFault(
                f"there is no Ralph session {session!r}",
                mend="`anvil-memory ralph-history` lists those there are",
            )
        return [
            {**dict(row), "items_completed": json.loads(row["items_completed"])} for row in rows
        ]

    def _has_checkpoint(self, identity: int) -> bool:
        found = self._connection.execute("SELECT 1 FROM checkpoints WHERE id = ?", (identity,))
        return found.fetchone() is not None


def patterns(history: Sequence[Row]) -> list[Row]:
    """What each loop's iterations show, one row a loop.

    items: completed in all, and in each iteration on average. stalls: runs of two iterations or
    more that completed nothing, as [first, last]. error_streaks: likewise of those that failed.
    checkpoints: iterations that ended with one. peak: the most of the context that one used.
    """
    found = []
    for loop, group in groupby(history, key=lambda row: str(row["ralph_session_id"])):
        rows = list(group)
        items = [len(row["items_completed"]) for row in rows]
        peaks = [row["context_peak_percent"] for row in rows if row["context_peak_percent"]]
        found.append(
            {
                "session": loop,
                "iterations": len(rows),
                "items": sum(items),
                "items_per_iteration": round(sum(items) / len(rows), 2),
                "stalls": _runs(rows, [not count for count in items]),
                "error_streaks": _runs(rows, [row["status"] == "error" for row in rows]),
                "errors": sum(row["status"] == "error" for row in rows),
                "checkpoints": sum(bool(row["checkpoint_triggered"]) for row in rows),
                "peak": max(peaks, default=None),
                "open_items": rows[-1]["todo_items_end"],
            }
        )
    return found


def _runs(rows: Sequence[Row], marked: Sequence[bool]) -> list[list[int]]:
    runs = []
    for holds, group in groupby(zip(rows, marked, strict=True), key=lambda pair: pair[1]):
        numbers = [int(row["iteration"]) for row, _ in group]
        if holds and len(numbers) > 1:
            runs.append([numbers[0], numbers[-1]])
    return runs


def _todo(start: int | None, end: int | None) -> str:
    if end is None:
        return ""
    return f"{end} items left" if start is None else f"{start} items before, {end} left"
