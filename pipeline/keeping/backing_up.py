"""A backup: everything that cannot be made again, in one dated folder with a list of its hashes.

    nightly-memory-20000131-030000/
      manifest.json     what is here: every file with its sha256
      store/            memory.sqlite
      data/             the archive and the journal
      config/           config.toml and prompts of the user's own
      vault.bundle      the vault's commits
      vault/            its files as they stand, uncommitted edits included
      projects/         the memory of each project, as `anvil-memory import` takes it in

Models are not in it, they are fetched again.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pipeline import sqlite
from pipeline.config import Config, config_path
from pipeline.errors import ConfigFault, StoreFault
from pipeline.history import History
from pipeline.keeping import project_stores
from pipeline.repository import versioned
from pipeline.sqlite import connect, files_of
from pipeline.tables import APP

FORMAT = 1  # of the manifest; raise it when a part changes its place or meaning
MANIFEST = "manifest.json"
STORE, DATA, CONFIG, BUNDLE, VAULT = "store", "data", "config", "vault.bundle", "vault"
PROJECTS = "projects"
_BACKUPS = "backups"  # under data_dir: where backups were put, a line each

Clock = Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup that was made: how many files, and bytes. lacks: stores of projects that could not
    be read, and why."""

    path: Path
    files: int
    size: int
    lacks: tuple[str, ...]


def backup(config: Config, folder: Path, *, now: Clock = lambda: datetime.now(UTC)) -> Backup:
    """Write a backup into a new folder under `folder`; whoever calls holds the run lock.

    It is there as a whole or not at all. Raises ConfigFault for a folder inside what is backed up,
    and when the backup is there already; StoreFault when something cannot be read or written.
    """
    for own in own_folders(config):
        if _is_inside(folder, own):
            raise ConfigFault(
                f"{folder} is inside {own}, which is to be backed up",
                mend="name another folder, best on another disk",
            )
    at = now()
    made = folder / f"{APP}-{at.astimezone(config.zone):%Y%m%d-%H%M%S}"
    if made.exists():
        raise ConfigFault(f"{made} is there already", mend="move it away, or wait a second")
    part = unfinished(made)
    try:
        for left_behind in map(unfinished, _listed_backups(config)):
            shutil.rmtree(left_behind, ignore_errors=True)
        remember_backups(config, [made])
        if config.store_path.is_file():
            # what a killed run left beside the database goes into it now, and is not newer then
            connect(config.store_path).close()
        # from here on: what changes while it is copied counts as newer than the backup
        at = now()
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True, mode=0o700)
        vault = _copy_parts(config, part)
        projects, lacks = _copy_projects(config, part)
        files = dict(_listed(part))
        manifest = {
            "format": FORMAT,
            "version": version(APP),
            "made": at.isoformat(),
            "vault": vault,
            "projects": projects,
            "files": files,
        }
        (part / MANIFEST).write_text(json.dumps(manifest, indent=1), "utf-8")
        part.rename(made)
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        raise StoreFault(
            f"the backup {made} cannot be written: {error.strerror or error}{where}",
            mend="check free space and the folder's permissions",
        ) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    size = sum(entry.get("size", 0) for entry in files.values())
    return Backup(made, len(files), size, tuple(lacks))


def known_backups(config: Config) -> list[Path]:
    """Backups made so far that are still where they were put, and what killed ones left behind."""
    listed = _listed_backups(config)
    return [path for path in [*listed, *map(unfinished, listed)] if path.exists()]


def remember_backups(config: Config, made: Sequence[Path]) -> None:
    """So that `memory forget` can say where a text is left."""
    listed = dict.fromkeys([*_listed_backups(config), *made])
    kept = [path for path in listed if path.exists() or unfinished(path).exists() or path in made]
    config.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    text = "".join(f"{path}\n" for path in kept)
    (config.data_dir / _BACKUPS).write_text(text, "utf-8")


def unfinished(made: Path) -> Path:
    """Where a backup is while it is made."""
    return made.with_name(f".{made.name}.part")


def own_folders(config: Config) -> tuple[Path, ...]:
    """Folders of ours that are no part of another one, also where they lie within it."""
    return (config.vault, config.cache_dir, config.data_dir, config.models_dir)


