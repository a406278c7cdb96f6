"""Conversations kept for good: redacted, one compressed file each, apart from derived state.

Agents purge their transcripts after some weeks; a citation must open a year later all the same.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from json.encoder import encode_basestring
from pathlib import Path
from typing import Any

import zstandard

from pipeline import ordinary
from pipeline.durable import flush
from pipeline.errors import StoreFault
from pipeline.records import Action, Conversation, Message, Role

FORMAT = 1  # of the header line; raise it when a line changes its meaning
_SUFFIX = ".jsonl.zst"
_CONV = re.compile("[0-9a-f]{8,32}")
_LEVEL = 3  # of compression: the next ones take twice the time for a few percent
_PIECE = 256 * 1024  # characters handed to the compressor at a time
_ENCODER = json.JSONEncoder(ensure_ascii=False)


class Archive:
    """`<root>/<source>/<yyyy>/<mm>/<conv>.jsonl.zst`: a header line, then a message per line.

    Year and month are those of the conversation's first message, in UTC. Files are 0600 in 0700
    folders. Only redacted text is ever handed to it.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        # conversation -> its folders, from one walk at the first writing: looking for each anew
        # would take longer with every month in the archive
        self._folders: defaultdict[str, set[Path]] | None = None
        self._packer = zstandard.ZstdCompressor(level=_LEVEL)

    def write(self, conversation: Conversation, messages: Sequence[Message]) -> Path:
        """Write the whole conversation, in place of what was there; whole or not at all.

        Returns the file. Raises StoreFault when it cannot be written.
        """
        began = conversation.started_at.astimezone(UTC)
        folder = self.root / conversation.source / f"{began:%Y}" / f"{began:%m}"
        path = folder / f"{conversation.conv}{_SUFFIX}"
        lines = itertools.chain([_header(conversation)], map(_line, messages))
        try:
            _make_private(folder, self.root)
            self._replace(path, lines)
            folders = self._known_folders()[conversation.conv]
            for before in folders - {folder}:  # it begins earlier than was known
                (before / path.name).unlink(missing_ok=True)
                folders.remove(before)
            folders.add(folder)
        except OSError as error:
            raise StoreFault(
                f"cannot write the archive file {path}: {error.strerror or error}",
                mend="check free space and the folder's permissions",
            ) from error
        return path

    def has(self, conv: str) -> bool:
        """Whether the conversation is here."""
        return bool(self._files(conv))

    def read(self, conv: str) -> tuple[Conversation, list[Message]]:
        """The conversation as archived. Raises StoreFault when it is not there or is damaged."""
        paths = self._files(conv)
        if not paths:
            raise StoreFault(f"conversation {conv!r} is not in the archive {self.root}")
        try:
            with (
                ordinary.opened(paths[0]) as packed,
                zstandard.open(packed, "rt", encoding="utf-8", newline="\n") as file,
            ):
                header, *lines = (json.loads(line) for line in file)
            return _conversation(header), [_message(line, conv) for line in lines]
        except (OSError, ValueError, LookupError, TypeError, zstandard.ZstdError) as error:
            raise StoreFault(f"the archive file {paths[0]} is damaged: {error}") from error

    def convs(self) -> list[str]:
        """Every conversation that has a file here, by source, year and month."""
        found = sorted(self.root.glob(f"*/*/*/[!.]*{_SUFFIX}"))
        names = dict.fromkeys(path.name.removesuffix(_SUFFIX) for path in found)
        # another name is a copy's, as a program that syncs folders makes one beside the file
        return [name for name in names if _CONV.fullmatch(name)]

    def remove(self, conv: str) -> None:
        """Delete the conversation for good. Raises StoreFault when it cannot be deleted."""
        for path in self._files(conv):
            try:
                path.unlink()
            except OSError as error:
                raise StoreFault(
                    f"cannot delete the archive file {path}: {error.strerror or error}"
                ) from error

    def set_aside(self, conv: str) -> list[Path]:
        """Rename the conversation's file, which is damaged, so that a new one can be written."""
        return [path.rename(path.with_name(f"{path.name}.damaged")) for path in self._files(conv)]

    def _replace(self, path: Path, lines: Iterable[str]) -> None:
        """Put the lines at `path` so that a crash leaves the old file or the new one, never a part.

        Piece by piece: a long conversation is not held in memory a second time. What a killed run
        left of its part is written over.
        """
        part = path.with_name(f".{path.name}.part")
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                packed = self._packer.stream_writer(file, closefd=False)
                with packed:
                    for piece in _pieces(lines):
                        packed.write(piece.encode())
                file.flush()
                flush(file.fileno())
            part.replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                part.unlink()
            raise

    def _known_folders(self) -> defaultdict[str, set[Path]]:
        if self._folders is None:
            self._folders = defaultdict(set)
            for path in self.root.glob(f"*/*/*/[!.]*{_SUFFIX}"):
                self._folders[path.name.removesuffix(_SUFFIX)].add(path.parent)
        return self._folders

    def _files(self, conv: str) -> list[Path]:
        return sorted(self.root.glob(f"*/*/*/{conv}{_SUFFIX}"))


def _make_private(folder: Path, root: Path) -> None:
    if folder.is_dir():
        return
    root.mkdir(parents=True, exist_ok=True, mode=0o700)
    for below in reversed([folder, *folder.relative_to(root).parents][:-1]):
        (root / below).mkdir(exist_ok=True, mode=0o700)  # mkdir(parents=True) ignores the mode


def _pieces(lines: Iterable[str]) -> Iterator[str]:
    held: list[str] = []
    size = 0
    for line in lines:
        held.append(line)
        size += len(line)
        if size >= _PIECE:
            yield "".join(held)
            held, size = [], 0
    yield "".join(held)


def _header(conversation: Conversation) -> str:
    header = {
        "format": FORMAT,
        "conv": conversation.conv,
        "source": conversation.source,
        "session": conversation.session_id,
        "title": conversation.title,
        "project": conversation.project,
        "started": conversation.started_at.isoformat(),
        "updated": conversation.updated_at.isoformat(),
    }
    return f"{_ENCODER.encode(header)}\n"


def _conversation(header: dict[str, Any]) -> Conversation:
    if header["format"] != FORMAT:
        raise ValueError(f"format {header['format']} is unknown")
    return Conversation(
        conv=header["conv"],
        source=header["source"],
        session_id=header["session"],
        title=header["title"],
        project=header["project"],
        started_at=datetime.fromisoformat(header["started"]),
        updated_at=datetime.fromisoformat(header["updated"]),
    )


def _line(message: Message) -> str:
    # spelled out: every message comes by here, and to encode a dict takes twice as long
    written = encode_basestring
    actions = [f"[{written(a.tool)}, {written(a.path)}]" for a in message.actions]
    return (
        f'{{"id": {written(message.message_id)}, "position": {message.position}, '
        f'"role": "{message.role.value}", "at": "{message.at.isoformat()}", '
        f'"text": {written(message.text)}, "actions": [{", ".join(actions)}], '
        f'"project": {written(message.project)}}}\n'
    )


def _message(line: dict[str, Any], conv: str) -> Message:
    return Message(
        message_id=line["id"],
        conv=conv,
        position=line["position"],
        role=Role(line["role"]),
        at=datetime.fromisoformat(line["at"]),
        text=line["text"],
        actions=tuple(Action(tool, path) for tool, path in line["actions"]),
        project=line["project"],
    )
