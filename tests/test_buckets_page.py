"""Buckets.md: what the user writes there is understood or reported, and never rewritten."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pipeline.buckets_page import (
    Listing,
    Row,
    append_buckets,
    cells,
    read_buckets,
    set_cells,
    up_to_date,
)
from pipeline.prose import flat
from pipeline.records import Bucket, BucketState
from pipeline.resources import folder

HEAD = "| bucket | article | aliases | description | state |\n|---|---|---|---|---|\n"
SHIPPED = (folder("vault_meta") / "Buckets.md").read_text("utf-8")


def test_rows_are_read() -> None:
    """Every state, links with and without shown text, aliases between commas, escaped bars."""
    text = f"# Buckets\n\nintro | x\n\n{HEAD}" + (
        "| Kiwi | [[Kiwi Store\\|kiwi]] | KW, the store | Where a\\|b lives | article |\n"
        "| Plum | | | | captured |\n"
        "Pear | Pear Tree ||| Article\n"
        "| Old kiwi |  |  |  | → Kiwi |\n"
        "| Noise | | | | ignore |\n"
        "| Fresh | | | | |\n"
        "\nafter\n"
    )
    listing = read_buckets(text)
    assert listing.problems == ()
    assert listing.rows == (
        Row("Kiwi", "Kiwi Store", ("KW", "the store"), "Where a|b lives", "article"),
        Row("Plum", "", (), "", "captured"),
        Row("Pear", "Pear Tree", (), "", "Article"),
        Row("Old kiwi", "", (), "", "→ Kiwi", "Kiwi"),
        Row("Noise", "", (), "", "ignore"),
        Row("Fresh", "", (), "", ""),
    )
    states = [row.state for row in listing.rows]
    assert states == [
        BucketState.ARTICLE, BucketState.CAPTURED, BucketState.ARTICLE, BucketState.MERGED,
        BucketState.IGNORED, None,
    ]  # fmt: skip


def test_what_is_not_understood_is_reported() -> None:
    """Unknown states, nameless and repeated rows: told, none guessed."""
    text = HEAD + (
        "| Kiwi | | | | artcile |\n| | | lost | | |\n| kiwi | | again | | captured |\n"
        "| Plum | | | | |\nA sentence under it.\n"
    )
    listing = read_buckets(text)
    assert [row.name for row in listing.rows] == ["Kiwi", "Plum"]
    assert listing.rows[0].state is None
    assert "kiwi" in listing.names
    assert len(listing.problems) == 4
    for word in ("artcile", "row 2", "twice", "A sentence"):
        assert any(word in problem for problem in listing.problems)


def test_columns_in_another_order_are_read() -> None:
    """Columns go by their names; of cells that are not there nothing is said."""
    listing = read_buckets(
        "| State | Mine | Bucket | Aliases |\n|---|---|---|---|\n| ignored | x | Kiwi |\n"
    )
    assert listing.problems == ()
    assert listing.rows == (Row("Kiwi", None, None, None, "ignored"),)


def test_a_name_in_bold_or_as_a_link_is_the_name() -> None:
    """The user may dress a row up; signs that belong to the name are escaped, as we write them."""
    text = HEAD + "| **Kiwi** | | | | |\n| [[Plum]] | | | | |\n| \\*x\\* | | | | |\n"
    assert [row.name for row in read_buckets(text).rows] == ["Kiwi", "Plum", "*x*"]


def test_a_bar_too_many_shifts_nothing() -> None:
    """A link with a shown text and a bar that is not escaped: only the name is sure."""
    text = HEAD + "| Kiwi | [[Kiwi Store|kiwi]] | KW | fruit | article |\n| Plum | | | | | |\n"
    listing = read_buckets(text)
    assert listing.rows == (Row("Kiwi"), Row("Plum", "", (), "", ""))
    (problem,) = listing.problems
    assert "'Kiwi'" in problem and "\\|" in problem


def test_an_article_is_named_as_obsidian_may_link_it() -> None:
    """With a folder, a heading or a shown text: it is the file's name that counts."""
    links = ("[[articles/Kiwi Store]]", "[[Kiwi Store#Shelves\\|shelves]]", "Kiwi Store")
    text = HEAD + "".join(f"| {n} | {link} | | | |\n" for n, link in enumerate(links))
    assert {row.article for row in read_buckets(text).rows} == {"Kiwi Store"}


def test_a_page_without_the_table() -> None:
    """No table is no buckets; a table with other columns is reported."""
    assert read_buckets("# Buckets\n") == Listing()
    assert read_buckets("| a | b |\n|---|---|\n| 1 | 2 |\n").problems != ()
    assert read_buckets("") == Listing()
    assert read_buckets(SHIPPED) == Listing()


