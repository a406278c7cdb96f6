"""Conversations that grow, are resumed, forked, and read out of order: what was folded stays.

So does what the user put under a topic, and what a held draft is made of.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.identity import chunk_id
from pipeline.records import ALWAYS, Assignment, Bucket, Chunk, Draft
from pipeline.stages import chunk
from pipeline.store.ledger import Folding
from tests.doubles import CannedModel
from tests.support_ingest import House, new_house, said
from tests.support_transcripts import write_lines

FOLDED_AT = datetime(2027, 1, 1, 4, 0, tzinfo=UTC)
SUBJECTS = ("tomato seedlings in warm soil", "the parser of nested generics", "a tent by the lake")
PLACE = st.integers(0, 30)
EVENT = st.one_of(
    st.tuples(st.just("grow"), PLACE, st.integers(1, 9)),
    st.tuples(st.just("resume"), PLACE, st.integers(1, 9)),
    st.tuples(st.just("fork"), PLACE, PLACE),
    st.tuples(st.just("late"), PLACE, st.integers(1, 3)),
    st.tuples(st.just("swap"), PLACE, PLACE),
)
# a day: what happens to conversations, how many of 30 chunks are folded, what is decided of one
DAY = st.tuples(
    st.lists(EVENT, min_size=1, max_size=3),
    st.sampled_from([0, 0, 10, 20]),
    st.sampled_from(["", "split", "hold"]),
    PLACE,
)


@dataclass
class Growth:
    """Sessions as their agent writes them, and what the nights made of them.

    folded, chosen, held: chunk id → the messages in it.
    """

    house: House
    sessions: list[list[dict[str, object]]] = field(default_factory=lambda: [[]])
    minute: int = 1000
    folded: dict[str, tuple[str, ...]] = field(default_factory=dict)
    chosen: dict[str, tuple[str, ...]] = field(default_factory=dict)
    held: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def happens(self, what: str, which: int, number: int) -> None:
        """One event of a history."""
        entries = self.sessions[which % len(self.sessions)]
        if what == "grow":
            entries += [self.entry(self.minute + place) for place in range(number)]
            self.minute += 10
        elif what == "late":  # said long ago, and written only now
            entries += [self.entry(1000 - self.minute + place) for place in range(number)]
            self.minute += 10
        elif what == "resume":  # all of it copied into a new session, which goes on
            new = [self.entry(self.minute + place) for place in range(number)]
            self.sessions.append([*entries, *new])
            self.minute += 10
        elif what == "fork":
            self.sessions.append([*entries[:number], self.entry(self.minute)])
            self.minute += 10
        elif what == "swap" and entries:
            place = number % len(entries)
            entries[place:] = entries[place:][::-1]

    def entry(self, minute: int) -> dict[str, object]:
        """A message of its own, of a subject that changes now and then."""
        subject = SUBJECTS[minute // 40 % len(SUBJECTS)]
        role = "assistant" if minute % 2 else "user"
        return said(role, minute, f"{role} says of {subject} what number {minute} is.")

    def read(self) -> None:
        """Every session, into the store."""
        for number, entries in enumerate(self.sessions):
            # a copy is read before what it was copied from, now and then
            name = f"{number * 5 % 31:08x}-5b6d-4e7f-8a9b-0c1d2e3f4a5b"
            own = [{**entry, "sessionId": name} for entry in entries]
            self.house.touch(write_lines(self.house.claude / "p" / f"{name}.jsonl", own), age=40)
        self.house.night()

    def night(self, share: int) -> None:
        """Read and cut, then fold the first chunks of each conversation: `share` of 30."""
        self.read()
        self.cut()
        chunks = self.house.desk.store.chunks
        for conv in self.convs():
            there = chunks.of(conv)
            for one in there[: len(there) * share // 30]:
                if one.id not in self.folded | self.held:
                    self.enter(one.id, self.ids(one))

    def cut(self) -> int:
        """Chunk what is due; returns how often the model was asked."""
        model = CannedModel(lambda purpose, ask: "keep", lambda purpose, ask: "label of this piece")
        desk = replace(self.house.desk, model=model, span=ALWAYS)
        for result in chunk.work(chunk.pending(desk), desk):
            chunk.keep(result, desk)
        for one in desk.store.chunks.to_cluster():
            desk.store.buckets.assign(one.id, [Assignment(one.id, "Garden", 1.0)])
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

    def enter(self, name: str, messages: tuple[str, ...]) -> None:
        """Enter a chunk in the ledger, be it cut here or not."""
        self.house.desk.store.ledger.record(
            "Garden", [name], run="r", article="a", commit="c", outcome="folded", at=FOLDED_AT
        )
        self.folded[name] = messages

    def waiting(self) -> list[Chunk]:
        """The chunks that nothing was made of and nobody decided about."""
        chunks = self.house.desk.store.chunks
        known = self.folded | self.chosen | self.held
        return [c for conv in self.convs() for c in chunks.of(conv) if c.id not in known]

    def decide(self, what: str, number: int) -> None:
        """Of one of the last two waiting chunks of a conversation, which a longer one would take
        in.
        """
        waiting = self.waiting()
        if what and waiting:
            one = waiting[-1 - number % min(2, len(waiting))]
            (self.split if what == "split" else self.hold)(one)

    def split(self, one: Chunk) -> None:
        """The user puts a chunk under another topic."""
        self.house.desk.store.buckets.move([one.id], "Garden", "Shed")
        self.chosen[one.id] = self.ids(one)

    def hold(self, one: Chunk) -> None:
        """A draft made of a chunk waits for the user."""
        folding = Folding("Garden", (one.id,))
        draft = Draft("a", "A", "", "Garden", (one.id,), ())
        self.house.desk.store.holds.add("r", draft, None, "x", folding, ["odd"], FOLDED_AT)
        self.held[one.id] = self.ids(one)

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
        for name, messages in (self.folded | self.chosen | self.held).items():
            assert standing.get(name) == messages
        often = Counter(m for ids in (self.folded | self.held).values() for m in ids)
        assert not often or max(often.values()) == 1
        assert {one.chunk.id for one in store.buckets.placed("Shed")} == self.chosen.keys()
        assert {one.chunk.id for one in store.buckets.placed("Garden") if one.held} == {*self.held}


@settings(max_examples=25)
@given(st.lists(DAY, min_size=2, max_size=5))
def test_whatever_happens_to_a_conversation_nothing_folds_twice(
    days: list[tuple[list[tuple[str, int, int]], int, str, int]],
) -> None:
    """Each message in exactly one chunk; what was folded, chosen or held as it was; and a quiet
    night asks nothing.
    """
    with tempfile.TemporaryDirectory() as root:
        growth = Growth(new_house(Path(root)))
        store = growth.house.desk.store
        try:
            for topic in ("Garden", "Shed"):
                store.buckets.save(Bucket(topic), FOLDED_AT)
            for events, share, decision, number in [*days, ([], 30, "", 0)]:
                for event in events:
                    growth.happens(*event)
                growth.night(share)
                growth.check()
                growth.decide(decision, number)
            growth.house.night()
            assert growth.cut() == 0
            growth.check()
        finally:
            store.close()


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 6)), min_size=1, max_size=5))
def test_what_was_folded_elsewhere_is_cut_as_it_was_there(spans: list[tuple[int, int]]) -> None:
    """Whatever lies between, each message is in exactly one chunk. spans: messages left, taken."""
    with tempfile.TemporaryDirectory() as root:
        growth = Growth(new_house(Path(root)))
        store = growth.house.desk.store
        try:
            store.buckets.save(Bucket("Garden"), FOLDED_AT)
            for _ in range(3):
                growth.happens("grow", 0, 9)
            growth.read()
            ids = [m.message_id for m in store.conversations.messages(growth.convs()[0])]
            for left, taken in spans:
                span, ids = tuple(ids[left : left + taken]), ids[left + taken :]
                if span:
                    growth.enter(chunk_id(span), span)
            growth.cut()
            growth.check()
        finally:
            store.close()
