"""Reading on where the last night stopped says what reading all of it at once says."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pipeline.errors import SourceFault
from pipeline.reading.discovery import start_of
from pipeline.records import Session
from pipeline.sources import Source
from pipeline.sources.claude_code import ClaudeCode
from pipeline.sources.codex import Codex
from pipeline.sources.pi import Pi
from pipeline.stages import ingest
from tests.support_ingest import V4, House, new_house
from tests.support_transcripts import FIXTURES, index, samples

SOURCES: dict[str, Callable[[list[Path]], Source]] = {
    "pi": Pi, "claude-code": ClaudeCode, "codex": Codex,
}  # fmt: skip
CUTS = 7


def said(session: Session) -> set[tuple[object, ...]]:
    return {(u.role, u.at, u.text, u.actions) for u in session.utterances}


def transcripts(name: str) -> list[Path]:
    fixtures = [p for p in (FIXTURES / name).rglob("*.jsonl") if "index" not in p.name]
    try:
        given = [samples() / row["file"] for row in index(f"{name}/")]
    except pytest.skip.Exception:
        given = []
    return fixtures + given


@pytest.mark.parametrize("name", SOURCES)
def test_what_is_read_on_is_what_was_not_read(name: str, tmp_path: Path) -> None:
    """Every transcript there is, cut at several places, also in the middle of a line: what the
    whole has and the part had not is in what is read on, which has nothing else, and the session
    is the same."""
    source = SOURCES[name]([])
    checked = 0
    for path in transcripts(name):
        data = path.read_bytes()
        copy = tmp_path / path.name
        copy.write_bytes(data)
        try:
            (whole,) = source.read(copy)
        except SourceFault:
            continue
        for cut in range(1, CUTS):
            copy.write_bytes(data[: len(data) * cut // CUTS])
            try:
                (part,) = source.read(copy)
            except SourceFault:
                continue
            copy.write_bytes(data)
            if not part.read_offset:
                continue
            (rest,) = source.read(copy, part.read_offset)
            assert rest.session_id == whole.session_id, path
            assert said(rest) <= said(whole), (path, cut)
            assert said(whole) <= said(part) | said(rest), (path, cut)
            checked += 1
    assert checked >= CUTS


def test_the_growth_series_is_read_on_not_again(tmp_path: Path) -> None:
    """Each step but the first begins where the last turn of the one before does."""
    data = samples()
    house = new_house(tmp_path / "house")
    path = "claude/p/session.jsonl"
    starts = []
    for step, file in enumerate(
        json.loads((data / "EXPECTED.json").read_text())["growth_series"]["files"]
    ):
        house.put(data / file, path, age=99 - step)
        (job,) = ingest.pending(house.desk)
        starts.append(start_of(job))
        house.night()
    house.desk.store.close()
    assert starts[0] == 0 < starts[1] < starts[2] < starts[3]


# ------------------------------------------------------------------ what only the whole tells


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = new_house(tmp_path / "house")
    yield made
    made.desk.store.close()


AT = "2025-03-04T09:0{}:00Z"
SECRET = "q7Rk2vT9xLm4Zp8w"


def entry(number: int, text: str, *, at: str = "", uuid: bool = True) -> str:
    """A line of a Claude Code transcript; person and assistant speak in turn."""
    role = "assistant" if number % 2 else "user"
    given = {
        "type": role,
        "sessionId": "s",
        "cwd": "/home/dev/garden",
        "message": {"role": role, "content": [{"type": "text", "text": text}]},
    }
    if at:
        given["timestamp"] = at
    if uuid:
        given["uuid"] = f"u{number}"
    return json.dumps(given) + "\n"


def stored_after(house: House, *parts: list[str]) -> list[str]:
    """What is stored once the file has grown by each part, a night apart."""
    path = house.claude / "p" / f"{V4}.jsonl"
    path.parent.mkdir(parents=True)
    for part in parts:
        with path.open("a") as file:
            file.writelines(part)
        house.touch(path, age=60)
        house.night()
    (conversation,) = house.desk.store.conversations.to_chunk()
    archived = house.desk.archive.read(conversation.conv)[1]
    stored = house.desk.store.conversations.messages(conversation.conv)
    assert archived == stored
    return [message.text for message in stored]


def test_a_secret_is_known_in_what_is_read_on(house: House) -> None:
    """It was named before the place where reading goes on, and stands bare behind it."""
    said = [f"Use password={SECRET} for it.", "Done.", "Thanks, next.", "Yes?"]
    more = [f"Try login with {SECRET} now.", f"I ran it with {SECRET}."]
    first = [entry(n, text, at=AT.format(n)) for n, text in enumerate(said)]
    then = [entry(n, text, at=AT.format(n)) for n, text in enumerate(more, 4)]
    texts = stored_after(house, first, then)
    assert len(texts) == 6
    assert SECRET not in "".join(texts)


def test_a_secret_that_is_named_later_goes_from_what_was_read_before(house: House) -> None:
    said = [f"I try {SECRET} now.", "Fine.", "Next.", "Yes?"]
    more = [f"The password={SECRET} is old.", "I see."]
    first = [entry(n, text, at=AT.format(n)) for n, text in enumerate(said)]
    then = [entry(n, text, at=AT.format(n)) for n, text in enumerate(more, 4)]
    texts = stored_after(house, first, then)
    assert len(texts) == 6
    assert SECRET not in "".join(texts)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("2025-03-04T09:00:00Z", "2025-03-04T09:00:00Z"),
        ("2025-10-26T02:30:00+02:00", "2025-10-26T00:30:00Z"),  # the clock was set back
    ],
)
def test_what_is_said_at_the_same_time_takes_no_place(
    before: str, after: str, house: House
) -> None:
    """What stands before the place where reading goes on is in the file all the same."""
    said = ["Keep the old beds.", "Good.", "And the pond.", "Yes."]
    first = [entry(n, text, at=before) for n, text in enumerate(said)]
    then = [entry(4, "Sow beans.", at=after), entry(5, "Sown.", at=after)]
    assert stored_after(house, first, then) == [*said, "Sow beans.", "Sown."]


def test_what_has_neither_time_nor_id_is_read_once(house: House) -> None:
    """It is named by its place in the file, wherever reading begins."""
    said = ["Begin.", "Good.", "yes", "Done."]
    first = [entry(n, text, uuid=False) for n, text in enumerate(said)]
    then = [entry(4, "yes", uuid=False)]
    last = [entry(5, "Planted.", uuid=False), entry(6, "yes", uuid=False)]
    texts = stored_after(house, first, then, last)
    assert texts == [*said, "yes", "Planted.", "yes"]
