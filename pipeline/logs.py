"""The log of each run: a file of its own, the user's alone, without secrets; the newest are kept.

A log that cannot be written never stops the run it tells of.
"""

from __future__ import annotations

import logging
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pipeline.config import Config
from pipeline.errors import ConfigFault, MemoryFault
from pipeline.prose import flat
from pipeline.records import Event
from pipeline.redact import redact
from pipeline.results import RunResults
from pipeline.run_ids import meant

# of an older run the tail is a number, or is missing
_OF_RUN = re.compile(r"(?P<stamp>\d{8}-\d{6})(?:-(?P<tail>[0-9a-z]{1,9}))?\.log")
_OTHER_BYTES = 1_000_000  # what a scheduler writes beside ours grows for ever unless it is cut
_KEPT_BYTES = 250_000  # of such a file
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


@dataclass(frozen=True, slots=True)
class LogFile:
    """The log of one run. size in bytes; modified: aware UTC."""

    run: str
    path: Path
    size: int
    modified: datetime


class RunLog:
    """What a run tells its log.

    path: the file. problem: why there is none, "" if there is.
    """

    def __init__(self, config: Config, run: str) -> None:
        self.path = config.log_dir / f"{run}.log"
        self.problem = ""
        self._config = config
        self._file = -1
        self._shown = ("", -1)

    def event(self, event: Event) -> None:
        """A line at the start of each stage, at each further tenth of it, and at its end."""
        tenth = 10 * event.done // event.total if event.total else 10
        stage, shown = self._shown
        if event.stage == stage and tenth <= shown:
            return
        self._shown = (event.stage, tenth)
        speed = f" · {event.tokens_per_second:.0f} tokens/s" if event.tokens_per_second else ""
        what = f" · {flat(event.message)}" if event.message else ""
        self.line(f"{event.stage}: {event.done}/{event.total}{what}{speed}")

    def result(self, status: str, results: RunResults, spent: Mapping[str, float]) -> None:
        """How the run ended. spent: as `Runs.spent` gives it."""
        counts = ", ".join(f"{number} {name}" for name, number in results.counts.items() if number)
        self.line(
            f"ended: {status}; {counts or 'nothing counted'}; {int(spent['calls'])} model calls, "
            f"{int(spent['prompt_tokens'])} tokens read, {int(spent['output_tokens'])} written, "
            f"{spent['seconds']:.0f} s of the model's time"
        )
        told = [f"failure: {results.failure}"] if results.failure else []
        told += [f"noticed: {problem}" for problem in results.problems]
        told += [f"not kept: {job}: {'; '.join(why)}" for job, why in results.rejected]
        told += [f"held: {article}: {'; '.join(why)}" for article, why in results.held]
        told += [f"refused: {claim} ({why})" for claim, why in results.refused]
        for line in told:
            self.line(line)

    def line(self, text: str) -> None:
        """A line with the time before it, without secrets; further lines of it are indented."""
        if self._file < 0:
            return
        # as a whole: a private key goes over many lines
        clean = redact(text, **self._config.ingest.redaction).text
        at = datetime.now(UTC).astimezone(self._config.zone).isoformat(" ", "seconds")
        shown = "\n    ".join(_printable(line) for line in clean.splitlines())
        try:
            os.write(self._file, f"{at} {shown}\n".encode("utf-8", "backslashreplace"))
        except OSError as error:  # no room: the run goes on without its log
            self.problem = _unwritable(self.path, error)
            self._close()

    # -------------------------------------------------------------- inside

    def _open(self) -> None:
        """The file, and only the newest others beside it."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with _folder(self.path.parent) as folder:
                os.fchmod(folder, 0o700)  # a scheduler may have made it for its own log
                self._file = _private_file(self.path.name, folder)
                _tidy(folder, keep=self._config.night.keep_logs, own=self.path.name)
        except OSError as error:
            self.problem = _unwritable(self.path, error)
            self._close()

    def _close(self) -> None:
        if self._file >= 0:
            with suppress(OSError):
                os.close(self._file)
            self._file = -1


@contextmanager
def run_log(config: Config, run: str) -> Iterator[RunLog]:
    """Log what happens within the block to `<config.log_dir>/<run>.log`, file 0600, folder 0700.

    Everything our own code logs from INFO on, what others log from WARNING on, the events and the
    result it is told, and the fault that ends the block. Keeps the newest `night.keep_logs` logs.
    """
    log = RunLog(config, run)
    log._open()
    handler, ours = _Handler(log), logging.getLogger("pipeline")
    before = ours.level
    logging.getLogger().addHandler(handler)
    ours.setLevel(min(ours.getEffectiveLevel(), logging.INFO))
    try:
        yield log
    except MemoryFault as fault:
        log.line(f"ended by a fault: {fault} {fault.mend}".rstrip())
        raise
    except BaseException as error:
        log.line(f"ended by {type(error).__name__}: {error}")
        raise
    finally:
        logging.getLogger().removeHandler(handler)
        ours.setLevel(before)
        log._close()


def logs(config: Config) -> list[LogFile]:
    """The logs there are, newest first."""
    found = []
    with suppress(OSError), _folder(config.log_dir) as folder:
        for name in _of_runs(folder):
            with suppress(OSError):
                status = os.stat(name, dir_fd=folder, follow_symlinks=False)
                if stat.S_ISREG(status.st_mode):
                    modified = datetime.fromtimestamp(status.st_mtime, UTC)
                    run = name.removesuffix(".log")
                    found.append(LogFile(run, config.log_dir / name, status.st_size, modified))
    return found


def read(config: Config, run: str = "") -> tuple[LogFile, str]:
    """The log of a run, or of the last one that has one. Raises ConfigFault when there is none."""
    known = logs(config)
    run = meant(run, [log.run for log in known])
    wanted = [log for log in known if run in ("", log.run)]
    if not wanted:
        raise ConfigFault(
            f"there is no log of run {run} in {config.log_dir}"
            if run
            else f"there is no log in {config.log_dir} yet",
            mend="`memory logs --list` shows which there are" if known else "every run writes one",
        )
    path = wanted[0].path
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        with os.fdopen(handle, encoding="utf-8", errors="replace", newline="\n") as file:
            return wanted[0], file.read()
    except OSError as error:
        raise ConfigFault(f"cannot read {path}: {error.strerror}") from error


# ------------------------------------------------------------------ from logging


class _Handler(logging.Handler):
    """Hands records to the run's log, tracebacks included."""

    def __init__(self, log: RunLog) -> None:
        super().__init__(logging.INFO)
        self._log = log
        self.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = self.format(record)
        except Exception as error:  # a wrong placeholder in somebody's message
            text = f"{record.levelname} {record.name}: {record.msg!r} ({error})"
        self._log.line(text)


