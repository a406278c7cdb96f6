"""What a search finds, in which order, and what it never gives."""

from __future__ import annotations

import sqlite3
import time
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.config import Config, load_config
from pipeline.errors import ConfigFault, StoreFault, VaultFault
from pipeline.recall.index import NAME
from pipeline.recall.library import library
from pipeline.recall.searching import Filters, search
from pipeline.records import Assignment, Bucket, BucketState
from pipeline.store import Store
from tests.support_recall import LONG_AGO, article, claimed, found, meta, places, store
from tests.support_store import START, fill

HARBOR = """---
title: Harbor importer
aliases: [ingest tool]
---
# Harbor importer

The Harbor importer reads files in blocks of 64 MB.[^1]

## Archives

Archives are packed with zstd.[^2] The owner likes it.

### Limits

- No file may be larger than 2 GB

## References

[^1]: `conv:1a2b3c4d` (2026-11-26, pi, message 2) — title
[^2]: `conv:1a2b3c4d` (2026-11-27, pi, messages 3–4) — title
"""
SAID = [
    "How does the Harbor importer read files?",
    "The Harbor importer reads files in blocks of 64 MB now.",
    "Then let us pack the archives with zstd, it is fast.",
    "Done: archive.py packs with zstd.",
]
CLAIMS = [("The Harbor importer reads files in blocks of 64 MB.", 1), ("archive.py packs.", 3)]


@pytest.fixture
def config() -> Config:
    """A home with one article and the conversation it came of."""
    config = load_config(timezone="UTC")
    article(config, "Harbor importer", HARBOR)
    with store(config) as opened:
        claimed(opened, "1a2b3c4d", SAID, CLAIMS, bucket="Harbor project")
    return config


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
        claimed(opened, "0000000c", ["zinc zinc zinc"] * 60, [], bucket="Secret alloy")
        fill(opened, "0000000d", [f"Something about zinc and {n} other metals." for n in range(15)])
    meta(config, "Topics_to_Ignore.md", "- Secret alloy\n")
    hits = found(config, "zinc", limit=10, places=("conversations",))
    assert len(hits) == 10
    assert {hit.citation.partition("#")[0] for hit in hits} == {"conv:0000000d"}


# ------------------------------------------------------------------ what is never given


def test_an_ignored_topic_is_never_given(config: Config) -> None:
    """Neither its claims nor its messages, whether the store knows of it or only the page."""
    assert found(config, "zstd", places=("claims", "conversations"))
    meta(config, "Buckets.md", "| bucket | state |\n|---|---|\n| Harbor project | ignore |\n")
    assert not found(config, "zstd archive.py packs", places=("claims", "conversations"))
    (config.vault / "Meta" / "Buckets.md").unlink()
    assert found(config, "zstd", places=("claims", "conversations"))
    with store(config) as opened:
        opened.buckets.save(
            Bucket("Harbor project", state=BucketState.IGNORED), datetime(2026, 1, 1, tzinfo=UTC)
        )
    assert not found(config, "zstd archive.py packs", places=("claims", "conversations"))


def test_what_was_merged_into_an_ignored_topic_is_not_given(config: Config) -> None:
    """Over several steps too, by the store or by the page."""
    at = datetime(2026, 1, 1, tzinfo=UTC)
    page = "| bucket | state |\n|---|---|\n"
    meta(config, "Buckets.md", f"{page}| Harbor project | → B |\n| B | → C |\n| C | ignored |\n")
    assert not found(config, "zstd", places=("claims", "conversations"))
    (config.vault / "Meta" / "Buckets.md").unlink()
    with store(config) as opened:
        for name, into in (("Harbor project", "B"), ("B", "C")):
            opened.buckets.save(Bucket(name, state=BucketState.MERGED, merged_into=into), at)
        opened.buckets.save(Bucket("C", "Harbor importer"), at)
    assert found(config, "zstd", places=("claims", "conversations"))
    with store(config) as opened:
        opened.buckets.save(Bucket("C", "Harbor importer", state=BucketState.IGNORED), at)
    assert not found(config, "zstd")


