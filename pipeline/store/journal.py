"""The journal: what the nights derived and the user decided, written down beside the archive.

memory.sqlite is lost more easily than the archive. Whatever messages and commits alone cannot give
back is appended here as rows of its tables: before a page is written, and at the end of each round
of work and of each decision. `memory rebuild` plays them back, the last word on a row counting.

    <folder>/00000012.jsonl.zst     one file per process that wrote, numbered; one frame per write
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import zstandard

from pipeline import ordinary
from pipeline.durable import flush, flush_folder
from pipeline.errors import StoreFault
from pipeline.sqlite import transaction
from pipeline.store.marks import Marks, Row

FORMAT = 1  # of a frame's first line; raise it when a line changes its meaning
_SUFFIX = ".jsonl.zst"
_JOURNAL = re.compile(r"[0-9]+\.jsonl\.zst")


class CutOff(StoreFault):
    """The last write to a file is not whole, as a kill leaves it.

    Its rows stay marked in the database, which writes them again; only with that lost as well are
    they gone, and then no page was published after them.
    """


class Journal:
    """Writes what changed in one database to files under `folder`; nowhere if that is None.

    Only whoever holds the run lock may write.
    """

    def __init__(self, connection: sqlite3.Connection, folder: Path | None) -> None:
        self._connection = connection
        self._folder = folder
        self._path: Path | None = None
        self.marks = Marks(connection)

    def refuse_if_behind(self, folder: Path) -> None:
        """Raise StoreFault when the files know of more than this database does.

        Then it is a new one or an old copy: working with it would fold what is folded already.
        """
        newest = max(map(_number, journal_files(folder)), default=0)
        if newest > self._number:
            what = "is an older copy" if self._number else "was lost and made anew"
            raise StoreFault(
                f"memory.sqlite {what}: the journal {folder} knows of more",
                mend="`memory rebuild` brings it back; to start over instead, move that folder "
                "and the archive beside it away",
            )

    def write(self) -> int:
        """Append what changed since the last time, whole or not at all; return how many rows.

        Raises StoreFault when it cannot be written; what changed stays marked.
        """
        if self._folder is None:
            return 0
        if not self.marks.any and self._number:
            return 0
        try:
            if self._path is None or not self._path.is_file():
                self._path = self._begin(self._folder)
            with transaction(self._connection):
                marks = self.marks.all()
                if self.marks.any:
                    _append(self._path, self._frame(marks))
                    self.marks.clear()
        except sqlite3.DatabaseError as error:
            self._path = None
            raise StoreFault(f"memory.sqlite cannot be written down: {error}") from error
        except BaseException:
            self._path = None  # what half a write left at its end would hide the next one
            raise
        return len(marks)

    def rewrite(self) -> None:
        """Put one file that holds all there is in the place of every older one."""
        if self._folder is None:
            return
        old = journal_files(self._folder)
        self._path = None
        with transaction(self._connection):
            # what is gone is not even named
            self.marks.clear()
            self.marks.mark_everything()
        self.write()
        # killed before this line, the older files are overruled: the new one starts from nothing
        for path in old:
            path.unlink()

    def settle(self, folder: Path) -> None:
        """All that the files in `folder` say is in the database."""
        newest = max(map(_number, journal_files(folder)), default=0)
        with transaction(self._connection):
            self._connection.execute("UPDATE journal_number SET number = ?", (newest,))
            self.marks.clear()

    @property
    def _number(self) -> int:
        row = self._connection.execute("SELECT number FROM journal_number").fetchone()
        return int(row["number"])

    def _begin(self, folder: Path) -> Path:
        """The file to append to; everything is marked if earlier files are missing."""
        self.refuse_if_behind(folder)
        newest = max(map(_number, journal_files(folder)), default=0)
        with transaction(self._connection):
            if newest < self._number or not newest:
                self.marks.mark_everything()
            number = self._number + 1
            # before the file is there: a file the database does not know means it is an old copy
            self._connection.execute("UPDATE journal_number SET number = ?", (number,))
        try:
            folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            folder.mkdir(exist_ok=True, mode=0o700)
        except OSError as error:
            raise _unwritable(folder, error) from error
        return folder / f"{number:08}{_SUFFIX}"

    def _frame(self, marks: list[tuple[str, str]]) -> bytes:
        lines = [{"format": FORMAT, "whole": self.marks.whole}, *self.marks.rows(marks)]
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        return zstandard.ZstdCompressor(level=6, write_checksum=True).compress(text.encode())


def journal_files(folder: Path) -> list[Path]:
    """The files of a journal, oldest first. Raises StoreFault where they cannot be listed."""
    try:
        found = [path for path in folder.iterdir() if _JOURNAL.fullmatch(path.name)]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StoreFault(
            f"cannot list the journal {folder}: {error.strerror}",
            mend="check the folder's permissions",
        ) from error
    return sorted(found, key=_number)


@dataclass(frozen=True, slots=True)
class Frame:
    """What one write said. whole: it is all there was, and whatever came before is overruled."""

    whole: bool
    rows: tuple[Row, ...]


def frames(path: Path) -> Iterator[Frame]:
    """What each write said, in order.

    Raises StoreFault where the file is damaged, after what stands before that; CutOff when its last
    write was never finished.
    """
    try:
        data = ordinary.content(path)
        while data:
            unpacked = zstandard.ZstdDecompressor().decompressobj()
            text = unpacked.decompress(data)
            if not unpacked.eof:
                raise CutOff(f"the end of the journal file {path} is cut off")
            data = unpacked.unused_data
            head, *rows = (json.loads(line) for line in text.decode().split("\n")[:-1])
            if head["format"] != FORMAT:
                raise ValueError(f"format {head['format']} is unknown")
            yield Frame(head["whole"], tuple(rows))
    except (OSError, ValueError, LookupError, TypeError, zstandard.ZstdError) as error:
        raise StoreFault(f"the journal file {path} is damaged: {error}") from error


def _number(path: Path) -> int:
    return int(path.name[: -len(_SUFFIX)])


def _append(path: Path, frame: bytes) -> None:
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError as error:
        raise _unwritable(path, error) from error
    size = os.fstat(handle).st_size
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(frame)
            file.flush()
            flush(file.fileno())
        if not size:
            flush_folder(path.parent)
    except BaseException as error:
        # half a frame would hide those that come after it
        with contextlib.suppress(OSError):
            os.truncate(path, size)
        if isinstance(error, OSError):
            raise _unwritable(path, error) from error
        raise


def _unwritable(path: Path, error: OSError) -> StoreFault:
    return StoreFault(
        f"cannot write the journal {path}: {error.strerror or error}",
        mend="check free space and the folder's permissions",
    )
