"""What the user changes in the table of buckets is understood or told, and nothing is guessed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from pipeline.buckets_page import append_buckets, cells, read_buckets, set_cells
from pipeline.records import Bucket, BucketState
from pipeline.resources import folder
from pipeline.topics.choosing import Chosen
from pipeline.topics.edits import Edits, edits

SHIPPED = (folder("vault_meta") / "Buckets.md").read_text("utf-8")
KIWI = Bucket("Kiwi", "Kiwi Store", "where fruit is sold", ("KW",), BucketState.ARTICLE)
PLUM = Bucket("Plum", "", "notes on plums")
NOISE = Bucket("Noise", "", "chatter", (), BucketState.IGNORED)
OLD = Bucket("Old kiwi", "Old kiwi", "", (), BucketState.MERGED, "Kiwi")
STORED = (KIWI, PLUM, NOISE, OLD)
PAGE = append_buckets(SHIPPED, STORED)


def asked(text: str, stored: Sequence[Bucket] = STORED, before: Sequence[str] = ()) -> Edits:
    """What a page asks for."""
    stems = {bucket.article for bucket in stored if bucket.article}
    return edits(read_buckets(text), stored, stems, lambda: before, lambda *_: Chosen())


def row(name: str, **columns: str) -> str:
    """The page with other cells in a row."""
    return set_cells(PAGE, {name: columns})


def told(found: Edits, *words: str) -> None:
    """Nothing is to be done, and one problem holds all these words."""
    assert not found.any, found
    assert len(found.problems) == 1, found.problems
    assert all(word in found.problems[0] for word in words), found.problems


def test_a_page_that_says_what_is_asks_for_nothing() -> None:
    """Also with Windows' line ends, columns moved about, and columns of the user's own."""
    assert asked(PAGE) == Edits()
    assert asked(PAGE.replace("\n", "\r\n")) == Edits()
    own = "| mine | state | article | bucket |\n|---|---|---|---|\n"
    for bucket in STORED:
        cell = cells(bucket)
        own += f"| x | {cell['state']} | {cell['article']} | {cell['bucket']} |\n"
    assert asked(own) == Edits()


def test_the_users_word_is_taken() -> None:
    """Aliases, description, ignoring and merging; an emptied cell says that there is nothing."""
    assert asked(row("Plum", aliases="P, Prune", description="")).wanted == (
        replace(PLUM, aliases=("P", "Prune"), description=""),
    )
    assert asked(row("Plum", state="ignore")).wanted == (replace(PLUM, state=BucketState.IGNORED),)
    found = asked(row("Plum", state="-> Kiwi"))
    assert found.merges == (("Plum", "Kiwi"),) and found.problems == ()
    assert found.wanted == (replace(PLUM, state=BucketState.MERGED, merged_into="Kiwi"),)


@pytest.mark.parametrize("said", ["", "captured", "article"])
def test_taking_a_word_back_takes_its_effect_back(said: str) -> None:
    """An ignored topic is heeded again, a merged one stands for itself."""
    assert asked(row("Noise", state=said)).wanted == (replace(NOISE, state=BucketState.CAPTURED),)
    found = asked(row("Old kiwi", state=said))
    assert found.wanted == (replace(OLD, state=BucketState.ARTICLE, merged_into=""),)
    assert found.parted == (("Old kiwi", "Kiwi"),) and found.merges == ()


def test_an_arrow_to_another_bucket_takes_along_what_its_article_has() -> None:
    """Out of the one, into the other."""
    found = asked(row("Old kiwi", state="→ Plum"))
    assert found.parted == (("Old kiwi", "Kiwi"),) and found.merges == (("Old kiwi", "Plum"),)


def test_an_arrow_may_use_another_case_or_an_alias() -> None:
    """As any name may."""
    assert asked(row("Plum", state="→ kiwi")).merges == (("Plum", "Kiwi"),)
    assert asked(row("Plum", state="→ [[kw]]")).merges == (("Plum", "Kiwi"),)


def test_a_chain_of_arrows_ends_at_its_end() -> None:
    """What was merged before goes along."""
    found = asked(row("Kiwi", state="→ Plum"))
    assert found.merges == (("Kiwi", "Plum"), ("Old kiwi", "Plum")) and found.parted == ()
    assert found.problems == ()


@pytest.mark.parametrize(
    ("columns", "new"),
    [
        ({"bucket": "Kiwi fruit"}, "Kiwi fruit"),  # the article tells
        ({"bucket": "Kiwi fruit", "article": "", "aliases": "KW, kiwi"}, "Kiwi fruit"),
        ({"bucket": "KIWI", "article": "", "description": ""}, "KIWI"),
    ],
)
def test_another_name_for_an_article_is_understood(columns: dict[str, str], new: str) -> None:
    """By its article, by the old name among the aliases, or where only the case is another."""
    found = asked(row("Kiwi", **columns))
    assert found.renames == (("Kiwi", new),) and found.problems == ()
    # what was merged into it leads there under its new name
    assert found.merges == found.parted == ()
    assert found.arrows == (("Old kiwi", new),)


def test_another_name_for_a_captured_bucket_is_understood() -> None:
    """By its description as it stood, or by the old name among the aliases."""
    found = asked(row("Plum", bucket="Prune"))
    assert found.renames == (("Plum", "Prune"),) and found.wanted == ()
    found = asked(row("Plum", bucket="Prune", aliases="plum", description="dried"))
    assert found.renames == (("Plum", "Prune"),)
    assert found.wanted == (Bucket("Prune", "", "dried", ("plum",)),)


def test_a_name_and_other_cells_may_change_at_once() -> None:
    """Renamed and ignored, renamed and merged."""
    found = asked(row("Kiwi", bucket="Kiwis", state="ignored"))
    assert found.renames == (("Kiwi", "Kiwis"),)
    assert found.wanted == (replace(KIWI, name="Kiwis", state=BucketState.IGNORED),)
    found = asked(row("Plum", bucket="Prune", state="→ Kiwi"))
    assert found.renames == (("Plum", "Prune"),) and found.merges == (("Prune", "Kiwi"),)


def test_what_may_be_either_of_two_is_told_and_not_guessed() -> None:
    """Two new rows with one old description: both are new, and the old topic is asked for."""
    text = row("Plum", bucket="Prune")
    text = append_buckets(text, [Bucket("Damson", description=PLUM.description)])
    found = asked(text)
    assert found.renames == () and [b.name for b in found.wanted] == ["Prune", "Damson"]
    (problem,) = found.problems
    assert "'Plum' by another name" in problem and "aliases" in problem


def test_two_rows_of_one_name() -> None:
    """The first one counts; whom the second was is told, and gets its row back."""
    found = asked(row("Plum", bucket="Kiwi"), before=[b.name for b in STORED])
    assert not found.any
    assert any("twice" in problem for problem in found.problems)
    assert any("no row any more for 'Plum'" in problem for problem in found.problems)


def test_a_row_that_was_deleted() -> None:
    """It is told how a topic is kept out; a row that was never there is not missed."""
    line = next(line for line in PAGE.splitlines(keepends=True) if line.startswith("| Plum "))
    told(asked(PAGE.replace(line, ""), before=["Plum", "Kiwi"]), "'Plum'", "`ignored`")
    assert asked(PAGE.replace(line, ""), before=["Kiwi"]) == Edits()


def test_many_deleted_rows_are_told_in_one_line() -> None:
    """A page that was emptied."""
    stored = [Bucket(f"Topic {number}") for number in range(9)]
    told(asked(SHIPPED, stored, [b.name for b in stored]), "'Topic 0'", "4 more")


def test_odd_words_are_told_and_change_nothing() -> None:
    """Unknown states, arrows to nowhere, to itself, to what is ignored, in a circle."""
    told(asked(row("Noise", state="ignroed")), "'ignroed'")
    told(asked(row("Old kiwi", state="perhaps")), "'perhaps'")
    told(asked(row("Plum", state="→ Nowhere")), "'Plum'", "'Nowhere'")
    told(asked(row("Old kiwi", state="→ Nowhere")), "'Old kiwi'", "'Nowhere'")
    told(asked(row("Plum", state="→ Plum")), "itself")
    told(asked(row("Plum", state="→ Noise")), "'Noise'", "ignored")
    told(asked(row("Kiwi", state="→ Old kiwi")), "'Kiwi'", "circle")
    both = set_cells(row("Kiwi", state="→ Plum"), {"Plum": {"state": "→ Kiwi"}})
    found = asked(both)
    assert not found.any and len(found.problems) == 2


def test_ignoring_what_others_were_merged_into_is_no_odd_word() -> None:
    """The arrow was drawn before."""
    found = asked(row("Kiwi", state="ignored"))
    assert found.problems == () and found.merges == ()
    assert found.wanted == (replace(KIWI, state=BucketState.IGNORED),)


def test_articles_are_the_pipelines_to_name() -> None:
    """A cell that names another one, or a state without one, has no effect, and that is told."""
    stored = (*STORED, Bucket("Pear", "Pear", "", (), BucketState.ARTICLE))
    page = append_buckets(PAGE, stored[-1:])
    told(asked(set_cells(page, {"Plum": {"article": "[[Pear]]"}}), stored), "'Pear'", "arrow")
    told(asked(row("Plum", state="article")), "'Plum'", "second conversation")
    # a page that lags behind by a night
    assert asked(row("Kiwi", article="", state="captured")) == Edits()
    assert asked(row("Plum", article="[[Plum]]", state="article")) == Edits()


def test_an_article_that_no_bucket_has_is_taken_by_the_one_whose_row_names_it() -> None:
    """Another machine made it, or a store before this; also of a topic that is ignored, or new."""
    page = set_cells(PAGE, {"Plum": {"article": "[[Plum]]"}})
    assert edited(page, "Plum") == Edits(
        wanted=(replace(PLUM, article="Plum", state=BucketState.ARTICLE),)
    )
    page = set_cells(PAGE, {"Noise": {"article": "[[Din]]"}})
    assert edited(page, "Din") == Edits(wanted=(replace(NOISE, article="Din"),))
    page = PAGE + "| Fig | [[Fig]] | | | article |\n"
    assert edited(page, "Fig") == Edits(wanted=(Bucket("Fig", "Fig", state=BucketState.ARTICLE),))


def test_an_article_that_two_rows_name_is_that_of_the_bucket_called_so() -> None:
    """Of two that are called otherwise, neither has it."""
    both = {"Plum": {"article": "[[Fig]]"}, "Noise": {"article": "[[Fig]]"}}
    found = edited(set_cells(PAGE, both), "Fig")
    assert not found.any and len(found.problems) == 2
    found = edited(set_cells(PAGE, both) + "| Fig | [[Fig]] | | | article |\n", "Fig")
    assert found.wanted == (Bucket("Fig", "Fig", state=BucketState.ARTICLE),)
    assert len(found.problems) == 2


def edited(page: str, article: str) -> Edits:
    """What a page asks for where one more article is in the vault."""
    stems = {*(bucket.article for bucket in STORED), article}
    return edits(read_buckets(page), STORED, stems, tuple, lambda *_: Chosen())


def test_a_name_that_two_topics_go_by_is_told() -> None:
    """An alias that is a topic of its own."""
    found = asked(row("Kiwi", aliases="KW, plum"))
    assert found.wanted == (replace(KIWI, aliases=("KW", "plum")),)
    assert any("'plum' as an alias of 'Kiwi'" in problem for problem in found.problems)


def test_a_new_row_is_a_new_topic_unless_nothing_could_be_called_so() -> None:
    """Names that the gate would keep out of any title are told."""
    found = asked(append_buckets(PAGE, [Bucket("Pear", "", "juicy")]))
    assert found.wanted == (Bucket("Pear", "", "juicy"),)
    told(asked(PAGE + "| \\<% tp.x() %> | | | | |\n"), "no article could be called")
    told(asked(PAGE + "| ??? | | | | |\n"), "no article could be called")


def test_a_table_without_a_column_says_nothing_of_it() -> None:
    """What the user took out of their view is not taken out of the store."""
    lines = [line.split("|") for line in PAGE[PAGE.index("| bucket") :].splitlines()]
    narrow = "\n".join("|".join([*cell[:3], *cell[5:]]) for cell in lines)
    assert "fruit" not in narrow
    assert asked(narrow) == Edits()
