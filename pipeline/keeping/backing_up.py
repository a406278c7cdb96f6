"""A backup: everything that cannot be made again, in one dated folder with a list of its hashes.

    nightly-memory-20000131-030000/
      manifest.json     what is here: every file with its sha256
      store/            memory.sqlite
      data/             the archive and the journal
      config/           config.toml and prompts of the user's own
      vault.bundle      the vault's commits
      vault/            its files as they stand, uncommitted edits included

Models are not in it, they are fetched again; nor are the stores in the projects' own folders.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pipeline.config import APP, Config, config_path
from pipeline.errors import ConfigFault, StoreFault
from pipeline.history import History
from pipeline.sqlite import connect

FORMAT = 1  # of the manifest; raise it when a part changes its place or meaning
MANIFEST = "manifest.json"
STORE, DATA, CONFIG, BUNDLE, VAULT = "store", "data", "config", "vault.bundle", "vault"
_BACKUPS = "backups"  # under data_dir: where backups were put, a line each

Clock = Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup that was made: how many files, and bytes."""

    path: Path
    files: int
    size: int


def backup(config: Config, folder: Path, *, now: Clock = lambda: datetime.now(UTC)) -> Backup:
    """Write a backup into a new folder under `folder`; whoever calls holds the run lock.

    It is there as a whole or not at all. Raises ConfigFault for a folder inside what is backed up,
    and when the backup is there already; StoreFault when something cannot be read or written.
    """
    for own in (config.vault, config.data_dir, config.cache_dir):
        if folder.is_relative_to(own):
            raise ConfigFault(
                f"{folder} is inside {own}, which is to be backed up",
                mend="name another folder, best on another disk",
            )
    at = now()
    made = folder / f"{APP}-{at.astimezone(config.zone):%Y%m%d-%H%M%S}"
    if made.exists():
        raise ConfigFault(f"{made} is there already", mend="move it away, or wait a second")
    part = made.with_name(f".{made.name}.part")
    try:
        _remember(config, made)
        # from here on: what changes while it is copied counts as newer than the backup
        at = now()
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True, mode=0o700)
        vault = _copy_parts(config, part)
        files = dict(_listed(part))
        manifest = {
            "format": FORMAT,
            "version": version(APP),
            "made": at.isoformat(),
            "vault": vault,
            "files": files,
        }
        (part / MANIFEST).write_text(json.dumps(manifest, indent=1), "utf-8")
        part.rename(made)
    except OSError as error:
        raise StoreFault(
            f"the backup {made} cannot be written: {error.strerror or error}",
            mend="check free space and the folder's permissions",
        ) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return Backup(made, len(files), sum(entry.get("size", 0) for entry in files.values()))


def known_backups(config: Config) -> list[Path]:
    """Backups made so far that are still where they were put."""
    try:
        listed = (config.data_dir / _BACKUPS).read_text("utf-8").splitlines()
    except FileNotFoundError:
        return []
    return [path for path in map(Path, listed) if path.exists()]


def digest_of(path: Path) -> str:
    """sha256 hex of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def copy_files(source: Path, target: Path, leave_out: tuple[Path, ...] = ()) -> None:
    """A folder's files with their bytes, times and modes; links as links."""
    for path in walk(source, leave_out):
        copy = target / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        shutil.copy2(path, copy, follow_symlinks=False)


def copy_database(source: Path, target: Path) -> None:
    """A consistent copy, whoever else writes meanwhile. Raises StoreFault for a damaged one."""
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    written = source.stat()
    original, copy = connect(source), connect(target)
    original.backup(copy)
    copy.close()
    original.close()
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
            # a pipe or a socket holds nothing, and whoever opens one waits
            if (here / name).is_file() or (here / name).is_symlink():
                yield here / name


def _copy_parts(config: Config, part: Path) -> dict[str, str]:
    """Everything that is there, into its place; what is needed to check the vault out again."""
    if config.store_path.is_file():
        copy_database(config.store_path, part / STORE / config.store_path.name)
    copy_files(config.data_dir, part / DATA, (config.vault, config.cache_dir, config.models_dir))
    if config_path().is_file():
        (part / CONFIG).mkdir()
        shutil.copy2(config_path(), part / CONFIG / "config.toml")
    copy_files(config_path().parent / "prompts", part / CONFIG / "prompts")
    copy_files(config.vault, part / VAULT, (config.vault / ".git",))
    if not (config.vault / ".git").is_dir():
        return {}
    history = History(config.vault)
    history.bundle(part / BUNDLE)
    return {"head": history.head(), "branch": history.state().branch}


def _listed(part: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for path in walk(part):
        name = path.relative_to(part).as_posix()
        if path.is_symlink():
            yield name, {"link": str(path.readlink())}
        else:
            yield name, {"sha256": digest_of(path), "size": path.stat().st_size}


def _remember(config: Config, made: Path) -> None:
    """So that `memory forget` can say where a text is left."""
    known = [str(path) for path in known_backups(config)]
    config.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    text = "".join(f"{line}\n" for line in [*known, str(made)])
    (config.data_dir / _BACKUPS).write_text(text, "utf-8")
