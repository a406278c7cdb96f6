"""The conversations of LoCoMo as stores, and how much of the evidence a ranking finds."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pipeline.records import Conversation, Message, Role
from pipeline.store import Store
from pipeline.store.conversations import FileState

DATA = Path(__file__).parents[2] / "shared" / "data" / "locomo" / "locomo-dev5.json"
CUTS = (5, 10)
_SAMPLES = 2000

Place = tuple[str, int]  # conversation of the store, message of it
Ranker = Callable[[Store, str], Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the turns that answer it."""

    text: str
    evidence: frozenset[Place]


@dataclass(frozen=True, slots=True)
class Dialogue:
    """Two people over many sessions: each session is a conversation of the store."""

    name: str
    sessions: tuple[tuple[datetime, tuple[str, ...]], ...]
    questions: tuple[Question, ...]


def dialogues(path: Path = DATA) -> list[Dialogue]:
    """All of the file, questions without evidence left out."""
    return [_dialogue(told) for told in json.loads(path.read_text("utf-8"))]


def _dialogue(told: dict[str, Any]) -> Dialogue:
    said = told["conversation"]
    sessions: list[tuple[datetime, tuple[str, ...]]] = []
    places: dict[str, Place] = {}
    number = 1
    while f"session_{number}_date_time" in said:
        turns = said.get(f"session_{number}", [])
        if turns:
            at = datetime.strptime(
                said[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y"
            ).replace(tzinfo=UTC)
            for position, turn in enumerate(turns):
                places[turn["dia_id"]] = (conv(len(sessions)), position)
            sessions.append((at, tuple(map(_text, turns))))
        number += 1
    questions = []
    for asked in told["qa"]:
        ids = re.findall(r"D\d+:\d+", " ".join(asked.get("evidence", [])))
        if evidence := frozenset(places[one] for one in ids if one in places):
            questions.append(Question(asked["question"], evidence))
    return Dialogue(told["sample_id"], tuple(sessions), tuple(questions))


def _text(turn: dict[str, Any]) -> str:
    """As an export tells it: who speaks, and what a picture shows."""
    shown = f" ({turn['blip_caption']})" if turn.get("blip_caption") else ""
    return f"{turn['speaker']}: {turn['text']}{shown}"


def conv(number: int) -> str:
    """The id of a dialogue's session."""
    return f"{number:08x}"


@contextmanager
def stored(dialogue: Dialogue, folder: Path) -> Iterator[Store]:
    """A store with the dialogue's sessions in it."""
    store = Store(folder / dialogue.name / "memory.sqlite")
    for number, (at, texts) in enumerate(dialogue.sessions):
        name = conv(number)
        last = at + timedelta(seconds=len(texts))
        store.conversations.save(
            Conversation(name, "benchmark", name, f"Session {number + 1}", "", at, last),
            [
                Message(
                    f"{name}-{position}",
                    name,
                    position,
                    Role.ASSISTANT if position % 2 else Role.USER,
                    at + timedelta(seconds=position),
                    text,
                )
                for position, text in enumerate(texts)
            ],
            FileState(folder / name, "benchmark", 1, 1, 0, name),
            archived_at=last,
        )
    try:
        yield store
    finally:
        store.close()


# ------------------------------------------------------------------ measuring


def recalls(found: Sequence[Any], wanted: frozenset[Any]) -> tuple[float, ...]:
    """The share of what is wanted among the first so many of what was found, for each of CUTS."""
    return tuple(len(wanted & set(found[:cut])) / len(wanted) for cut in CUTS)


def mean(rows: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
    """Of each column."""
    return tuple(sum(column) / len(rows) for column in zip(*rows, strict=True))


def interval(rows: Sequence[tuple[float, ...]]) -> list[tuple[float, float]]:
    """Of each column the bootstrap 95 % interval of the mean."""
    chance = random.Random(7)
    means = sorted_columns([mean(chance.choices(rows, k=len(rows))) for _ in range(_SAMPLES)])
    return [(column[_SAMPLES // 40], column[-_SAMPLES // 40]) for column in means]


def sorted_columns(rows: Sequence[tuple[float, ...]]) -> list[list[float]]:
    """Each column in order of size."""
    return [sorted(column) for column in zip(*rows, strict=True)]
