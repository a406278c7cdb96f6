"""Folders and disks: within reach of a scheduled run, with room, and closed to others."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from pipeline import conditions
from pipeline.doctor.checks import Machine, Verdict, counted, fail, ok, warn
from pipeline.errors import StoreFault

# A job of launchd may not read these without a grant, and nobody is up to be asked for one.
_GUARDED = re.compile(r"(Documents|Desktop|Downloads)(?:/|$)", re.IGNORECASE)
_VOLUMES = Path("/Volumes")  # nor other disks, which may not be there at night
# Syncing programs replace files under git's hands, and take them away to save room. Some add the
# name of the account to that of their folder.
_SYNCED = re.compile(
    r"(Library/Mobile Documents|Library/CloudStorage|Dropbox|Google Drive|OneDrive|iCloud Drive)"
    r"(?:[/ (-]|$)",
    re.IGNORECASE,
)


def reachable(machine: Machine) -> Verdict:
    """What a run reads and writes is not where a scheduled job may not read, nor synced."""
    config = machine.config
    for what, place in (("vault", config.vault), ("store", config.cache_dir)):
        if name := _below(place, _SYNCED, machine):
            return warn(
                f"the {what} {place} is in {name}, which a program syncs",
                "move it out and set where it is; a vault can be synced by git instead",
            )
    if machine.platform != "darwin":
        return ok("not synced")
    for what, place in (
        ("vault", config.vault),
        ("store", config.cache_dir),
        ("archive", config.data_dir),
        *(("export", path) for path in _imported(machine)),
    ):
        if name := _below(place, _GUARDED, machine):
            return fail(
                f"the {what} {place} is in {name}, which a scheduled job may not read",
                "move it out (an export: import it from there), or grant Full Disk Access",
            )
        if place.resolve().is_relative_to(_VOLUMES):
            return warn(
                f"the {what} {place} is on another disk, which a scheduled job may not reach",
                "keep it in your home folder, or grant Full Disk Access",
            )
    return ok("not synced, and open to scheduled jobs")


def _imported(machine: Machine) -> list[Path]:
    try:
        return list(machine.store.conversations.imported()) if machine.store else []
    except StoreFault:  # another check's affair
        return []


def _below(place: Path, names: re.Pattern[str], machine: Machine) -> str:
    """The folder of the home, of these names, that this place is in, links followed; or ""."""
    for path in (place, place.resolve()):
        for home in (machine.home, machine.home.resolve()):
            if path.is_relative_to(home):
                found = names.match(path.relative_to(home).as_posix())
                if found:
                    return found[1]
    return ""


def free(machine: Machine) -> Verdict:
    """The disks of vault, store and archive have the room that a run asks for."""
    config = machine.config
    room = conditions.free_disk((config.vault, config.cache_dir, config.data_dir))
    if wrong := conditions.reasons(conditions.Machine(free_disk=room), config.night, 0):
        return fail("; ".join(wrong), "make room: scheduled runs are skipped until then")
    if not room:
        return warn("no disk tells how much is free", "see that the folders' disks are there")
    return ok(f"at least {min(left for _, left in room) / 2**30:.0f} GB")


def private(machine: Machine) -> Verdict:
    """Store, archive, journal and logs can be read by you alone (0600 in 0700)."""
    open_to_others = list(_open_to_others(machine))
    if open_to_others:
        return fail(
            f"{counted(len(open_to_others), 'place')} open to others, the first "
            f"{open_to_others[0]}",
            "memory doctor --fix",
        )
    return ok("closed to others")


def make_private(machine: Machine) -> str:
    """Close them to others."""
    count = 0
    for path in _open_to_others(machine):
        path.chmod(0o700 if path.is_dir() else 0o600)
        count += 1
    return f"closed {counted(count, 'place')} to others"


def folders(machine: Machine) -> Verdict:
    """Folders of store, archive and logs are there once a run needed them, and can be written."""
    missing = []
    if machine.config.log_dir.is_symlink():
        return warn(
            f"{machine.config.log_dir} is a link: no log is written through one",
            "move the link away; the next run makes the folder",
        )
    for place in _folders(machine):
        above = conditions.nearest(place)
        if not above.is_dir():
            return fail(f"{above} is no folder", f"move it away: {place} has to be one")
        if not os.access(above, os.W_OK | os.X_OK):
            return fail(f"{above} cannot be written", f"chmod u+wx '{above}'")
        if not place.is_dir():
            missing.append(place)
    missing_by_now = [str(place) for place in missing if place in _needed(machine)]
    if missing_by_now:
        return warn(f"missing: {', '.join(missing_by_now)}", "memory doctor --fix")
    return ok("all there" if not missing else "made by the first run")


def make_folders(machine: Machine) -> str:
    """Make the missing folders."""
    made = [place for place in _folders(machine) if not place.is_dir()]
    for place in made:
        place.mkdir(parents=True, mode=0o700)
    return f"made {', '.join(map(str, made)) or 'nothing'}"


def _needed(machine: Machine) -> tuple[Path, ...]:
    """Those of the folders that runs so far have needed: `memory init` makes the store alone."""
    try:
        store = machine.store
    except StoreFault:  # what is wrong with it is told elsewhere
        return _folders(machine)
    if store is None or store.runs.last() is None:
        return ()
    config = machine.config
    read = store.soundness.convs()
    return (config.log_dir, *((config.archive_dir,) if read else ()))


def _folders(machine: Machine) -> tuple[Path, ...]:
    config = machine.config
    return config.cache_dir, config.archive_dir, config.log_dir


def _open_to_others(machine: Machine) -> Iterator[Path]:
    config = machine.config
    store = config.store_path
    for path in (config.cache_dir, *sorted(store.parent.glob(f"{store.name}*"))):
        if path.exists() and not path.is_symlink() and path.lstat().st_mode & 0o077:
            yield path
    for folder in (config.archive_dir, config.journal_dir, config.log_dir):
        if folder.is_dir() and not folder.is_symlink():
            yield from _open_below(folder)


def _open_below(folder: Path) -> Iterator[Path]:
    if folder.lstat().st_mode & 0o077:
        yield folder
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _open_below(Path(entry.path))
            elif entry.stat(follow_symlinks=False).st_mode & 0o077 and not entry.is_symlink():
                yield Path(entry.path)
