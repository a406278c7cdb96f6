"""What is scheduled: the job as wanted, as installed, and how it does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, time
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from pipeline.system import Ask


class ProcessType(StrEnum):
    """How far the job stands back behind the user's own work; docs/schedule.md weighs them."""

    STANDARD = "standard"
    BACKGROUND = "background"
    ADAPTIVE = "adaptive"


@dataclass(frozen=True, slots=True)
class Job:
    """One run a day.

    script: the `memory` command, absolute. interpreter: the real path of the Python it starts, ""
    if that cannot be told. environment: what the run gets beside the scheduler's own variables.
    """

    at: time
    on_battery: bool
    process_type: ProcessType
    script: Path
    interpreter: str
    environment: Mapping[str, str]

    @property
    def arguments(self) -> list[str]:
        """The command line. The run itself finds out whether the night's work is still due."""
        command = [str(self.script), "synthesize", "--scheduled", f"{self.at:%H:%M}"]
        return [*command, "--on-battery"] if self.on_battery else command


@dataclass(frozen=True, slots=True)
class Installed(Job):
    """The job as its file has it. installed_at: when that file was written, aware."""

    path: Path
    installed_at: datetime


@dataclass(frozen=True, slots=True)
class Plan:
    """What an installation does: the files it writes and the commands it gives, in order."""

    files: Mapping[Path, bytes]
    commands: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class State:
    """How the schedule does.

    scheduler: "launchd", "systemd" or "" where there is neither. loaded: whether the scheduler has
    the job, None if it did not say. pid: of the run at work. runs, last_exit: since the job was
    loaded, as far as the scheduler tells. drift: what has changed under the job, a sentence each.
    trouble: what else keeps it from running; advice is the cure of the worst of it all.
    """

    scheduler: str
    installed: Installed | None = None
    loaded: bool | None = False
    disabled: bool = False
    pid: int | None = None
    runs: int | None = None
    last_exit: int | None = None
    next_run: datetime | None = None
    drift: tuple[str, ...] = field(default=())
    trouble: tuple[str, ...] = field(default=())
    advice: str = ""

    @property
    def status(self) -> str:
        """The worst of it: not scheduled, disabled, not loaded, unknown, drifted, or loaded."""
        if self.installed is None and not self.drift:
            return "not scheduled"
        if self.disabled:
            return "disabled"
        if self.loaded is None:
            return "unknown"
        if not self.loaded:
            return "not loaded"
        return "drifted" if self.drift else "loaded"

    def as_json(self) -> dict[str, Any]:
        """The state in JSON-able values, times in ISO with their offset."""
        job = self.installed
        return {
            "status": self.status,
            "scheduler": self.scheduler,
            "at": f"{job.at:%H:%M}" if job else None,
            "on_battery": job.on_battery if job else None,
            "process_type": job.process_type.value if job else None,
            "path": str(job.path) if job else None,
            "script": str(job.script) if job else None,
            "interpreter": job.interpreter if job else None,
            "installed_at": job.installed_at.isoformat(timespec="seconds") if job else None,
            "loaded": self.loaded,
            "disabled": self.disabled,
            "pid": self.pid,
            "runs": self.runs,
            "last_exit": self.last_exit,
            "next_run": self.next_run.isoformat(timespec="minutes") if self.next_run else None,
            "drift": list(self.drift),
            "trouble": list(self.trouble),
            "advice": self.advice,
        }


class Pause(Protocol):
    """Waits so many seconds: time.sleep, or nothing in a test."""

    def __call__(self, seconds: float, /) -> None:
        """Wait."""


class Scheduler(Protocol):
    """The system's own scheduler: the modules `launchd` and `systemd` each are one."""

    NAME: str

    def installed(self) -> Installed | None:
        """The job as its file has it; None without a file, or with one that cannot be read."""

    def plan(self, job: Job, log_dir: Path) -> Plan:
        """What `install` does, in full."""

    def install(self, job: Job, log_dir: Path, ask: Ask, pause: Pause) -> bool:
        """Write the job and have it loaded; False if it was so already.

        Raises BusyFault while a run of the job is at work, MemoryFault with advice if the
        scheduler refuses; the file then stays, since the next login loads it.
        """

    def remove(self, ask: Ask, pause: Pause) -> bool:
        """Have the job unloaded and delete its files; False if there was none."""

    def start(self, ask: Ask) -> None:
        """Start the job now, as the scheduler does, and do not wait. Raises MemoryFault."""

    def state(self, wanted: Job, log_dir: Path, ask: Ask, now: datetime) -> State:
        """How it does; `wanted` is the job that an installation today would write."""
