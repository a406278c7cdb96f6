"""Reading JSON Lines as agents really leave them: torn, glued, half-written, full of surprises."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import zstandard

from pipeline.errors import SourceFault
from pipeline.ordinary import opened
from pipeline.records import BadLine

MAX_LINE = 32 * 1024 * 1024  # bytes; a longer line is a runaway dump, and would have to fit memory
_PIECE = 1024 * 1024  # bytes read at a time while passing over a line that is too long
_BUFFER = 256 * 1024  # bytes: a line is put together from as few pieces as may be, and in the cache
_PACKED = 1024  # bytes unpacked at a time: tens of MB may come of them
_ROOM = 256 * 1024 * 1024  # bytes of memory that one record may take when it is decoded
# What a value takes, by the character that tells of it: many small ones take tens of times more
# memory than the line they stand on.
_ROOM_OF = (("{", 240), ("[", 64), ('"', 32), (",", 8))
_LONE = 8  # bytes of a line with nothing but an opening bracket
_LOOK = 4096  # bytes at either end that tell whether a file was rewritten
_GLUED = re.compile(rb'\}[\s\0]*\{"')  # inside a string the quote would be escaped
_FEW = 8  # places that are looked at one by one
_BOM = b"\xef\xbb\xbf"
_DECODER = json.JSONDecoder(strict=False)  # agents do write raw tabs inside strings

Record = dict[str, Any]


class JsonLines:
    """The records of one file, streamed: iterate once, then ask for `bad_lines` and `offset`.

    A record is a JSON object. A line may hold several, glued by a crash that lost the newline, and
    one that some tool printed for people stands on many; lines count from 1. `start`: the byte to
    begin at, the first of a line. `line_start` is where the line of the record just handed over
    begins. `offset` is where the last line that ends in a newline ends: what is behind it is handed
    over if it is whole, but is still being written.

    passes: tells of a line's bytes that nothing in it was said, so that it need not be decoded:
    most of a transcript is what tools gave back. What it says of records glued together is not
    heeded: it may know the first of them only.
    """

    def __init__(
        self,
        path: Path,
        start: int = 0,
        max_line: int = MAX_LINE,
        passes: Callable[[bytes], bool] | None = None,
    ) -> None:
        self.path = path
        self.start = start
        self.line_start = self.offset = start
        self.bad_lines: list[BadLine] = []
        self.complete_lines = 0  # not blank, and ended by a newline
        self._max_line = max_line
        self._lines_before = 0
        self._passes = passes

    def __iter__(self) -> Iterator[tuple[int, Record]]:
        """(line number, record). Raises SourceFault when the file cannot be read."""
        try:
            with _unpacked(self.path) as file:
                if self.start:
                    file.seek(self.start)
                yield from self._records(file)
        except (OSError, zstandard.ZstdError) as error:
            raise SourceFault(
                f"cannot read {self.path}: {getattr(error, 'strerror', None) or error}",
                mend="it is tried again on the next run; check that the file may be read",
            ) from error

    def _records(self, file: BinaryIO) -> Iterator[tuple[int, Record]]:
        line = 0
        place = self.start
        held = b""  # read already
        while raw := held or file.readline(self._max_line + 1):
            held = b""
            line += 1
            self.line_start = place
            place += len(raw)
            if len(raw) > self._max_line and not raw.endswith(b"\n"):
                passed, ended = _pass_over(file)
                place += passed
                self._bad(line, f"longer than {self._max_line} bytes")
            elif self._passes and raw.endswith(b"}\n") and self._passes(raw) and not _is_glued(raw):
                self.complete_lines += 1
                ended = True
            elif record := _usual(raw):
                self.complete_lines += 1
                yield line, record
                ended = True
            else:
                first = line
                if len(raw) <= _LONE and raw.removeprefix(_BOM).strip() == b"{":
                    rest, held = _printed(file, self._max_line)
                    raw += rest
                    place += len(rest)
                    line += rest.count(b"\n")
                ended = raw.endswith(b"\n")
                if self.line_start == 0:
                    raw = raw.removeprefix(_BOM)
                text = raw.replace(b"\0", b"").strip().decode("utf-8", errors="replace")
                if text:
                    self.complete_lines += ended
                    del raw
                    for record in self._parse(text, first, ended):
                        yield first, record
            if ended:
                self.offset = place

    def _parse(self, text: str, line: int, ended: bool) -> list[Record]:
        records: list[Record] = []
        if len(text) > _PIECE and room_of(text) > _ROOM:
            self._bad(line, "of more values than fit in memory")
            return records
        start = 0
        while start < len(text):
            try:
                value, start = _DECODER.raw_decode(text, start)
            except (ValueError, RecursionError) as error:
                if ended:  # else it is cut short because it is still being written
                    reason = "nested too deep" if isinstance(error, RecursionError) else str(error)
                    self._bad(line, reason)
                break
            if isinstance(value, dict):
                records.append(value)
            else:
                self._bad(line, f"a JSON {type(value).__name__} where an object belongs")
            while start < len(text) and text[start].isspace():
                start += 1
        return records

    def _bad(self, line: int, reason: str) -> None:
        if self.start and not self._lines_before:
            self._lines_before = _count_lines(self.path, self.start)
        line += self._lines_before
        self.bad_lines.append(BadLine(self.path, line, reason))


def _is_glued(raw: bytes) -> bool:
    """Whether another record follows one that ends within the line."""
    # nothing is found as soon as a single sign; but of code every line may have one
    at = -1
    for _ in range(_FEW):
        at = raw.find(b"}", at + 1)
        if at < 0 or _GLUED.match(raw, at):
            return at >= 0
    return _GLUED.search(raw, at) is not None


def _usual(raw: bytes) -> Record | None:
    """The record of a line that holds one and nothing else, as nearly all do; else None."""
    if len(raw) > _PIECE or not raw.endswith(b"}\n") or b"\0" in raw:
        return None
    text = raw.decode("utf-8", errors="replace")
    try:
        value, end = _DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        return None
    return value if end == len(text) - 1 and isinstance(value, dict) else None


def room_of(text: str) -> int:
    """About how many bytes of memory the JSON takes when it is decoded."""
    return len(text) + sum(room * text.count(sign) for sign, room in _ROOM_OF)


@contextmanager
def _unpacked(path: Path) -> Iterator[BinaryIO]:
    """The file's bytes, unpacked if it is packed."""
    with opened(path, _BUFFER) as file:
        if path.suffix != ".zst":
            yield file
            return
        yield io.BufferedReader(_Unpacked(file))


