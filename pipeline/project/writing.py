"""The commands that write: init, observe, checkpoint, ralph-iteration, session, edit."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from pipeline.errors import EXIT_PARTIAL, ConfigFault
from pipeline.project import linear, machine, place
from pipeline.project.call import Answer, Call
from pipeline.project.checkpoints import FileInProgress, NewCheckpoint, files_in_progress
from pipeline.project.iterations import NewIteration
from pipeline.project.observations import NewObservation
from pipeline.project.store import ProjectStore
from pipeline.project.telling import session_line
from pipeline.project.vocabulary import CONCEPTS, LEVELS, STATUSES, TRIGGERS, one_of, percent
from pipeline.repository import is_file

_LISTED = 30  # sessions


def init(call: Call) -> Answer:
    """Make the store, keep git from tracking it, and have the nightly run read it."""
    new = not call.place.database.is_file()
    with call.store(make=True):
        pass
    excluded = place.exclude(call.place)
    registered = machine.register(call.settings.data_dir, call.place.database)
    lines = [f"{'made' if new else 'there already'}: {call.place.database}"]
    if excluded:
        lines.append(f"git leaves it alone: {call.place.exclude}")
    if registered:
        lines.append("the nightly run reads it from now on")
    data = {
        "database": str(call.place.database),
        "project": call.place.project,
        "made": new,
        "excluded": excluded,
        "registered": registered,
    }
    return Answer(data, lines)


def observe(call: Call) -> Answer:
    """Store one observation."""
    kind = one_of("--type", call["type"], call.types)
    concepts = tuple(call["concept"] or ())
    content = _content(call)
    with call.store() as store:
        session = _session(call, store)
        issue = linear.checked(call["linear"]) if call["linear"] else _issue(call, store, session)
        identity = store.observations.add(
            NewObservation(
                type=kind,
                title=call["title"],
                subtitle=call["subtitle"] or "",
                content=content,
                files=tuple(_named(call, path) for path in call["file"] or ()),
                concepts=concepts,
                project=call.place.project,
                session_id=session,
                linear_issue=issue,
            )
        )
        (row,) = store.observations.get([identity])
    return Answer(row, [f"observation {identity}"], _unusual(concepts))


def edit(call: Call) -> Answer:
    """Put new values in the place of an observation's own; what is not named stays."""
    (identity,) = ids([call["id"]])
    changes: dict[str, Any] = {}
    for key in ("title", "subtitle"):
        if call[key] is not None:
            changes[key] = call[key]
    if call["type"] is not None:
        changes["type"] = one_of("--type", call["type"], call.types)
    if call["content"] is not None or call["content_file"] is not None:
        changes["content"] = _content(call)
    if call["file"]:
        changes["files"] = [_named(call, path) for path in call["file"]]
    if call["concept"]:
        changes["concepts"] = call["concept"]
    if call["linear"] is not None:
        changes["linear_issue"] = linear.checked(call["linear"]) if call["linear"] else ""
    if not changes:
        raise ConfigFault(
            "nothing is said of what to change",
            mend="give --type, --title, --subtitle, --content, --file, --concept or --linear",
        )
    with call.store() as store:
        if call["session"] is not None:
            changes["session_id"] = store.sessions.named(call["session"], call.place)
        store.observations.edit(identity, changes)
        (row,) = store.observations.get([identity])
    unusual = _unusual(changes.get("concepts", ()))
    return scrubbed(call, Answer(row, [f"observation {identity} changed"], unusual))


def checkpoint(call: Call) -> Answer:
    """Store where the work stands."""
    level = one_of("--level", call["level"], LEVELS)
    trigger = one_of("--trigger", call["trigger"] or "manual", TRIGGERS)
    used = percent("--percent", call["percent"])
    files = _files_in_progress(call)
    handoff = _handoff(call)
    with call.store() as store:
        session = _session(call, store)
        issue = linear.checked(call["linear"]) if call["linear"] else _issue(call, store, session)
        identity, told = store.checkpoints.add(
            NewCheckpoint(
                level=level,
                trigger=trigger,
                percent=used,
                task=call["task"] or "",
                progress=call["progress"] or "",
                summary=call["summary"] or "",
                files=files,
                handoff_file=handoff,
                linear_issue=issue,
                project=call.place.project,
                session_id=session,
            )
        )
        if session is not None:
            store.sessions.peak(session, used)
        row = store.checkpoints.get(identity)
    return Answer(
        {**(row or {}), "observation": told}, [f"checkpoint {identity}, observation {told}"]
    )


def ralph_iteration(call: Call) -> Answer:
    """Store how one iteration of a loop went."""
    status = one_of("--status", call["status"], STATUSES)
    used = percent("--percent", call["percent"])
    completed = _completed(call)
    if not call["session"].strip():
        raise ConfigFault("--session cannot be empty", mend="it is the name of the loop")
    for key in ("iteration", "todo_start", "todo_end"):
        if call[key] is not None and call[key] < 0:
            raise ConfigFault(
                f"--{key.replace('_', '-')} cannot be {call[key]}", mend="it is a number from 0"
            )
    with call.store() as store:
        current = store.sessions.current(call.place)
        identity, told = store.iterations.add(
            NewIteration(
                session=call["session"],
                iteration=call["iteration"],
                status=status,
                percent=used,
                checkpoint_id=call["checkpoint"],
                todo_start=call["todo_start"],
                todo_end=call["todo_end"],
                completed=completed,
                project=call.place.project,
                session_id=current["id"] if current else None,
            )
        )
        (row,) = [one for one in store.iterations.history() if one["id"] == identity]
    return Answer(
        {**row, "observation": told}, [f"iteration {row['iteration']}, observation {told}"]
    )


