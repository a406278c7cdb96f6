"""The job as a LaunchAgent of the user's own launchd domain, `gui/UID`.

Built to Apple's manual pages launchd.plist(5) and launchctl(1), and to outputs that users of macOS
10.15 to 26 have published; not yet seen on a Mac. `load` and `unload` are never used: they choose
the domain by the session they are called from.
"""

from __future__ import annotations

import os
import plistlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time
from pathlib import Path
from typing import Any
from xml.parsers.expat import ExpatError

from pipeline import hours
from pipeline.errors import BusyFault, MemoryFault
from pipeline.resources import folder
from pipeline.schedule import advice
from pipeline.schedule.files import bytes_of, make_folder, remove_file, replace_file
from pipeline.schedule.jobs import Installed, Job, Pause, Plan, ProcessType, State
from pipeline.schedule.surroundings import moved
from pipeline.system import TOO_LATE, Ask

NAME = "launchd"
LABEL = "com.nightly-memory.synthesize"

# Not named MEMORY_…: such a variable is a setting, and an unknown setting is an error.
_INTERPRETER = "NIGHTLY_MEMORY_INTERPRETER"

_TRIES = 4
_SETTLE_SECONDS = 65  # a little over the job's ExitTimeOut, after which launchd kills the run
_CANNOT_START = 78  # EX_CONFIG: launchd's own, before the program has begun

# `launchctl print` nests blocks with fields of the same names; the job's own stand one tab in.
_FIELD = re.compile(r"^\t(\w[\w ]*?) = (.*)$", re.MULTILINE)
_LEADING_NUMBER = re.compile(r"-?\d+")


@dataclass(frozen=True, slots=True)
class _Seen:
    """What launchctl says of the job."""

    loaded: bool | None
    disabled: bool
    pid: int | None
    runs: int | None
    last_exit: int | None
    last_signal: str
    refusal: advice.Advice | None


def path() -> Path:
    """Where launchd looks for the user's own jobs."""
    return Path.home() / "Library" / "LaunchAgents" / f"{LABEL}.plist"


def render(job: Job, log_dir: Path) -> dict[str, Any]:
    """The shipped template, filled in."""
    template = (folder("launchd") / f"{LABEL}.plist").read_bytes()
    plist: dict[str, Any] = plistlib.loads(template)
    plist["ProgramArguments"] = job.arguments
    plist["StartCalendarInterval"] = {"Hour": job.at.hour, "Minute": job.at.minute}
    plist["ProcessType"] = job.process_type.value.capitalize()
    plist["EnvironmentVariables"] |= job.environment
    if job.interpreter:
        plist["EnvironmentVariables"][_INTERPRETER] = job.interpreter
    for key in ("StandardOutPath", "StandardErrorPath"):
        plist[key] = plist[key].replace("LOG_FOLDER", str(log_dir))
    return plist


def installed() -> Installed | None:
    """The job as its file has it; None without a file, or with one that cannot be read."""
    plist = _read()
    try:
        arguments = plist["ProgramArguments"]
        at = plist["StartCalendarInterval"]
        variables = dict(plist["EnvironmentVariables"])
        interpreter = variables.pop(_INTERPRETER, "")
        own = plistlib.loads((folder("launchd") / f"{LABEL}.plist").read_bytes())
        for name in own["EnvironmentVariables"]:
            variables.pop(name, None)
        return Installed(
            at=time(at["Hour"], at["Minute"]),
            on_battery="--on-battery" in arguments,
            process_type=ProcessType(plist["ProcessType"].lower()),
            script=Path(arguments[0]),
            interpreter=interpreter,
            environment={str(name): str(value) for name, value in variables.items()},
            path=path(),
            installed_at=datetime.fromtimestamp(path().stat().st_mtime, UTC),
        )
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, OSError):
        return None


def plan(job: Job, log_dir: Path) -> Plan:
    """What `install` does, in full."""
    content = plistlib.dumps(render(job, log_dir), sort_keys=False)
    return Plan(
        files={path(): content},
        commands=[_bootout(), _enable(), _bootstrap()],
    )


def install(job: Job, log_dir: Path, ask: Ask, pause: Pause) -> bool:
    """As Scheduler.install says."""
    seen = _look(ask)
    (content,) = plan(job, log_dir).files.values()
    same = bytes_of(path()) == content
    if same and log_dir.is_dir() and seen.loaded and not seen.disabled:
        return False
    if seen.pid is not None:
        # bootout would end that run
        raise BusyFault(
            f"a scheduled run is at work (process {seen.pid})",
            mend="schedule again once it has ended; `memory status` shows it",
        )
    if seen.loaded:
        # before the file changes: should this fail, the file still says what launchd has
        _unload(ask, pause)
    make_folder(log_dir)  # launchd makes none, and the job would end with 78
    if not same:
        replace_file(path(), content)
    ask(_enable())
    for left in reversed(range(_TRIES)):
        answer = ask(_bootstrap())
        if answer.code == 0 or _look(ask).loaded:
            return True
        passing = (advice.IO_ERROR, advice.EXISTS, advice.IN_PROGRESS, advice.ALREADY)
        if advice.number(answer) not in passing or not left:
            break
        pause(1)
    raise advice.fault("bootstrap", answer)


