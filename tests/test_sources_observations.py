"""The memories of projects are read every night: each observation once, cited on its own."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pipeline.errors import SourceFault
from pipeline.project import machine
from pipeline.project.cleaning import cleaner
from pipeline.project.observations import NewObservation
from pipeline.project.place import Place
from pipeline.project.store import ProjectStore
from pipeline.records import Action, Message, Role, Span
from pipeline.sources.observations import Observations
from pipeline.store import Store
from tests.support_ingest import House, new_house
from tests.support_night import (
    CLAIMS,
    NIGHT,
    Script,
    files,
    make_vault,
    run_night,
    write_sessions,
)

BEGAN = datetime(2025, 3, 4, 9, 0, tzinfo=UTC)


class Garden:
    """A project's store with a clock of its own."""

    def __init__(self, root: Path) -> None:
        root.mkdir()
        self.root = root
        self.minute = 0
        self.path = root / ".anvil" / "memory.db"
        self.place = Place(root, self.path, worktree=str(root))
        self.open(make=True).close()

    def open(self, *, make: bool = False) -> ProjectStore:
        at = int((BEGAN + timedelta(minutes=self.minute)).timestamp() * 1000)
        return ProjectStore(self.path, cleaner({}), make=make, clock=lambda: at)

    def observe(self, minute: int, title: str, *, session: str = "", **more: object) -> int:
        self.minute = minute
        store = self.open()
        opened = store.sessions.open(session, self.place) if session else None
        kind = str(more.pop("kind", "change"))
        new = NewObservation(kind, title, session_id=opened, **more)  # type: ignore[arg-type]
        made = store.observations.add(new)
        store.close()
        return made


@pytest.fixture
def garden(tmp_path: Path) -> Garden:
    return Garden(tmp_path / "garden")


@pytest.fixture
def house(tmp_path: Path, home: Path, garden: Garden) -> Iterator[House]:
    machine.register(home / ".local" / "share" / "nightly-memory", garden.path)
    made = new_house(tmp_path / "house")
    yield made
    made.desk.store.close()


def _messages(house: House) -> dict[str, list[Message]]:
    """Title → messages."""
    store = house.desk.store.conversations
    return {c.title: store.messages(c.conv) for c in store.to_chunk(Span())}


def test_a_session_is_a_conversation_and_an_observation_a_message(
    garden: Garden, house: House
) -> None:
    """With the time, the files and the project of each; what belongs to no session goes by day."""
    garden.observe(0, "Peas sown", session="a", content="Three fingers deep.", files=("beds.py",))
    garden.observe(5, "Water at noon", session="a", kind="decision", linear_issue="ENG-7")
    garden.observe(9, "Fence mended")
    garden.observe(26 * 60, "Fence painted")
    store = garden.open()
    store.sessions.ask(1, "Sow the peas, please.", "garden")
    store.close()
    house.night()
    found = _messages(house)
    assert {title: [(m.role, m.text) for m in said] for title, said in found.items()} == {
        "Sow the peas, please.": [
            (Role.ASSISTANT, "Change: Peas sown\n\nThree fingers deep."),
            (Role.ASSISTANT, "Decision (ENG-7): Water at noon"),
        ],
        "garden, observed on 2025-03-04": [(Role.ASSISTANT, "Change: Fence mended")],
        "garden, observed on 2025-03-05": [(Role.ASSISTANT, "Change: Fence painted")],
    }
    first, second = found["Sow the peas, please."]
    assert (first.at, second.at) == (BEGAN, BEGAN + timedelta(minutes=5))
    assert first.actions == (Action("change", "beds.py"),)
    assert first.project == str(garden.root)
    assert first.message_id != second.message_id


def test_a_second_night_is_silent(garden: Garden, house: House) -> None:
    """Nothing new: no job at all; after a call that wrote nothing: no message and no change."""
    garden.observe(0, "Peas sown", session="a")
    house.night()
    before = _messages(house)
    assert house.night() == []
    garden.open().close()
    house.night()
    assert _messages(house) == before


def test_what_is_new_is_added(garden: Garden, house: House) -> None:
    """To the session's conversation, after what is there."""
    garden.observe(0, "Peas sown", session="a")
    house.night()
    garden.observe(7, "Peas up", session="a")
    house.night()
    (said,) = _messages(house).values()
    assert [(m.position, m.text) for m in said] == [
        (0, "Change: Peas sown"),
        (1, "Change: Peas up"),
    ]


