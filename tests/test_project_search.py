"""Search takes any string, finds what has the words, and puts the best and newest first."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import ConfigFault
from pipeline.project.cleaning import cleaner
from pipeline.project.observations import NewObservation
from pipeline.project.searching import Filters, expression
from pipeline.project.store import ProjectStore

NOW = 1_800_000_000_000
DAY = 86_400_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ProjectStore]:
    made = ProjectStore(tmp_path / "memory.db", cleaner({}), make=True, clock=lambda: NOW)
    yield made
    made.close()


def _add(store: ProjectStore, title: str, age: float = 1, **more: object) -> int:
    new = NewObservation(type=str(more.pop("kind", "change")), title=title, **more)  # type: ignore[arg-type]
    return store.observations.add(new._replace(at=int(NOW - age * DAY)))


def _find(store: ProjectStore, query: str, limit: int = 10, **filters: object) -> list[str]:
    hits = store.observations.search(query, Filters(**filters), limit)  # type: ignore[arg-type]
    return [hit["title"] for hit in hits]


@pytest.fixture
def garden(store: ProjectStore) -> ProjectStore:
    """A few observations about different things."""
    _add(store, "Watering twice", content="The beds dry out by noon", files=("src/water.py",))
    _add(store, "Sow the peas", content="A phrase: three fingers deep", concepts=("gotcha",))
    _add(store, "Fences", content="deep posts, three of them, fingers aside", kind="decision")
    return store


def test_all_words_must_be_there(garden: ProjectStore) -> None:
    """In whatever field and order, whatever their case and accents."""
    assert _find(garden, "beds watering") == ["Watering twice"]
    assert _find(garden, "WÄTERING") == ["Watering twice"]
    assert _find(garden, "water.py") == ["Watering twice"]


def test_any_word_will_do_if_none_has_all(garden: ProjectStore) -> None:
    """A question in whole sentences still finds something."""
    assert _find(garden, "where do the peas stand now") == ["Sow the peas", "Watering twice"]
    assert _find(garden, "nothing like it") == []


def test_phrases_and_beginnings(garden: ProjectStore) -> None:
    """Quotes keep words together; a star after a word, or a phrase, is its beginning."""
    assert _find(garden, '"three fingers"') == ["Sow the peas"]
    assert set(_find(garden, "three fingers")) == {"Sow the peas", "Fences"}
    assert _find(garden, "wat*") == ["Watering twice"]
    assert _find(garden, "wat") == []
    assert _find(garden, '"three fing"*') == ["Sow the peas"]


def test_filters_narrow_it(garden: ProjectStore) -> None:
    """By kind, file, concept and time."""
    assert _find(garden, "three", types=("decision",)) == ["Fences"]
    assert _find(garden, "three", concepts=("gotcha",)) == ["Sow the peas"]
    assert _find(garden, "beds", file="water") == ["Watering twice"]
    assert _find(garden, "beds", file="other") == []
    assert _find(garden, "beds", since=NOW - DAY // 2) == []
    assert _find(garden, "beds", until=NOW - DAY // 2) == ["Watering twice"]


def test_a_title_says_more_than_a_mention(store: ProjectStore) -> None:
    """What is about it comes before what speaks of it."""
    filler = "and some more words that say nothing of the matter " * 3
    _add(store, "Something else", content=f"speaks of retention {filler}")
    _add(store, "Retention of sessions", content=filler)
    _add(store, "A third thing", content=filler)
    assert _find(store, "retention")[0] == "Retention of sessions"


def test_of_equals_the_newer_comes_first(store: ProjectStore) -> None:
    """Also with a filter; and of much the same, what is a year old comes after."""
    for title, age in (("old retention", 365), ("new retention", 1), ("mid retention", 90)):
        _add(store, title, age)
    for number in range(20):
        _add(store, f"other {number}")
    found = ["new retention", "mid retention", "old retention"]
    assert _find(store, "retention") == found
    assert _find(store, "retention", types=("change",)) == found
    assert _find(store, "retention", limit=1) == ["new retention"]


def test_relevance_can_outweigh_age(store: ProjectStore) -> None:
    """The old answer is found though many newer ones mention one of the words."""
    filler = "and so on, with this and that and a few more words " * 4
    for number in range(40):
        mention = "the parser was run" if number < 5 else ""
        _add(store, f"note {number}", age=1, content=f"{filler}{mention}")
    _add(store, "Parser drops the last line", age=200)
    assert _find(store, "parser", limit=3)[0] == "Parser drops the last line"


@settings(max_examples=300)
@given(st.text(max_size=60) | st.text("\"*():^-+ANDORNOT {}\\'.a", max_size=40))
def test_any_string_is_a_safe_query(query: str) -> None:
    """Nothing a person types is FTS5's own syntax; quotes in what is searched stay quotes."""
    connection = _INDEX.connection
    wanted = expression(query)
    if wanted:
        connection.execute(
            "SELECT count(*) FROM observations_fts WHERE observations_fts MATCH ?", (wanted,)
        ).fetchone()
    _INDEX.observations.search(query, Filters(), 3)


def test_the_advanced_mode_is_fts5s_own(garden: ProjectStore) -> None:
    """Columns and operators work in it, and what is no expression is explained."""
    search = garden.observations.search
    hits = search("title:fences OR title:peas", Filters(), 10, advanced=True)
    assert {hit["title"] for hit in hits} == {"Sow the peas", "Fences"}
    with pytest.raises(ConfigFault, match="FTS5"):
        search('"unclosed', Filters(), 10, advanced=True)
    with pytest.raises(ConfigFault, match="FTS5"):
        search("nosuchcolumn:x", Filters(), 10, advanced=True)


@pytest.fixture(autouse=True, scope="module")
def _index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    global _INDEX
    folder = tmp_path_factory.mktemp("index")
    _INDEX = ProjectStore(folder / "memory.db", cleaner({}), make=True)
    _add(_INDEX, 'a "quoted" AND b*')
    yield
    _INDEX.close()


_INDEX: ProjectStore


def test_words_within_a_sentence_without_spaces(store: ProjectStore) -> None:
    """Chinese, Japanese and Thai are found by any part, with filters and beside other words."""
    store.observations.add(NewObservation("decision", "畑に水をやる", content="API は昼に止める"))
    store.observations.add(NewObservation("change", "会議の記録", content="畑の話"))
    store.observations.add(NewObservation("change", "ตั้งค่าฐานข้อมูล"))

    def titles(query: str, filters: Filters = Filters()) -> list[str]:  # noqa: B008 - a tuple
        return [hit["title"] for hit in store.observations.search(query, filters, 9)]

    assert titles("水") == ["畑に水をやる"]
    assert sorted(titles("畑")) == ["会議の記録", "畑に水をやる"]
    assert titles("畑", Filters(types=("decision",))) == ["畑に水をやる"]
    assert titles("api 昼") == ["畑に水をやる"]
    assert titles("ฐานข้อมูล") == ["ตั้งค่าฐานข้อมูล"]
    assert titles("海") == titles("畑%話") == titles("畑" * 60_000) == []
