"""Exports of chat assistants: a zip or a JSON file with all conversations, read one by one."""

from __future__ import annotations

import json
import lzma
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from io import TextIOWrapper
from pathlib import Path
from typing import Any, TextIO

from pipeline.errors import SourceFault
from pipeline.ordinary import opened
from pipeline.records import BadLine, Session
from pipeline.sources.jsonl import find, room_of

SUFFIXES = (".json", ".zip")
_FIRST_LOOK = 1024 * 1024  # characters
_LARGEST = 32 * 1024 * 1024  # characters of one conversation; more would not fit in memory
_ROOM = 256 * 1024 * 1024  # bytes of memory that one may take when it is decoded
_DECODER = json.JSONDecoder(strict=False)
# Strings, an unfinished one too, and what opens and closes.
_STRUCTURE = re.compile(r'"(?:[^"\\]|\\.)*+(?P<end>"?)|[{}\[\]]', re.DOTALL)
# The zip module raises the latter for an encrypted file and an unknown packing.
_UNREADABLE = (
    OSError, EOFError, zipfile.BadZipFile, zlib.error, lzma.LZMAError,
    RuntimeError, NotImplementedError,
)  # fmt: skip
_SPACE = " \t\r\n\ufeff"


def conversations(path: Path, bad: list[BadLine]) -> Iterator[Any]:
    """The conversations in the file, each as JSON, in order; one alone is an export too.

    What is broken is added to `bad`; if its end is not to be found, it ends the part. Raises
    SourceFault when the file cannot be opened, or holds no conversations.json.
    """
    try:
        for text in _parts(path):
            with text as stream:
                yield from _items(stream, path, bad)
    except _UNREADABLE as error:
        raise SourceFault(
            f"cannot read {path}: {getattr(error, 'strerror', None) or error}",
            mend="download the export again, unpacked or as the zip it came as",
        ) from error


def default_roots(environ: Mapping[str, str], home: Path) -> list[Path]:  # noqa: ARG001
    """None: exports stand where the user puts them."""
    return []


class Exports:
    """Exports of one program under `roots`, which may be the files themselves.

    is_conversation: whether an item of an export is one of the program's conversations; session:
    the session in it.
    """

    name: str
    program: str
    is_conversation: Callable[[object], bool]
    session: Callable[[Any, Path], Session]

    def __init__(self, roots: Sequence[Path]) -> None:
        self.roots = tuple(roots)

    def discover(self) -> Iterator[Path]:
        """Every export, sorted by path."""
        return iter(discover(self.roots))

    def read(self, path: Path, start: int = 0) -> Iterator[Session]:  # noqa: ARG002 - read whole
        """The conversations of the export. Raises SourceFault when it is none of the program's."""
        kind = type(self)
        return sessions(path, kind.is_conversation, kind.session, self.program)


def sessions(
    path: Path,
    is_conversation: Callable[[object], bool],
    session: Callable[[Any, Path], Session],
    program: str,
) -> Iterator[Session]:
    """A session for each conversation of the export; what could not be read comes with the last.

    Raises SourceFault when there is no conversation of this program in it.
    """
    bad: list[BadLine] = []
    last: Session | None = None
    number = 0
    try:
        for item in conversations(path, bad):
            if not is_conversation(item):
                continue
            if last is not None:
                yield last
            number += 1
            last = session(item, path)
            if not last.session_id:
                last = replace(last, session_id=f"{path.stem}#{number}")
    except SourceFault:
        if last is not None:
            yield last
        raise
    if last is None:
        raise SourceFault(
            f"{path} is no export of {program}",
            mend=f"import the zip, or the conversations.json in it, that {program} sent",
        )
    yield replace(last, bad_lines=tuple(bad))


def discover(roots: Sequence[Path]) -> list[Path]:
    """Exports under the roots, which may be the files themselves."""
    files = [root for root in roots if root.is_file()]
    return sorted({*files, *find([root for root in roots if root.is_dir()], suffixes=SUFFIXES)})


def _parts(path: Path) -> Iterator[Any]:
    """The text streams of the file: of a zip its conversations.json, in several parts if large."""
    with opened(path) as file:
        if not zipfile.is_zipfile(file):
            file.seek(0)
            yield TextIOWrapper(file, "utf-8-sig", errors="replace")
            return
        packed = zipfile.ZipFile(file)
        names = [name for name in packed.namelist() if _is_conversations(name)]
        if not names:
            raise SourceFault(
                f"{path} holds no conversations.json",
                mend="it is not an export of claude.ai or ChatGPT; import the zip you downloaded",
            )
        for name in sorted(names):
            yield _member(packed, name)


@contextmanager
def _member(packed: zipfile.ZipFile, name: str) -> Iterator[TextIO]:
    with packed.open(name) as file, TextIOWrapper(file, "utf-8-sig", errors="replace") as text:
        yield text


def _is_conversations(name: str) -> bool:
    last = name.rpartition("/")[2]
    return last.startswith("conversations") and last.endswith(".json")


def _items(stream: TextIO, path: Path, bad: list[BadLine]) -> Iterator[Any]:
    """The items of a JSON list, or the one value there is; one at a time, as they may be many."""
    buffer = stream.read(_FIRST_LOOK).lstrip(_SPACE)
    listed = buffer.startswith("[")
    at = 1 if listed else 0
    number = 0
    while True:
        while at < len(buffer) and buffer[at] in f"{_SPACE},":
            at += 1
        if at >= len(buffer):
            buffer, at = stream.read(_FIRST_LOOK), 0
            if not buffer:
                return
            continue
        if buffer[at] == "]":
            return
        number += 1
        try:
            item, at = _DECODER.raw_decode(buffer, at)
        except (ValueError, RecursionError) as error:
            buffer, at = buffer[at:], _end(buffer, at)
            reason = "nested too deep" if isinstance(error, RecursionError) else str(error)
            if not at:
                # it is only cut off: read on, each time as much again, so that it takes few tries
                more = ""
                if len(buffer) > _LARGEST or room_of(buffer) > _ROOM:
                    reason = "larger than fits in memory"
                else:
                    more = stream.read(max(_FIRST_LOOK, len(buffer)))
                if more:
                    buffer += more
                    number -= 1
                    continue
            bad.append(BadLine(path, number, f"conversation {number}: {reason}"))
            if not at:
                return
            continue
        yield item
        if not listed:
            return


def _end(buffer: str, start: int) -> int:
    """How long the broken value at `start` is, by what opens and closes; 0 if that is not there."""
    depth = 0
    for sign in _STRUCTURE.finditer(buffer, start):
        if sign[0] in "{[":
            depth += 1
        elif sign[0] in "}]":
            depth -= 1
            if depth <= 0:
                return sign.end() - start
        elif not sign["end"]:
            return 0
    return 0