def _printable(line: str) -> str:
    """Without control characters: what a transcript holds must not move the reader's cursor."""
    return "".join(c if c.isprintable() or c == "\t" else " " for c in line).rstrip()


def _unwritable(path: Path, error: OSError) -> str:
    # the folder, not the file: what lasts is told once, and each night's file has another name
    return f"no log can be written in {path.parent}: {error.strerror or error}"


# ------------------------------------------------------------------ the folder


@contextmanager
def _folder(path: Path) -> Iterator[int]:
    """The log folder by its descriptor: what is done by it is not led elsewhere by a link."""
    folder = os.open(path, _FOLDER)
    try:
        yield folder
    finally:
        os.close(folder)


def _private_file(name: str, folder: int) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
    file = os.open(name, flags, 0o600, dir_fd=folder)
    status = os.fstat(file)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
        os.close(file)
        raise OSError(f"{name} is no file of its own")
    os.fchmod(file, 0o600)
    return file


def _of_runs(folder: int) -> list[str]:
    """Names of the runs' logs, newest first: a run is named by when it began."""
    found = [match for name in os.listdir(folder) if (match := _OF_RUN.fullmatch(name))]
    # a shorter tail first: of two that are numbers it is the lower one
    found.sort(key=lambda m: (m["stamp"], len(m["tail"] or ""), m["tail"] or ""), reverse=True)
    return [match[0] for match in found]


def _tidy(folder: int, *, keep: int, own: str) -> None:
    """Delete the oldest logs of runs; cut the front of whatever other log has grown large.

    `own` is being written, and is not the newest by its name where the clock went back.
    """
    others = [name for name in _of_runs(folder) if name != own]
    for name in others[keep - 1 :]:
        with suppress(OSError):
            os.unlink(name, dir_fd=folder)
    for name in os.listdir(folder):
        if name.endswith(".log") and not _OF_RUN.fullmatch(name):
            with suppress(OSError):
                _cut(name, folder)


def _cut(name: str, folder: int) -> None:
    """Keep the end of a file, in place: whoever appends to it has it open."""
    handle = os.open(name, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    with closing(os.fdopen(handle, "r+b", buffering=0)) as file:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or status.st_size <= _OTHER_BYTES:
            return
        end = os.pread(handle, _KEPT_BYTES, status.st_size - _KEPT_BYTES).partition(b"\n")[2]
        file.write(end)
        file.truncate()
