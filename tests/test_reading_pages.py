"""What is told of the articles is what stands there now, without what must not be told."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from pipeline.cli import app
from pipeline.config import Config, load_config
from pipeline.errors import ConfigFault, StoreFault, VaultFault
from pipeline.footnotes import citations, marks
from pipeline.markdown import Kind, parse
from pipeline.recall.library import library
from pipeline.recall.opening import open_page
from pipeline.recall.pages import links, notes, section, sections, told
from pipeline.recall.shelf import Shelf, card_of, chosen
from pipeline.recall.withholding import Withholding
from pipeline.records import Bucket, BucketState
from pipeline.system import Answer
from tests.support_pages import pages as any_pages
from tests.support_reading import (
    HARBOR,
    LANTERN,
    small_store,
    small_vault,
    write_article,
    write_meta,
)

NOW = datetime(2026, 11, 28, tzinfo=UTC)


@contextmanager
def shelf(config: Config) -> Iterator[Shelf]:
    """The articles of this vault."""
    with library(config) as lib:
        yield Shelf(lib)


def text_of(config: Config, stem: str) -> str:
    """The article as it is told."""
    with shelf(config) as here:
        return here.page(stem).text


# ------------------------------------------------------------------ pages and sections


def test_a_page_is_told_as_it_stands() -> None:
    """Byte for byte, and anew after an edit: nothing is remembered of it."""
    config = small_vault()
    assert text_of(config, "Lantern") == LANTERN
    write_article(config, "Lantern", LANTERN.replace("45 days", "60 days"))
    assert "60 days" in text_of(config, "Lantern")


def test_the_sections_and_their_sizes() -> None:
    """The lead first; a section holds those below it, and the sizes are those of their text."""
    found = sections(parse(LANTERN))
    assert [(s.anchor, s.level) for s in found] == [
        ("", 0),
        ("Retention", 2),
        ("Limits", 3),
        ("Café at Noon", 2),
        ("History", 2),
        ("References", 2),
    ]
    retention = LANTERN[LANTERN.index("## Retention") : LANTERN.index("## Café")]
    assert found[1].size == len(retention)


def test_a_heading_that_ends_in_a_number_can_be_asked_for() -> None:
    """Though another one is asked for by that number."""
    page = parse("## D\n\none\n\n## D\n\ntwo\n\n## D~2\n\nthree\n")
    anchors = [part.anchor for part in sections(page)]
    assert anchors == ["D", "D~2", "D~2~2"]
    assert [told(page, section(page, one))[-3:] for one in anchors] == ["one", "two", "ree"]


@pytest.mark.parametrize(
    ("anchor", "begins"),
    [
        ("", "\nThe user keeps"),
        ("Retention", "## Retention"),
        ("#retention", "## Retention"),
        ("cafe-at-noon", "## Café"),
        ("Retention#Limits", "### Limits"),
        ("LIMITS", "### Limits"),
    ],
)
def test_a_section_is_found_by_its_heading(anchor: str, begins: str) -> None:
    """As in an Obsidian link, or in another spelling."""
    page = parse(LANTERN)
    assert page.text[section(page, anchor).start :].startswith(begins)


def test_headings_that_are_called_alike_can_each_be_asked_for() -> None:
    """The second one is `~2`; a heading that ends so itself is found as written."""
    page = parse("## A\n\none\n\n## A\n\ntwo\n\n## B~2\n\nthree\n\n## \\#C\n\nfour\n\n## C\n")
    assert [part.anchor for part in sections(page)] == ["A", "A~2", "B~2", "#C", "C"]
    assert "four" in told(page, section(page, "#C"))
    assert section(page, "a~2").anchor == "A~2"
    assert "two" in told(page, section(page, "A~2"))
    assert "three" in told(page, section(page, "B~2"))
    with pytest.raises(ConfigFault, match="no section"):
        section(page, "A~3")


@pytest.mark.parametrize("anchor", ["Nothing", "../History", "a\0b", "Limits#Retention"])
def test_a_section_that_is_not_there(anchor: str) -> None:
    """The mend names those there are."""
    with pytest.raises(ConfigFault, match="no section") as fault:
        section(parse(LANTERN), anchor)
    assert "'Retention'" in fault.value.mend


def test_a_section_comes_with_its_footnotes() -> None:
    """Those it refers to, in their order, the user's own too, and none twice."""
    page = parse(LANTERN)
    part = section(page, "Retention")
    assert [note.label for note in notes(page, part)] == ["2", "1", "knuth"]
    second = notes(page, part)[0].citation
    assert second is not None
    assert (second.conv, second.first, second.last) == ("bbbbbbbb", 0, 1)
    assert told(page, part).count("[^2]: `conv:bbbbbbbb`") == 1
    references = told(page, section(page, "References"))
    assert references.count("`conv:aaaaaaaa`") == 1


