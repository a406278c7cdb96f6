"""No reply is larger than it says: what is long comes in pieces, cut between two lines."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client

from pipeline.config import load_config
from pipeline.errors import ConfigFault
from pipeline.mcp.replies import BYTES_A_TOKEN, TOKENS, piece, quoted, without_places
from tests.support_mcp import call, session, text_in, try_
from tests.support_reading import (
    small_vault,
    write_article,
)

_SLACK = 1500  # bytes of a reply beside its text: head, marks, how to go on
DEEP = "\n\n".join(f"## {'Heading ' * 30}{number}" for number in range(500))
LONG = "---\ntitle: Long one\n---\n# Long one\n\n" + "\n".join(
    f"## Part {number}\n\n" + "\n\n".join(f"Line {line} of part {number}." for line in range(60))
    for number in range(80)
)


def test_a_long_article_is_read_in_pieces() -> None:
    """No reply is longer than was asked for; each says how to go on; together they are the page."""
    config = small_vault()
    write_article(config, "Long one", LONG)

    async def talk(client: Client) -> tuple[list[str], str]:
        replies, offset = [], 0
        while True:
            reply = await call(client, "memory_read", article="long one", offset=offset)
            replies.append(reply)
            more = re.search(r"memory_read\(article='Long one', offset=(\d+)\)", reply)
            if more is None:
                break
            offset = int(more[1])
        small = await call(client, "memory_read", article="long one", max_tokens=200)
        write_article(config, "Deep", DEEP)
        deep = await call(client, "memory_read", article="Deep")
        assert len(deep.encode()) < TOKENS * BYTES_A_TOKEN + _SLACK
        failed, text = await try_(client, "memory_section", article="Deep", anchor="none such")
        assert failed
        assert len(text) < 3000
        return replies, small

    replies, small = session(talk)
    assert len(replies) > 3
    for reply in replies[:-1]:
        assert len(reply.encode()) < TOKENS * BYTES_A_TOKEN + _SLACK
        assert "anchors left: 'Part " in reply
    for reply in replies[1:]:
        assert text_in(reply).startswith("## Part")
    assert "\n".join(map(text_in, replies)).replace("\n", "") == LONG.replace("\n", "")
    assert len(text_in(small)) <= 200 * BYTES_A_TOKEN
    assert text_in(small).endswith(".")


def test_a_thousand_articles_are_listed_in_pieces() -> None:
    """As are the sections of a page that has a thousand."""
    config = small_vault()
    for number in range(1000):
        write_article(config, f"A note with the number {number:04}", "A note.\n")
    write_article(config, "Parts", "\n\n".join(f"## Part {n:04}" for n in range(1000)))

    async def talk(client: Client) -> tuple[str, str, str]:
        first = await call(client, "memory_list")
        more = re.search(r"memory_list\(offset=(\d+)\)", first)
        assert more
        second = await call(client, "memory_list", offset=int(more[1]))
        return first, second, await call(client, "memory_toc", article="Parts")

    first, second, toc = session(talk)
    assert len(first.encode()) < TOKENS * BYTES_A_TOKEN + _SLACK
    last = int(text_in(first)[-4:])
    assert f"number {last + 1:04}" in text_in(second).splitlines()[0]
    assert "memory_toc(article='Parts', offset=" in toc


@given(
    st.text(st.sampled_from("ab \né漢🧑"), max_size=400),
    st.integers(1, 30),
    st.lists(st.integers(0, 400), max_size=8),
)
def test_pieces_are_the_text(text: str, tokens: int, boundaries: list[int]) -> None:
    """Whatever is in it: they join to it, none is longer than allowed, and it always goes on."""
    found, at = [], 0
    while True:
        part, on = piece(text, at, tokens, boundaries)
        assert len(part.encode()) <= tokens * BYTES_A_TOKEN
        found.append(part)
        if not on:
            break
        assert on > at
        at = on
    assert "".join(found) == text


def test_a_piece_beyond_the_end_is_refused() -> None:
    """It would look like the end of the article."""
    with pytest.raises(ConfigFault, match="past the end"):
        piece("abc", 3, 10)
    assert piece("", 0, 10) == ("", 0)


@given(st.text(max_size=200))
def test_no_text_can_close_its_own_marks(text: str) -> None:
    """They are made of a hash of it, which it cannot hold."""
    marked = quoted(text)
    closing = marked.rsplit("\n", 1)[1]
    assert closing not in text
    assert marked.count(closing) == 1


def test_paths_of_the_machine_are_not_told(home: Path) -> None:
    """The places by their names, others by their end; addresses of the web stay."""
    config = load_config()
    said = f"{config.vault}/articles/X.md and {config.vault}, {home}/a/b, /opt/some/where.py"
    assert without_places(said, config) == "articles/X.md and the vault, ~/a/b, …/where.py"
    assert without_places("see https://example.org/a/b", config) == "see https://example.org/a/b"


def test_many_hits_are_cut_between_two_of_them() -> None:
    """And how to see more is said."""
    config = small_vault()
    for number in range(60):
        write_article(config, f"Note {number:02}", f"Lanterns again. {'So many words. ' * 30}\n")

    async def talk(client: Client) -> tuple[str, str]:
        few = await call(client, "memory_search", query="lanterns words", limit=50, max_tokens=200)
        return few, await call(client, "memory_search", query="lanterns words", limit=5)

    cut, short = session(talk)
    assert len(text_in(cut).encode()) <= 200 * BYTES_A_TOKEN
    assert "larger max_tokens" in cut
    assert "limit goes up to 50" in short
