"""What `memory sources` shows: where transcripts are looked for, and how reading them went."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pipeline import ordinary
from pipeline.sources import Source
from pipeline.store import Store
from pipeline.store.times import to_text

_DAYS_KEPT = 30  # Claude Code's own default
_FOR_EVER = 36_500


@dataclass(frozen=True, slots=True)
class Inventory:
    """One source. locations: each with whether it is there. sessions: transcript files found.

    read: of them, those read as they are now; failed: path -> reason. watermark: time of the newest
    message read, "" before the first.
    """

    source: str
    locations: tuple[tuple[str, bool], ...]
    sessions: int
    read: int
    failed: Mapping[str, str]
    watermark: str
    notes: tuple[str, ...] = field(default=())


def inventory(sources: Sequence[Source], store: Store | None, home: Path) -> list[Inventory]:
    """Every source that is read. One walk of the folders; no transcript is opened."""
    files = store.conversations.files() if store else {}
    marks = store.conversations.watermarks() if store else {}
    found = []
    for source in sources:
        paths = list(source.discover())
        read, failed = 0, {}
        for path in paths:
            state = files.get(path)
            if state and state.failures:
                failed[str(path)] = state.last_error
            elif state and (state.size, state.mtime_ns) == _stamp(path):
                read += 1
        found.append(
            Inventory(
                source=source.name,
                locations=tuple((str(root), _is_there(root)) for root in source.roots),
                sessions=len(paths),
                read=read,
                failed=failed,
                watermark=to_text(marks[source.name]) if source.name in marks else "",
                notes=_purging(home) if source.name == "claude-code" else (),
            )
        )
    return found


def lines(found: Sequence[Inventory]) -> list[str]:
    """The sources for a reader, some lines each."""
    told = []
    for one in found:
        waiting = one.sessions - one.read - len(one.failed)
        told.append(
            f"{one.source}: {one.sessions} sessions, {one.read} read, {waiting} new or changed, "
            f"{len(one.failed)} failed; read up to {one.watermark or 'nothing yet'}"
        )
        told += [f"  {place}{'' if there else ' (not there)'}" for place, there in one.locations]
        told += [f"  failed {path}: {reason}" for path, reason in one.failed.items()]
        told += [f"  {note}" for note in one.notes]
    return told


def _stamp(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:  # gone since the walk
        return (-1, -1)
    return status.st_size, status.st_mtime_ns


def _is_there(root: Path) -> bool:
    try:
        return root.exists()
    except OSError:  # nobody may look
        return False


def days_kept(environ: Mapping[str, str], home: Path) -> int:
    """After how many days Claude Code deletes a transcript; 0 or less: it writes none."""
    folder = Path(environ.get("CLAUDE_CONFIG_DIR") or home / ".claude").expanduser()
    try:
        said = json.loads(ordinary.content(folder / "settings.json"))
        return min(int(said.get("cleanupPeriodDays", _DAYS_KEPT)), _FOR_EVER)
    except (OSError, ValueError, TypeError, AttributeError, OverflowError):
        return _DAYS_KEPT  # no settings of the user's: the program's own default holds


def _purging(home: Path) -> tuple[str, ...]:
    """Claude Code deletes old transcripts; what was not read by then is lost."""
    days = days_kept(os.environ, home)
    return (
        f"transcripts are deleted by Claude Code after {days} days (cleanupPeriodDays in "
        "~/.claude/settings.json); what was read by then stays in the archive",
    )