def session(call: Call) -> Answer:
    """Show the current session or the last ones, or end one."""
    asked = [name for name in ("current", "list", "end") if call[name]]
    if len(asked) > 1:
        raise ConfigFault(
            f"--{asked[0]} and --{asked[1]} cannot be asked together", mend="give one of them"
        )
    for name, owners in (("summary", {"end"}), ("session", {"current", "end"})):
        if call[name] is not None and asked and not owners & {*asked}:
            raise ConfigFault(f"--{name} does not belong to --{asked[0]}", mend="leave it out")
    if call["summary"] is not None and not asked:
        raise ConfigFault("--summary belongs to --end", mend="give --end too")
    if call["list"]:
        with call.reading() as store:
            rows = store.sessions.recent(_LISTED)
        return Answer(rows, [session_line(row) for row in rows] or ["no session yet"])
    if not call["end"]:
        with call.reading() as store:
            row = _asked_for(call, store)
        return Answer(row, [session_line(row) if row else "no session is open here"])
    with call.store() as store:
        row = _asked_for(call, store)
        if row is None:
            raise ConfigFault(
                "no session is open here", mend="name one with --session; --list shows them"
            )
        row = store.sessions.end(row["id"], call["summary"])
    return Answer(row, [f"session {row['id']} has ended"])


# ------------------------------------------------------------------ what the flags mean


def ids(given: list[str]) -> list[int]:
    """Ids as they are shown, with or without the `#`. Raises ConfigFault for anything else."""
    found = []
    for text in given:
        digits = text.removeprefix("#")
        if not digits.isascii() or not digits.isdigit() or len(digits) > 18:
            raise ConfigFault(f"{text!r} is no id", mend="an id is a number: 12, or #12")
        found.append(int(digits))
    return list(dict.fromkeys(found))


def scrubbed(call: Call, answer: Answer) -> Answer:
    """The answer of a command that took something out, when the file has nothing of it either."""
    with call.reading() as store:
        if store.scrub():
            return answer
    told = (
        f"the old text is still in {call.place.database} or its log, since another program has it "
        "open: end that, then repeat `anvil-memory delete --match TEXT --yes`"
    )
    return answer._replace(warnings=[*answer.warnings, told], code=EXIT_PARTIAL)


def _named(call: Call, path: str) -> str:
    """A file by its path in the project; as it is given where no such file is."""
    here = call.cwd / place.user_path(path)
    if path and (path.startswith((".", "~")) or is_file(here)):
        return call.place.relative(os.path.normpath(here))
    return call.place.relative(path)


def _asked_for(call: Call, store: ProjectStore) -> dict[str, Any] | None:
    if call["session"] is not None:
        (identity,) = ids([call["session"]])
        return store.sessions.get(identity)
    return store.sessions.current(call.place)


def _session(call: Call, store: ProjectStore) -> int | None:
    if call["session"] is not None:
        return store.sessions.named(call["session"], call.place)
    current = store.sessions.current(call.place)
    return current["id"] if current else None


def _issue(call: Call, store: ProjectStore, session_id: int | None) -> str:
    """The issue that is worked on: the branch's own, else the session's."""
    if key := linear.key_of_branch(call.place.branch):
        return key
    found = store.sessions.get(session_id)["linear_issue"] if session_id is not None else None
    return found or ""


def _unusual(concepts: tuple[str, ...]) -> list[str]:
    return [
        f"{one!r} is none of the usual concepts: {', '.join(CONCEPTS)}"
        for one in concepts
        if one not in CONCEPTS
    ]


def _content(call: Call) -> str:
    if call["content"] is not None and call["content_file"] is not None:
        raise ConfigFault(
            "--content and --content-file cannot be given together", mend="give one of them"
        )
    if call["content_file"] is None:
        return call["content"] or ""
    if call["content_file"] == "-":
        return sys.stdin.read()
    path = call.cwd / place.user_path(call["content_file"])
    try:
        return path.read_text("utf-8", errors="replace")
    except OSError as error:
        raise ConfigFault(
            f"--content-file {path} cannot be read: {error.strerror or error}",
            mend="name a text file, or - for standard input",
        ) from error


def _handoff(call: Call) -> str:
    if not call["handoff"]:
        return ""
    path = call.cwd / place.user_path(call["handoff"])
    if not is_file(path):
        raise ConfigFault(f"there is no handoff file {path}", mend="write it first, or correct it")
    return call.place.relative(str(path.resolve()))


def _files_in_progress(call: Call) -> tuple[FileInProgress, ...]:
    if not call["files"]:
        return ()
    try:
        given = files_in_progress(json.loads(call["files"]))
    except ValueError as error:
        raise ConfigFault(
            f"--files is not as it must be: {error}",
            mend='it is JSON: [{"path": "FILE", "lines": "12-40"}]',
        ) from error
    return tuple(FileInProgress(_named(call, one.path), one.lines) for one in given)


def _completed(call: Call) -> tuple[str, ...]:
    if not call["items_completed"]:
        return ()
    try:
        items = json.loads(call["items_completed"])
    except ValueError as error:
        raise ConfigFault(
            f"--items-completed is no JSON: {error}", mend='it is a list: ["FIRST", "SECOND"]'
        ) from error
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise ConfigFault(
            "--items-completed is no list of texts", mend='it is a list: ["FIRST", "SECOND"]'
        )
    return tuple(items)