def test_a_listed_topic_is_never_given(config: Config) -> None:
    """What speaks of it, all of the chunk it stands in, and articles and sections called so."""
    with store(config) as opened:
        claimed(opened, "0000000b", ["My tax return is late.", "Ask the office about it."],
                [("The office is late.", 1)])  # fmt: skip
        claimed(opened, "0000000c", ["the office has a printer"], [], keep=False)
    article(config, "Taxes", "# Tax return\n\nThe office is slow.\n\n## Printer\n\nThe office.\n")
    article(config, "Rooms", "# Rooms\n\nAn office.\n\n## Tax return\n\nNo office.\n")
    assert len(found(config, "office")) >= 5
    meta(config, "Topics_to_Ignore.md", "# Topics\n\n- Tax return\n")
    assert places(found(config, "office")) == [("articles", "Rooms#")]


@pytest.mark.parametrize("item", ["**Tax return**: nobody's business", "*Tax return* — no"])
def test_a_listed_topic_may_have_a_reason_behind_it(config: Config, item: str) -> None:
    """What the reason says need not be said for the topic to be meant."""
    with store(config) as opened:
        claimed(opened, "0000000b", ["My tax return is at the office.", "An office of stone."], [])
    assert found(config, "office")
    meta(config, "Topics_to_Ignore.md", f"# Topics\n\n- {item}\n")
    assert not found(config, "office")


def test_a_heading_that_rests_on_a_forgotten_conversation_is_not_given(config: Config) -> None:
    """What stands under it and rests on others is, without a word of the heading or its day."""
    text = """# Rooms

## Zinnia was here[^1]

The pantry is cold.[^2] The cellar too.[^1]

## Pantry[^1][^2]

The pantry is warm.[^2]

[^1]: `conv:0000000b` (2026-11-27, pi, message 1) — title
[^2]: `conv:0000000c` (2026-11-20, pi, message 1) — title
"""
    article(config, "Rooms", text)
    with store(config) as opened:
        for conv in ("0000000b", "0000000c"):
            fill(opened, conv, ["something"])
    hits = {hit.anchor: hit for hit in found(config, "pantry", places=("articles",))}
    assert hits["Zinnia was here"].date == "2026-11-27"
    with store(config) as opened:
        opened.forgetting.begin(["0000000b"], START)
    hits = {hit.anchor: hit for hit in found(config, "pantry", places=("articles",))}
    assert set(hits) == {"", "Pantry"}
    assert hits[""].snippet == "The «pantry» is cold."
    assert {hit.date for hit in hits.values()} == {"2026-11-20"}
    assert {hit.citation for hit in hits.values()} == {"conv:0000000c#1"}


def test_forgotten_conversations_are_never_given(config: Config) -> None:
    """Also while their forgetting is under way, and where an article still quotes them."""
    with store(config) as opened:
        opened.forgetting.begin(["1a2b3c4d"], datetime(2026, 1, 1, tzinfo=UTC))
    hits = found(config, "zstd owner likes blocks larger")
    assert {hit.place for hit in hits} == {"articles"}
    assert not any(hit.citation for hit in hits)
    assert not any("zstd" in hit.snippet or "64" in hit.snippet for hit in hits)
    with store(config) as opened:
        opened.forgetting.erase(["1a2b3c4d"], lambda text: False, lambda stem: "")
        opened.forgetting.finish(["1a2b3c4d"])
    assert not any("zstd" in hit.snippet for hit in found(config, "zstd owner likes"))


def test_dropped_claims_are_not_given(config: Config) -> None:
    """What support or the gate refused was never true enough to be told."""
    assert "claims" in {hit.place for hit in found(config, "archive.py packs")}
    with store(config) as opened:
        chunk_id = opened.chunks.of("1a2b3c4d")[0].id
        opened.claims.refuse([chunk_id], "archive.py packs.", "unsupported")
    assert "claims" not in {hit.place for hit in found(config, "archive.py packs")}


def test_secrets_that_the_user_wrote_into_a_page_are_taken_out(config: Config) -> None:
    """Redaction holds on reading too."""
    key = "AKIA" + "QYLPMN5HHHFPZAM2"
    article(config, "Cloud", f"# Cloud\n\nThe deploy key is {key} for now.\n")
    hit = found(config, "deploy key")[0]
    assert hit.article == "Cloud"
    assert key not in hit.snippet
    assert "[REDACTED:" in hit.snippet


