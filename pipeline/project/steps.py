"""What a hook's event does to a store, as steps: plain data, which can wait in a file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pipeline.errors import ConfigFault
from pipeline.project import lists, replies, spool, times, todo
from pipeline.project.checkpoints import FileInProgress, NewCheckpoint
from pipeline.project.cleaning import fit_to_cut
from pipeline.project.linear import key_of_branch, keys
from pipeline.project.noticed import EDIT, TASK, TODO, Noticed, whole
from pipeline.project.noticing import EDITED, RENAMED, failure, notice
from pipeline.project.observations import NewObservation
from pipeline.project.place import Place
from pipeline.project.resume import ERROR
from pipeline.project.searching import Filters
from pipeline.project.store import ProjectStore
from pipeline.project.summaries import files_line
from pipeline.project.vocabulary import Clean

Step = spool.Step
_PROMPT = 200_000  # characters of a prompt; more was pasted
_REPLY = 20_000  # characters of a reply, at its end
_SAID = "said"  # a decision in a reply, which may be told of twice
_GOES_ON = times.DAY // 24  # edits of a file within an hour of each other are one observation
_LOOK_BACK = 300  # observations of a session
_RANGES = 8  # of lines, in an observation of edits
_FILES = 10  # in progress
_RANGE = re.compile(r"(\d+)-(\d+)")
_COUNT = re.compile(r"(\d+) edits")
_LAST = re.compile(r"edits, the last at (\S+)")


def steps(
    event: str, payload: Mapping[str, Any], place: Place, at: int, clean: Clean
) -> list[Step]:
    """The steps of an event. payload: as the agent sent it; what is missing or odd is passed over.

    at: now, in milliseconds.
    """
    session = payload.get("session_id")
    common = {
        "at": at,
        "session": session if isinstance(session, str) and session else "unnamed",
        "root": str(place.root),
        "worktree": place.worktree,
        "branch": place.branch,
    }
    if event == "SessionStart":
        return [{"do": "open", **common}]
    if event == "UserPromptSubmit":
        prompt = payload.get("prompt")
        if not isinstance(prompt, str) or not prompt.strip():
            return []
        return [{"do": "ask", **common, "prompt": whole(fit_to_cut(prompt), _PROMPT)}]
    if event in ("PostToolUse", "PostToolUseFailure"):
        tool, given = payload.get("tool_name"), payload.get("tool_input")
        called = (
            tool if isinstance(tool, str) else "",
            given if isinstance(given, Mapping) else {},
        )
        noticed = (
            notice(*called, payload.get("tool_response"), clean)
            if event == "PostToolUse"
            else failure(*called, payload.get("error"), clean)
        )
        if noticed is None:
            return []
        return [{"do": "observe", **common, **_relative(noticed, place)._asdict()}]
    if event == "SessionEnd":
        return [{"do": "end", **common}]
    if event == "Stop":
        reply = payload.get("last_assistant_message")
        told = fit_to_cut(reply) if isinstance(reply, str) else ""
        said = replies.said(clean(whole(told, -_REPLY)))
        decided = Noticed("decision", said.decision, group=_SAID)
        return [
            *([{"do": "observe", **common, **decided._asdict()}] if said.decision else []),
            {"do": "end", **common, "following": said.following},
        ]
    if event == "PreCompact":
        automatic = payload.get("trigger") != "manual"
        return [
            {"do": "checkpoint", **common, "trigger": "auto-compact" if automatic else "manual"}
        ]
    return []


def cleaned(value: Any, clean: Clean) -> Any:
    """Steps fit to be kept in a file: every text in them cleaned."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list | tuple):
        return [cleaned(one, clean) for one in value]
    if isinstance(value, dict):
        return {key: cleaned(one, clean) for key, one in value.items()}
    return value


def write(
    database: Path, clean: Clean, given: Sequence[Step], *, patience: float, most: int
) -> bool:
    """Write what waits and then the given steps. Raises StoreFault, and then none is written.

    patience: seconds to wait for others. most: files of what waits; the rest waits on. False when
    older steps than the given are among the rest: then these have to wait too, for their turn.
    """
    moment = _Moment()
    store = ProjectStore(database, clean, patience=patience, clock=moment)
    claimed = []
    try:
        with store.transaction():
            for taken, waited in spool.claim(database, most) if spool.waiting(database) else ():
                claimed.append(taken)
                for step in waited:
                    # a step that cannot be written now never can be, and would keep the rest back
                    with suppress(ConfigFault, KeyError, TypeError, ValueError, AttributeError):
                        _apply(store, database, step, moment, again=True)
            # where nothing can be claimed, nothing is gained by waiting
            behind = bool(claimed and given) and spool.is_waiting(database, int(given[0]["at"]))
            for step in () if behind else given:
                with suppress(ConfigFault):  # all of it is private
                    _apply(store, database, step, moment, again=False)
    except BaseException:
        for taken in claimed:
            spool.give_back(taken)
        raise
    finally:
        store.close()
    for taken in claimed:
        spool.done(taken)
    return not behind


