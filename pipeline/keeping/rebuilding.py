"""memory.sqlite made anew: the journal's rows, the archive's messages, the vault's commits.

The database that stands is not touched until the new one is whole, and is then moved aside. Files
that are damaged are reported and moved aside too; what they hold alone is lost, the rest is not.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from pipeline import sqlite
from pipeline.archive import Archive
from pipeline.config import Config
from pipeline.errors import StoreFault, VaultFault
from pipeline.history import History
from pipeline.keeping.adopting import adopt
from pipeline.keeping.asides import REBUILDING, move_aside
from pipeline.repository import versioned
from pipeline.store import Store
from pipeline.store.journal import CutOff, frames, journal_files
from pipeline.vault import Vault

Clock = Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What a rebuild found. counts: how much the new database holds, by what it is called.

    problems: what was damaged or is missing, a sentence each. aside: where the database that stood
    there is now, None if there was none or it was a rehearsal.
    """

    counts: Mapping[str, int]
    problems: tuple[str, ...]
    aside: Path | None


@dataclass(slots=True)
class _Findings:
    problems: list[str] = field(default_factory=list)
    damaged: list[Path] = field(default_factory=list)  # files of the journal


def rebuild(
    config: Config,
    *,
    dry_run: bool = False,
    now: Clock = lambda: datetime.now(UTC),
) -> Rebuilt:
    """Make memory.sqlite anew and put it in its place; whoever calls holds the run lock.

    dry_run: only tell what would come of it. Raises StoreFault when there is nothing to make it
    from, or a file cannot be written.
    """
    if not (journal_files(config.journal_dir) or Archive(config.archive_dir).convs()):
        raise StoreFault(
            f"there is nothing to make memory.sqlite from: {config.data_dir} holds neither "
            "archive nor journal",
            mend="`memory restore` puts a backup back; without one, `memory synthesize` begins "
            "with the transcripts",
        )
    found = _Findings()
    if dry_run:
        with TemporaryDirectory(prefix="nightly-memory-") as place:
            counts = _build(Path(place), config, found, now(), dry_run=True)
        return Rebuilt(counts, tuple(found.problems), None)
    _write_down_the_last(config)
    fresh = config.cache_dir / REBUILDING
    fresh.mkdir(parents=True, exist_ok=True, mode=0o700)
    for left_behind in fresh.iterdir():
        left_behind.unlink()
    try:
        counts = _build(fresh, config, found, now(), dry_run=False)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)  # on a full disk nothing could be started after it
        raise
    aside = move_aside(config.store_path, now())
    (fresh / config.store_path.name).rename(config.store_path)
    fresh.rmdir()
    # not before: a rebuild that was killed and is done again must see the damage as well
    for path in found.damaged:
        path.rename(path.with_name(f"{path.name}.damaged"))
    store = Store(config.store_path, config.journal_dir)
    try:
        if found.damaged:
            store.journal.marks.mark_everything()
        store.journal.write()
    finally:
        store.close()
    return Rebuilt(counts, tuple(found.problems), aside)


def _write_down_the_last(config: Config) -> None:
    """What the standing database knows and a killed run did not write down any more."""
    if not config.store_path.is_file():
        return
    try:
        store = Store(config.store_path, config.journal_dir)
    except StoreFault as fault:
        _refuse_if_sound(fault)
        return  # it is damaged: that is why it is made anew
    try:
        store.journal.refuse_if_behind(config.journal_dir)
        store.journal.write()
    except StoreFault as fault:
        _refuse_if_sound(fault)  # damaged, or an old copy, which has nothing to add
    finally:
        store.close()


def _refuse_if_sound(fault: StoreFault) -> None:
    """What cannot be read or written down at this moment is not lost: it is not moved aside."""
    cause: BaseException | None = fault
    while cause is not None:
        if isinstance(cause, OSError) or sqlite.is_busy(cause):
            raise fault
        cause = cause.__cause__


def _build(
    place: Path, config: Config, found: _Findings, at: datetime, *, dry_run: bool
) -> Mapping[str, int]:
    """A whole database in the folder `place`; what it holds."""
    store = Store(place / config.store_path.name)
    try:
        _replay(store, config, found)
        _read_archive(store, Archive(config.archive_dir), found, dry_run=dry_run)
        _adopt(store, config, found, at)
        if lost := store.restoring.close_ranks():
            found.problems.append(f"{lost} records were left out: what they belong to is lost")
        if not dry_run:
            found.problems += store.fulltext.gather()
        return store.restoring.counts()
    except sqlite.Error as error:
        raise StoreFault(
            f"{config.store_path} cannot be made anew: {error}",
            mend="free some space; what stands there is as it was",
        ) from error
    finally:
        store.close()


def _replay(store: Store, config: Config, found: _Findings) -> None:
    for path in journal_files(config.journal_dir):
        try:
            with suppress(CutOff):  # by a kill, or by a disk that lost what came after
                for frame in frames(path):
                    store.restoring.replay(frame)
        except StoreFault as fault:
            found.problems.append(str(fault))
            found.damaged.append(path)
    store.journal.settle(config.journal_dir)


def _read_archive(store: Store, archive: Archive, found: _Findings, *, dry_run: bool) -> None:
    for conv in archive.convs():
        try:
            conversation, messages = archive.read(conv)
            if conversation.conv != conv:
                raise StoreFault(f"the archive file of conv:{conv} is of conv:{conversation.conv}")
            store.restoring.conversation(conversation, messages)
        except StoreFault as fault:
            found.problems.append(str(fault))
            if not dry_run:
                # where it lies, the next reading of the transcript would overwrite it
                archive.set_aside(conv)
    if unheld := store.restoring.unheld():
        # whoever still has the transcript gets the messages back from there
        store.restoring.read_again(unheld)
        listed = ", ".join(f"conv:{conv}" for conv in unheld[:5])
        more = f" and {len(unheld) - 5} more" if len(unheld) > 5 else ""
        found.problems.append(
            f"the messages of {listed}{more} are not in the archive; they are read again from "
            "their transcripts if those are still there"
        )


def _adopt(store: Store, config: Config, found: _Findings, at: datetime) -> None:
    if not versioned(config.vault):
        return
    try:
        adopted = adopt(store, History(config.vault), Vault(config.vault), at)
    except VaultFault as fault:
        found.problems.append(f"the vault's commits could not be read: {fault}")
        return
    if adopted:
        found.problems.append(
            f"{adopted} commits that the journal knows nothing of were entered by their trailers"
        )