def test_a_secret_in_a_heading_is_taken_out_of_the_anchor(config: Config) -> None:
    """Where a hit stands is told as the page is read: without secrets."""
    key = "AKIA" + "QYLPMN5HHHFPZAM2"
    article(config, "Cloud", f"# Cloud\n\n## Deploy {key}\n\nBy the courier.\n")
    (hit,) = found(config, "courier", places=("articles",))
    assert hit.anchor == "Deploy [REDACTED:aws]"


def test_a_secret_over_two_lines_does_not_move_what_is_told(config: Config) -> None:
    """The title is the title's, the anchor the heading's, also where one line becomes of two."""
    key = "Zx81kQpL02mNbV7cXsD4"
    text = f'---\ntitle: \'api_key = "{key}" \\\'\n---\n# A\n\n## "Courier"\n\nBy the courier.\n'
    article(config, "Cloud", text)
    (hit,) = found(config, "courier", places=("articles",))
    assert (hit.anchor, hit.snippet) == ('"Courier"', "By the «courier».")


def test_an_item_or_a_quote_is_hidden_as_one(config: Config) -> None:
    """The mark stands at its end; the lines before it rest on the same forgotten conversation."""
    article(
        config,
        "Trip",
        "# Trip\n\n- The ferry was late\n  by an hour.[^1]\n- The ferry is green.\n\n"
        "> The ferry costs nine\n> a head.[^1]\n\n"
        "[^1]: `conv:1a2b3c4d` (2026-01-02, pi, message 1) — Trip\n",
    )
    assert "late" in found(config, "ferry late", places=("articles",))[0].snippet
    with store(config) as opened:
        opened.forgetting.begin(["1a2b3c4d"], datetime(2026, 1, 1, tzinfo=UTC))
    (hit,) = found(config, "ferry late nine", places=("articles",))
    assert hit.snippet == "- The «ferry» is green."


def test_an_article_headed_by_a_topic_to_ignore_is_not_given(config: Config) -> None:
    """Though its frontmatter calls it otherwise; nor where the list has signs around the name."""
    article(config, "Rooms", "---\ntitle: Rooms\n---\n# Zebra farm\n\n## Part\n\nA pelican.\n")
    assert found(config, "pelican")
    meta(config, "Topics_to_Ignore.md", "# Topics\n\n- `zebra farm`\n")
    assert not found(config, "pelican")


def test_a_store_whose_newest_cannot_be_read_tells_nothing(config: Config) -> None:
    """It may be what was forgotten; as on a disk that is only read, after a crash."""
    opened = Store(config.store_path)
    opened.forgetting.begin(["1a2b3c4d"], datetime(2026, 1, 1, tzinfo=UTC))
    files = [config.store_path, config.cache_dir / "memory.sqlite-wal"]
    crashed = [file.read_bytes() for file in files]
    opened.close()
    for file, content in zip(files, crashed, strict=True):
        file.write_bytes(content)
    beside = config.cache_dir / "memory.sqlite-shm"
    beside.symlink_to(config.cache_dir / "gone" / "file")  # as where it cannot be made
    with pytest.raises(StoreFault, match="unable to open"):
        found(config, "zstd")


def test_the_title_of_a_conversation_does_not_name_a_topic_to_ignore(config: Config) -> None:
    """What else was said in it is given, without the title."""
    with store(config) as opened:
        claimed(opened, "0000000b", ["The printer is out of ink."], [("The printer waits.", 0)])
    title = "Title of 0000000b"  # as the store's support calls it
    assert {hit.title for hit in found(config, "printer")} == {title}
    meta(config, "Topics_to_Ignore.md", f"# Topics\n\n- {title}\n")
    assert {hit.title for hit in found(config, "printer")} == {""}


