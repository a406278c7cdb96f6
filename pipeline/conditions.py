"""Whether a scheduled run may work now: power, heat, memory, disk, and the user's quiet.

Read from psutil and, on a Mac, from pmset, notifyutil and ioreg, by what Apple documents of them;
not yet seen on a Mac. What a machine does not tell never holds a night back.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from pipeline.system import Ask, ask
from pipeline.tables import NightConfig

_GB = 2**30
_HEAVY = 2  # thermal pressure: 0 nominal, 1 moderate, 2 heavy, 3 trapping, 4 sleeping
_MODEL_OVERHEAD = 1.3  # of the weights: caches, activations, the tokenizer


@dataclass(frozen=True, slots=True)
class Machine:
    """What was read. percent: of the battery; None for a machine without one, or that tells not.

    free_memory: bytes. free_disk: (folder, bytes) pairs. idle_minutes: since the last key press or
    movement of the mouse.
    """

    plugged: bool | None = None
    percent: float | None = None
    low_power: bool = False
    hot: bool = False
    free_memory: int | None = None
    free_disk: tuple[tuple[Path, int], ...] = ()
    idle_minutes: float | None = None


def read(folders: Sequence[Path], ask: Ask = ask, platform: str = sys.platform) -> Machine:
    """The machine as it is now; `folders` are those whose disks must have room."""
    battery = _battery()
    mac = platform == "darwin"
    return Machine(
        plugged=battery.power_plugged if battery else None,
        percent=battery.percent if battery else None,
        low_power=_low_power_mode(ask) if mac else _power_saver(ask),
        hot=mac and _thermal_pressure(ask) >= _HEAVY,
        free_memory=psutil.virtual_memory().available,
        free_disk=free_disk(folders),
        idle_minutes=_idle_minutes(ask) if mac else None,
    )


def reasons(machine: Machine, night: NightConfig, weights: int) -> list[str]:
    """Why a scheduled run must not work now; [] if it may. weights: bytes of the model's files."""
    found = []
    if machine.plugged is False:
        percent = "" if machine.percent is None else f" at {machine.percent:.0f} %"
        if not night.on_battery:
            found.append(f"on battery power{percent} (night.on_battery allows it)")
        elif machine.percent is not None and machine.percent < night.min_battery:
            found.append(f"the battery is{percent}, below the {night.min_battery} % of min_battery")
    if machine.low_power and not night.low_power:
        found.append("low power mode is on (night.low_power allows it)")
    if machine.hot:
        found.append("the machine is hot: it slows itself down already")
    need = int(weights * _MODEL_OVERHEAD)
    if weights and machine.free_memory is not None and machine.free_memory < need:
        found.append(
            f"{machine.free_memory / _GB:.1f} GB of memory are free, the model needs about "
            f"{need / _GB:.1f} GB"
        )
    for folder, free in machine.free_disk:
        if free < night.min_free_gb * _GB:
            found.append(
                f"{free / _GB:.1f} GB are free on the disk of {folder}, fewer than the "
                f"{night.min_free_gb:g} GB of night.min_free_gb"
            )
    if machine.idle_minutes is not None and machine.idle_minutes < night.idle_minutes:
        found.append(
            f"you used the machine {machine.idle_minutes:.0f} minutes ago, less than the "
            f"{night.idle_minutes} of night.idle_minutes"
        )
    return found


def free_disk(folders: Sequence[Path]) -> tuple[tuple[Path, int], ...]:
    """Free bytes of each disk that one of the folders is, or would be, on; the first by name."""
    found: dict[int, tuple[Path, int]] = {}
    for folder in folders:
        with suppress(OSError):  # a volume that is not there tells nothing
            place = nearest(folder)
            found.setdefault(place.stat().st_dev, (folder, shutil.disk_usage(place).free))
    return tuple(found.values())


def nearest(folder: Path) -> Path:
    """The folder, or the nearest one above it that can be seen: some may not be looked into."""
    for place in (folder, *folder.parents):
        with suppress(OSError):
            place.stat()
            return place
    return Path(folder.anchor)


def weights_bytes(folder: Path) -> int:
    """Bytes of a model's weights, 0 for one that is not there."""
    return sum(path.stat().st_size for path in folder.glob("*.safetensors") if path.is_file())


def _battery() -> Any:
    """psutil's reading; None without a battery, or where psutil cannot tell."""
    try:
        return psutil.sensors_battery()
    except (AttributeError, NotImplementedError, OSError):
        return None


def _low_power_mode(ask: Ask) -> bool:
    """`pmset -g` lists ` lowpowermode 1`, and `powermode 1` on some models."""
    said = ask(["pmset", "-g"]).out
    return bool(re.search(r"^\s*(?:lowpowermode|powermode)\s+1\b", said, re.MULTILINE))


def _power_saver(ask: Ask) -> bool:
    """The profile of power-profiles-daemon, where a Linux desktop has it."""
    return ask(["powerprofilesctl", "get"]).out.strip() == "power-saver"


def _thermal_pressure(ask: Ask) -> int:
    """`notifyutil -g com.apple.system.thermalpressurelevel` answers with the name and a number."""
    said = ask(["notifyutil", "-g", "com.apple.system.thermalpressurelevel"]).out.split()
    return int(said[-1]) if said and said[-1].isdigit() else 0


def _idle_minutes(ask: Ask) -> float | None:
    """HIDIdleTime of IOHIDSystem, in nanoseconds."""
    said = ask(["ioreg", "-c", "IOHIDSystem", "-d", "4"]).out
    found = re.search(r'"HIDIdleTime"\s*=\s*(\d+)', said)
    return int(found[1]) / 6e10 if found else None