def test_an_edited_observation_keeps_its_place(garden: Garden, house: House) -> None:
    """It reads as it reads now, where it was cited; no message is added."""
    first = garden.observe(0, "Peas sown", session="a")
    garden.observe(1, "Beans sown", session="a")
    house.night()
    store = garden.open()
    store.observations.edit(first, {"title": "Peas sown too deep"})
    store.close()
    house.night()
    (said,) = _messages(house).values()
    assert [m.text for m in said] == ["Change: Peas sown too deep", "Change: Beans sown"]


def test_a_deleted_observation_stays_where_it_is_cited(garden: Garden, house: House) -> None:
    """As with every transcript, a citation opens all the same; positions do not move."""
    first = garden.observe(0, "Peas sown", session="a")
    garden.observe(1, "Beans sown", session="a")
    house.night()
    store = garden.open()
    store.observations.delete([first])
    store.close()
    garden.observe(2, "Leeks sown", session="a")
    house.night()
    (said,) = _messages(house).values()
    assert [m.text for m in said] == [
        "Change: Peas sown", "Change: Beans sown", "Change: Leeks sown",
    ]  # fmt: skip


def test_a_store_that_was_moved_brings_nothing_twice(
    garden: Garden, house: House, home: Path
) -> None:
    """A renamed project folder: what was read stays once, what is new comes to it."""
    garden.observe(0, "Peas sown", session="a")
    house.night()
    moved = garden.root.with_name("orchard")
    garden.root.rename(moved)
    garden.path = moved / ".anvil" / "memory.db"
    machine.register(home / ".local" / "share" / "nightly-memory", garden.path)
    garden.observe(3, "Pears picked", session="a")
    again = Observations([garden.path])
    sources = tuple(one for one in house.desk.sources if one.name != again.name)
    object.__setattr__(house.desk, "sources", (*sources, again))
    house.night()
    (said,) = _messages(house).values()
    assert [m.text for m in said] == ["Change: Peas sown", "Change: Pears picked"]


def test_a_damaged_store_is_told_of_and_tried_again(garden: Garden, house: House) -> None:
    """It is named among the problems, and read once it is whole again."""
    garden.observe(0, "Peas sown", session="a")
    whole = garden.path.read_bytes()
    garden.path.write_bytes(b"no database at all " * 100)
    house.night()
    assert str(garden.path) in house.desk.results.problems[0]
    garden.path.write_bytes(whole)
    house.night()
    assert [m.text for said in _messages(house).values() for m in said] == ["Change: Peas sown"]


def test_reading_changes_nothing(garden: Garden, tmp_path: Path) -> None:
    """Not a byte of the store; one that is not there is no fault of discovery, but of reading."""
    garden.observe(0, "Peas sown", session="a")
    before = garden.path.read_bytes()
    source = Observations([garden.path, tmp_path / "gone.db"])
    assert list(source.discover()) == [garden.path]
    assert len(list(source.read(garden.path))) == 1
    assert garden.path.read_bytes() == before
    with pytest.raises(SourceFault, match=r"gone\.db"):
        list(source.read(tmp_path / "gone.db"))


def test_an_observation_becomes_a_cited_sentence(garden: Garden, home: Path) -> None:
    """A whole night: the article cites the observation itself; the night after is silent."""
    garden.observe(0, "Lantern", session="a", content="Other work on Lantern, of no matter.")
    garden.observe(
        4, "Lantern workers raised", session="a", content="The Lantern project runs 6 workers now."
    )
    machine.register(home / ".local" / "share" / "nightly-memory", garden.path)
    write_sessions(home)
    config = make_vault()
    claims = {**CLAIMS, "runs 6 workers": [("The Lantern project runs 6 workers.", "fact")]}
    night = run_night(config, Script(claims=claims))
    assert night.status == "done", night.results
    store = Store(config.store_path)
    own = store.conversations.by_session("observations", "observations/a")
    store.close()
    assert own is not None
    pages = [path.read_text() for path in (config.vault / "articles").glob("*.md")]
    (page,) = [page for page in pages if "runs 6 workers" in page]
    (note,) = [line for line in page.splitlines() if f"`conv:{own.conv}`" in line and "[^" in line]
    assert "observations, message 2" in note
    before = files(config.vault)
    again = run_night(config, Script(claims=claims), at=NIGHT + timedelta(days=1))
    assert (again.status, files(config.vault)) == ("nothing", before)
