"""A backup put back: each part where the settings say, what stood there moved aside."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from pipeline.config import FILE_VARIABLE, Config, config_path, load_config
from pipeline.errors import ConfigFault, StoreFault
from pipeline.history import History
from pipeline.keeping.asides import move_aside
from pipeline.keeping.backing_up import (
    BUNDLE,
    CONFIG,
    DATA,
    FORMAT,
    MANIFEST,
    STORE,
    VAULT,
    digest_of,
    known_backups,
    make_private,
    own_folders,
    remember_backups,
    walk,
)
from pipeline.vault import Vault

_COMMIT = re.compile(r"([0-9a-f]{40,64})?")

Clock = Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class PutBack:
    """One part: where it goes, where what stood there is now (None: nothing did)."""

    name: str
    target: Path
    aside: Path | None


@dataclass(frozen=True, slots=True)
class _Backup:
    folder: Path
    made: datetime
    vault: Mapping[str, str]
    files: Mapping[str, Mapping[str, Any]]

    def has(self, part: str) -> bool:
        return any(name == part or name.startswith(f"{part}/") for name in self.files)


def settings_for(folder: Path, vault: Path | None) -> Config:
    """The settings that say where the parts go: this machine's, or on an empty one the backup's."""
    kept = folder / CONFIG / "config.toml"
    if config_path().is_file() or not kept.is_file():
        return load_config(vault=vault)
    before = os.environ.get(FILE_VARIABLE)
    os.environ[FILE_VARIABLE] = str(kept)
    try:
        return load_config(vault=vault)
    finally:
        if before is None:
            del os.environ[FILE_VARIABLE]
        else:
            os.environ[FILE_VARIABLE] = before


def restore(
    folder: Path,
    config: Config,
    *,
    dry_run: bool = False,
    force: bool = False,
    now: Clock = lambda: datetime.now(UTC),
) -> list[PutBack]:
    """Put every part of the backup in its place; whoever calls holds the run lock.

    Nothing is touched before every file of the backup was found to be as it was written, and every
    part lies ready beside its place. Raises StoreFault for a backup that is damaged, ConfigFault
    when something in a place is newer than the backup, unless `force`.
    """
    kept = _checked(folder)
    places = _places(config)
    # one may be within another, whose files go there first
    inward = sorted(places, key=lambda one: sum(one[2].is_relative_to(o) for _, _, o in places))
    parts = [place for place in inward if kept.has(place[1])]
    if not force:
        for name, _, target in parts:
            _refuse_newer(name, target, kept.made)
    if dry_run:
        return [PutBack(name, target, None) for name, _, target in parts]
    try:
        ready = [(name, target, _stage(kept, source, target)) for name, source, target in parts]
        done = []
        listed = known_backups(config)
        for name, target, staged in ready:
            aside = move_aside(target, now())
            staged.rename(target)
            _keep_in_place([*own_folders(config), *(one for _, _, one in ready)], target, aside)
            done.append(PutBack(name, target, aside))
        remember_backups(config, [*listed, folder])
    except OSError as error:
        raise StoreFault(
            f"the backup {folder} cannot be put back: {error.strerror or error}",
            mend="check free space and permissions, then do it again; what was moved aside is "
            "beside its place",
        ) from error
    return done


def project_memories(folder: Path) -> dict[Path, str]:
    """Exports of projects' memories in a backup, and the store each was made of.

    They are not put back: a project may have gone on, or be elsewhere, and `anvil-memory import`
    adds to what is there.
    """
    manifest = json.loads((folder / MANIFEST).read_text("utf-8"))
    listed = manifest.get("projects", {})  # backups made before have none
    return {folder / name: str(listed[name]) for name in listed if name in manifest["files"]}


def left_unrestored(config: Config) -> list[Path]:
    """What killed restores left beside the places."""
    staged = (_staged(target) for _, _, target in _places(config))
    return [path for path in staged if os.path.lexists(path)]


def _places(config: Config) -> list[tuple[str, str, Path]]:
    """Each part: what it is called, where it lies in a backup, where it goes."""
    return [
        (STORE, f"{STORE}/{config.store_path.name}", config.store_path),
        (DATA, DATA, config.data_dir),
        (CONFIG, f"{CONFIG}/config.toml", config_path()),
        ("prompts", f"{CONFIG}/prompts", config_path().parent / "prompts"),
        (VAULT, VAULT, config.vault),
    ]


def _staged(target: Path) -> Path:
    """Where a part lies until it is put in its place."""
    return target.with_name(f".{target.name}.restoring")


def _checked(folder: Path) -> _Backup:
    """The backup with every file as its manifest says."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text("utf-8"))
        if manifest["format"] != FORMAT:
            raise ValueError(f"format {manifest['format']} is unknown")
        made = datetime.fromisoformat(manifest["made"])
        files = dict(manifest["files"])
        kept = _Backup(folder, made, dict(manifest["vault"]), files)
        dict(manifest.get("projects", {}))  # for `project_memories`
        if not _COMMIT.fullmatch(kept.vault.get("head", "")):
            raise ValueError("its commit is none")
        if not all(map(_COMMIT.fullmatch, kept.vault.get("shallow", "").split())):
            raise ValueError("its first commits are none")
        wrong = [said for name, entry in files.items() if (said := _wrong(kept, name, entry))]
    except FileNotFoundError as error:
        raise ConfigFault(
            f"{folder} is no backup: it has no {MANIFEST}",
            mend="name the folder that `memory backup` made",
        ) from error
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise StoreFault(
            f"the backup {folder} cannot be read: {error}", mend="use another backup"
        ) from error
    if wrong:
        more = f", and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        raise StoreFault(
            f"the backup {folder} is damaged: {', '.join(wrong[:3])}{more}",
            mend="use another backup; nothing was put back",
        )
    return kept