@given(any_pages())
def test_every_section_of_any_page_can_be_asked_for(text: str) -> None:
    """By the anchor the table of contents gives it, and no other section comes."""
    page = parse(text)
    for part in sections(page):
        assert section(page, part.anchor) == part


# ------------------------------------------------------------------ names, links, lists


def test_articles_are_found_by_all_their_names() -> None:
    """File name, title, alias, slip of the pen; a merged topic leads to its article."""
    config = small_vault()
    write_meta(
        config,
        "Buckets.md",
        "| bucket | article | aliases | description | state |\n|---|---|---|---|---|\n"
        "| lamp keeping | [[Lantern]] | lights | | article |\n"
        "| old lamp | | | | → lamp keeping |\n",
    )
    with shelf(config) as here:
        for name in ("lantern", "Session Store", "Lantren", "old lamp", "lights", "lamp keeping"):
            assert here.find(name)[0].stem == "Lantern"
        with pytest.raises(ConfigFault, match="no article"):
            here.find("torch")


def test_a_topic_merged_at_night_leads_to_the_article() -> None:
    """What the store knows of topics counts where the page says nothing else."""
    config = small_vault()
    store = small_store(config)
    store.buckets.save(Bucket("lamps", "Lantern", state=BucketState.ARTICLE), NOW)
    store.buckets.save(
        Bucket("torches", "Torch", state=BucketState.MERGED, merged_into="lamps"), NOW
    )
    store.close()
    with shelf(config) as here:
        assert here.find("torches")[0].stem == "Lantern"
        assert here.find("Torch")[0].stem == "Lantern"


def test_pages_that_are_links_are_not_listed(tmp_path: Path) -> None:
    """They may lead out of the vault; who asks for one is told what it is."""
    config = small_vault()
    (tmp_path / "private.md").write_text("# Private\n\n[[Lantern]]\n", "utf-8")
    (config.vault / "articles" / "Elsewhere.md").symlink_to(tmp_path / "private.md")
    with shelf(config) as here:
        assert "Elsewhere" not in [card.stem for card in here.cards]
        assert "Elsewhere" not in [card.stem for card in links(here, here.find("Lantern")[0])[1]]
        with pytest.raises(VaultFault, match="is a link"):
            here.page("Elsewhere")


def test_links_out_and_in() -> None:
    """By file name or title, each once; what stands in code links to nothing."""
    with shelf(small_vault()) as here:
        outward, inward = links(here, here.find("Lantern")[0])
        assert [(link.name, link.stem) for link in outward] == [
            ("Harbor importer", "Harbor importer"),
            ("Nowhere", ""),
        ]
        assert [card.stem for card in inward] == ["Harbor importer"]


def test_the_list_and_its_filters() -> None:
    """By tag and those below it, by day, by the project the conversations were of."""
    config = small_vault()
    store = small_store(config)
    store.close()
    with shelf(config) as here:
        cards = here.cards
        assert [card.stem for card in cards] == ["Harbor importer", "Lantern", "Plain notes"]
        assert [c.stem for c in chosen(cards, tag="#memory")] == ["Lantern"]
        assert [c.stem for c in chosen(cards, tag="mem")] == []
        assert [c.stem for c in chosen(cards, since=date(2026, 11, 27))] == ["Lantern"]
        assert [c.stem for c in chosen(cards, until=date(2026, 11, 20))] == ["Harbor importer"]
        assert chosen(cards, project="/home/somebody") == []


@pytest.mark.parametrize(
    ("head", "title", "aliases"),
    [
        ("title: A b\naliases: [c, d e]\n", "A b", ("c", "d e")),
        ("title: A b\naliases:\n  - c\n  - d\n", "A b", ("c", "d")),
        ("title: 'A: b'\naliases: c\n", "A: b", ("c",)),
        ('title: "A"\naliases: ["c, d", e]\n', "A", ("c, d", "e")),
        ("aliases:\n", "stem", ()),
        ("title: [unclosed\n", "stem", ()),
        ("title: >\n  folded\n  words\n", "folded words", ()),
    ],
)
def test_frontmatter_is_read_as_yaml(head: str, title: str, aliases: tuple[str, ...]) -> None:
    """In the forms that people and Obsidian write; what is no YAML says nothing."""
    card = card_of("stem", f"---\n{head}---\nText.\n")
    assert (card.title, card.aliases) == (title, aliases)


def test_without_a_vault() -> None:
    """A fault that says how to make one."""
    with pytest.raises(VaultFault, match="no vault") as fault, shelf(load_config()):
        pass
    assert "memory init" in fault.value.mend


