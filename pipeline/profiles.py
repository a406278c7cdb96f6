"""How like each topic a piece of talk is, by the vectors of what is known of the topics.

The profile of a topic is its names, its description, what its article is about and the newest
labels of its chunks. It is embedded when its words change, not every night.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pipeline.desk import Desk
from pipeline.records import Bucket
from pipeline.segmentation import WORD_VECTORS, word_vectors
from pipeline.store.derived import Worked

_LABELS = 8  # of a topic's newest chunks


class Profiles:
    """The topics of the wiki, merged ones too: their names lead to the others."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.buckets = desk.store.buckets.all()
        self._labels = desk.store.buckets.newest_labels(_LABELS)
        self._about = {entry.stem: (entry.lead, *entry.headings) for entry in desk.vault.catalog()}
        self._kind = f"profile by {desk.embedder.name if desk.embedder else WORD_VECTORS}"
        self._known = desk.store.derived.all(self._kind)

    def add(self, bucket: Bucket) -> None:
        """A topic that was just proposed."""
        self.buckets.append(bucket)

    def assign(self, bucket: str, label: str) -> None:
        """A chunk with this label was just found to belong to this topic."""
        self._labels[bucket] = [label, *self._labels.get(bucket, ())][:_LABELS]

    def likeness(self, text: str) -> NDArray[np.float32]:
        """How like each of `buckets` the text is (-1..1), shape (len(buckets),)."""
        profiles = {bucket.name: self._profile(bucket) for bucket in self.buckets}
        digests = {name: hashlib.sha256(p.encode()).hexdigest() for name, p in profiles.items()}
        stale = [
            n for n, d in digests.items() if n not in self._known or self._known[n].digest != d
        ]
        own, *fresh = self._embed([text, *(profiles[name] for name in stale)])
        if stale:
            made = {
                name: Worked(digests[name], vector.tobytes())
                for name, vector in zip(stale, fresh, strict=True)
            }
            self._desk.store.derived.put(self._kind, made)
            self._known |= made
        held = b"".join(self._known[bucket.name].value for bucket in self.buckets)
        vectors = np.frombuffer(held, dtype=np.float32).reshape(len(self.buckets), len(own))
        found: NDArray[np.float32] = vectors @ own
        return found

    def _profile(self, bucket: Bucket) -> str:
        names = (bucket.name, *bucket.aliases, bucket.description)
        about = self._about.get(bucket.article, ())
        return ". ".join([*names, *about, *self._labels.get(bucket.name, ())])

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self._desk.embedder is None:
            return word_vectors(texts)
        return self._desk.embedder.embed(texts)