def _wrong(kept: _Backup, name: str, entry: Mapping[str, Any]) -> str:
    """What is wrong with this file of the backup, "" for nothing."""
    path, pure = kept.folder / name, PurePosixPath(name)
    # what stands under a link would be written to where that leads
    under = any(parent.as_posix() in kept.files for parent in pure.parents)
    # the commits come from the bundle alone: settings of git's would start programs
    of_git = [part.casefold() for part in pure.parts[:2]] == [VAULT, ".git"]
    if pure.is_absolute() or ".." in pure.parts or under or of_git:
        return f"{name} is outside of it"
    if "link" in entry:
        same = path.is_symlink() and str(path.readlink()) == entry["link"]
        return "" if same else f"{name} is another link"
    if path.is_symlink() or not path.is_file():
        return f"{name} is missing"
    return "" if digest_of(path) == entry["sha256"] else f"{name} has changed"


def _keep_in_place(places: Sequence[Path], target: Path, aside: Path | None) -> None:
    """What is within a place but no part of it stays there: models, or a vault below the data."""
    if aside is None:
        return
    for place in places:
        if place != target and place.is_relative_to(target):
            was = aside / place.relative_to(target)
            if was.exists() and not place.exists():
                place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                was.rename(place)


def _refuse_newer(name: str, target: Path, made: datetime) -> None:
    written = target.with_name(f"{target.name}-wal")  # of a database that was not closed
    single = [path for path in (target, written) if path.is_file()]
    for path in single or walk(target, (target / ".git",)):
        if not path.is_symlink() and path.stat().st_mtime > made.timestamp():
            raise ConfigFault(
                f"{path} is newer than the backup ({name})",
                mend="--force puts the backup there all the same; what stands there is moved aside",
            )


def _stage(kept: _Backup, source: str, target: Path) -> Path:
    """The part, whole, beside the place it is meant for."""
    staged = _staged(target)
    if staged.is_dir():
        shutil.rmtree(staged)
    staged.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if source == VAULT and kept.vault:
        history = History(staged)
        if kept.vault["head"]:
            history.unbundle(
                (kept.folder / BUNDLE).absolute(),
                kept.vault["head"],
                kept.vault["branch"],
                kept.vault.get("shallow", "").split(),  # older backups say nothing of it
            )
        else:
            history.init()
    if source == VAULT:
        Vault(staged).make_folders()  # one without a page is in no backup, as it is in no commit
    for name in kept.files:
        if name == source:
            shutil.copy2(kept.folder / name, staged)
        elif name.startswith(f"{source}/"):
            copy = staged / name.removeprefix(f"{source}/")
            make_private(copy.parent)
            shutil.copy2(kept.folder / name, copy, follow_symlinks=False)
    return staged
