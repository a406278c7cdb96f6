"""Runs and the model calls they made."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pipeline.records import Call
from pipeline.run_ids import fresh
from pipeline.store.times import to_text


@dataclass(frozen=True, slots=True)
class Run:
    """One run. status: running, done, nothing, partial, stopped, failed, skipped or interrupted."""

    id: str
    started_at: str
    finished_at: str
    status: str
    model: str
    results: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Cost:
    """Model calls added up. cached_tokens: of the prompt_tokens, those from a kept beginning.

    retries: calls that were not the first of their ask. cut: replies that ended at the token cap.
    """

    stage: str
    purpose: str
    calls: int
    prompt_tokens: int
    cached_tokens: int
    output_tokens: int
    retries: int
    cut: int
    seconds: float


class Runs:
    """The runs and model_calls tables."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def begin(
        self, at: datetime, local: datetime, *, model: str, prompts: Mapping[str, str], vault: str
    ) -> str:
        """Open a run and return its id, which no run of any machine has.

        A run that is still marked running was killed, since the caller holds the lock.
        """
        self._connection.execute("UPDATE runs SET status = 'interrupted' WHERE status = 'running'")
        run = fresh(local)
        while self.get(run):
            run = fresh(local)
        self._connection.execute(
            """INSERT INTO runs (id, started_at, status, model, prompts, vault_before)
               VALUES (?, ?, 'running', ?, ?, ?)""",
            (run, to_text(at), model, json.dumps(dict(prompts)), vault),
        )
        return run

    def finish(
        self, run: str, at: datetime, *, status: str, vault: str, results: Mapping[str, Any]
    ) -> None:
        """Close a run with its status and results (versioned JSON, read by `memory status`)."""
        self._connection.execute(
            """UPDATE runs SET finished_at = ?, status = ?, vault_after = ?, results = ?
               WHERE id = ?""",
            (to_text(at), status, vault, json.dumps(results, ensure_ascii=False), run),
        )

    def skip(self, at: datetime, local: datetime, results: Mapping[str, Any]) -> str:
        """Record a night on which nothing was done, with why; returns its id."""
        run = self.begin(at, local, model="", prompts={}, vault="")
        self.finish(run, at, status="skipped", vault="", results=results)
        return run

    def last(self) -> Run | None:
        """The newest run, None before the first."""
        return next(iter(self.recent(1)), None)

    def recent(self, limit: int) -> list[Run]:
        """The newest runs, newest first, by the order they began in: a clock can go back."""
        rows = self._connection.execute("SELECT * FROM runs ORDER BY rowid DESC LIMIT ?", (limit,))
        return [_run(row) for row in rows]

    def last_found(self) -> str:
        """The vault's commit as the newest run found it that got to its end, "" for none.

        What was committed while it ran may be another machine's.
        """
        row = self._connection.execute(
            """SELECT vault_before FROM runs WHERE status IN ('done', 'nothing', 'partial')
               ORDER BY rowid DESC LIMIT 1"""
        ).fetchone()
        return row["vault_before"] if row else ""

    def clear_found(self) -> None:
        """Let the next run look at the vault's commits as if none had before."""
        self._connection.execute("UPDATE runs SET vault_before = '' WHERE vault_before <> ''")

    def last_left(self) -> str:
        """The vault's commit as the newest run left it that did not fail, "" for none."""
        row = self._connection.execute(
            """SELECT vault_after FROM runs
               WHERE vault_after <> '' AND status NOT IN ('failed', 'running')
               ORDER BY rowid DESC LIMIT 1"""
        ).fetchone()
        return row["vault_after"] if row else ""

    def first_started(self) -> str:
        """When the first run started, "" before the first."""
        row = self._connection.execute("SELECT min(started_at) FROM runs").fetchone()
        return row[0] or ""

    def account(self, run: str, call: Call) -> None:
        """Record one model call."""
        self._connection.execute(
            "INSERT INTO model_calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                run,
                call.stage,
                call.purpose,
                call.prompt_tokens,
                call.cached_tokens,
                call.output_tokens,
                call.seconds,
                call.finish,
                call.retry,
            ),
        )

    def that_asked(self, limit: int) -> list[Run]:
        """The newest runs that made a model call, newest first."""
        rows = self._connection.execute(
            """SELECT * FROM runs WHERE id IN (SELECT run FROM model_calls)
               ORDER BY rowid DESC LIMIT ?""",
            (limit,),
        )
        return [_run(row) for row in rows]

    def get(self, run: str) -> Run | None:
        """The run of that id, None if there is none."""
        row = self._connection.execute("SELECT * FROM runs WHERE id = ?", (run,)).fetchone()
        return _run(row) if row else None

    def costs(self, run: str) -> list[Cost]:
        """What each purpose of each stage cost in a run, in the order they were first asked."""
        rows = self._connection.execute(
            """SELECT stage, purpose, count(*) AS calls, sum(prompt_tokens) AS prompt_tokens,
                      sum(cached_tokens) AS cached_tokens, sum(output_tokens) AS output_tokens,
                      sum(retry) AS retries, sum(finish = 'length') AS cut, sum(seconds) AS seconds
               FROM model_calls WHERE run = ? GROUP BY stage, purpose ORDER BY min(rowid)""",
            (run,),
        )
        return [Cost(**dict(row)) for row in rows]

    def spent(self, run: str) -> dict[str, float]:
        """What a run asked of the model: calls, prompt, cached and output tokens, seconds."""
        row = self._connection.execute(
            """SELECT count(*) AS calls, coalesce(sum(prompt_tokens), 0) AS prompt_tokens,
                      coalesce(sum(cached_tokens), 0) AS cached_tokens,
                      coalesce(sum(output_tokens), 0) AS output_tokens,
                      coalesce(sum(seconds), 0.0) AS seconds
               FROM model_calls WHERE run = ?""",
            (run,),
        ).fetchone()
        return dict(row)


def _run(row: sqlite3.Row) -> Run:
    return Run(
        id=row["id"],
        started_at=row["started_at"],
        finished_at=row["finished_at"] or "",
        status=row["status"],
        model=row["model"],
        results=json.loads(row["results"]),
    )
