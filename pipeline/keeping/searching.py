"""Whether a text is left in a file: a search of its bytes for pieces of the text.

A piece is a run of characters that every writer of ours leaves alone: no quote, backslash or
control character, which JSON escapes, and short enough to be found whole in a page of a database.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import zstandard

_RUN = re.compile(r"[^\"\\\x00-\x1f\u2028\u2029]+")
_LEAST, _MOST = 16, 64  # bytes of a piece; what is shorter is said of anything
_KEY = 8  # bytes that are looked up at once
_BLOCK = 1 << 23
_MAGIC = b"\x28\xb5\x2f\xfd"  # a Zstandard frame begins so


def pieces(texts: Iterable[str]) -> set[bytes]:
    """The pieces of these texts that are long enough to speak of them, in UTF-8."""
    found: set[bytes] = set()
    for text in texts:
        for run in _RUN.findall(text):
            data = run.strip().encode("utf-8", "surrogatepass")
            starts = range(0, max(1, len(data) - _LEAST + 1), _MOST)
            cut = (data[start : start + _MOST] for start in starts)
            found.update(piece for piece in cut if len(piece) >= _LEAST and _is_prose(piece))
    return found


def _is_prose(piece: bytes) -> bool:
    """Words, or a script without spaces; a path or a name of one word stands elsewhere too."""
    return b" " in piece or not piece.isascii()


def folded(text: str) -> str:
    """The text without what two writings of the same words differ in: case, form, line breaks."""
    if text.isascii():
        return " ".join(text.casefold().split())
    decomposed = unicodedata.normalize("NFD", text).casefold()
    return " ".join(unicodedata.normalize("NFC", decomposed).split())


def occurrences(match: str, texts: Iterable[str]) -> list[str]:
    """A text that is looked for, in each form in which it stands in these and may stand elsewhere.

    Nothing for "".
    """
    if not match:
        return []
    patterns = {_loosely(match), _loosely(folded(match))}
    anywhere = re.compile("|".join(sorted(patterns)), re.IGNORECASE)
    found = {unicodedata.normalize(form, match) for form in ("NFC", "NFD")} | {match}
    found = found.union(*(anywhere.findall(text) for text in texts))
    # as it stands in the archive and the journal
    return sorted(found | {json.dumps(one, ensure_ascii=False)[1:-1] for one in found})


def as_stored(text: str) -> bytes:
    """The bytes of a text in every file of ours."""
    return text.encode("utf-8", "surrogatepass")


def _loosely(text: str) -> str:
    """An expression for it with whatever between its words, each letter composed or not."""
    words = []
    for word in unicodedata.normalize("NFC", text).split():
        letters = [(one, unicodedata.normalize("NFD", one)) for one in word]
        words.append(
            "".join(
                re.escape(one) if one == apart else f"(?:{re.escape(one)}|{re.escape(apart)})"
                for one, apart in letters
            )
        )
    return r"\s+".join(words)


class Needles:
    """Pieces to be found in bytes; `whole` texts count however short they are."""

    def __init__(self, wanted: Iterable[bytes], whole: Iterable[bytes] = ()) -> None:
        long = {piece for piece in wanted if len(piece) >= _KEY}
        texts = {text for text in whole if text}
        long |= {text for text in texts if len(text) >= _KEY}
        self._short = sorted(text for text in texts if len(text) < _KEY)
        self._by_key: dict[int, list[bytes]] = {}
        for piece in sorted(long):
            self._by_key.setdefault(int.from_bytes(piece[:_KEY], "little"), []).append(piece)
        self._keys = np.array(sorted(self._by_key), dtype="<u8")
        self._likely = np.zeros(1 << 16, dtype=bool)
        self._likely[(self._keys & 0xFFFF).astype(np.int64)] = True
        self.longest = max(map(len, (*long, *self._short)), default=0)

    def without(self, pieces_: Iterable[bytes]) -> Needles:
        """The same without these."""
        gone = set(pieces_)
        kept = {p for found in self._by_key.values() for p in found if p not in gone}
        return Needles(kept, self._short)

    def in_texts(self, texts: Iterable[str]) -> set[bytes]:
        """Those that stand in these texts; many short ones at a time."""
        there: set[bytes] = set()
        waiting: list[bytes] = []
        size = 0
        for text in texts:
            waiting.append(text.encode("utf-8", "surrogatepass"))
            size += len(waiting[-1])
            if size > _BLOCK:
                there |= self.found(b"\n".join(waiting))
                waiting, size = [], 0
        return there | self.found(b"\n".join(waiting))

    def said(self, text: str) -> bool:
        """Whether one of them stands in a text."""
        return bool(self.found(text.encode("utf-8", "surrogatepass")))

    def found(self, data: bytes) -> set[bytes]:
        """Those that stand in these bytes."""
        there = {text for text in self._short if text in data}
        if not len(self._keys):
            return there
        for offset in range(min(_KEY, max(0, len(data) - _KEY + 1))):
            count = (len(data) - offset) // _KEY
            view = np.frombuffer(data, "<u8", count, offset)
            likely = np.flatnonzero(self._likely[(view & 0xFFFF).astype(np.int64)])
            hits = likely[np.isin(view[likely], self._keys)]
            for hit in hits.tolist():
                start = offset + hit * _KEY
                for piece in self._by_key[int(view[hit])]:
                    if data.startswith(piece, start):
                        there.add(piece)
        return there

    def in_file(self, path: Path) -> set[bytes]:
        """Those that stand in a file, unpacked if it is packed. Raises OSError."""
        return self.in_blocks(_blocks(path))

    def in_blocks(self, blocks: Iterable[bytes]) -> set[bytes]:
        """Those that stand in what these are one after the other, also where two of them meet."""
        there: set[bytes] = set()
        before = b""
        for block in blocks:
            data = before + block
            there |= self.found(data)
            before = data[-self.longest :] if self.longest else b""
        return there


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        packed = file.read(len(_MAGIC)) == _MAGIC
        file.seek(0)
        if not packed:
            while block := file.read(_BLOCK):
                yield block
            return
        unpacked = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
        try:
            while block := unpacked.read(_BLOCK):
                yield block
        except zstandard.ZstdError as error:
            raise OSError(f"it is damaged: {error}") from error
