"""What a search finds, and in which order; any string is a query."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.config import Config, load_config
from pipeline.errors import ConfigFault, StoreFault
from pipeline.records import Bucket, BucketState
from tests.support_recall import (
    HARBOR,
    article,
    claimed,
    config,
    found,
    meta,
    places,
    store,
)
from tests.support_store import fill

__all__ = ["config"]  # a fixture


# ------------------------------------------------------------------ what is found


def test_a_section_is_found_with_its_heading_and_the_sentence_it_rests_on(config: Config) -> None:
    """Each hit says where it stands and which message says so."""
    hit = found(config, "packed zstd archives", places=("articles",))[0]
    assert (hit.article, hit.anchor, hit.title) == (
        "Harbor importer",
        "Archives",
        "Harbor importer",
    )
    assert hit.citation == "conv:1a2b3c4d#3"
    assert hit.date == "2026-11-27"
    assert hit.project == "/home/somebody/project"
    assert hit.snippet == "«Archives» are «packed» with «zstd». The owner likes it."


def test_the_title_and_other_names_lead_to_the_article(config: Config) -> None:
    """What an article is called counts more than where the words stand in some text."""
    article(config, "Notes", "# Notes\n\nThe ingest tool, the ingest tool and the ingest tool.\n")
    for query in ("ingest tool", "harbor importer", "Harbor Importer?"):
        assert places(found(config, query, places=("articles",)))[0] == (
            "articles", "Harbor importer#",
        )  # fmt: skip


@pytest.mark.parametrize("slip", ["harbr importer", "imporetr", "archvies"])
def test_a_slip_of_the_pen_finds_the_article(config: Config, slip: str) -> None:
    """A word that stands nowhere is taken for the one it is nearly spelled like."""
    assert found(config, slip, places=("articles",))[0].article == "Harbor importer"


def test_a_merged_topic_leads_to_the_article_it_went_into(config: Config) -> None:
    """Who asks by the former name gets the article of the topic it was merged into."""
    with store(config) as opened:
        at = datetime(2026, 1, 1, tzinfo=UTC)
        opened.buckets.save(
            Bucket("Harbor project", "Harbor importer", state=BucketState.ARTICLE), at
        )
        merged = BucketState.MERGED
        opened.buckets.save(
            Bucket("Quayside loader", state=merged, merged_into="Harbor project"), at
        )
    assert places(found(config, "quayside loader"))[0] == ("articles", "Harbor importer#")


def test_stems_and_irregular_forms_are_found(config: Config) -> None:
    """Who asks for "packing" means "packed", and "written" is found by "wrote"."""
    with store(config) as opened:
        fill(opened, "00000002", ["She wrote the parser by hand."])
    assert found(config, "packing")[0].article == "Harbor importer"
    assert places(found(config, "has written a parser"))[0][1] == "conv:00000002#1"


def test_words_without_spaces_between_them_are_found(config: Config) -> None:
    """A part of a Chinese, Japanese or Korean sentence finds it, in articles and messages."""
    article(config, "港口", "# 港口\n\n导入程序每次读取六十四兆字节。\n")
    with store(config) as opened:
        fill(opened, "00000003", ["アーカイブは圧縮されています。", "서버에서 백업합니다"])
    assert found(config, "读取字节")[0].article == "港口"
    assert found(config, "港口")[0].article == "港口"
    assert "«アーカイブ»" in found(config, "アーカイブ 圧縮")[0].snippet
    assert found(config, "백업")[0].citation == "conv:00000003#2"


def test_a_phrase_and_a_path_are_found_as_they_stand(config: Config) -> None:
    """Words in quotes belong together, and so do the parts of a path."""
    with store(config) as opened:
        fill(
            opened, "00000004", ["py archive", "see src/archive.py for it", "archive the py files"]
        )
    assert places(found(config, '"see src"'))[0][1] == "conv:00000004#2"
    assert places(found(config, "src/archive.py", places=("conversations",)))[0][1] == (
        "conv:00000004#2"
    )


def test_what_stands_beside_a_match_counts(config: Config) -> None:
    """An answer is found by the words of its question, before messages that share fewer."""
    with store(config) as opened:
        fill(opened, "00000005", ["What is your puppy called?", "Her name is Coco."])
        fill(opened, "00000006", ["The puppy sleeps.", "Fine."])
    hits = places(found(config, "what is the puppy called", places=("conversations",)))
    assert [where for _, where in hits][:2] == ["conv:00000005#1", "conv:00000005#2"]


# ------------------------------------------------------------------ each thing once


def test_nothing_is_told_twice(config: Config) -> None:
    """A claim that an article says in the same words, and a message they rest on, are left out."""
    hits = places(found(config, "Harbor importer reads files in blocks of 64 MB"))
    assert hits[0] == ("articles", "Harbor importer#")
    assert ("claims", "conv:1a2b3c4d#2") not in hits
    assert ("conversations", "conv:1a2b3c4d#2") not in hits


# ------------------------------------------------------------------ filters


def test_places_are_searched_as_asked(config: Config) -> None:
    """Only where it was asked for; a place that is none is named."""
    for place in ("articles", "claims", "conversations"):
        hits = found(config, "zstd packs archives", places=(place,))
        assert {hit.place for hit in hits} == {place}
    assert not found(config, "zstd", places=("observations",))
    with pytest.raises(ConfigFault, match="'everywhere'"):
        found(config, "zstd", places=("everywhere",))


def test_observations_are_a_place_of_their_own(config: Config) -> None:
    """What hooks noted is given to who asks for it, and to nobody else."""
    with store(config) as opened:
        fill(opened, "00000007", ["zstd was noted"])
        opened._connection.execute("UPDATE conversations SET source = 'observations' "
                                   "WHERE conv = '00000007'")  # fmt: skip
    assert places(found(config, "noted")) == []
    assert places(found(config, "noted", places=("observations",))) == [
        ("observations", "conv:00000007#1")
    ]


def test_days_and_projects_let_through_what_is_theirs(config: Config) -> None:
    """Both days are included; a project is its folder, one above it, or the folder's name."""
    with store(config) as opened:
        fill(opened, "00000008", ["zstd again"], start=datetime(2026, 11, 20, 23, 59, tzinfo=UTC))
        opened._connection.execute(
            "UPDATE conversations SET project = '/srv/quay' WHERE conv = '00000008'"
        )
    day = date(2026, 11, 20)
    assert places(found(config, "zstd", since=day, until=day)) == [
        ("conversations", "conv:00000008#1")
    ]
    with store(config) as opened:  # the answer to it was given a minute later, on the next day
        said = ["Which loom is it?", "The wide one."]
        fill(opened, "00000009", said, start=datetime(2026, 11, 20, 23, 59, tzinfo=UTC))
    for word in ("loom", "wide"):
        before, after = (
            found(config, word, until=day),
            found(config, word, since=date(2026, 11, 21)),
        )
        assert {hit.citation for hit in before} <= {"conv:00000009#1"}, word
        assert {hit.citation for hit in after} <= {"conv:00000009#2"}, word
    for project in ("/srv/quay", "/srv", "quay", "/srv/quay/"):
        assert places(found(config, "zstd", project=project)) == [
            ("conversations", "conv:00000008#1")
        ]
    assert found(config, "zstd", project="/home/somebody", places=("articles",))
    assert not found(config, "zstd", project="qua")
    assert not found(config, "zstd", until=date(2001, 2, 2))


