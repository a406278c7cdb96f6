"""Conversations that grow, are resumed, forked, and read out of order: what was folded stays."""

from __future__ import annotations

import tempfile
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.records import ALWAYS, Bucket, Chunk
from pipeline.stages import chunk
from tests.doubles import CannedModel
from tests.support_ingest import House, new_house, said
from tests.support_transcripts import write_lines

FOLDED_AT = datetime(2027, 1, 1, 4, 0, tzinfo=UTC)
SUBJECTS = ("tomato seedlings in warm soil", "the parser of nested generics", "a tent by the lake")
PLACE = st.integers(0, 30)
STEP = st.one_of(
    st.tuples(st.just("grow"), PLACE, st.integers(1, 9)),
    st.tuples(st.just("fork"), PLACE, PLACE),
    st.tuples(st.just("late"), PLACE, st.integers(1, 3)),
    st.tuples(st.just("swap"), PLACE, PLACE),
    st.tuples(st.just("night"), PLACE, PLACE),
)


@dataclass
class Growth:
    """Sessions as their agent writes them, and what the nights made of them.

    folded: chunk id → the messages in it.
    """

    house: House
    sessions: list[list[dict[str, object]]] = field(default_factory=lambda: [[]])
    minute: int = 1000
    folded: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def step(self, what: str, which: int, number: int) -> None:
        """One event of a history."""
        entries = self.sessions[which % len(self.sessions)]
        if what == "grow":
            entries += [self.entry(self.minute + place) for place in range(number)]
            self.minute += 10
        elif what == "late":  # said long ago, and written only now
            entries += [self.entry(1000 - self.minute + place) for place in range(number)]
            self.minute += 10
        elif what == "fork":
            self.sessions.append([*entries[:number], self.entry(self.minute)])
            self.minute += 10
        elif what == "swap" and entries:
            place = number % len(entries)
            entries[place:] = entries[place:][::-1]
        elif what == "night":
            self.night(number)

    def entry(self, minute: int) -> dict[str, object]:
        """A message of its own, of a subject that changes now and then."""
        subject = SUBJECTS[minute // 40 % len(SUBJECTS)]
        role = "assistant" if minute % 2 else "user"
        return said(role, minute, f"{role} says of {subject} what number {minute} is.")

    def night(self, share: int) -> None:
        """Read and cut, then fold the first chunks of each conversation: `share` of 30."""
        for number, entries in enumerate(self.sessions):
            name = f"{number:08x}-5b6d-4e7f-8a9b-0c1d2e3f4a5b"
            own = [{**entry, "sessionId": name} for entry in entries]
            self.house.touch(write_lines(self.house.claude / "p" / f"{name}.jsonl", own), age=40)
        self.house.night()
        self.cut()
        chunks = self.house.desk.store.chunks
        for conv in self.convs():
            held = chunks.of(conv)
            for one in held[: len(held) * share // 30]:
                if one.id not in self.folded:
                    self.fold(one)

    def cut(self) -> int:
        """Chunk what is due; returns how often the model was asked."""
        model = CannedModel(lambda purpose, ask: "keep", lambda purpose, ask: "label of this piece")
        desk = replace(self.house.desk, model=model, span=ALWAYS)
        for result in chunk.work(chunk.pending(desk), desk):
            chunk.keep(result, desk)
        return len(model.asked)

    def convs(self) -> list[str]:
        """Every conversation of the store."""
        store = self.house.desk.store
        files = store.conversations.files().values()
        return sorted({file.conv for file in files if file.conv})

    def ids(self, one: Chunk) -> tuple[str, ...]:
        """The messages of a chunk."""
        store = self.house.desk.store.conversations
        return tuple(m.message_id for m in store.messages(one.conv, one.first, one.last))

    def fold(self, one: Chunk) -> None:
        """Enter a chunk in the ledger, once."""
        store = self.house.desk.store
        store.ledger.record(
            "Garden", [one.id], run="r", article="a", commit="c", outcome="folded", at=FOLDED_AT
        )
        self.folded[one.id] = self.ids(one)

    def check(self) -> None:
        """What must hold after every night."""
        store = self.house.desk.store
        standing: dict[str, tuple[str, ...]] = {}
        for conv in self.convs():
            covered = []
            for ordinal, one in enumerate(store.chunks.of(conv)):
                assert one.ordinal == ordinal
                standing[one.id] = self.ids(one)
                covered += list(range(one.first, one.last + 1))
            assert covered == [m.position for m in store.conversations.messages(conv)]
        for name, messages in self.folded.items():
            assert standing.get(name) == messages
        often = Counter(message for messages in self.folded.values() for message in messages)
        assert not often or max(often.values()) == 1


@settings(max_examples=12, deadline=None)
@given(st.lists(STEP, min_size=3, max_size=14))
def test_whatever_happens_to_a_conversation_nothing_folds_twice(
    steps: list[tuple[str, int, int]],
) -> None:
    """Each message in exactly one chunk, folded chunks as they were, and a quiet night asks
    nothing.
    """
    with tempfile.TemporaryDirectory() as root:
        growth = Growth(new_house(Path(root)))
        store = growth.house.desk.store
        try:
            store.buckets.save(Bucket("Garden"), FOLDED_AT)
            for step in [*steps, ("night", 0, 30)]:
                growth.step(*step)
                if step[0] == "night":
                    growth.check()
            growth.house.night()
            assert growth.cut() == 0
            growth.check()
        finally:
            store.close()