def remove(ask: Ask, pause: Pause) -> bool:
    """As Scheduler.remove says. A run at work is told to stop, and does so at a safe point."""
    loaded = _look(ask).loaded
    if loaded:
        _unload(ask, pause)
    return remove_file(path()) or bool(loaded)


def start(ask: Ask) -> None:
    """As Scheduler.start says."""
    answer = ask(["launchctl", "kickstart", _target()])
    if answer.code:
        raise advice.fault("kickstart", answer)


def state(wanted: Job, log_dir: Path, ask: Ask, now: datetime) -> State:
    """As Scheduler.state says."""
    seen, job = _look(ask), installed()
    trouble = []
    cure = ""
    if seen.refusal is not None and job is not None:
        trouble.append(seen.refusal.meaning)
        cure = seen.refusal.cure
    if seen.disabled and job is not None:
        trouble.append("the job is switched off")
        cure = advice.KNOWN[119].cure
    if seen.last_exit == _CANNOT_START:
        trouble.append("launchd could not start the command at all, or not write its log")
    if seen.last_signal:
        trouble.append(f"the last run was ended by a signal ({seen.last_signal})")
    drift = _drift(job, wanted, log_dir, loaded=bool(seen.loaded))
    if not cure and (drift or trouble or (job and seen.loaded is False)):
        cure = "memory schedule"
    return State(
        scheduler=NAME,
        installed=job,
        loaded=seen.loaded,
        disabled=seen.disabled and job is not None,
        pid=seen.pid,
        runs=seen.runs,
        last_exit=seen.last_exit,
        next_run=hours.next_due(job.at, now).astimezone() if job and seen.loaded else None,
        drift=tuple(drift),
        trouble=tuple(trouble),
        advice=cure,
    )


def _drift(job: Installed | None, wanted: Job, log_dir: Path, *, loaded: bool) -> list[str]:
    if job is None:
        if path().exists():
            return [f"{path()} cannot be read as a job of ours"]
        return [f"launchd has the job, but {path()} is gone"] if loaded else []
    found = moved(job, wanted)
    before, after = _read(), render(job, log_dir)
    keys = sorted(key for key in before | after if before.get(key) != after.get(key))
    if keys:
        found.append(f"{path()} is not as this version writes it: {', '.join(keys)}")
    if not log_dir.is_dir():
        found.append(f"the folder of its log, {log_dir}, is gone")
    return found


def _read() -> dict[str, Any]:
    try:
        found = plistlib.loads(bytes_of(path()) or b"")
    except (ValueError, ExpatError):
        return {}
    return found if isinstance(found, dict) else {}


def _look(ask: Ask) -> _Seen:
    printed = ask(["launchctl", "print", _target()])
    fields: Mapping[str, str] = {}
    refusal = None
    loaded: bool | None = printed.code == 0
    if printed.code == 0:
        fields = dict(_FIELD.findall(printed.out))
    elif advice.number(printed) not in (advice.NO_SERVICE, advice.NO_SUCH_PROCESS):
        loaded, refusal = None, advice.explain(printed)
    listed = ask(["launchctl", "print-disabled", _domain()])
    # macOS 13 and later write "disabled", earlier ones "true"
    off = re.search(rf'"{re.escape(LABEL)}" => (?:disabled|true)\b', listed.out)
    signal = fields.get("last terminating signal", "")
    return _Seen(
        loaded=loaded,
        disabled=off is not None,
        pid=_number(fields.get("pid")),
        runs=_number(fields.get("runs")),
        last_exit=_number(fields.get("last exit code")),
        last_signal=signal if not signal.startswith("(") else "",
        refusal=refusal,
    )


def _number(text: str | None) -> int | None:
    """The number a field begins with: `0`, `78: EX_CONFIG`; None for `(never exited)`."""
    found = _LEADING_NUMBER.match(text or "")
    return int(found[0]) if found else None


def _unload(ask: Ask, pause: Pause) -> None:
    """Have the job unloaded, and wait until it is: bootout answers before it has happened."""
    answer = ask(_bootout())
    waits = advice.number(answer) in (0, advice.IN_PROGRESS, TOO_LATE)
    for _ in range(_SETTLE_SECONDS if waits else 1):
        # by what print says: bootout of a job that is not loaded answers 3, 5 or 113
        if not _look(ask).loaded:
            return
        pause(1)
    if answer.code:
        raise advice.fault("bootout", answer)
    raise MemoryFault(
        f"launchd still has the job after {_SETTLE_SECONDS} s", mend=advice.KNOWN[36].cure
    )


def _domain() -> str:
    return f"gui/{os.getuid()}"


def _target() -> str:
    return f"{_domain()}/{LABEL}"


def _enable() -> list[str]:
    # a job once switched off stays so, whatever its file says, and bootstrap answers 5 or 119
    return ["launchctl", "enable", _target()]


def _bootstrap() -> list[str]:
    return ["launchctl", "bootstrap", _domain(), str(path())]


def _bootout() -> list[str]:
    return ["launchctl", "bootout", _target()]