class _Unpacked(io.RawIOBase):
    """What is packed in a file; one that ends within a frame raises OSError, not an early end."""

    def __init__(self, packed: BinaryIO) -> None:
        self._packed = packed
        self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            if self._frame.eof:
                more = self._frame.unused_data or self._packed.read(_PACKED)
                if not more:
                    return 0
                self._frame = zstandard.ZstdDecompressor().decompressobj()
            elif not (more := self._packed.read(_PACKED)):
                raise OSError("it is cut short, or still being packed")
            self._ready = memoryview(self._frame.decompress(more))
        taken = self._ready[: len(buffer)]
        buffer[: len(taken)] = taken
        self._ready = self._ready[len(taken) :]
        return len(taken)


def _count_lines(path: Path, end: int) -> int:
    """Line ends in the first `end` bytes."""
    count = 0
    with opened(path) as file:
        while end > 0 and (piece := file.read(min(end, _PIECE))):
            count += piece.count(b"\n")
            end -= len(piece)
    return count


def _pass_over(file: BinaryIO) -> tuple[int, bool]:
    """Read to the end of the line; how many bytes that were, and whether there was one."""
    passed = 0
    while piece := file.readline(_PIECE):
        passed += len(piece)
        if piece.endswith(b"\n"):
            return passed, True
    return passed, False


def _printed(file: BinaryIO, most: int) -> tuple[bytes, bytes]:
    """The rest of a record that is printed over many lines, and the line that is no part of it.

    Its lines are indented, up to the bracket that closes it; one that is not was cut short.
    """
    lines: list[bytes] = []
    size = 0
    while size <= most and (line := file.readline(most + 1)):
        if line[:1] not in b" \t\r\n}":
            return b"".join(lines), line
        lines.append(line)
        size += len(line)
        if line.startswith(b"}") and not line.rstrip().endswith(b"{"):
            break
    return b"".join(lines), b""


def fingerprint_of(path: Path, end: int) -> str:
    """Tells whether the first `end` bytes of a file are what they were; "" if it cannot be read.

    It looks at both ends of them: a program that rewrites a transcript changes its first line or
    moves its last.
    """
    try:
        with opened(path) as file:
            head = file.read(min(end, _LOOK))
            file.seek(max(0, end - _LOOK))
            tail = file.read(min(end, _LOOK))
    except OSError:
        return ""
    return hashlib.sha256(head + tail + str(end).encode()).hexdigest()


def find(
    roots: Sequence[Path],
    leave_out: frozenset[str] = frozenset(),
    suffixes: tuple[str, ...] = (".jsonl",),
) -> list[Path]:
    """Every file under the roots with one of these endings, sorted, opening none.

    leave_out: names of folders that are not entered.

    A symlinked folder is not entered, and a symlinked file counts only if it stays in its root: a
    link in a project must not bring in some other part of the disk. A folder that cannot be listed
    is among what is found: reading it fails like a file that cannot be read, and is told of.
    """
    found: set[Path] = set()

    def not_listed(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError | NotADirectoryError):
            found.add(Path(error.filename))

    for root in roots:
        real_root = os.path.realpath(root)
        for folder, folders, files in os.walk(root, onerror=not_listed):
            folders[:] = [name for name in folders if name not in leave_out]
            for name in files:
                path = Path(folder, name)
                if not name.endswith(suffixes):
                    continue
                if _is_file_in(real_root, path):
                    found.add(path)
    return sorted(found)


def _is_file_in(root: str, path: Path) -> bool:
    """Whether it is a file, and in the root if it is a link; also if nobody may look at it."""
    try:
        if path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(root):
            return False
        return stat.S_ISREG(path.stat().st_mode)
    except PermissionError:
        return True
    except OSError:  # gone, a link to itself, a name too long
        return False
