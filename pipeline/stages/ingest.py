"""Transcript files → redacted conversations in the store, and their durable archive. No model.

A file is read again only when its size or time of change differs from what is known, and one that
has merely grown from where the last turn begins. What is read twice is told by message ids: a
message stays where it first came, positions never move, and a fork or a migrated file adds only
what is new in it. The parts stand in `reading`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from pipeline.errors import SourceFault
from pipeline.projects import Projects
from pipeline.reading.discovery import Job, files_with_news, is_as_found, start_of, storable
from pipeline.reading.leaving import left_out
from pipeline.reading.placing import Placed, place
from pipeline.reading.session import Reading, read
from pipeline.records import BadLine, Done, Outcome, Session, Skipped
from pipeline.sources.jsonl import fingerprint_of
from pipeline.stages import Desk
from pipeline.store.conversations import FileState

NAME = "ingest"


@dataclass(frozen=True, slots=True)
class Batch:
    """The sessions of a file, read one by one while they are kept: a file may not fit in memory.

    read: the sessions from a byte on. start: the byte where reading goes on.
    """

    job: Job
    read: Callable[[int], Iterator[Session]]
    start: int
    projects: Projects


def key(job: Job) -> str:
    """The job's name in `attempts`."""
    return str(storable(job.path))


def pending(desk: Desk) -> list[Job]:
    """Files with news, the one there longest at the front; no file is opened."""
    return files_with_news(desk)


def work(jobs: Sequence[Job], desk: Desk) -> list[Batch]:
    """Open nothing yet: what a file holds is read while it is kept, one file at a time."""
    sources = {source.name: source for source in desk.sources}
    projects = Projects(desk.config.ingest.project_aliases, Path.home())
    return [
        Batch(job, partial(sources[job.source].read, job.path), start_of(job), projects)
        for job in jobs
    ]


def keep(batch: Batch, desk: Desk) -> Outcome:
    """Archive each conversation of the file, then store it; the file's state comes with the last.

    Killed in between, the file is still unknown, so the next run does the same again.
    """
    job = batch.job
    if job.known and job.gone:
        desk.store.conversations.remember_file(replace(job.known, failures=0, last_error=""))
        return Skipped("it is not there any more")
    if storable(job.path) != job.path:
        named = storable(job.path)
        return _failed(job, f"the name of {named} is not UTF-8: rename it", desk)
    file = _File(job, desk)
    fault: SourceFault | None = None
    reading: Reading | None = None
    try:
        for session in batch.read(batch.start):
            if reading:
                file.keep(reading)
            reading = file.reading_of(session, batch.projects)
            del session  # while the next is parsed, one of them is enough in memory
        if batch.start and file.needs_the_whole:
            file = _File(job, desk)
            for session in batch.read(0):  # what can be read on holds one
                reading = file.reading_of(session, batch.projects)
    except SourceFault as error:
        fault = error
    # what is said in the file and that it was read are written together: most files hold one
    # session, and each writing is one wait for the disk
    with desk.store.together():
        if reading:
            file.keep(reading)
        if fault is None:
            file.remember()
    if fault is not None:
        return replace(_failed(job, str(fault), desk), counts=file.counts)
    if file.counts:
        return Done(file.counts)
    return Skipped(file.reason or "nobody says anything in it")


class _File:
    """What has become of a file's sessions so far.

    needs_the_whole: the file is to be read from its beginning each time. A secret that was met in a
    part of it may stand bare in another, and what has neither a time nor an id of its own is named
    by its place.
    """

    def __init__(self, job: Job, desk: Desk) -> None:
        self.counts: Counter[str] = Counter()
        self.reason = ""  # why one of them gave nothing
        self.needs_the_whole = False
        self._job = job
        self._desk = desk
        self._postponed = False
        self._state = FileState(job.path, job.source, job.size, job.mtime_ns, 0)

    def reading_of(self, session: Session, projects: Projects) -> Reading | None:
        """What is read in the session, None if it is left out."""
        job, desk = self._job, self._desk
        found = left_out(session, job, desk) or read(session, job, projects, desk)
        self._state = replace(self._state, read_offset=session.read_offset)
        if isinstance(found, Reading):
            placeless = any(u.at is None and not u.native_id for u in session.utterances)
            self.needs_the_whole = self.needs_the_whole or placeless or bool(found.redactions)
            return found
        if not session.utterances:
            _report(session.bad_lines, desk)
        self.reason = found.reason
        self._postponed = self._postponed or not found.final
        return None

    def keep(self, reading: Reading) -> None:
        """Archive what is new in it, then store it."""
        desk = self._desk
        _report(reading.bad_lines, desk)
        placed = place(reading, desk)
        if isinstance(placed, Placed):
            conv = placed.conversation.conv
            desk.archive.write(placed.conversation, placed.messages)
            desk.store.conversations.save(
                placed.conversation,
                [*placed.changed, *placed.fresh],
                None,
                archived_at=desk.now(),
            )
            self.counts.update(_counts(reading, placed))
        else:
            conv = placed
            self.reason = (
                "nothing new in it" if conv else "all of it stands in another conversation already"
            )
        self._state = replace(self._state, conv=conv)

    def remember(self) -> None:
        """Note that the file was read as it stands, so that it is not opened again."""
        if self._postponed:
            return
        state = self._state
        # of a file that changed meanwhile nobody knows which bytes were read: "" has it read whole
        resumable = state.read_offset and not self.needs_the_whole and is_as_found(self._job)
        fingerprint = fingerprint_of(self._job.path, state.read_offset) if resumable else ""
        self._desk.store.conversations.remember_file(replace(state, fingerprint=fingerprint))


def _failed(job: Job, reason: str, desk: Desk) -> Skipped:
    """Tell of it once, then count: it is tried every night, however long until it is mended."""
    if desk.store.conversations.record_failure(storable(job.path), job.source, reason) == 1:
        desk.results.problems.append(reason)
    return Skipped(reason)


def _report(bad_lines: Sequence[BadLine], desk: Desk) -> None:
    if bad_lines:
        first = bad_lines[0]
        desk.results.problems.append(
            f"{first.path}: {len(bad_lines)} unreadable line(s) left out, "
            f"the first is line {first.line} ({first.reason})"
        )


def _counts(reading: Reading, placed: Placed) -> dict[str, int]:
    redactions: Counter[str] = Counter()
    for message in placed.fresh:
        if found := reading.redactions.get(message.message_id):
            redactions.update(found)
    counts = {
        "conversations": int(placed.new),
        "messages": len(placed.fresh),
        "bad lines": len(reading.bad_lines),
        **{f"redacted {kind}": count for kind, count in redactions.items()},
    }
    return {name: count for name, count in counts.items() if count}
