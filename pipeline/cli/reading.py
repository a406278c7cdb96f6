"""`memory read`, `toc`, `section`, `links`, `list` and `open`: the wiki, read in the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli.printing import JsonOption, VaultOption, print_json, say, warn

if TYPE_CHECKING:
    from pipeline.recall.shelf import Card, Shelf

ArticleArgument = Annotated[
    str, typer.Argument(metavar="ARTICLE", help="File name, title or alias, in any spelling.")
]


def read(article: ArticleArgument, vault: VaultOption = None, as_json: JsonOption = False) -> None:
    """An article, whole, without what must not be told.

    Secrets, sentences that rest on forgotten conversations, and topics to ignore are left out.

    Example: memory read "Example Subject"
    """
    from pipeline.recall.showing import page_as_json

    with _found(vault, article) as (shelf, card):
        page = shelf.page(card.stem)
    if as_json:
        print_json(page_as_json(card, page))
    else:
        say(page.text.rstrip("\n"))


def toc(article: ArticleArgument, vault: VaultOption = None, as_json: JsonOption = False) -> None:
    """The sections of an article, each with its size in characters; `memory section` reads one.

    Example: memory toc "Example Subject"
    """
    from pipeline.recall.showing import toc_as_json, toc_lines

    with _found(vault, article) as (shelf, card):
        page = shelf.page(card.stem)
    if as_json:
        print_json({"article": card.stem, "sections": toc_as_json(page)})
        return
    for line in toc_lines(page):
        say(line)


def section(
    article: ArticleArgument,
    anchor: Annotated[str, typer.Argument(help='The heading; "" is the lead.')],
    vault: VaultOption = None,
    as_json: JsonOption = False,
) -> None:
    """One section of an article, and the footnotes it refers to.

    Example: memory section "Example Subject" History
    """
    from pipeline.recall.pages import section as part_of
    from pipeline.recall.showing import section_as_json, section_lines

    with _found(vault, article) as (shelf, card):
        page = shelf.page(card.stem)
    part = part_of(page, anchor)
    if as_json:
        print_json(section_as_json(card, page, part))
        return
    for line in section_lines(page, part):
        say(line)


def links(article: ArticleArgument, vault: VaultOption = None, as_json: JsonOption = False) -> None:
    """What an article links to, and which articles link to it.

    Example: memory links "Example Subject"
    """
    from pipeline.recall import pages
    from pipeline.recall.showing import links_as_json, links_lines

    with _found(vault, article) as (shelf, card):
        outward, inward = pages.links(shelf, card)
    if as_json:
        print_json(links_as_json(card, outward, inward))
        return
    for line in links_lines(outward, inward):
        say(line)


def list_(
    tag: Annotated[str, typer.Option(help="Only with this tag, or one below it.")] = "",
    project: Annotated[
        str, typer.Option(help="Only what came of this project: its folder, or the folder's name.")
    ] = "",
    since: Annotated[
        datetime | None, typer.Option(help="Only changed on this day or later.", metavar="DAY")
    ] = None,
    until: Annotated[
        datetime | None, typer.Option(help="Only changed on this day or earlier.", metavar="DAY")
    ] = None,
    vault: VaultOption = None,
    as_json: JsonOption = False,
) -> None:
    """The articles: last change, size in characters, name, other names, tags.

    Example: memory list --tag memory/decision
    """
    from pipeline.config import load_config
    from pipeline.recall.library import library
    from pipeline.recall.shelf import Shelf, chosen
    from pipeline.recall.showing import card_as_json, list_line

    with library(load_config(vault=vault)) as lib:
        cards = chosen(
            Shelf(lib).cards,
            tag=tag,
            project=project,
            since=since.date() if since else None,
            until=until.date() if until else None,
        )
    if as_json:
        print_json([card_as_json(card) for card in cards])
        return
    for card in cards:
        say(list_line(card))


def open_(
    article: Annotated[
        str | None,
        typer.Argument(
            metavar="[ARTICLE]", help="As for `memory read`; without one it is the changelog."
        ),
    ] = None,
    vault: VaultOption = None,
    as_json: JsonOption = False,
) -> None:
    """Open an article in Obsidian, or else in what opens Markdown here.

    Example: memory open "Example Subject"
    """
    from pipeline.config import load_config
    from pipeline.recall.opening import open_page
    from pipeline.vault import Vault

    if article is None:
        config = load_config(vault=vault)
        path = config.vault / "Meta" / "Changelog.md"
    else:
        with _found(vault, article) as (_shelf, card):
            config = load_config(vault=vault)
            path = config.vault / Vault(config.vault).article_path(card.stem)
    program = open_page(path)
    if as_json:
        print_json({"opened": str(path), "with": program})
    else:
        say(f"{path} ({program})")


@contextmanager
def _found(vault: VaultOption, article: str) -> Iterator[tuple[Shelf, Card]]:
    """The shelf and the article on it; a name that was taken for another is said."""
    from pipeline.config import load_config
    from pipeline.recall.library import library
    from pipeline.recall.shelf import Shelf

    with library(load_config(vault=vault)) as lib:
        shelf = Shelf(lib)
        card, match = shelf.find(article)
        if match.slip:
            warn(f"{article!r} is taken for {match.slip!r}")
        yield shelf, card
