"""Sessions that are left out, or left for another night."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from pathlib import Path, PurePath

from pipeline.desk import Desk
from pipeline.identity import SENTINEL
from pipeline.reading.cleaning import storable_text
from pipeline.reading.discovery import Job
from pipeline.records import Role, Session


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A session that gives nothing. final: its file is not looked at again until it changes."""

    reason: str
    final: bool = True


def left_out(session: Session, job: Job, desk: Desk) -> LeftOut | None:
    """Why nothing of the session is read; None if it is."""
    if not session.utterances:
        return LeftOut("nobody says anything in it")
    if not session.interactive and not desk.config.ingest.subagents:
        return LeftOut("a sub-agent's session")
    first = next((u.text for u in session.utterances if u.role is Role.USER), "")
    folder = f"{PurePath(most_frequent(u.cwd for u in session.utterances))}/"
    if first.lstrip().startswith(SENTINEL) or any(
        folder.startswith(f"{own}/") for own in desk.own_folders
    ):
        return LeftOut("a session of nightly-memory itself")
    if desk.store.forgetting.session(session.source, storable_text(session.session_id)):
        return LeftOut("you had it forgotten")
    excluded = desk.config.ingest.exclude_projects
    if excluded and any(
        _is_excluded(cwd, excluded) for cwd in {u.cwd for u in session.utterances if u.cwd}
    ):
        return LeftOut("a project that is not to be read")
    if _is_at_work(session, job, desk):
        return LeftOut("still being written", final=False)
    return None


def most_frequent(folders: Iterable[str]) -> str:
    """The folder most was said in: a session is often started in another than it works in."""
    counts = Counter(folder for folder in folders if folder)
    return counts.most_common(1)[0][0] if counts else ""


def _is_excluded(cwd: str, patterns: Sequence[str]) -> bool:
    """Whether the folder or one above it matches; case is ignored, as on a Mac."""
    folders = [str(path).casefold() for path in (PurePath(cwd), *PurePath(cwd).parents)]
    wanted = [str(Path(pattern).expanduser()).casefold() for pattern in patterns]
    return any(fnmatchcase(folder, pattern) for folder in folders for pattern in wanted)


def _is_at_work(session: Session, job: Job, desk: Desk) -> bool:
    minutes = desk.config.ingest.quiet_minutes
    if minutes is None:
        minutes = desk.policy.ingest.quiet_minutes
    changed = datetime.fromtimestamp(job.mtime_ns / 1e9, UTC)
    # a copied file is newer than its last message, and a wrong clock dates one in the future
    last = min(max((u.at for u in session.utterances if u.at), default=changed), changed)
    return desk.now() - last < timedelta(minutes=minutes)
