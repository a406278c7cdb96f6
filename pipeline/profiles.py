"""How likely a piece of talk belongs to each topic, by what is known of the topics.

Of a topic that is its names, its description, what its article is about, and its newest chunks.
Each of them is embedded once, and its vector kept as long as its words are the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence, Set

import numpy as np
from numpy.typing import NDArray

from pipeline.desk import Desk
from pipeline.likeness import Piece, Topics
from pipeline.records import Bucket, BucketState, Chunk
from pipeline.segmentation import WORD_VECTORS, word_vectors
from pipeline.store.derived import Worked
from pipeline.text import content_words
from pipeline.transcript import gist

FIRST, NEWEST = 10, 20  # chunks of a topic that speak for it


class Profiles:
    """The topics of the wiki; what was merged into one is part of it, its name too."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._about = {entry.stem: (entry.lead, *entry.headings) for entry in desk.vault.catalog()}
        embedder = desk.embedder.name if desk.embedder else WORD_VECTORS
        self._names, self._chunks = f"names by {embedder}", f"chunk by {embedder}"
        every = desk.store.buckets.all()
        self.buckets = [bucket for bucket in every if not bucket.merged_into]
        self._numbers = {bucket.name: number for number, bucket in enumerate(self.buckets)}
        self._merged: dict[str, list[Bucket]] = {}
        for bucket in every:
            if bucket.merged_into in self._numbers and bucket.merged_into:
                self._merged.setdefault(bucket.merged_into, []).append(bucket)
        self._topics = self._known() if self.buckets else None

    def names(self, bucket: Bucket) -> list[str]:
        """All that the topic is called, and what was merged into it."""
        called = [bucket, *self._merged.get(bucket.name, ())]
        return [name for one in called for name in (one.name, *one.aliases)]

    def piece(self, chunk: Chunk) -> Piece:
        """The chunk as it is compared: its text embedded, and the words of its label."""
        vector = self._kept(self._chunks, {chunk.id: self._said(chunk)})[0]
        return Piece(vector, tuple(content_words(chunk.label)))

    def add(self, bucket: Bucket) -> None:
        """A topic that was just proposed."""
        vector = self._kept(self._names, {bucket.name: self._profile(bucket)})[0]
        self.buckets.append(bucket)
        piece = self._named(bucket, vector)
        if self._topics is None:
            self._topics = Topics([piece], [0], 1)
            self._numbers[bucket.name] = 0
        else:
            self._numbers[bucket.name] = self._topics.found()
            self._topics.add(self._numbers[bucket.name], piece)

    def assign(self, bucket: str, piece: Piece) -> None:
        """This piece was just found to belong to this topic."""
        assert self._topics is not None
        self._topics.add(self._numbers[bucket], piece)

    def leanings(self, piece: Piece) -> NDArray[np.float32]:
        """Log odds that the piece belongs to each of `buckets`, and to no new topic."""
        return self._topics.leanings(piece) if self._topics else np.zeros(0, dtype=np.float32)

    def twins(self, grown: Collection[str], movable: Collection[str]) -> list[tuple[str, str]]:
        """Topics that are likelier one than two, the surest first: (name, the other's name).

        grown, movable: as of `Topics.twins`. None goes into one that is ignored.
        """
        if self._topics is None:
            return []
        pairs = self._topics.twins(
            [self._numbers[name] for name in grown if name in self._numbers],
            [self._numbers[name] for name in movable],
            {n for n, bucket in enumerate(self.buckets) if bucket.state is BucketState.IGNORED},
        )
        return [(self.buckets[one].name, self.buckets[other].name) for one, other in pairs]

    def _known(self) -> Topics:
        told = [(bucket, bucket.name) for bucket in self.buckets]
        told += [(bucket, into) for into, merged in self._merged.items() for bucket in merged]
        names = {bucket.name: self._profile(bucket) for bucket, _ in told}
        rows = [
            row
            for row in self._desk.store.buckets.telling(first=FIRST, newest=NEWEST)
            if row[0] in self._numbers
        ]
        vectors = self._kept(self._names, names)
        chunks = self._filed({chunk for _, chunk, _ in rows})
        pieces = [self._named(b, v) for (b, _), v in zip(told, vectors, strict=True)]
        pieces += [Piece(chunks[chunk], tuple(content_words(label))) for _, chunk, label in rows]
        numbers = [self._numbers[name] for name in (*(n for _, n in told), *(r[0] for r in rows))]
        return Topics(pieces, numbers, len(self.buckets))

    def _named(self, bucket: Bucket, vector: NDArray[np.float32]) -> Piece:
        return Piece(vector, tuple(content_words(self._profile(bucket))))

    def _profile(self, bucket: Bucket) -> str:
        about = self._about.get(bucket.article, ())
        return ". ".join([bucket.name, *bucket.aliases, bucket.description, *about])

    def _said(self, chunk: Chunk) -> str:
        messages = self._desk.store.conversations.messages(
            chunk.conv, first=chunk.first, last=chunk.last
        )
        return f"{chunk.label}. {gist(messages, self._desk.policy.chunk.gist_words)}"

    def _filed(self, chunks: Set[str]) -> dict[str, NDArray[np.float32]]:
        """The vectors of these chunks; made anew only after the store was lost, for what a chunk
        says never changes.
        """
        known = self._desk.store.derived.all(self._chunks)
        found = {chunk: _vector(known[chunk]) for chunk in chunks if chunk in known}
        missing = [self._desk.store.chunks.get(chunk) for chunk in sorted(chunks - found.keys())]
        texts = {chunk.id: self._said(chunk) for chunk in missing if chunk}
        return found | dict(zip(texts, self._kept(self._chunks, texts), strict=True))

    def _kept(self, kind: str, texts: Mapping[str, str]) -> list[NDArray[np.float32]]:
        """The vector of each text, by its name; embedded if none of these words is kept."""
        derived = self._desk.store.derived
        if len(texts) > 1:
            known = derived.all(kind)
        else:
            known = {name: kept for name in texts if (kept := derived.get(kind, name))}
        digests = {name: _digest(text) for name, text in texts.items()}
        stale = [n for n, digest in digests.items() if n not in known or known[n].digest != digest]
        if stale:
            fresh = self._embed([texts[name] for name in stale]).astype(np.float16)
            made = {
                name: Worked(digests[name], vector.tobytes())
                for name, vector in zip(stale, fresh, strict=True)
            }
            derived.put(kind, made)
            known |= made
        return [_vector(known[name]) for name in texts]

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self._desk.embedder is None:
            return word_vectors(texts)
        return self._desk.embedder.embed(texts)


def _vector(kept: Worked) -> NDArray[np.float32]:
    return np.frombuffer(kept.value, dtype=np.float16).astype(np.float32)


def _digest(text: str) -> str:
    """Of broken transcripts too, which hold lone surrogates."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