def test_an_article_that_is_no_text_is_named_when_asked_for() -> None:
    """The others are told all the same."""
    config = small_vault()
    (config.vault / "articles" / "Bad.md").write_bytes(b"\xff\xfe\x00")
    with shelf(config) as here:
        assert "Bad" in [card.stem for card in here.cards]
        with pytest.raises(VaultFault, match="not UTF-8"):
            here.page(here.find("Bad")[0].stem)


# ------------------------------------------------------------------ what is not told


def test_a_secret_in_an_article_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor one in a title or an alias; addresses where the user has them taken out."""
    config = small_vault()
    key = "sk-ant-api03-" + "Ab1" * 31 + "_-AA"
    write_article(
        config, "Keys", f"---\ntitle: Keys {key}\naliases: [me@example.com]\n---\n{key}\n"
    )
    monkeypatch.setenv("MEMORY_INGEST__REDACT_EMAILS", "true")
    with shelf(load_config()) as here:
        card = here.find("Keys")[0]
        assert key not in here.page("Keys").text
        assert key not in card.title
        assert "[REDACTED" in card.title
        assert "example.com" not in card.aliases[0]


def test_a_forgotten_conversation_is_not_told() -> None:
    """Sentences that rest on it alone, its marks and its footnote go; the rest stays as it is."""
    config = small_vault()
    store = small_store(config)
    store.forgetting.begin(["bbbbbbbb"], NOW)
    store.close()
    told_of = text_of(config, "Lantern")
    assert "bbbbbbbb" not in told_of
    assert "45 days" not in told_of
    assert "were files" not in told_of
    assert "[^2]" not in told_of
    assert "It runs at 02:30.[^1]" in told_of
    assert "A book of the user's." in told_of
    assert text_of(config, "Harbor importer") == HARBOR


def test_a_forgotten_conversation_is_not_told_by_tables_lists_and_quotes() -> None:
    """A row, an item with all its lines, a quote: what rests on it goes as one."""
    config = small_vault()
    store = small_store(config)
    store.forgetting.begin(["bbbbbbbb"], NOW)
    store.close()
    write_article(
        config,
        "Forms",
        "| a | b |\n|---|---|\n| kept row | x[^1] |\n| lost row | y[^2] |\n\n"
        "- kept item\n- lost item begins\n  and ends[^2]\n- last item[^1][^2]\n\n"
        "> lost quote\n> goes on[^2]\n\n"
        "[^1]: `conv:aaaaaaaa` (2026-11-26, pi, message 1) — One\n"
        "[^2]: `conv:bbbbbbbb` (2026-11-27, pi, message 1) — Two\n",
    )
    told_of = text_of(config, "Forms")
    assert "lost" not in told_of
    assert all(word in told_of for word in ("kept row", "kept item", "last item[^1]\n"))


def test_of_any_page_only_what_rests_on_it_goes() -> None:
    """No mark and no note of a forgotten conversation is left; every other sentence is."""
    config = small_vault()
    store = small_store(config)
    with library(config) as lib:
        withholding = Withholding(lib)

        @given(any_pages())
        def nothing_is_forgotten(text: str) -> None:
            assert withholding.page(text).text == withholding.clean(text)

        nothing_is_forgotten()
        store.forgetting.begin(["1a2b3c4d"], NOW)  # the one that all those pages cite

        @given(any_pages())
        def it_is_forgotten(text: str) -> None:
            before, after = parse(text), withholding.page(text)
            assert citations(after) == {}
            gone = set(citations(before))
            assert gone.isdisjoint(label for block in after.blocks for label in marks(block))
            for block in before.blocks:
                if block.kind is Kind.PARAGRAPH and gone.isdisjoint(marks(block)):
                    assert block.raw in after.text

        it_is_forgotten()
    store.close()


def test_a_topic_to_ignore_is_not_told() -> None:
    """No article of that name, by any of its names, and no section so headed."""
    config = small_vault()
    write_meta(config, "Topics_to_Ignore.md", "# Topics\n\n- Importer\n- retention\n")
    with shelf(config) as here:
        assert [card.stem for card in here.cards] == ["Lantern", "Plain notes"]
        with pytest.raises(ConfigFault, match="no article"):
            here.find("Harbor importer")
        page = here.page("Lantern")
        assert "45 days" not in page.text
        assert "No limit" not in page.text
        assert "Only for lunch" in page.text
        outward, _ = links(here, here.find("Lantern")[0])
        assert "Importer" not in [link.name for link in outward]


def test_a_topic_to_ignore_is_not_told_under_a_heading_of_any_level() -> None:
    """A page may have several headings of the first."""
    config = small_vault()
    write_article(config, "Two", "# Two\n\nOne text.\n\n# Retention\n\nOther text.\n")
    write_meta(config, "Topics_to_Ignore.md", "# Topics\n\n- retention\n")
    with shelf(config) as here:
        assert here.page("Two").text == "# Two\n\nOne text.\n\n"


def test_a_secret_in_a_tag_is_not_told() -> None:
    """Nor in any other field that stands beside the text."""
    key = "AKIA" + "QYLPMN5HHHFPZAM2"
    config = small_vault()
    write_article(config, "Cloud", f"---\ntags: [{key}]\n---\n# Cloud\n")
    with shelf(config) as here:
        assert here.find("Cloud")[0].tags == ("[REDACTED:aws]",)


def test_a_topic_that_is_set_aside_is_not_told() -> None:
    """By the user's word in Buckets.md today, or what last night knew of it."""
    config = small_vault()
    store = small_store(config)
    store.buckets.save(Bucket("imports", "Harbor importer", state=BucketState.IGNORED), NOW)
    store.close()
    write_meta(
        config,
        "Buckets.md",
        "| bucket | article | state |\n|---|---|---|\n| lamps | [[Lantern]] | ignored |\n",
    )
    with shelf(config) as here:
        assert [card.stem for card in here.cards] == ["Plain notes"]


