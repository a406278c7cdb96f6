"""Buckets.md: what the user writes there is understood or reported, and never rewritten."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pipeline.buckets_page import append_buckets, read_buckets
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
    rows, problems = read_buckets(text)
    assert problems == []
    assert rows == [
        Bucket("Kiwi", "Kiwi Store", "Where a|b lives", ("KW", "the store"), BucketState.ARTICLE),
        Bucket("Plum"),
        Bucket("Pear", "Pear Tree", state=BucketState.ARTICLE),
        Bucket("Old kiwi", state=BucketState.MERGED, merged_into="Kiwi"),
        Bucket("Noise", state=BucketState.IGNORED),
        Bucket("Fresh"),
    ]


def test_what_is_not_understood_is_reported() -> None:
    """Unknown states, nameless and repeated rows, merges into nothing: told, none guessed."""
    text = HEAD + (
        "| Kiwi | | | | artcile |\n| | | lost | | |\n| Kiwi | | again | | captured |\n"
        "| A | | | | → Nowhere |\n| B | | | | -> B |\n"
    )
    rows, problems = read_buckets(text)
    assert [row.name for row in rows] == ["Kiwi", "A", "B"]
    assert rows[0].state is BucketState.CAPTURED
    assert len(problems) == 5
    for word in ("artcile", "row 2", "twice", "Nowhere", "itself"):
        assert any(word in problem for problem in problems)


def test_columns_in_another_order_are_read() -> None:
    """Columns go by their names; the user may move, drop or add some."""
    rows, problems = read_buckets(
        "| State | Mine | Bucket |\n|---|---|---|\n| ignored | x | Kiwi |\n"
    )
    assert (rows, problems) == ([Bucket("Kiwi", state=BucketState.IGNORED)], [])


def test_a_page_without_the_table() -> None:
    """No table is no buckets; a table with other columns is reported."""
    assert read_buckets("# Buckets\n") == ([], [])
    assert read_buckets("| a | b |\n|---|---|\n| 1 | 2 |\n")[1] != []
    assert read_buckets("") == ([], [])
    assert read_buckets(SHIPPED) == ([], [])


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
    rows, problems = read_buckets(append_buckets(SHIPPED, buckets))
    assert problems == []
    assert [(r.name, r.article, r.description, r.aliases) for r in rows] == [
        (b.name, b.article, b.description, b.aliases) for b in buckets
    ]