def test_newer_counts_a_little_more(config: Config) -> None:
    """Of two that say the same the newer one comes first, whatever is stored first."""
    now = datetime.now(UTC)
    with store(config) as opened:
        fill(opened, "00000009", ["the kiln is hot"], start=now)
        fill(opened, "0000000a", ["the kiln is hot"])
    assert [where for _, where in places(found(config, "hot kiln"))] == [
        "conv:00000009#1",
        "conv:0000000a#1",
    ]


def test_an_article_is_found_by_its_name_however_common_the_word_is(config: Config) -> None:
    """Its name counts more than hundreds of sections that mention the word."""
    article(config, "Zephyr", "# Zephyr\n\nA wind.\n")
    said = ("The zephyr blows", "It is calm", "It rains")
    parts = "".join(f"## Part {n}\n\n{said[n % 3]} {n}.\n\n" for n in range(1800))
    article(config, "Weather", f"# Weather\n\n{parts}")
    assert found(config, "zephyr", places=("articles",))[0].article == "Zephyr"
    assert found(config, "zephyr 777", places=("articles",))[0].anchor == "Part 777"


def test_a_common_word_is_looked_for_beside_a_rare_one(config: Config) -> None:
    """Of many messages with a common word that one comes first which has both."""
    with store(config) as opened:
        texts = [f"{('The ferry', 'A tram', 'No train')[n % 3]} goes at {n}." for n in range(1800)]
        texts[300] += " It carries zircon."
        texts[601] += " It carries zircon."
        fill(opened, "0000000b", texts)
    assert found(config, "ferry with zircon")[0].citation == "conv:0000000b#301"
    assert found(config, "tram with zircon")[0].citation == "conv:0000000b#602"
    assert len(found(config, "ferry", limit=30)) == 30


