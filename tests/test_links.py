"""Links between articles: made at the first mention in our own prose, and nowhere else."""

from __future__ import annotations

import pytest

from pipeline.links import ArticleEntry, first_mentions, mention, wikilinks
from pipeline.markdown import parse
from pipeline.records import LinkFirstMention

REFERENCES = "\n## References\n\n[^1]: `conv:1a2b3c4d` (2026-11-28, pi, message 1)\n[^k]: mine\n"


def entry(title: str, *aliases: str, stem: str = "") -> ArticleEntry:
    return ArticleEntry(stem or title, title, aliases, "", ())


def found(text: str, *catalog: ArticleEntry, own: str = "Own") -> list[tuple[str, str]]:
    links = first_mentions(parse(text + REFERENCES), catalog, own)
    return [(link.text, link.target) for link in links]


def test_first_mention_is_found_once() -> None:
    """An article is linked at its first mention, by block, and not again."""
    page = parse(
        f"# T\n\nNone here.[^1]\n\nKiwi is used.[^1] Kiwi again.[^1]\n\nKiwi.[^1]\n{REFERENCES}"
    )
    assert first_mentions(page, [entry("Kiwi")], "Own") == [LinkFirstMention(4, "Kiwi", "Kiwi")]


def test_aliases_lead_to_the_article() -> None:
    """An alias is linked to the file of its article."""
    assert found("The KW store is used.[^1]\n", entry("Kiwi: Store", "KW", stem="Kiwi- Store")) == [
        ("KW", "Kiwi- Store")
    ]


def test_longest_name_wins() -> None:
    """`Kiwi Store` is not `Kiwi` with a word after it."""
    text = "Kiwi Store is used.[^1] Kiwi is a fruit.[^1]\n"
    assert found(text, entry("Kiwi Store")) == [("Kiwi Store", "Kiwi Store")]
    assert found("Kiwi Store only.[^1]\n", entry("Kiwi"), entry("Kiwi Store")) == [
        ("Kiwi Store", "Kiwi Store")
    ]
    assert (
        found("Kiwi Store only.[^1]\n", entry("Kiwi"), entry("Kiwi Store"), own="Kiwi Store") == []
    )


def test_words_are_whole() -> None:
    """A name inside another word, path, address or identifier is no mention."""
    text = "Kiwifruit, xKiwi, kiwi_Kiwi, a/Kiwi/b, Kiwi-like, Kiwi.js, me@Kiwi.[^1]\n"
    assert found(text, entry("Kiwi")) == []
    assert found("(Kiwi), “Kiwi”.[^1]\n", entry("Kiwi")) == [("Kiwi", "Kiwi")]


def test_scripts_without_spaces_need_no_boundary() -> None:
    """Names in Chinese, Japanese, Korean or Thai text are found inside it, also Latin ones."""
    assert found("他选了奇异数据库作为存储。[^1]\n", entry("奇异数据库")) == [("奇异数据库",) * 2]
    assert found("他选了Kiwi作为存储。[^1]\n", entry("Kiwi")) == [("Kiwi", "Kiwi")]
    assert found("키위저장소는 쓰인다.[^1]\n", entry("키위저장소")) == [("키위저장소",) * 2]


@pytest.mark.parametrize(
    "text",
    [
        "Uses `Kiwi` here.[^1]\n",
        "## Kiwi\n\nText.[^1]\n",
        "> Kiwi.[^1]\n",
        "- Kiwi.[^1]\n",
        "| Kiwi |\n|---|\n| Kiwi[^1] |\n",
        "```\nKiwi[^1]\n```\n",
        "See [the Kiwi](http://x.example/Kiwi) now.[^1]\n",
        "See http://x.example/?q=Kiwi now.[^1]\n",
        "See <b title='Kiwi'>.[^1]\n",
        "See %%Kiwi%% and $Kiwi$.[^1]\n",
        "Written by the user about Kiwi.\n",
        "Written by the user about Kiwi.[^k]\n",
        "See [[Kiwi]].[^1] Kiwi.[^1]\n",
        "Kiwi.[^1]\n\n- [[folder/Kiwi.md#Use|it]]\n",
        "## History\n\n- 2026-01-01: Kiwi.[^1]\n",
        "kiwi is another word.[^1]\n",
    ],
)
def test_what_is_not_linked(text: str) -> None:
    """Code, headings, quotes, lists, tables, links, addresses, and whatever is not ours."""
    assert found(text, entry("Kiwi")) == []


def test_names_that_say_nothing_are_not_linked() -> None:
    """Too short names, numbers, names of two articles, and the article's own."""
    assert found("A go at 2026 it is.[^1]\n", entry("go"), entry("2026"), entry("it")) == []
    twice = [entry("One", "Shared name"), entry("Two", "shared name")]
    assert found("The shared name.[^1]\n", *twice) == []
    assert found("Own things.[^1]\n", entry("Own")) == []


def test_longer_names_in_any_case() -> None:
    """A name of several words is known in any case, and linked as it is written."""
    assert found("The kiwi store is used.[^1]\n", entry("Kiwi Store")) == [
        ("kiwi store", "Kiwi Store")
    ]


def test_a_mention_is_found_outside_taken_places() -> None:
    """The place an edit means is the first one that no other edit has taken."""
    page = parse(f"Kiwi and Kiwi.[^1]\n{REFERENCES}")
    block = page.blocks[0]
    assert mention(page, block, "Kiwi") == (0, 4)
    assert mention(page, block, "Kiwi", [(0, 4)]) == (9, 13)
    assert mention(page, block, "Kiwi", [(0, 12)]) is None


def test_wikilinks_are_read_outside_code() -> None:
    """`[[ topic ]]` in shell code is code; embeds, headings, folders and tables are links."""
    text = (
        "[[A]] ![[B.md]] [[x/C#Head|shown]] `[[no]]` \\[[no]]\n\n"
        "```sh\n[[ topic ]]\n```\n\n| [[D\\|d]] |\n|---|\n\n> [[E]]\n\n- [[F^b]]\n\n[[#here]]\n"
    )
    assert wikilinks(text) == ["A", "B", "C", "D", "E", "F"]
