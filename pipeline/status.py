"""What `memory status` shows: how the nights go, what is pending, and where everything is.

Looks and makes nothing: neither what is not there yet, nor a way for the run that is at work.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, tzinfo
from itertools import pairwise
from pathlib import Path
from typing import Any

from pipeline import schedule, silence
from pipeline.assemble import chosen_model
from pipeline.backlog import horizon
from pipeline.config import Config
from pipeline.errors import MemoryFault, ModelFault
from pipeline.history import History
from pipeline.lock import holder
from pipeline.models.catalog import served
from pipeline.models.fetch import path as model_path
from pipeline.records import Span
from pipeline.refusals import last_words
from pipeline.repository import versioned
from pipeline.schedule import State
from pipeline.sqlite import files_of
from pipeline.store import Store
from pipeline.store.runs import Run
from pipeline.store.times import from_text, to_text
from pipeline.system import Ask, ask
from pipeline.vault import Vault

_RUNS = 30  # looked back over to tell how fast the backlog shrinks
_PACE_FROM = 5  # the newest of them that made it shrink


def gather(config: Config, now: datetime | None = None, ask: Ask = ask) -> dict[str, Any]:
    """The state as JSON-able values; times in ISO, sizes in bytes.

    What cannot be read is named under "problems", and the rest is told all the same.
    """
    now = now or datetime.now(UTC)
    job, problems = _schedule(config, now, ask)
    state: dict[str, Any] = {
        "at_work": None,
        "last_run": None,
        "last_success": None,
        "missed_nights": 0,
        "schedule": job.as_json() if job else None,
        "vault": str(config.vault),
        "store": str(config.store_path),
        "model": chosen_model(config)[0],
        "model_fetched": is_fetched(config),
        "articles": None,
        "uncommitted": None,
        "counts": {},
        "read_up_to": {},
        "pending": {},
        "backlog": {"conversations": 0, "nights": 0},
        "held": [],
        "attempts": [],
        "sizes": _sizes(config),
        "problems": problems,
    }
    if working := holder(config.lock_path):
        began = datetime.fromtimestamp(working.started, UTC)
        state["at_work"] = {"pid": working.pid, "since": to_text(began)}
    _try(lambda: _look_at_vault(config, state), problems)
    if config.store_path.is_file():
        _try(lambda: _look_at_store(config, now, state), problems)
    installed = job.installed if job else None
    if installed is not None:
        success = from_text(state["last_success"]) if state["last_success"] else None
        state["missed_nights"] = silence.missed(
            installed.at,
            max(installed.installed_at, success or installed.installed_at),
            now,
            at_work=working is not None,
        )
    return state


def lines(state: dict[str, Any], zone: tzinfo | None = None) -> list[str]:
    """The state for a reader, a line each; times in `zone`, None for the machine's own."""
    return [
        *_lines_of_nights(state, zone),
        *_lines_of_places(state),
        *_lines_of_work(state),
        *(f"problem   {problem}" for problem in state["problems"]),
    ]


# ------------------------------------------------------------------ gathering


def _try(look: Callable[[], None], problems: list[str]) -> None:
    try:
        look()
    except Exception as error:  # of the rest all is told
        fault = last_words(error)
        if fault is None:
            raise
        problems.append(f"{fault} ({fault.mend})" if fault.mend else str(fault))


def _schedule(config: Config, now: datetime, ask: Ask) -> tuple[State | None, list[str]]:
    try:
        return schedule.state(config, ask, now), []
    except MemoryFault as fault:  # started without having been installed
        return None, [f"{fault} ({fault.mend})"]


def is_fetched(config: Config) -> bool:
    """Whether a night has its language model: fetched, or on a server, which has its own."""
    try:
        name = chosen_model(config)[0]
        if not served(name):
            model_path(name, config.models_dir)
    except ModelFault:
        return False
    return True


def _look_at_vault(config: Config, state: dict[str, Any]) -> None:
    if not versioned(config.vault):
        return
    state["articles"] = len(Vault(config.vault).stems())
    now = History(config.vault).state()
    state["uncommitted"] = len(now.staged) + len(now.unstaged) + len(now.untracked)


def _look_at_store(config: Config, now: datetime, state: dict[str, Any]) -> None:
    store = Store(config.store_path)
    try:
        runs = store.runs.recent(_RUNS)
        if runs:
            state["last_run"] = _told(runs[0])
        success = silence.nights(config.store_path, now).last_success
        state["last_success"] = to_text(success) if success else None
        state["counts"] = store.conversations.counts() | store.chunks.counts()
        state["counts"]["buckets"] = len(store.buckets.all())
        state["read_up_to"] = {
            source: to_text(at) for source, at in store.conversations.watermarks().items()
        }
        since = horizon(store, config)
        news = Span(since=since)
        state["pending"] = {
            "to chunk": len(store.conversations.to_chunk(news)),
            "to route": len(store.chunks.to_cluster(news)),
            "to read for claims": len(store.chunks.to_claim(news)),
            "articles with news": store.buckets.to_fold(),
        }
        if since is not None:
            left = len(store.conversations.to_chunk(Span(until=since)))
            state["backlog"] = {"conversations": left, "nights": _nights_for(left, runs)}
        state["held"] = [
            {"id": hold.id, "article": hold.draft.article, "reasons": list(hold.reasons)}
            for hold in store.holds.open()
        ]
        state["attempts"] = [
            {
                "job": f"{a.stage}: {a.job}",
                "tries": a.count,
                "reason": a.last_reason,
                "parked": a.parked,
            }
            for a in store.attempts.all()
        ]
    finally:
        store.close()