def digest_of(path: Path) -> str:
    """sha256 hex of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def make_private(folder: Path) -> None:
    """Make a folder and those above it that are missing, each closed to others.

    mkdir(parents=True) gives its mode to the last one alone.
    """
    if not folder.is_dir():
        make_private(folder.parent)
        folder.mkdir(exist_ok=True, mode=0o700)


def copy_files(source: Path, target: Path, leave_out: tuple[Path, ...] = ()) -> None:
    """A folder's files with their bytes, times and modes; links as links."""
    for path in walk(source, leave_out):
        copy = target / path.relative_to(source)
        make_private(copy.parent)
        try:
            shutil.copy2(path, copy, follow_symlinks=False)
        except FileNotFoundError:
            if os.path.lexists(path):
                raise  # else its owner has deleted it meanwhile


def copy_database(source: Path, target: Path) -> None:
    """A consistent copy, whoever else writes meanwhile.

    Raises StoreFault for a damaged one, or when the copy cannot be written.
    """
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    written = source.stat()
    try:
        with closing(connect(source)) as original, closing(connect(target)) as copy:
            original.backup(copy)
    except sqlite.Error as error:
        raise StoreFault(
            f"{source} cannot be copied to {target}: {error}", mend="check free space"
        ) from error
    # put back, it is as old as it was
    os.utime(target, ns=(written.st_atime_ns, written.st_mtime_ns))


def walk(root: Path, leave_out: tuple[Path, ...] = ()) -> Iterator[Path]:
    """Every file and link under a folder, sorted; nothing under the paths left out."""
    for folder, names, files in os.walk(root):
        here = Path(folder)
        linked = [name for name in names if (here / name).is_symlink()]
        names[:] = sorted(
            name for name in names if name not in linked and here / name not in leave_out
        )
        for name in sorted([*files, *linked]):
            if here / name in leave_out:
                continue
            # a pipe or a socket holds nothing, and whoever opens one waits
            if (here / name).is_file() or (here / name).is_symlink():
                yield here / name


def _copy_parts(config: Config, part: Path) -> dict[str, str]:
    """Everything that is there, into its place; what is needed to check the vault out again."""
    if config.store_path.is_file():
        copy_database(config.store_path, part / STORE / config.store_path.name)
    store = config.store_path
    own = (*own_folders(config), config.lock_path, *files_of(store))
    links = [path for path in (config.archive_dir, config.journal_dir) if path.is_symlink()]
    copy_files(config.data_dir, part / DATA, (*own, *links))
    for path in links:  # to another disk: what counts is what is there
        copy_files(path, part / DATA / path.name)
    if config_path().is_file():
        make_private(part / CONFIG)
        shutil.copy2(config_path(), part / CONFIG / "config.toml")
    copy_files(config_path().parent / "prompts", part / CONFIG / "prompts")
    copy_files(config.vault, part / VAULT, (config.vault / ".git", *own))
    if not versioned(config.vault):
        return {}
    history = History(config.vault)
    history.bundle(part / BUNDLE)
    return {
        "head": history.head(),
        "branch": history.state().branch,
        "shallow": " ".join(history.shallow()),
    }


def _copy_projects(config: Config, part: Path) -> tuple[dict[str, str], list[str]]:
    """Each file and the store it is of; what is wrong with those that are left out.

    One that is damaged must not cost the backup of everything else.
    """
    kept: dict[str, str] = {}
    lacks: list[str] = []
    for number, path in enumerate(project_stores.stores(config), 1):
        name = f"{PROJECTS}/{number}.jsonl"
        make_private(part / PROJECTS)
        try:
            project_stores.export(path, part / name)
        except StoreFault as fault:
            (part / name).unlink(missing_ok=True)
            lacks.append(str(fault))
        else:
            kept[name] = str(path)
    return kept, lacks


def _listed(part: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for path in walk(part):
        name = path.relative_to(part).as_posix()
        if path.is_symlink():
            yield name, {"link": str(path.readlink())}
        else:
            yield name, {"sha256": digest_of(path), "size": path.stat().st_size}


def _listed_backups(config: Config) -> list[Path]:
    try:
        return [Path(line) for line in (config.data_dir / _BACKUPS).read_text("utf-8").splitlines()]
    except FileNotFoundError:
        return []


def _is_inside(folder: Path, own: Path) -> bool:
    """Whether it is that folder or below it, by whatever links and spelling it is named."""
    if not own.exists():
        return folder.is_relative_to(own)
    above = (folder, *folder.parents)
    real = folder.resolve()
    return any(p.exists() and p.samefile(own) for p in (*above, real, *real.parents))