@pytest.mark.parametrize("content", [None, "# Topics\n\n- zstd\n".encode("utf-16")])
def test_a_page_of_ignored_topics_that_cannot_be_read_tells_nothing(
    config: Config, content: bytes | None
) -> None:
    """Nobody knows then what must not be told."""
    page = config.vault / "Meta" / "Topics_to_Ignore.md"
    page.parent.mkdir(parents=True, exist_ok=True)
    if content is None:
        page.mkdir()
    else:
        page.write_bytes(content)
    with pytest.raises(VaultFault, match="Topics_to_Ignore"):
        found(config, "zstd")


def test_no_link_leads_out_of_the_vault(config: Config, tmp_path: Path) -> None:
    """`memory read` refuses a page that is a link; a search does not tell what is in it."""
    outside = tmp_path / "outside.md"
    outside.write_text("# Outside\n\nThe pelican sleeps.\n", "utf-8")
    (config.vault / "articles" / "Linked.md").symlink_to(outside)
    assert not found(config, "pelican")


@pytest.mark.parametrize("text", ["", "\n\n", "# Pelican\n", "---\ntags: [x]\n---\n"])
def test_a_page_without_text_is_found_by_its_name(config: Config, text: str) -> None:
    """Somebody just made it; nor does it keep the others from being found."""
    article(config, "Pelican", text)
    assert [hit.article for hit in found(config, "pelican")] == ["Pelican"]
    assert found(config, "zstd")


def test_a_footnote_with_a_day_that_is_none(config: Config) -> None:
    """Somebody changed it by hand; the section is found all the same."""
    article(
        config,
        "Trip",
        "# Trip\n\nThe pelican sleeps.[^1]\n\n"
        "[^1]: `conv:1a2b3c4d` (2026-02-30, pi, message 1) — Trip\n",
    )
    assert found(config, "pelican")[0].article == "Trip"


# ------------------------------------------------------------------ any string, any state


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
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


# ------------------------------------------------------------------ the index


def test_a_hand_edit_is_found_at_once(config: Config) -> None:
    """In the same process and in another, even within the moment in which a clock stands still."""
    with library(config) as lib:
        assert not search(lib, "ferry", Filters(places=("articles",)), 5)
        article(config, "Harbor importer", HARBOR.replace("owner", "ferry"), at=time.time())
        assert search(lib, "ferry", Filters(places=("articles",)), 5)
        article(config, "Harbor importer", HARBOR.replace("owner", "barge"), at=time.time())
        assert search(lib, "barge", Filters(places=("articles",)), 5)
        assert not search(lib, "ferry", Filters(places=("articles",)), 5)
    articles = config.vault / "articles"
    (articles / "Harbor importer.md").rename(articles / "Q.md")
    assert found(config, "barge")[0].article == "Q"
    (articles / "Q.md").unlink()
    assert not found(config, "barge", places=("articles",))


def test_the_day_of_an_article_is_that_of_its_last_change(config: Config) -> None:
    """Also while it may still be changing, as a file does that was put there a moment ago."""
    article(config, "Kettle", "# Kettle\n\nIt whistles.\n", at=LONG_AGO)
    day = datetime.fromtimestamp(LONG_AGO).date().isoformat()
    assert [hit.date for hit in found(config, "whistles")] == [day]


def test_of_an_edited_article_only_what_changed_is_indexed_anew(config: Config) -> None:
    """Sections that say what they said keep their rows, wherever they stand in the page now."""
    article(config, "Notes", "# Notes\n\nLead.\n\n## One\n\nFirst.\n\n## Two\n\nSecond.\n")

    def rows() -> dict[str, int]:
        with library(config) as lib:
            found = lib.sections.fresh().execute(
                "SELECT anchor, id FROM sections JOIN files USING (path) WHERE stem = 'Notes'"
            )
            return dict(found.fetchall())

    before = rows()
    article(config, "Notes", "# Notes\n\nLead.\n\n## Two\n\nSecond.\n\n## One\n\nAnother.\n")
    after = rows()
    assert (after[""], after["Two"]) == (before[""], before["Two"])
    assert found(config, "another")[0].anchor == "One"
    assert not found(config, "first", places=("articles",))


