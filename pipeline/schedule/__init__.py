"""The nightly run in the hands of the system's own scheduler: launchd on a Mac, else systemd.

`state` and `installed` are what the rest of the program asks; `install`, `remove` and `start` are
the user's commands. Nothing of ours stays resident.
"""

from __future__ import annotations

import os
import sys
import time as clock
from dataclasses import replace
from datetime import UTC, datetime, time

from pipeline.config import Config
from pipeline.errors import ConfigFault
from pipeline.schedule import launchd, systemd
from pipeline.schedule.jobs import (
    Installed,
    Job,
    Pause,
    Plan,
    ProcessType,
    Scheduler,
    State,
)
from pipeline.schedule.surroundings import console_script, environment, interpreter_path
from pipeline.system import Ask

__all__ = [
    "Installed",
    "Job",
    "Plan",
    "ProcessType",
    "State",
    "install",
    "installed",
    "job",
    "plan",
    "remove",
    "start",
    "state",
]

DEFAULT_TIME = time(3, 0)


def scheduler() -> Scheduler:
    """The one of this system. Where there is neither, systemd's own faults say what to do."""
    return launchd if sys.platform == "darwin" else systemd


def installed() -> Installed | None:
    """The job as its file has it; None without a file, or with one that cannot be read."""
    return scheduler().installed()


def job(
    at: time | None = None,
    on_battery: bool | None = None,
    process_type: ProcessType | None = None,
) -> Job:
    """The job to install from here; what is not given stays as it is installed.

    Raises ConfigFault where the program was not installed, or a setting cannot be handed on.
    """
    now = installed()
    script = console_script()
    return Job(
        at=at or (now.at if now else DEFAULT_TIME),
        on_battery=on_battery if on_battery is not None else bool(now and now.on_battery),
        process_type=process_type or (now.process_type if now else ProcessType.STANDARD),
        script=script,
        interpreter=interpreter_path(script),
        environment=environment(os.environ),
    )


def plan(wanted: Job, config: Config) -> Plan:
    """What `install` does: its files and its commands."""
    return scheduler().plan(wanted, config.log_dir)


def install(wanted: Job, config: Config, ask: Ask, *, pause: Pause = clock.sleep) -> bool:
    """Have `wanted` loaded; False if it was so already. Faults: see `Scheduler.install`."""
    _as_oneself()
    return scheduler().install(wanted, config.log_dir, ask, pause)


def remove(ask: Ask, *, pause: Pause = clock.sleep) -> bool:
    """Take the job out; False if there was none. Raises MemoryFault if the scheduler refuses."""
    _as_oneself()
    return scheduler().remove(ask, pause)


def start(ask: Ask) -> None:
    """Start the job now, as the scheduler does, and do not wait. Raises MemoryFault."""
    _as_oneself()
    scheduler().start(ask)


def state(config: Config, ask: Ask, now: datetime | None = None) -> State:
    """How the schedule does. Asks the system and changes nothing; what it finds is no fault."""
    moment = now or datetime.now(UTC)
    try:
        return scheduler().state(job(), config.log_dir, ask, moment)
    except ConfigFault as fault:
        # there is nothing to compare with, but the job may stand and run all the same
        there = installed()
        if there is None:
            return State(scheduler=scheduler().NAME, trouble=(str(fault),), advice=fault.mend)
        found = scheduler().state(there, config.log_dir, ask, moment)
        return replace(found, trouble=(*found.trouble, str(fault)), advice=fault.mend)


def _as_oneself() -> None:
    if os.geteuid() == 0 and "SUDO_USER" in os.environ:
        raise ConfigFault(
            "under sudo the job would be root's, and its files too",
            mend="run the command as yourself, without sudo",
        )
