"""How likely a piece of talk belongs to each topic, by what is known of the topics.

Of a topic that is its names, its description, what its article is about, and its newest chunks.
Each of them is embedded once, and its vector kept as long as its words are the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pipeline.desk import Desk
from pipeline.likeness import Piece, Topics
from pipeline.records import Bucket
from pipeline.segmentation import WORD_VECTORS, word_vectors
from pipeline.store.derived import Worked
from pipeline.text import content_words

FIRST, NEWEST = 10, 20  # chunks of a topic that speak for it


class Profiles:
    """The topics of the wiki, merged ones too: their names lead to the others."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._about = {entry.stem: (entry.lead, *entry.headings) for entry in desk.vault.catalog()}
        embedder = desk.embedder.name if desk.embedder else WORD_VECTORS
        self._names, self._chunks = f"names by {embedder}", f"chunk by {embedder}"
        self.buckets = desk.store.buckets.all()
        self._numbers = {bucket.name: number for number, bucket in enumerate(self.buckets)}
        self._topics = self._known() if self.buckets else None

    def piece(self, chunk: str, label: str, text: str) -> Piece:
        """The chunk of this id as it is compared: its text embedded, and the words of its label."""
        return Piece(self._kept(self._chunks, {chunk: text})[0], tuple(content_words(label)))

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

    def _known(self) -> Topics:
        names = {bucket.name: self._profile(bucket) for bucket in self.buckets}
        rows = [
            row
            for row in self._desk.store.buckets.telling(first=FIRST, newest=NEWEST)
            if row[0] in self._numbers
        ]
        labels = {chunk: label for _, chunk, label in rows}
        vectors = self._kept(self._names, names)
        # chunks from before their vectors were kept, or from a rebuilt store, go by their label
        chunks = dict(zip(labels, self._kept(self._chunks, labels, renew=False), strict=True))
        pieces = [self._named(b, v) for b, v in zip(self.buckets, vectors, strict=True)]
        pieces += [Piece(chunks[chunk], tuple(content_words(label))) for _, chunk, label in rows]
        numbers = [*range(len(self.buckets)), *(self._numbers[bucket] for bucket, _, _ in rows)]
        return Topics(pieces, numbers, len(self.buckets))

    def _named(self, bucket: Bucket, vector: NDArray[np.float32]) -> Piece:
        return Piece(vector, tuple(content_words(self._profile(bucket))))

    def _profile(self, bucket: Bucket) -> str:
        about = self._about.get(bucket.article, ())
        return ". ".join([bucket.name, *bucket.aliases, bucket.description, *about])

    def _kept(
        self, kind: str, texts: Mapping[str, str], *, renew: bool = True
    ) -> list[NDArray[np.float32]]:
        """The vector of each text, by its name; embedded if none is kept, or one of other words.

        renew: False to take what is kept under the name, whatever it was made from.
        """
        derived = self._desk.store.derived
        if len(texts) > 1:
            known = derived.all(kind)
        else:
            known = {name: kept for name in texts if (kept := derived.get(kind, name))}
        digests = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()}
        stale = [
            name
            for name, digest in digests.items()
            if name not in known or (renew and known[name].digest != digest)
        ]
        if stale:
            fresh = self._embed([texts[name] for name in stale]).astype(np.float16)
            made = {
                name: Worked(digests[name], vector.tobytes())
                for name, vector in zip(stale, fresh, strict=True)
            }
            derived.put(kind, made)
            known |= made
        return [
            np.frombuffer(known[name].value, dtype=np.float16).astype(np.float32) for name in texts
        ]

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self._desk.embedder is None:
            return word_vectors(texts)
        return self._desk.embedder.embed(texts)
