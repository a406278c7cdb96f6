"""A word at the start of a session when the nights have gone quiet: missed or failed.

Sessions wait for it, so it loads little: the standard library, and no settings. The schedule is
read from the file its scheduler keeps, not by asking that.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from pathlib import Path

from pipeline import hours, ordinary
from pipeline.errors import StoreFault
from pipeline.sqlite import reading
from pipeline.terminal import one_line

_GOOD = ("done", "nothing", "partial", "stopped")
_BAD = frozenset({"failed", "interrupted"})
_JOBS = (
    "{home}/Library/LaunchAgents/com.nightly-memory.synthesize.plist",
    "{config}/systemd/user/nightly-memory.service",
)
_AT = re.compile(r"--scheduled\D{1,80}([01]\d|2[0-3]):([0-5]\d)")
_AHEAD = timedelta(hours=1)  # of this clock the one of a run may be, and be right
_CHARACTERS = 160  # of a reason, which goes into somebody's session


@dataclass(frozen=True, slots=True)
class Nights:
    """How the runs went. All times aware UTC, None where there was none.

    last_status, last_failure: of the newest run. last_success: when the newest run ended that did
    what a night is for; one that was stopped by a signal did not.
    """

    last_status: str = ""
    last_failure: str = ""
    last_success: datetime | None = None


def nights(store: Path, now: datetime) -> Nights:
    """How the runs in memory.sqlite went. Raises StoreFault when it cannot be read.

    A run that ended after `now` had a wrong clock, and must not count as a success for ever.
    """
    latest = (now.astimezone(UTC) + _AHEAD).strftime("%Y-%m-%dT%H:%M")
    with reading(store, patience=0.1) as database:  # a session waits for the answer
        rows = database.execute(
            """SELECT status, json_extract(results, '$.failure') AS failure FROM runs
               ORDER BY rowid DESC LIMIT 1"""
        ).fetchall()
        success = database.execute(
            f"""SELECT finished_at FROM runs
                WHERE status IN ({", ".join("?" * len(_GOOD))}) AND finished_at <= ?
                  AND NOT coalesce(json_extract(results, '$.asked'), 0)
                ORDER BY rowid DESC LIMIT 1""",
            (*_GOOD, latest),
        ).fetchall()
    return Nights(
        last_status=rows[0]["status"] if rows else "",
        last_failure=(rows[0]["failure"] or "") if rows else "",
        last_success=datetime.fromisoformat(success[0]["finished_at"]) if success else None,
    )


def missed(at: time, since: datetime, now: datetime, *, at_work: bool = False) -> int:
    """How many nights went by without a success: moments of `at`, by the machine's own clock.

    since: of the last success, or of the installation of the schedule if that is later; the
    moments up to `now` count. at_work: a run is, so the newest moment is not missed yet.
    """
    return max(0, hours.nights(at, since, now) - at_work)


def scheduled(environ: Mapping[str, str], home: Path) -> tuple[time, datetime] | None:
    """The time of day the nightly run is due, and since when it is; None if it is not scheduled."""
    base = environ.get("XDG_CONFIG_HOME", "")
    config = base if base.startswith("/") else f"{home}/.config"
    for place in _JOBS:
        path = Path(place.format(home=home, config=config))
        try:
            found = _AT.search(ordinary.content(path).decode("utf-8", "replace"))
            if found:
                since = datetime.fromtimestamp(path.stat().st_mtime, UTC)
                return time(int(found[1]), int(found[2])), since
        except OSError:
            continue
    return None


def silence(
    store: Path, lock: Path, now: datetime, *, environ: Mapping[str, str], home: Path
) -> str:
    """One line when scheduled nights were missed or the last run failed, "" when all is well.

    store, lock: `Config.store_path` and `Config.lock_path`. A store that cannot be read is told
    too; where nothing is scheduled there is nothing to tell.
    """
    job = scheduled(environ, home)
    if job is None:
        return ""
    at, since = job
    if not store.is_file():
        known = Nights()
    else:
        try:
            known = nights(store, now)
        except StoreFault:
            return "nightly-memory: its store cannot be read; `memory doctor` says what is wrong."
    working = _at_work(lock)
    count = missed(at, max(since, known.last_success or since), now, at_work=working)
    told = []
    if count:
        told.append(f"no successful run for {count} night{'s' if count > 1 else ''}")
    if (known.last_status in _BAD or (count and known.last_status == "skipped")) and not working:
        reason = f": {_short(known.last_failure)}" if known.last_failure else ""
        told.append(f"the last run was {known.last_status}{reason}")
    if not told:
        return ""
    return f"nightly-memory: {'; '.join(told)}. `memory doctor` says what is wrong."


def _at_work(lock: Path) -> bool:
    """Whether the process in the lock file is there; that number may be another's by now."""
    try:
        os.kill(int(json.loads(ordinary.content(lock))["pid"]), 0)
    except PermissionError:
        return True
    except (OSError, OverflowError, ValueError, TypeError, KeyError):
        return False
    return True


def _short(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= _CHARACTERS else f"{line[: _CHARACTERS - 1].rstrip()}…"