def test_many_hits_are_told_though_the_best_are_hidden(config: Config) -> None:
    """What must not be told takes no place away from what may be."""
    with store(config) as opened:
        claimed(opened, "0000000c", ["zinc zinc zinc"] * 240, [], bucket="Secret alloy")
        fill(opened, "0000000d", [f"Something about zinc and {n} other metals." for n in range(15)])
    meta(config, "Topics_to_Ignore.md", "- Secret alloy\n")
    hits = found(config, "zinc", limit=10, places=("conversations",))
    assert len(hits) == 10
    assert {hit.citation.partition("#")[0] for hit in hits} == {"conv:0000000d"}


def test_as_many_are_told_as_are_asked_for(config: Config) -> None:
    """Also more than are looked at closely where few are wanted."""
    with store(config) as opened:
        fill(opened, "0000000d", [f"Something about zinc and {n} metals." for n in range(300)])
    assert len(found(config, "zinc", limit=250, places=("conversations",))) == 250


# ------------------------------------------------------------------ any string, any state


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(st.one_of(st.text(), st.text(alphabet='"*()^:-+\0 ANDORNEAR漢字かなع😀\ud800', max_size=60)))
def test_any_string_is_a_query(config: Config, query: str) -> None:
    """Quotes, operators, NUL, lone surrogates, other scripts: found or not, it never fails."""
    found(config, query)


def test_a_very_long_query_is_answered(config: Config) -> None:
    """Ten kilobytes, as an agent may paste them, and one word of that length."""
    assert found(config, "zstd " + "lorem ipsum " * 900)
    found(config, "x" * 10_000)
    found(config, "字" * 10_000)


def test_an_empty_query_and_no_hits_wanted_find_nothing(config: Config) -> None:
    """Nothing was asked."""
    assert found(config, "") == found(config, " \n") == found(config, "zstd", limit=0) == []


def test_without_a_vault_without_a_store_and_with_neither() -> None:
    """What is there is searched; nothing is made but the index."""
    config = load_config(timezone="UTC")
    assert found(config, "anything") == []
    assert not config.vault.exists()
    assert not config.store_path.exists()
    article(config, "Harbor importer", HARBOR)
    assert found(config, "zstd")[0].article == "Harbor importer"


def test_an_empty_store_file_is_as_none(config: Config) -> None:
    """As a kill leaves it that came before the first table."""
    config.store_path.unlink()
    for beside in config.cache_dir.glob("memory.sqlite-*"):
        beside.unlink()
    config.store_path.touch()
    assert {hit.place for hit in found(config, "zstd")} == {"articles"}


def test_a_damaged_store_is_said(config: Config) -> None:
    """The fault names the file and what looks into it."""
    for beside in config.cache_dir.glob("memory.sqlite-*"):
        beside.unlink()
    config.store_path.write_bytes(b"no database at all, but long enough to be looked at" * 50)
    with pytest.raises(StoreFault, match=r"memory\.sqlite"):
        found(config, "zstd")


def test_it_searches_while_a_night_writes(config: Config) -> None:
    """An open transaction of the night keeps no search waiting, and is not seen."""
    with store(config) as opened:
        opened._connection.execute("BEGIN IMMEDIATE")
        opened._connection.execute("UPDATE messages SET text = 'gone'")
        assert found(config, "zstd", places=("conversations",))
        opened._connection.execute("ROLLBACK")