@pytest.mark.parametrize("left", [b"", b"no database" * 1000, None])
def test_a_lost_or_damaged_index_is_made_anew(config: Config, left: bytes | None) -> None:
    """Nothing is true because it stands there."""
    before = found(config, "zstd")
    index = config.cache_dir / NAME
    if left is None:
        data = bytearray(index.read_bytes())
        data[len(data) // 2 :] = b"\xff" * (len(data) - len(data) // 2)
        left = bytes(data)
    index.write_bytes(left)
    for beside in config.cache_dir.glob(f"{NAME}-*"):
        beside.unlink()
    assert found(config, "zstd") == before
    assert found(config, "zstd") == before


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE files SET digest = CAST(x'ff41' AS TEXT)",
        "UPDATE sections SET lines = CAST(x'ff41' AS TEXT)",
        "UPDATE sections SET lines = '['",
        "DROP TABLE sections_fts",
        "DROP TABLE files",
    ],
)
def test_damage_in_the_index_that_is_not_called_so_is_got_over(config: Config, damage: str) -> None:
    """As of a disk that turned some bits: the store is not blamed for it."""
    before = found(config, "zstd")
    index = sqlite3.connect(config.cache_dir / NAME)
    index.execute(damage)
    index.commit()
    index.close()
    assert found(config, "zstd") == before
    assert found(config, "zstd") == before


def test_where_no_index_can_be_written_the_search_is_the_same(config: Config) -> None:
    """A folder in the place of the file, as a stand-in for a disk that may not be written."""
    (config.cache_dir / NAME).mkdir()
    assert found(config, "zstd")[0].article == "Harbor importer"
    article(config, "Harbor importer", HARBOR.replace("owner", "ferry"))
    assert found(config, "ferry")


def test_a_locked_index_is_not_waited_for_long(config: Config, tmp_path: Path) -> None:
    """Another program that holds it costs a second; what was edited meanwhile is found."""
    found(config, "zstd")
    holder = sqlite3.connect(config.cache_dir / NAME, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    article(config, "Harbor importer", HARBOR.replace("owner", "ferry"))
    assert found(config, "ferry", places=("articles",))
    holder.execute("ROLLBACK")
    holder.close()


def test_a_store_on_a_disk_that_may_not_be_written_is_read(config: Config) -> None:
    """Where SQLite can make no file beside the store, it is read as it is."""
    for beside in config.cache_dir.glob("memory.sqlite-*"):
        beside.unlink()
    (config.cache_dir / "memory.sqlite-shm").mkdir()
    assert found(config, "zstd", places=("conversations",))


def test_the_index_is_for_its_owner_alone(config: Config) -> None:
    """It holds what the wiki says."""
    found(config, "zstd")
    assert (config.cache_dir / NAME).stat().st_mode & 0o077 == 0


def test_unread_files_and_links_are_listed_as_the_vault_lists_them(config: Config) -> None:
    """Subfolders, hidden files, two of one name, a link to nowhere, a page that is not UTF-8."""
    articles = config.vault / "articles"
    (articles / "sub" / ".hidden").mkdir(parents=True)
    for name in ("sub/Deep.md", "sub/Harbor importer.md", "sub/.hidden/No.md", ".No.md", "No.txt"):
        (articles / name).write_text("# ferry\n\nferry\n", "utf-8")
    (articles / "Bytes.md").write_bytes(b"\xff\xfe ferry")
    (articles / "Nowhere.md").symlink_to(articles / "gone.md")
    with library(config) as lib:
        readable = {stem for stem in lib.vault.stems() if stem not in ("Bytes", "Nowhere")}
        assert readable == {"Deep", "Harbor importer"}
        assert {h.article for h in search(lib, "ferry", Filters(places=("articles",)), 9)} == {
            "Deep"
        }


def test_two_topics_of_a_chunk_hide_it_if_one_is_ignored(config: Config) -> None:
    """A chunk that belongs to an ignored topic too is not given through the other."""
    with store(config) as opened:
        made = opened.chunks.of("1a2b3c4d")[0]
        at = datetime(2026, 1, 1, tzinfo=UTC)
        opened.buckets.save(Bucket("Private", state=BucketState.IGNORED), at)
        opened.buckets.assign(
            made.id, [Assignment(made.id, "Harbor project", 1.0), Assignment(made.id, "Private", 1)]
        )
    assert not found(config, "zstd", places=("claims", "conversations"))
