"""`memory-hook EVENT`: what coding agents call, with the event as JSON on standard input.

It writes what is worth keeping, answers a session's start with the project's context, and always
exits 0: a fault of the memory must never be one of the session. Faults go to a log. Each event
loads only what it needs, from the standard library alone, since every step of a session waits.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from pipeline.project import machine, spool, times
from pipeline.project.place import VARIABLE, Place, find

_MOST = 8_000_000  # bytes of an event that are looked at; more is some tool's output
_PATIENCE = 0.4  # seconds to wait for another's write; then the steps are kept in a file
_GLANCE = 0.1  # seconds to wait for a look at it; a writer keeps nobody from reading
_DRAINED = 50  # files of what waited, so that nobody waits for all of them
_LOG_BYTES = 256_000
_LOGGED = 2000  # characters of a line
_FOREIGN = (
    "anvil-memory: this project's memory was not begun on this machine, or it was moved; "
    "`anvil-memory init` has it used."
)
_NAMES = {
    "sessionstart": "SessionStart",
    "userpromptsubmit": "UserPromptSubmit",
    "posttooluse": "PostToolUse",
    "posttoolusefailure": "PostToolUseFailure",
    "stop": "Stop",
    "sessionend": "SessionEnd",
    "precompact": "PreCompact",
}


def main() -> None:
    """Entry point. Whatever happens, the exit code is 0, and what is printed is JSON or nothing."""
    try:
        answer = run(sys.argv[1:], sys.stdin.buffer, os.environ, Path.home())
        if answer:
            sys.stdout.write(json.dumps(answer, ensure_ascii=True) + "\n")
            sys.stdout.flush()
    except BaseException as error:
        _log(f"{sys.argv[1:]}: {type(error).__name__}: {error}", os.environ)
    # not sys.exit: what is flushed at the end may fail too, on a pipe that was closed
    os._exit(0)


def run(
    arguments: list[str], stream: BinaryIO, environ: Mapping[str, str], home: Path
) -> dict[str, Any] | None:
    """Handle an event; what the agent is to be told. Raises what goes wrong and cannot be kept."""
    payload = read(stream)
    named = arguments[0] if arguments else payload.get("hook_event_name")
    event = _NAMES.get(str(named).replace("-", "").replace("_", "").lower())
    if event is None:
        raise ValueError(f"no event {named!r} is known")
    cwd = payload.get("cwd")
    here = Path(cwd) if isinstance(cwd, str) and Path(cwd).is_absolute() else Path.cwd()
    place = find(here, environ, home)
    settings = machine.settings(environ, home)
    there = place.database.is_file()
    ours = there and _is_ours(place, environ, settings)
    if ours:
        try:
            _write(event, payload, place, settings)
        except Exception as error:  # what can be read may still be told
            _log(f"{event}: {type(error).__name__}: {error}", environ)
    if event != "SessionStart":
        return None
    return _told(payload, place if ours else None, settings, environ, home, foreign=there > ours)


def _is_ours(place: Place, environ: Mapping[str, str], settings: machine.Settings) -> bool:
    """Whether the store was begun on this machine, or named by its user.

    One that came with somebody's repository could tell an agent anything, and what was written to
    it could be committed.
    """
    return bool(environ.get(VARIABLE)) or place.database in machine.registered(settings.data_dir)


def read(stream: BinaryIO) -> dict[str, Any]:
    """The event; of one that is too long, cut off or too deep, what comes before the break."""
    data = stream.read(_MOST)
    if len(data) == _MOST:
        while stream.read(1_000_000):  # an agent that cannot write all of it may complain
            pass
    text = data.decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        from pipeline.project.broken import before_the_break

        whole = before_the_break(text)
    if not isinstance(whole, dict):
        raise ValueError("the event is no JSON object")
    return whole


def _write(
    event: str, payload: Mapping[str, Any], place: Place, settings: machine.Settings
) -> None:
    from pipeline.errors import StoreFault
    from pipeline.project.cleaning import cleaner
    from pipeline.project.steps import cleaned, steps, write

    at = times.now()
    clean = cleaner(settings.redaction)
    todo = steps(event, payload, place, at, clean)
    if not todo and not spool.waiting(place.database):
        return
    try:
        if write(place.database, clean, todo, patience=_PATIENCE, most=_DRAINED):
            return
        told = "older ones wait"
    except StoreFault as fault:
        told = str(fault)
    kept = bool(todo) and spool.keep(place.database, cleaned(todo, clean), at)
    _note(f"{event}: {told}" + ("; kept to be written later" if kept else ""), settings)


def _told(
    payload: Mapping[str, Any],
    place: Place | None,
    settings: machine.Settings,
    environ: Mapping[str, str],
    home: Path,
    *,
    foreign: bool,
) -> dict[str, Any] | None:
    from datetime import UTC, datetime

    from pipeline.silence import silence

    answer: dict[str, Any] = {}
    if place:
        try:
            if text := _context(payload.get("source"), place, settings):
                answer["hookSpecificOutput"] = {
                    "hookEventName": "SessionStart",
                    "additionalContext": text,
                }
        except Exception as error:
            _note(f"SessionStart: {error}", settings)
    quiet = silence(
        settings.cache_dir / "memory.sqlite",
        settings.cache_dir / "run.lock",
        datetime.now(UTC),
        environ=environ,
        home=home,
    )
    told = [quiet] if quiet else []
    if foreign:
        told.append(_FOREIGN)
    if told:
        answer["systemMessage"] = "\n".join(told)
    return answer or None


def _context(source: Any, place: Place, settings: machine.Settings) -> str:
    from pipeline.project.articles import articles
    from pipeline.project.context import context
    from pipeline.project.searching import Filters
    from pipeline.project.store import ProjectStore

    store = ProjectStore(place.database, str, patience=_GLANCE)
    try:
        with store.guarded():
            found = articles(settings.cache_dir, settings.vault, place.root, 5)
            resuming = source in ("compact", "resume")
            return context(store, place, Filters(), found, resuming=resuming).injected
    finally:
        store.close()


def _log(line: str, environ: Mapping[str, str]) -> None:
    """Note a fault whatever it is, also one of the settings."""
    with suppress(Exception):
        _note(line, machine.settings(environ, Path.home()))


def _note(line: str, settings: machine.Settings) -> None:
    """Note a fault; a log that cannot be written is none of the session's business."""
    with suppress(OSError):
        from pipeline.project.cleaning import cleaner, fit_to_cut
        from pipeline.project.noticed import whole

        # it may quote what was sent
        line = cleaner(settings.redaction)(whole(fit_to_cut(line), _LOGGED))
        folder = settings.cache_dir
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = folder / "hook.log"
        if path.is_file() and path.stat().st_size > _LOG_BYTES:
            path.replace(folder / "hook.log.1")
        told = " ".join(line.encode("utf-8", "replace").decode().split())
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(opened, "a", encoding="utf-8") as file:
            file.write(f"{stamp} {told}\n")


if __name__ == "__main__":
    main()
