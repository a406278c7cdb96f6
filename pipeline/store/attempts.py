"""What was tried in vain, and when it is to be tried again."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from datetime import datetime, timedelta

from pipeline.store.times import to_text

_DOUBLED = 2  # times at most that the pause of a job that is never parked doubles


@dataclass(frozen=True, slots=True)
class Attempt:
    """How often a job failed, why, and whether it is parked."""

    stage: str
    job: str
    count: int
    last_reason: str
    next_try_at: str
    parked: bool


class Attempts:
    """The failed tries of jobs; those that went through have none."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def fail(
        self,
        stage: str,
        job: str,
        reason: str,
        *,
        now: datetime,
        pause: timedelta,
        max_attempts: int,
        parks: bool = True,
    ) -> Attempt:
        """Count a failed try; the pause doubles each time, after `max_attempts` it is parked.

        parks: whether it ever is.
        """
        row = self._connection.execute(
            "SELECT count FROM attempts WHERE stage = ? AND job = ?", (stage, job)
        ).fetchone()
        count = (row["count"] if row else 0) + 1
        doubled = count - 1 if parks else min(count - 1, _DOUBLED)
        next_try_at = to_text(now + pause * 2**doubled)
        parked = parks and count >= max_attempts
        self._connection.execute(
            """INSERT OR REPLACE INTO attempts (stage, job, count, last_reason, next_try_at, parked)
               VALUES (?, ?, ?, ?, ?, ?)""",
            (stage, job, count, reason, next_try_at, int(parked)),
        )
        return Attempt(stage, job, count, reason, next_try_at, parked)

    def retry(self, job: str) -> int:
        """Forget the failed tries of the jobs of this name, of all for ""; return how many."""
        return self._connection.execute(
            "DELETE FROM attempts WHERE ? IN ('', job)", (job,)
        ).rowcount

    def succeed(self, stage: str, job: str) -> None:
        """The job went through: its failed tries are forgotten."""
        self._connection.execute("DELETE FROM attempts WHERE stage = ? AND job = ?", (stage, job))

    def resting(self, stage: str, now: datetime, longest: timedelta) -> frozenset[str]:
        """Jobs of a stage that are not to be tried now: parked, or pausing after a failure.

        A pause that ends later than `longest` from now was set by a clock that was wrong.
        """
        rows = self._connection.execute(
            """SELECT job FROM attempts WHERE stage = ?
               AND (parked = 1 OR (next_try_at > ? AND next_try_at <= ?))""",
            (stage, to_text(now), to_text(now + longest)),
        )
        return frozenset(row["job"] for row in rows)

    def all(self) -> list[Attempt]:
        """Every job with failed tries, parked ones first."""
        rows = self._connection.execute("SELECT * FROM attempts ORDER BY parked DESC, stage, job")
        return [
            Attempt(
                row["stage"],
                row["job"],
                row["count"],
                row["last_reason"],
                row["next_try_at"],
                bool(row["parked"]),
            )
            for row in rows
        ]