def test_the_article_of_a_topic_merged_into_an_ignored_one_is_not_told() -> None:
    """Over several steps too."""
    config = small_vault()
    store = small_store(config)
    store.buckets.save(Bucket("c", state=BucketState.IGNORED), NOW)
    for name, into, stem in (("b", "c", ""), ("a", "b", "Harbor importer")):
        store.buckets.save(Bucket(name, stem, state=BucketState.MERGED, merged_into=into), NOW)
    store.close()
    rows = "| x | Lantern | → y |\n| y | | → z |\n| z | | ignored |\n"
    write_meta(config, "Buckets.md", f"| bucket | article | state |\n|---|---|---|\n{rows}")
    with shelf(config) as here:
        assert [card.stem for card in here.cards] == ["Plain notes"]


def test_a_store_that_cannot_be_read_tells_nothing() -> None:
    """Without it nobody knows what is forgotten: a fault, not the page."""
    config = small_vault()
    config.store_path.parent.mkdir(parents=True)
    config.store_path.write_bytes(b"no database at all" * 100)
    with pytest.raises(StoreFault):
        text_of(config, "Lantern")


# ------------------------------------------------------------------ the commands


def state(root: Path) -> dict[str, str]:
    """Every file below a folder by its content."""
    return {
        os.fspath(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def test_every_command_reads_and_writes_nothing(home: Path) -> None:
    """Text and JSON of each; the whole home is as it was, without a file more."""
    small_store(small_vault()).close()
    before = state(home)
    run = CliRunner()
    for words in (
        ["read", "lantern"],
        ["toc", "Lantern"],
        ["section", "Lantern", "history"],
        ["links", "Lantern"],
        ["list", "--tag", "memory", "--since", "2026-11-01"],
    ):
        plain = run.invoke(app, words)
        assert plain.exit_code == 0, plain.output
        assert plain.output.strip()
        json.loads(run.invoke(app, [*words, "--json"]).output)
    assert state(home) == before


def test_a_page_is_opened_in_obsidian_or_else_by_default(tmp_path: Path) -> None:
    """Its address is encoded; without Obsidian it is the file itself; without either a fault."""
    page = tmp_path / "A b&c.md"
    page.write_text("x")
    asked: list[list[str]] = []

    def answers(*codes: int) -> Answer:
        return Answer(codes[min(len(asked), len(codes)) - 1], err="nothing opens it")

    def ask(argv: object) -> Answer:
        asked.append(list(argv))  # type: ignore[call-overload]
        return answers(*outcome)

    outcome = [0]
    assert open_page(page, ask, "darwin") == "Obsidian"
    assert asked == [
        [
            "open",
            "obsidian://open?path="
            + str(page).replace("/", "%2F").replace(" ", "%20").replace("&", "%26"),
        ]
    ]
    asked.clear()
    outcome = [1, 0]
    assert open_page(page, ask, "linux") == "the default application"
    assert asked[1] == ["xdg-open", str(page)]
    asked.clear()
    outcome = [1, 1]
    with pytest.raises(VaultFault, match="nothing opens it"):
        open_page(page, ask, "darwin")
    with pytest.raises(VaultFault, match="no page"):
        open_page(tmp_path / "none.md", ask, "darwin")


@given(st.text(max_size=60))
def test_any_text_is_a_page(text: str) -> None:
    """Whatever the frontmatter holds."""
    card = card_of("stem", f"---\n{text}\n---\n")
    assert card.stem == "stem"
    assert card.title