def _told(run: Run) -> dict[str, Any]:
    minutes = None
    if run.finished_at:
        seconds = (from_text(run.finished_at) - from_text(run.started_at)).total_seconds()
        minutes = round(seconds / 60, 1)
    return {
        "id": run.id,
        "started_at": run.started_at,
        "finished_at": run.finished_at,
        "minutes": minutes,
        "status": run.status,
        "model": run.model,
        "results": run.results,
    }


def _nights_for(left: int, runs: Sequence[Run]) -> int | None:
    """About how many nights the backlog takes at the pace of the last ones; None: not known."""
    known = [run.results["backlog"] for run in runs if "backlog" in run.results]
    steps = [older - newer for newer, older in pairwise(known)]
    pace = [step for step in steps if step > 0][:_PACE_FROM]
    if not left:
        return 0
    return math.ceil(left * len(pace) / sum(pace)) if pace else None


def _sizes(config: Config) -> dict[str, int]:
    places = {
        "store": files_of(config.store_path),
        "archive": (config.archive_dir,),
        "journal": (config.journal_dir,),
        "vault": (config.vault,),
        "models": (config.models_dir,),
        "logs": (config.log_dir,),
    }
    return {name: sum(sum(_files(path)) for path in paths) for name, paths in places.items()}


def _files(path: Path) -> Iterator[int]:
    """Sizes of the file, or of all files under the folder; links are not followed."""
    try:
        if path.is_file():
            yield path.stat().st_size
            return
        with os.scandir(path) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    yield from _files(Path(entry.path))
                elif entry.is_file(follow_symlinks=False):
                    yield entry.stat(follow_symlinks=False).st_size
    except OSError:  # gone meanwhile, or not ours to look into
        return


# ------------------------------------------------------------------ telling


def _lines_of_nights(state: dict[str, Any], zone: tzinfo | None) -> list[str]:
    last, work, job = state["last_run"], state["at_work"], state["schedule"]
    told = []
    if work:
        told.append(f"at work   process {work['pid']}, since {_local(work['since'], zone)}")
    if last is None:
        told.append("last run  none yet")
    else:
        status = last["status"]
        if status == "running" and not work:
            status = "killed; the next run goes on where it stopped"
        length = "" if last["minutes"] is None else f", {last['minutes']:g} minutes"
        told.append(f"last run  {last['id']}: {status}, {_local(last['started_at'], zone)}{length}")
        if last["results"].get("failure"):
            told.append(f"          {last['results']['failure']}")
        told += [f"noticed   {problem}" for problem in last["results"].get("problems", [])]
    if missed := state["missed_nights"]:
        told.append(f"missed    no successful run for {_counted(missed, 'night')}")
    if job is None:
        told.append("next run  not known")
    elif job["status"] == "not scheduled":
        told.append("next run  when you start it: nothing is scheduled (`memory schedule`)")
    elif job["next_run"] and job["status"] in ("loaded", "drifted"):
        told.append(f"next run  {_local(job['next_run'], zone)} ({job['scheduler']})")
    else:
        told.append(f"next run  the schedule is {job['status']}")
    if job:
        told += [f"          {line}" for line in (*job["drift"], *job["trouble"])]
        if job["advice"] and job["status"] != "not scheduled":
            told.append(f"          {job['advice']}")
    return told


def _lines_of_places(state: dict[str, Any]) -> list[str]:
    sizes = state["sizes"]
    fetched = (
        "" if state["model_fetched"] else f": not fetched (memory model fetch {state['model']})"
    )
    vault = (
        "not made yet: memory init"
        if state["articles"] is None
        else f"{state['articles']} articles, {state['uncommitted']} uncommitted edits"
    )
    told = [
        f"vault     {state['vault']} ({vault})",
        f"store     {state['store']}",
        f"model     {state['model']}{fetched}",
        "sizes     " + ", ".join(f"{name} {_size(size)}" for name, size in sizes.items()),
    ]
    told += [f"source    {name}, read up to {at}" for name, at in state["read_up_to"].items()]
    return told


def _lines_of_work(state: dict[str, Any]) -> list[str]:
    told = []
    if state["counts"]:
        counted = ", ".join(f"{number} {name}" for name, number in state["counts"].items())
        told.append(f"contains  {counted}")
    waiting = ", ".join(f"{number} {name}" for name, number in state["pending"].items() if number)
    told.append(f"pending   {waiting or 'nothing'}")
    left, nights = state["backlog"]["conversations"], state["backlog"]["nights"]
    if left:
        about = f", about {_counted(nights, 'night')}" if nights else ""
        told.append(f"backlog   {_counted(left, 'older conversation')}{about} (`memory backfill`)")
    for hold in state["held"]:
        told.append(f"held {hold['id']:<4} {hold['article']}: {'; '.join(hold['reasons'])}")
    for attempt in state["attempts"]:
        word = "parked" if attempt["parked"] else f"failed {attempt['tries']}×"
        told.append(f"{word:<9} {attempt['job']}: {attempt['reason']}")
    return told


def _local(at: str, zone: tzinfo | None) -> str:
    return f"{datetime.fromisoformat(at).astimezone(zone):%Y-%m-%d %H:%M}"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _size(size: int) -> str:
    value, unit = float(size), "B"
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000 or unit == "GB":
            break
        value /= 1000
    return f"{value:.0f} {unit}" if unit in ("B", "kB") else f"{value:.1f} {unit}"
