"""The job as a timer and a service of the user's own systemd."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pipeline import hours
from pipeline.errors import EXIT_SKIPPED, EXIT_STOPPED, BusyFault, ConfigFault, MemoryFault
from pipeline.schedule.files import bytes_of, remove_file, replace_file
from pipeline.schedule.jobs import Installed, Job, Pause, Plan, ProcessType, State
from pipeline.schedule.surroundings import crontab_line, moved
from pipeline.system import NOT_THERE, Answer, Ask

NAME = "systemd"
UNIT = "nightly-memory"
TIMER = f"{UNIT}.timer"
SERVICE = f"{UNIT}.service"

# A section whose name begins with X- is ours to use: the words of a unit file need not be parsed.
_RECORD = re.compile(r"^\[X-Nightly-Memory\]\nJob=(.*)$", re.MULTILINE)

_MAIN = "MainPID,ExecMainStatus,ExecMainExitTimestamp"
_NO_BUS = ("Failed to connect to bus", "has not been booted with systemd", "Host is down")


@dataclass(frozen=True, slots=True)
class _Seen:
    """What systemctl and loginctl say. trouble: why they say nothing, "" if they do."""

    loaded: bool | None
    enabled: bool
    pid: int | None
    last_exit: int | None
    result: str
    linger: bool
    trouble: str


def units() -> Path:
    """The folder of the user's own units."""
    named = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    base = named if named.is_absolute() else Path.home() / ".config"
    return base / "systemd" / "user"


def render(job: Job) -> dict[str, str]:
    """The two units by file name."""
    record = {
        "at": f"{job.at:%H:%M}",
        "on_battery": job.on_battery,
        "process_type": job.process_type.value,
        "script": str(job.script),
        "interpreter": job.interpreter,
        "environment": dict(job.environment),
    }
    # a colon before the command: a dollar sign in its words stands for itself
    command, *words = job.arguments
    start = " ".join(_quoted(word) for word in (f":{command}", *words))
    settings = "".join(f"Environment={_quoted(f'{k}={v}')}\n" for k, v in job.environment.items())
    idle = job.process_type is ProcessType.BACKGROUND
    service = (
        "[Unit]\n"
        "Description=nightly-memory: fold the day's conversations into the wiki\n\n"
        "[Service]\n"
        "Type=oneshot\n"
        f"ExecStart={start}\n"
        f"{settings}"
        "Nice=10\n"
        "IOSchedulingClass=idle\n"
        f"{'CPUSchedulingPolicy=idle' + chr(10) if idle else ''}"
        "UMask=0077\n"
        "# the run bounds itself; the stop waits for its safe point\n"
        "TimeoutStartSec=infinity\n"
        "TimeoutStopSec=60\n"
        "# SIGTERM to the run alone, not to the git it may be waiting for\n"
        "KillMode=mixed\n"
        "# stopped by its time budget, or skipped as it was asked to: no failure\n"
        f"SuccessExitStatus={EXIT_STOPPED} {EXIT_SKIPPED}\n\n"
        f"[X-Nightly-Memory]\nJob={json.dumps(record)}\n"
    )
    timer = (
        "[Unit]\n"
        "Description=nightly-memory, every night\n\n"
        "[Timer]\n"
        f"OnCalendar=*-*-* {job.at:%H:%M}:00\n"
        "# a machine that was off at that time runs it when it is on again\n"
        "Persistent=true\n\n"
        "[Install]\n"
        "WantedBy=timers.target\n"
    )
    return {SERVICE: service, TIMER: timer}


def installed() -> Installed | None:
    """The job as its file has it; None without a file, or with one that cannot be read."""
    try:
        found = _RECORD.search(_read(SERVICE))
        record = json.loads(found[1]) if found else {}
        return Installed(
            at=hours.parse(record["at"]),
            on_battery=bool(record["on_battery"]),
            process_type=ProcessType(record["process_type"]),
            script=Path(record["script"]),
            interpreter=str(record["interpreter"]),
            environment={str(k): str(v) for k, v in record["environment"].items()},
            path=units() / TIMER,
            installed_at=datetime.fromtimestamp((units() / TIMER).stat().st_mtime, UTC),
        )
    except (KeyError, TypeError, ValueError, AttributeError, OSError, ConfigFault):
        return None


def plan(job: Job, log_dir: Path) -> Plan:  # noqa: ARG001 - what the run prints goes to the journal
    """What `install` does, in full. Raises ConfigFault for a command that systemd refuses."""
    if set("\"'\\") & set(str(job.script)):
        raise ConfigFault(
            f"systemd starts no command with a quote or a backslash in its path: {job.script}",
            mend="install nightly-memory at another path",
        )
    return Plan(
        files={units() / name: text.encode() for name, text in render(job).items()},
        # a timer at work goes on with the time it was started with, hence the restart
        commands=[
            _systemctl("daemon-reload"),
            _systemctl("enable", TIMER),
            _systemctl("restart", TIMER),
        ],
    )