def test_new_rows_go_under_the_last() -> None:
    """All that stood before and after the table stands there still, with its line ends."""
    new = Bucket("Plum", "Plum Tree", "Where [[x]] grow|s", ("P, Q", "R"), BucketState.ARTICLE)
    row = "| Plum | [[Plum Tree]] | P Q, R | Where \\[\\[x\\]\\] grow\\|s | article |\n"
    text = f"intro\n\n{HEAD}| Kiwi | | mine |  | captured |\n\nafter\n"
    assert append_buckets(text, [new]) == text.replace("captured |\n", f"captured |\n{row}")
    windows = text.replace("\n", "\r\n")
    assert append_buckets(windows, [new]) == append_buckets(text, [new]).replace("\n", "\r\n")
    assert append_buckets(HEAD.rstrip("\n"), [new]) == HEAD + row
    assert append_buckets("mine", [new]) == f"mine\n\n{HEAD}{row}"
    assert append_buckets(SHIPPED, [new]) == SHIPPED + row


_words = st.text(min_size=1).map(flat).filter(lambda text: text.strip("-=|: \\"))
_buckets = st.builds(
    Bucket,
    name=_words,
    article=st.sampled_from(["", "Kiwi Store", "Größe"]),
    description=st.text().map(flat),
    aliases=st.lists(_words.map(lambda t: flat(t.replace(",", ""))), max_size=2).map(
        lambda names: tuple(name for name in names if name)
    ),
)


@given(st.lists(_buckets, min_size=1, max_size=3, unique_by=lambda bucket: bucket.name))
def test_rows_written_are_rows_read(buckets: list[Bucket]) -> None:
    """Whatever a bucket is called, its row says the same when it is read, and nothing more."""
    listing = read_buckets(append_buckets(SHIPPED, buckets))
    assert listing.problems == ()
    assert [(r.name, r.article, r.description, r.aliases) for r in listing.rows] == [
        (b.name, b.article, b.description, b.aliases) for b in buckets
    ]


def test_a_cell_is_set_and_nothing_else() -> None:
    """Lines short and long, without outer bars, with escaped bars, in Windows' line ends."""
    text = (
        "intro | x\r\n\r\n| State | Bucket | mine | Aliases |\r\n|:--|---|---|--:|\r\n"
        "|  captured  |  a\\|b  | keep \\| me | |\r\n"
        "captured | Plum\r\n"
        "| captured | Pear |\r\n\r\nafter\r\n"
    )
    changes = {
        "a|b": {"state": "ignored", "aliases": "x|y"},
        "Plum": {"aliases": "prune", "description": "no such column"},
        "Pear": {"bucket": "Pears", "aliases": "p"},
        "nobody": {"state": "ignored"},
    }
    assert set_cells(text, changes) == (
        "intro | x\r\n\r\n| State | Bucket | mine | Aliases |\r\n|:--|---|---|--:|\r\n"
        "| ignored |  a\\|b  | keep \\| me | x\\|y |\r\n"
        "captured | Plum | | prune |\r\n"
        "| captured | Pears | | p |\r\n\r\nafter\r\n"
    )


@given(st.data(), st.lists(_buckets, min_size=1, max_size=3, unique_by=lambda b: b.name.casefold()))
def test_cells_written_are_cells_read(data: st.DataObject, buckets: list[Bucket]) -> None:
    """Any bucket's cells go into any row; the other rows keep their bytes."""
    text = append_buckets(SHIPPED, [Bucket(f"row {number}") for number in range(len(buckets))])
    order = data.draw(st.permutations(range(len(buckets))))
    for number in order:
        text = set_cells(text, {f"row {number}": cells(buckets[number])})
    assert text == append_buckets(SHIPPED, buckets)


def test_the_page_says_who_has_an_article() -> None:
    """Stale cells are set; words of the user's, and articles they name, stay."""
    row = "| {} | {} | | {} |\n"
    head = "| bucket | article | mine | state |\n|---|---|---|---|\n"
    text = head + "".join(
        row.format(*cell)
        for cell in [
            ("grew", "", "captured"), ("gone", "[[gone]]", "article"), ("moved", "[[was]]", ""),
            ("theirs", "[[Other]]", "captured"), ("odd", "", "whatever"), ("wish", "", "article"),
        ]
    )  # fmt: skip
    buckets = [
        Bucket("grew", "grew", state=BucketState.ARTICLE),
        Bucket("gone"),
        Bucket("moved", "is", state=BucketState.ARTICLE),
        Bucket("theirs", "own", state=BucketState.IGNORED),
        Bucket("odd"),
        Bucket("wish"),
        Bucket("new"),
    ]
    after = up_to_date(text, read_buckets(text), buckets, frozenset({"grew", "is", "Other", "own"}))
    assert after == head + "".join(
        row.format(*cell)
        for cell in [
            ("grew", "[[grew]]", "article"), ("gone", "", "captured"), ("moved", "[[is]]", ""),
            ("theirs", "[[Other]]", "captured"), ("odd", "", "whatever"), ("wish", "", "article"),
        ]
    ) + "| new |  |  | captured |\n"  # fmt: skip
    assert up_to_date(after, read_buckets(after), buckets, frozenset({"Other"})) == after
