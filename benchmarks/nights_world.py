"""The world of the simulated nights: what is said when, and so what is true.

Everything follows from fixtures/nights/world.toml, the number of nights and a seed; what should
stand in the wiki is told from here alone, never from what the pipeline made of it.
"""

from __future__ import annotations

import random
import tomllib
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

WORLD = Path(__file__).parents[1] / "fixtures" / "nights" / "world.toml"
FIRST_DAY = datetime(2026, 6, 1, tzinfo=UTC)
_PER_TOPIC = 12  # conversations about one topic in thirty nights
_CROWD = 6  # facts told in one conversation at most; of more than eight some would be left out
_BY_ASSISTANT = 0.3  # share of what is told by the assistant


@dataclass(frozen=True, slots=True)
class Fact:
    """A value of a subject. text: the sentence a good model makes of it."""

    topic: str
    subject: str
    value: str
    text: str
    said: str
    kind: str = "fact"

    @property
    def key(self) -> tuple[str, str, str]:
        """What is known, in whatever words."""
        return self.topic, self.subject, self.value

    @property
    def matter(self) -> tuple[str, str]:
        """What it is about."""
        return self.topic, self.subject


@dataclass(frozen=True, slots=True)
class Subject:
    """One thing somebody can know. facts: its values, oldest first, each in all its wordings.

    denied: its two values deny each other, and nothing says which is right.
    user: what the user does to the sentence one day: "delete", "reword" or "".
    """

    facts: tuple[tuple[Fact, ...], ...]
    denied: bool = False
    lead: bool = False
    user: str = ""


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic by name and by the word that all that is said of it holds.

    note: what the user writes into its article one day. reworded: how they reword a sentence.
    """

    name: str
    key: str
    openers: tuple[str, ...]
    small: tuple[str, ...]
    note: str
    reworded: str
    subjects: tuple[Subject, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """A message, and the facts it states."""

    role: str
    text: str
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation. appears: the night its transcript is first there, its first `early` lines.

    The whole of it is there a night later. night: the one it was said before; both count from 1.
    parent: the session it is a fork of, whose lines it begins with; "" for none.
    """

    topic: str
    source: str
    session: str
    start: datetime
    lines: tuple[Line, ...]
    night: int
    appears: int
    early: int = 0
    parent: str = ""

    def shown(self, night: int) -> tuple[Line, ...]:
        """The lines that this night brings, with those before them."""
        if night == self.appears:
            return self.lines[: self.early] if self.early else self.lines
        return self.lines if self.early and night == self.appears + 1 else ()

    def at(self, number: int) -> datetime:
        """When a line was said."""
        return self.start + timedelta(minutes=number)


@dataclass(frozen=True, slots=True)
class World:
    """All that is said in `nights` nights."""

    nights: int
    topics: tuple[Topic, ...]
    talks: tuple[Talk, ...]

    def facts(self) -> Iterator[Fact]:
        """Every fact in every wording."""
        for topic in self.topics:
            for subject in topic.subjects:
                for wordings in subject.facts:
                    yield from wordings

    def told(self, nights: Iterable[int]) -> list[tuple[datetime, Fact]]:
        """What these nights have seen, by when it was said."""
        seen = set(nights)
        found: dict[tuple[datetime, str], Fact] = {}
        for talk in self.talks:
            shown = max((talk.shown(night) for night in seen), key=len, default=())
            for number, line in enumerate(shown):
                for fact in line.facts:
                    found[talk.at(number), fact.text] = fact
        return [(at, fact) for (at, _), fact in sorted(found.items(), key=lambda p: p[0])]

    def ripe(self, nights: Iterable[int], least: int) -> set[str]:
        """Topics that facts were told of in `least` conversations: they have earned an article."""
        seen = set(nights)
        convs: dict[str, set[datetime]] = {}
        for talk in self.talks:
            told = [line for night in seen for line in talk.shown(night) if line.facts]
            if told and not talk.parent:
                convs.setdefault(talk.topic, set()).add(talk.start)
        return {topic for topic, starts in convs.items() if len(starts) >= least}

    def current(self, nights: Iterable[int]) -> set[tuple[str, str, str]]:
        """What is true by these nights: the latest value of each subject, both of a denied one."""
        denied = {s.facts[0][0].matter for t in self.topics for s in t.subjects if s.denied}
        latest: dict[tuple[str, ...], Fact] = {}
        for _, fact in self.told(nights):
            latest[fact.key if fact.matter in denied else fact.matter] = fact
        return {fact.key for fact in latest.values()}


def make(nights: int = 30, seed: int = 1, crowd: int = _CROWD) -> World:
    """The world of so many nights; the same for the same seed on every machine.

    crowd: facts told in one conversation at most.
    """
    rng = random.Random(seed)
    table = tomllib.loads(WORLD.read_text("utf-8"))
    topics = tuple(_topic(row) for row in table["topic"])
    talks = [talk for topic in topics for talk in _talks(topic, nights, crowd, rng)]
    talks += _chats(table["chat"], nights, rng)
    return World(nights, topics, tuple(_troubled(talks, nights, rng)))


# ------------------------------------------------------------------ the table


def _topic(row: Mapping[str, Any]) -> Topic:
    subjects = [_subject(row["name"], str(n), s) for n, s in enumerate(row["subject"])]
    return Topic(
        row["name"],
        row["key"],
        tuple(row["openers"]),
        tuple(row["small"]),
        row["note"],
        row.get("reworded", ""),
        tuple(subjects),
    )


