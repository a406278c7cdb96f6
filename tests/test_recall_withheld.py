"""What a search never gives: ignored topics, what is forgotten, secrets, other folders."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from pipeline.config import Config
from pipeline.errors import StoreFault, VaultFault
from pipeline.records import Assignment, Bucket, BucketState
from pipeline.store import Store
from tests.support_recall import (
    article,
    claimed,
    config,
    found,
    meta,
    places,
    store,
)
from tests.support_store import START, fill

__all__ = ["config"]  # a fixture


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


def test_dropped_claims_take_no_place_of_others(config: Config) -> None:
    """However many of them match, and the shorter the better: what was kept is found."""
    with store(config) as opened:
        refused = [(f"The quokka eats {number}.", 0) for number in range(200)]
        made = claimed(opened, "0000000d", ["I saw a quokka."], refused)
        for number in range(200):
            opened.claims.refuse([made.id], f"The quokka eats {number}.", "unsupported")
        kept = "The quokka of the island far in the south likes to sleep under a bush by day."
        claimed(opened, "0000000e", ["About the island."], [(kept, 0)])
    hits = [hit.snippet for hit in found(config, "quokka", places=("claims",))]
    assert len(hits) == 1 and "sleep under a bush" in hits[0]


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
