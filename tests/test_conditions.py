"""A scheduled run is held back by power, heat, memory, disk or the user at work, and says why.

What the system answers is recorded: by the manuals of pmset, notifyutil, ioreg and
powerprofilesctl, not from a Mac.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from pathlib import Path

import psutil
import pytest

from pipeline.conditions import Machine, read, reasons, weights_bytes
from pipeline.system import NOT_THERE, Answer
from pipeline.tables import NightConfig

GB = 2**30
NIGHT = NightConfig()
Battery = namedtuple("Battery", "percent secsleft power_plugged")

PMSET = """System-wide power settings:
Currently in use:
 standby              1
 Sleep On Power Button 1
 hibernatemode        3
 powernap             1
 sleep                1 (sleep prevented by powerd)
 lowpowermode         {}
 disksleep            10
"""
IOREG = """+-o Root  <class IORegistryEntry, id 0x100000100, retain 29>
  +-o IOHIDSystem  <class IOHIDSystem, id 0x100000500, registered, matched, active>
      {{
        "HIDIdleTime" = {}
        "HIDParameters" = {{}}
      }}
"""
THERMAL = "com.apple.system.thermalpressurelevel {}\n"


def mac(low_power: int = 0, thermal: int = 0, idle_ns: int = 10**13) -> object:
    """A Mac that answers so."""

    def ask(argv: Sequence[str]) -> Answer:
        if list(argv) == ["pmset", "-g"]:
            return Answer(0, PMSET.format(low_power))
        if argv[0] == "notifyutil":
            return Answer(0, THERMAL.format(thermal))
        assert argv[0] == "ioreg"
        return Answer(0, IOREG.format(idle_ns))

    return ask


def nothing_there(argv: Sequence[str]) -> Answer:
    """A system without any of the programs."""
    return Answer(NOT_THERE, err=f"{argv[0]}: not found")


@pytest.fixture
def battery(monkeypatch: pytest.MonkeyPatch) -> None:
    """A desktop: no battery."""
    monkeypatch.setattr(psutil, "sensors_battery", lambda: None, raising=False)


def test_a_desktop_with_room_may_work() -> None:
    """Nothing speaks against it; what is not known does not either."""
    assert reasons(Machine(), NIGHT, weights=4 * GB) == []
    fine = Machine(True, 100.0, free_memory=16 * GB, free_disk=((Path("/"), 50 * GB),))
    assert reasons(fine, NIGHT, weights=4 * GB) == []


def test_on_battery() -> None:
    """Held back, unless allowed and charged enough; the setting that allows it is named."""
    (why,) = reasons(Machine(False, 80.0), NIGHT, 0)
    assert "80 %" in why and "night.on_battery" in why
    allowed = NightConfig(on_battery=True, min_battery=40)
    assert reasons(Machine(False, 40.0), allowed, 0) == []
    (why,) = reasons(Machine(False, 39.0), allowed, 0)
    assert "39 %" in why and "40 %" in why
    assert reasons(Machine(True, 5.0), NIGHT, 0) == []


def test_memory_for_the_model() -> None:
    """The weights and what comes beside them must fit into what is free."""
    machine = Machine(free_memory=4 * GB)
    (why,) = reasons(machine, NIGHT, weights=4 * GB)
    assert "4.0 GB of memory" in why
    assert reasons(machine, NIGHT, weights=3 * GB) == []
    assert reasons(machine, NIGHT, weights=0) == []


def test_disk() -> None:
    """Each disk that is written to needs room; the folder is named."""
    machine = Machine(free_disk=((Path("/vault"), 3 * GB), (Path("/cache"), GB)))
    (why,) = reasons(machine, NIGHT, 0)
    assert "/cache" in why and "night.min_free_gb" in why


def test_every_reason_is_told() -> None:
    """Not only the first."""
    bad = Machine(False, 10.0, low_power=True, hot=True, free_memory=0, idle_minutes=1.0)
    assert len(reasons(bad, NightConfig(idle_minutes=5), weights=GB)) == 5


def test_what_a_mac_answers(battery: None, tmp_path: Path) -> None:
    """Low power mode, thermal pressure from heavy on, and minutes since the last key press."""
    found = read([tmp_path], mac(), "darwin")  # type: ignore[arg-type]
    assert not found.low_power and not found.hot and found.plugged is None
    assert read([], mac(low_power=1), "darwin").low_power  # type: ignore[arg-type]
    assert not read([], mac(thermal=1), "darwin").hot  # type: ignore[arg-type]
    assert read([], mac(thermal=2), "darwin").hot  # type: ignore[arg-type]
    assert read([], mac(idle_ns=180 * 10**9), "darwin").idle_minutes == 3.0  # type: ignore[arg-type]


def test_a_battery(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its charge and whether the machine is plugged in."""
    monkeypatch.setattr(
        psutil, "sensors_battery", lambda: Battery(55.0, 3600, False), raising=False
    )
    found = read([], nothing_there, "linux")
    assert (found.plugged, found.percent) == (False, 55.0)


@pytest.mark.parametrize("platform", ["darwin", "linux"])
def test_a_system_that_tells_nothing_holds_nothing_back(
    battery: None, tmp_path: Path, platform: str
) -> None:
    """Missing programs are no reason; disk and memory are known all the same."""
    found = read([tmp_path / "not" / "there" / "yet"], nothing_there, platform)
    assert not found.low_power and not found.hot and found.idle_minutes is None
    assert found.free_memory and found.free_disk[0][1] > 0


def test_a_power_saver_on_linux(battery: None) -> None:
    """power-profiles-daemon's word for low power mode."""
    found = read([], lambda argv: Answer(0, "power-saver\n"), "linux")
    assert found.low_power
    assert not read([], lambda argv: Answer(0, "balanced\n"), "linux").low_power


def test_a_disk_is_told_once(battery: None, tmp_path: Path) -> None:
    """Three folders on one disk are one reason, though they are not there yet."""
    folders = [tmp_path / "vault", tmp_path / "no" / "cache", tmp_path / "data"]
    found = read(folders, nothing_there, "linux")
    assert [folder for folder, _ in found.free_disk] == folders[:1]


def test_where_psutil_knows_no_batteries(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no such function on some systems: that holds nothing back."""
    monkeypatch.delattr(psutil, "sensors_battery", raising=False)
    assert read([], nothing_there, "linux").plugged is None


def test_weights_half_fetched(tmp_path: Path) -> None:
    """A link to what is not there yet weighs nothing."""
    (tmp_path / "model.safetensors").symlink_to(tmp_path / "blob")
    assert weights_bytes(tmp_path) == 0


def test_weights(tmp_path: Path) -> None:
    """All shards count, other files do not; a model that is not there needs nothing."""
    (tmp_path / "model-00001.safetensors").write_bytes(b"x" * 10)
    (tmp_path / "model-00002.safetensors").write_bytes(b"x" * 5)
    (tmp_path / "tokenizer.json").write_bytes(b"x" * 100)
    assert weights_bytes(tmp_path) == 15
    assert weights_bytes(tmp_path / "none") == 0
