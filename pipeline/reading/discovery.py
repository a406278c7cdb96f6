"""Which transcript files have news; no file is opened to know."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.desk import Desk
from pipeline.sources.jsonl import fingerprint_of
from pipeline.store.conversations import FileState

_UNSEEN = -2  # as size and time of change of what nobody may look at: never as known


@dataclass(frozen=True, slots=True)
class Job:
    """A transcript file that is new or has changed.

    gone: it could not be read, and now it is not there or can be listed again: nothing is left to
    mend.
    """

    source: str
    path: Path
    size: int
    mtime_ns: int
    # what is known of it changes with every try, and it is the same job all the same
    known: FileState | None = field(default=None, compare=False)
    gone: bool = False


def files_with_news(desk: Desk) -> list[Job]:
    """Files whose size or time of change is not as known, the one there longest at the front.

    One walk of the folders. What is gone comes first.
    """
    known = desk.store.conversations.files()
    jobs = []
    found: set[Path] = set()
    for source in desk.sources:
        for path in source.discover():
            found.add(storable(path))
            try:
                status = path.stat()
            except FileNotFoundError:  # gone since the walk
                continue
            except OSError:  # reading it will tell
                jobs.append((0, Job(source.name, path, _UNSEEN, _UNSEEN)))
                continue
            state = known.get(path)
            seen = (state.size, state.mtime_ns) if state else None
            if seen != (status.st_size, status.st_mtime_ns):
                job = Job(source.name, path, status.st_size, status.st_mtime_ns, state)
                jobs.append((there_since(status), job))
    gone = _gone(known.values(), found, {source.name for source in desk.sources})
    return [*gone, *(job for _, job in sorted(jobs, key=lambda job: (job[0], job[1].path)))]


def start_of(job: Job) -> int:
    """Where reading goes on in a file that has only grown, 0 to read it whole."""
    known = job.known
    if known is None or not known.conv or not 0 < known.read_offset <= known.size < job.size:
        return 0
    same = fingerprint_of(job.path, known.read_offset) == known.fingerprint != ""
    return known.read_offset if same else 0


def is_as_found(job: Job) -> bool:
    """Whether the file is still what the walk found."""
    try:
        status = job.path.stat()
    except OSError:
        return False
    return (status.st_size, status.st_mtime_ns) == (job.size, job.mtime_ns)


def storable(path: Path) -> Path:
    """The path as it can be told of: on some systems any bytes may be a name."""
    name = str(path)
    if name.isascii():
        return path
    return Path(name.encode("utf-8", "surrogateescape").decode("utf-8", "replace"))


def there_since(status: os.stat_result) -> int:
    """When the file came to be, where the system tells: a session may go on after its fork does.

    A file that was put back keeps its time of change, which is then the earlier one.
    """
    changed = status.st_mtime_ns
    born: float | None = getattr(status, "st_birthtime", None)
    return changed if born is None else min(changed, int(born * 1e9))


def _gone(known: Iterable[FileState], found: Set[Path], sources: Set[str]) -> Iterator[Job]:
    for state in known:
        if state.failures and state.path not in found and state.source in sources:
            yield Job(state.source, state.path, state.size, state.mtime_ns, state, gone=True)