class _Moment:
    """A clock that stands at the time of the step that is being written."""

    def __init__(self) -> None:
        self.at = times.now()

    def __call__(self) -> int:
        return self.at


def _apply(
    store: ProjectStore, database: Path, step: Step, moment: _Moment, *, again: bool
) -> None:
    moment.at = int(step["at"])
    place = Place(Path(step["root"]), database, step["worktree"], step["branch"])
    session = store.sessions.open(step["session"], place)
    # a call that was killed between the write and the end of its claim would write it twice
    if again and _is_written(store, session, step):
        return
    if step["do"] == "ask":
        found = keys(step["prompt"])
        store.sessions.ask(session, step["prompt"], place.project, found[0] if found else "")
    elif step["do"] == "observe":
        _observe(store, session, step, place, again=again)
    elif step["do"] == "checkpoint":
        _checkpoint(store, session, step, place)
    elif step["do"] == "end":
        following = step.get("following")
        if following is None:  # the end of a session tells nothing new of it
            following = replies.of_summary(store.sessions.get(session)["summary"])
        store.sessions.end(session, _summary(store, session, following))


def _is_written(store: ProjectStore, session: int, step: Step) -> bool:
    if step["do"] == "observe":
        return store.observations.is_told(step["title"], store.clock())
    if step["do"] == "end":  # what came after it tells more of how the session stands
        ended, asked = store.sessions.get(session)["ended_at"], store.sessions.prompts(session, 1)
        told = (ended or "", *(row["created_at"] for row in asked))
        return bool(max(told) > times.iso(store.clock()))
    table = {"ask": "prompts", "checkpoint": "checkpoints"}.get(step["do"])
    return table is not None and store.has(table, session)


# ------------------------------------------------------------------ observations


def _observe(store: ProjectStore, session: int, step: Step, place: Place, *, again: bool) -> None:
    if step["tests"] is True and not _tests_failed(store, session):
        return
    if step["group"] and _joined(store, session, step, again=again):
        return
    added = store.observations.add(
        NewObservation(
            type=step["type"],
            title=step["title"],
            subtitle=step["subtitle"],
            content=step["content"],
            files=tuple(step["files"]),
            concepts=tuple(step["concepts"]),
            project=place.project,
            session_id=session,
            linear_issue=step["issue"]
            or key_of_branch(place.branch)
            or store.sessions.get(session)["linear_issue"]
            or "",
        )
    )
    if step["group"] in (TODO, TASK):
        lists.changed(store, added)


def _joined(store: ProjectStore, session: int, step: Step, *, again: bool) -> bool:
    """Whether it went into an observation that goes on, or need not be told again.

    again: it waited in a file, and what is newer may have been written meanwhile.
    """
    if step["group"] == EDIT:
        return _joined_edit(store, session, step)
    rows = store.observations.recent(Filters(session=session), _LOOK_BACK)
    if step["group"] == _SAID:
        return any(row["title"] == step["title"] and row["type"] == step["type"] for row in rows)
    row = next((row for row in rows if _is_list(row)), None)
    late = again and row is not None and lists.is_newer(store, row)
    if late and step["group"] == TODO:
        return True
    if step["group"] == TASK:
        listed = todo.items(row["content"]) if row else []
        for news in todo.items(step["content"]):
            if not (late and any(one.number == news.number for one in listed)):
                listed = todo.changed(listed, news)
        if not listed:
            return True
        step |= todo.told(listed)._asdict()
    if row is None or row["checkpoint_id"] is not None:
        return False
    store.observations.edit(row["id"], {key: step[key] for key in todo.Told._fields})
    lists.changed(store, row["id"])
    return True


def _joined_edit(store: ProjectStore, session: int, step: Step) -> bool:
    filters = Filters(session=session, since=store.clock() - _GOES_ON)
    for row in store.observations.recent(filters, _LOOK_BACK):
        if row["checkpoint_id"] is not None:
            return False
        if row["files"] == list(step["files"]) and _is_edit(row):
            ranges = _merged(row["subtitle"], step["subtitle"])
            last = (_LAST.search(row["content"]) or ["", ""])[1]
            count = int((_COUNT.match(row["content"]) or ["", "1"])[1]) + 1
            changes = {
                "subtitle": f"lines {ranges}" if ranges else "",
                "content": f"{count} edits, the last at {max(last, times.iso(store.clock()))}",
            }
            store.observations.edit(row["id"], changes)
            return True
    return False


