"""Which chunks of a topic part from it, and which stay: one rule for the command and the page."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from pipeline.store import Store
from pipeline.store.buckets import Placed, normalised


@dataclass(frozen=True, slots=True)
class Chosen:
    """What is chosen of a topic's chunks, oldest first.

    moving: not folded yet, go over. sharing: folded, belong to the other topic as well from now on.
    staying: (chunk, why) of the others.
    """

    moving: tuple[Placed, ...] = ()
    sharing: tuple[Placed, ...] = ()
    staying: tuple[tuple[Placed, str], ...] = ()

    @property
    def every(self) -> list[Placed]:
        """All that is chosen, oldest first."""
        every = [*self.moving, *self.sharing, *(one for one, _ in self.staying)]
        return sorted(every, key=lambda one: (one.at, one.chunk.conv, one.chunk.ordinal))


def choose(
    placed: Sequence[Placed],
    store: Store,
    *,
    match: str = "",
    chunks: Collection[str] = (),
    folded: bool = False,
) -> Chosen:
    """What of these chunks goes where.

    match: chosen are those in whose label, claims or messages every one of these words stands.
    chunks: and those whose ids begin so. folded: what is folded is shared; it stays where it stands
    either way.
    """
    words = normalised(match).split()
    moving, sharing, staying = [], [], []
    for one in placed:
        if not _is_chosen(one, chunks, words, store):
            continue
        if one.held:
            staying.append((one, "a held draft is made of it: accept or reject that first"))
        elif not one.outcome:
            moving.append(one)
        elif folded and one.outcome in ("folded", "nothing new"):
            sharing.append(one)
        else:
            staying.append((one, _why(one)))
    return Chosen(tuple(moving), tuple(sharing), tuple(staying))


def _is_chosen(one: Placed, chunks: Collection[str], words: Sequence[str], store: Store) -> bool:
    chunk = one.chunk
    if any(chunk.id.startswith(beginning) for beginning in chunks):
        return True
    if not words:
        return False
    messages = store.conversations.messages(chunk.conv, first=chunk.first, last=chunk.last)
    claims = (claim.text for claim in store.claims.of(chunk.id))
    said = normalised("\n".join([chunk.label, *claims, *(message.text for message in messages)]))
    return all(word in said for word in words)


def _why(one: Placed) -> str:
    if one.outcome in ("dropped", "undone"):
        return "you took back what was made of it"
    if one.article:
        return f"it is folded into {one.article}"
    return "it is folded, and brought nothing new"