def _subject(topic: str, name: str, row: Mapping[str, Any]) -> Subject:
    kind, text = row.get("kind", "fact"), row["text"]

    def fact(value: str, wording: str, said: str) -> Fact:
        return Fact(topic, name, value, wording.format(value), said.format(value), kind)

    found = []
    for value in dict.fromkeys(row.get("values", [""])):
        wordings = [fact(value, text, row.get("said", text))]
        if again := row.get("again"):
            wordings.append(fact(value, again, again))
        found.append(tuple(wordings))
    if against := row.get("against"):
        found.append((fact("against", against, against),))
        return Subject(tuple(found), denied=True)
    by_value = {wordings[0].value: wordings for wordings in found}
    chain = tuple(by_value[value] for value in row.get("values", [""]))
    return Subject(chain, lead=row.get("lead", False), user=row.get("user", ""))


# ------------------------------------------------------------------ what is said when


def _talks(topic: Topic, nights: int, crowd: int, rng: random.Random) -> list[Talk]:
    count = max(4, round(_PER_TOPIC * nights / 30))
    days = sorted([*rng.choices(range(1, nights + 1), k=count - 1), 1 + rng.randrange(2)])
    starts = sorted(
        FIRST_DAY + timedelta(days=day - 1, hours=8 + rng.randrange(12), minutes=rng.randrange(60))
        for day in days
    )
    told: list[list[Fact]] = [[] for _ in starts]
    # what the owner touches must be told early and again, the rest where there is room
    mixed = rng.sample(topic.subjects, len(topic.subjects))
    for subject in sorted(mixed, key=lambda s: not (s.user or s.lead)):
        free = [n for n, facts in enumerate(told) if len(facts) < crowd]
        for place, fact in _mentions(subject, free, rng):
            told[place].append(fact)
    return [
        _talk(topic.name, start, _lines(topic, facts, rng), rng)
        for start, facts in zip(starts, told, strict=True)
    ]


def _mentions(subject: Subject, free: Sequence[int], rng: random.Random) -> list[tuple[int, Fact]]:
    """In which of these conversations which value is told, in which words; never two in one."""
    if len(subject.facts) > 1:
        facts = list(subject.facts)
    elif subject.user:
        facts = [subject.facts[0]] * 3  # so that what the user took out is told again
    else:
        facts = [subject.facts[0]] * rng.randint(1, 4)
    facts = facts[: len(free)]
    places = sorted(rng.sample(free, len(facts)))
    if subject.user:
        places[0] = free[0]
    chosen = [wordings[0] if n == 0 else rng.choice(wordings) for n, wordings in enumerate(facts)]
    return list(zip(places, chosen, strict=True))


def _lines(topic: Topic, facts: Sequence[Fact], rng: random.Random) -> tuple[Line, ...]:
    lines: list[Line] = []
    if not facts:
        return tuple(Line(role, rng.choice(topic.small)) for role in ("user", "assistant"))
    for fact in rng.sample(list(facts), len(facts)):
        told = f"{rng.choice(topic.openers)}{fact.said}"
        by_user = fact.said != fact.text or rng.random() >= _BY_ASSISTANT
        if by_user:
            answer = Line("assistant", rng.choice(topic.small))
            lines += [Line("user", told, (fact,)), answer]
        else:
            small = Line("user", rng.choice(topic.small))
            lines += [small, Line("assistant", fact.said, (fact,))]
    return tuple(lines)


def _talk(topic: str, start: datetime, lines: tuple[Line, ...], rng: random.Random) -> Talk:
    night = (start - FIRST_DAY).days + 1
    session = str(uuid.UUID(int=rng.getrandbits(128), version=4))
    source = rng.choice(("pi", "claude-code"))
    return Talk(topic, source, session, start, lines, night, night)


def _chats(row: Mapping[str, Sequence[str]], nights: int, rng: random.Random) -> list[Talk]:
    """Conversations in which nothing is said."""
    said = [Line(role, text) for pair in zip(row["user"], row["assistant"], strict=True)
            for role, text in zip(("user", "assistant"), pair, strict=True)]  # fmt: skip
    starts = [FIRST_DAY + timedelta(days=day, hours=21) for day in range(2, nights, 6)]
    return [_talk("", start, tuple(said), rng) for start in starts]


def _troubled(talks: Sequence[Talk], nights: int, rng: random.Random) -> Iterator[Talk]:
    """Some appear late, some go on after the night, some are forked and go on in the fork."""
    for number, talk in enumerate(sorted(talks, key=lambda t: t.start)):
        telling = [n for n, line in enumerate(talk.lines) if line.facts]
        middle = telling[1] // 2 * 2 if len(telling) > 1 else 0
        if number % 9 == 4 and talk.night <= nights // 3:
            yield replace(talk, appears=talk.night + nights // 2)
        elif middle and number % 4 == 3 and talk.night < nights:
            yield replace(talk, early=middle)
        elif middle and number % 4 == 1 and talk.source == "pi" and talk.night < nights:
            yield replace(talk, lines=talk.lines[:middle])
            session = str(uuid.UUID(int=rng.getrandbits(128), version=4))
            yield replace(talk, session=session, appears=talk.night + 1, parent=talk.session)
        else:
            yield talk