def _is_list(row: Mapping[str, Any]) -> bool:
    """Whether it is the list of things to do, and not what somebody observed in such words."""
    return row["title"].startswith(todo.TITLE) and bool(todo.items(row["content"]))


def _is_edit(row: Mapping[str, Any]) -> bool:
    """Whether it is of a rule's making, and not what somebody observed in such words."""
    return any(row["title"] == f"{did}{row['file_path']}" for did in EDITED) and (
        not row["content"] or _LAST.search(row["content"]) is not None
    )


def _merged(old: str, new: str) -> str:
    """Ranges of lines, the last edited at the end; an old one that a new one touches is in it."""
    ranges = [(int(first), int(last)) for first, last in _RANGE.findall(old)]
    for first, last in ((int(first), int(last)) for first, last in _RANGE.findall(new)):
        touched = [one for one in ranges if one[0] <= last + 1 and first <= one[1] + 1]
        ranges = [one for one in ranges if one not in touched]
        ranges.append((min(first, *(one[0] for one in touched)) if touched else first,
                       max(last, *(one[1] for one in touched)) if touched else last))  # fmt: skip
    return ", ".join(f"{first}-{last}" for first, last in ranges[-_RANGES:])


def _edited(rows: Sequence[Mapping[str, Any]]) -> list[FileInProgress]:
    """The files that were edited, the last edited first, with their lines."""
    last = {
        row["id"]: (_LAST.search(row["content"]) or ["", row["created_at"]])[1]
        for row in rows
        if row["file_path"] and (_is_edit(row) or row["title"].startswith(RENAMED))
    }
    told: dict[str, str] = {}
    for row in sorted(
        (row for row in rows if row["id"] in last), key=lambda row: last[row["id"]], reverse=True
    ):
        told.setdefault(row["file_path"], row["subtitle"].removeprefix("lines "))
    return [FileInProgress(path, lines) for path, lines in [*told.items()][:_FILES]]


def _tests_failed(store: ProjectStore, session: int) -> bool:
    """Whether the last run of tests that was kept is one that failed."""
    for row in store.observations.recent(Filters(session=session), _LOOK_BACK):
        if row["title"].startswith("Tests pass again"):
            return False
        if row["title"].startswith(f"{ERROR}tests fail"):
            return True
    return False


# ------------------------------------------------------------------ checkpoints and summaries


def _checkpoint(store: ProjectStore, session: int, step: Step, place: Place) -> None:
    rows = store.observations.recent(Filters(session=session), _LOOK_BACK)
    asked = store.sessions.prompts(session, 1)
    row = next((row for row in rows if _is_list(row)), None)
    listed = todo.items(row["content"]) if row else []
    doing, left = todo.doing(listed), todo.left(listed)
    known = store.sessions.get(session)
    last = asked[0]["prompt"] if asked else ""
    store.checkpoints.add(
        NewCheckpoint(
            level="L3",
            trigger=step["trigger"],
            task=doing[0] if doing else last,
            progress=row["subtitle"] if row else "",
            summary="; ".join(left) or _following(known, rows),
            files=tuple(_edited(rows)),
            linear_issue=key_of_branch(place.branch) or known["linear_issue"] or "",
            project=place.project,
            session_id=session,
        )
    )
    store.sessions.peak(session, None)


def _following(session: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> str:
    """What comes next where no list tells it: by the last reply, else by the last plan."""
    plans = (row["content"] for row in rows if row["title"].startswith("Plan: "))
    return replies.of_summary(session["summary"]) or replies.steps(next(plans, ""))


def _summary(store: ProjectStore, session: int, following: str) -> str:
    """What was done in a session, from what was stored of it, and what comes next."""
    rows = store.observations.recent(Filters(session=session), _LOOK_BACK)[::-1]
    told = [row["title"] for row in rows if not _is_edit(row) and row["type"] != "checkpoint"]
    parts = [*told[-8:], *files_line(rows)]
    if following:
        parts.append(f"{replies.NEXT}{following}")
    return "\n".join(parts)


def _relative(noticed: Noticed, place: Place) -> Noticed:
    """The same with paths as they are told in the project."""
    files = tuple(place.relative(path) for path in noticed.files)
    title = noticed.title
    for absolute, relative in zip(noticed.files, files, strict=True):
        title = title.replace(absolute, relative)
    return noticed._replace(files=files, title=title)