def install(job: Job, log_dir: Path, ask: Ask, pause: Pause) -> bool:  # noqa: ARG001
    """As Scheduler.install says."""
    seen = _look(ask)
    if seen.trouble:
        raise ConfigFault(
            f"no scheduler of systemd can be reached: {seen.trouble}",
            mend=f"by cron it is this line of `crontab -e`: {crontab_line(job)}",
        )
    todo = plan(job, log_dir)
    changed = [path for path, content in todo.files.items() if bytes_of(path) != content]
    if not changed and seen.loaded and seen.enabled:
        return False
    if seen.pid is not None:
        raise BusyFault(
            f"a scheduled run is at work (process {seen.pid})",
            mend="schedule again once it has ended; `memory status` shows it",
        )
    for path in changed:
        replace_file(path, todo.files[path])
    for command in todo.commands:
        answer = ask(command)
        if answer.code:
            raise _fault(command, answer)
    return True


def remove(ask: Ask, pause: Pause) -> bool:  # noqa: ARG001
    """As Scheduler.remove says. A run at work is told to stop, and does so at a safe point."""
    there = [units() / name for name in (TIMER, SERVICE) if (units() / name).exists()]
    if not there:
        return False
    reachable = not _look(ask).trouble
    if reachable:
        for command in (_systemctl("disable", "--now", TIMER), _stop()):
            answer = ask(command)
            if answer.code and "not loaded" not in answer.err and "not exist" not in answer.err:
                raise _fault(command, answer)
    for path in (*there, units() / "timers.target.wants" / TIMER):
        remove_file(path)
    if reachable:
        ask(_systemctl("daemon-reload"))
    return True


def start(ask: Ask) -> None:
    """As Scheduler.start says."""
    command = _systemctl("start", "--no-block", SERVICE)
    answer = ask(command)
    if answer.code:
        raise _fault(command, answer)


def state(wanted: Job, log_dir: Path, ask: Ask, now: datetime) -> State:  # noqa: ARG001
    """As Scheduler.state says."""
    job, seen = installed(), _look(ask)
    there = any((units() / name).exists() for name in (TIMER, SERVICE))
    if job is None and not there:
        return State(scheduler="" if seen.trouble else NAME)
    trouble = [seen.trouble] if seen.trouble else []
    drift = []
    if job is None:
        drift.append(f"{units() / SERVICE} cannot be read as a job of ours")
    else:
        drift += moved(job, wanted)
        changed = [name for name, text in render(job).items() if _read(name) != text]
        if changed:
            drift.append(f"not as this version writes it: {', '.join(changed)} in {units()}")
    if seen.result not in ("", "success"):
        trouble.append(f"the last run ended with {seen.result}")
    cure = "memory schedule" if drift or trouble or not (seen.loaded and seen.enabled) else ""
    if not seen.linger and not seen.trouble:
        trouble.append("nothing runs while you are logged out")
        cure = cure or "loginctl enable-linger"
    if seen.trouble:
        cure = f"log in on this machine itself, or use cron: {crontab_line(job or wanted)}"
    return State(
        scheduler=NAME,
        installed=job,
        loaded=seen.loaded,
        disabled=seen.loaded is not None and not seen.enabled,
        pid=seen.pid,
        last_exit=seen.last_exit,
        next_run=hours.next_due(job.at, now, skips_gap=True).astimezone()
        if job and seen.loaded
        else None,
        drift=tuple(drift),
        trouble=tuple(trouble),
        advice=cure,
    )


def _read(name: str) -> str:
    return (bytes_of(units() / name) or b"").decode("utf-8", "replace")


def _look(ask: Ask) -> _Seen:
    timer = ask(_systemctl("show", "-p", "LoadState,ActiveState", TIMER))
    if timer.code:
        return _Seen(None, False, None, None, "", True, _why(timer))
    service = ask(_systemctl("show", "-p", f"{_MAIN},Result", SERVICE))
    enabled = ask(_systemctl("is-enabled", TIMER))
    linger = ask(["loginctl", "show-user", str(os.getuid()), "-p", "Linger"])
    of_timer, of_service = _properties(timer), _properties(service)
    ended = of_service.get("ExecMainExitTimestamp")
    return _Seen(
        loaded=of_timer.get("LoadState") == "loaded" and of_timer.get("ActiveState") == "active",
        enabled=enabled.out.strip() == "enabled",
        pid=_number(of_service.get("MainPID")) or None,
        last_exit=_number(of_service.get("ExecMainStatus")) if ended else None,
        result=of_service.get("Result", ""),
        linger=_properties(linger).get("Linger") != "no",
        trouble="",
    )


def _properties(answer: Answer) -> dict[str, str]:
    pairs = (line.partition("=") for line in answer.out.splitlines())
    return {name: value for name, _, value in pairs}


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() else None


def _why(answer: Answer) -> str:
    said = (answer.err or answer.out).strip()
    if answer.code == NOT_THERE:
        return "systemctl is not there"
    if any(words in said for words in _NO_BUS):
        return "no systemd runs for this user here"
    return said.splitlines()[0] if said else f"systemctl answers {answer.code} and no word"


def _fault(command: Sequence[str], answer: Answer) -> MemoryFault:
    return MemoryFault(
        f"`{' '.join(command)}` failed: {_why(answer)}",
        mend=f"see why: systemctl --user status {TIMER} {SERVICE}",
    )


def _stop() -> list[str]:
    # the run may take a minute to its safe point, longer than a program is waited for
    return _systemctl("stop", "--no-block", SERVICE)


def _systemctl(*words: str) -> list[str]:
    return ["systemctl", "--user", *words]


def _quoted(word: str) -> str:
    """A word of a unit file: quoted, its escapes and specifiers taken as they stand."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped.replace(chr(9), chr(92) + "t")}"'
