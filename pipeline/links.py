"""Wikilinks: which a page has, and which first mentions of other articles could be one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

import regex

from pipeline.footnotes import citations
from pipeline.markdown import HISTORY, REFERENCES, SEE_ALSO, Block, Kind, Page, parse
from pipeline.records import LinkFirstMention

_NOT_LINKED = frozenset(name.casefold() for name in (HISTORY, SEE_ALSO, REFERENCES))
# What a mention cannot lie in, besides code, marks and wikilinks.
_SHIELD = regex.compile(
    r"""
      (?<!\\)!?\[[^\[\]]*\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*[^()]*\)
    | (?<!\\)!?\[[^\[\]]*\]\[[^\[\]]*\]
    | (?<!\\)<[^<>]*>
    | (?:[a-z][a-z0-9+.-]*://|www\.|mailto:)[^\s<>]+
    | %%.*?%%
    | \$\$.*?\$\$ | (?<!\\)\$(?=\S)[^$\r\n]*(?<=[^\s\\])\$(?!\d)
    """,
    regex.VERBOSE | regex.IGNORECASE | regex.DOTALL,
)
# Scripts in which a word ends without a space, or takes its particle without one.
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_JOINED = rf"[[\p{{L}}\p{{M}}\p{{N}}_]--[{_UNSPACED}]]"
_EDGE = regex.compile(_JOINED, regex.V1)
_FEWEST_CHARACTERS = 3
_FEWEST_TELLING = 2  # of capitals, or of a script that writes words in few characters


@dataclass(frozen=True, slots=True)
class ArticleEntry:
    """An article as other articles and the stages see it.

    title: its frontmatter's, else its first heading, else the stem. lead: the first paragraph as
    read. headings: its sections but History, See also and References.
    """

    stem: str
    title: str
    aliases: tuple[str, ...]
    lead: str
    headings: tuple[str, ...]


def wikilinks(text: str) -> list[str]:
    """Names of the pages a page links to or embeds, in order, without folder and heading."""
    return [
        _page_name(token.target)
        for block in parse(text).blocks
        for token in block.inlines
        if token.kind == "wikilink" and _page_name(token.target)
    ]


def first_mentions(
    page: Page, catalog: Sequence[ArticleEntry], own_stem: str
) -> list[LinkFirstMention]:
    """The first plain mention of each article the page does not link to yet.

    Only in cited sentences of paragraphs, which are the pipeline's; the longest name wins. A
    name of one word must be written as it is, longer names in any case.
    """
    said = page.text.casefold()
    # of a thousand articles a page names a few: a pattern of all their names takes seconds to make
    names = {name: stem for name, stem in _names(catalog).items() if name.casefold() in said}
    linked = {name.casefold() for name in wikilinks(page.text)}
    known = {entry.stem: {entry.stem.casefold(), entry.title.casefold()} for entry in catalog}
    done = {stem for stem, called in known.items() if called & linked} | {own_stem}
    found: list[LinkFirstMention] = []
    for block in page.blocks:
        taken: list[tuple[int, int]] = []
        for start, end, text in _mentions(page, block, tuple(names)):
            stem = names.get(text, names.get(text.casefold(), ""))
            # where a longer name begins with this one, the edit would find that place first
            if not stem or stem in done or mention(page, block, text, taken) != (start, end):
                continue
            done.add(stem)
            taken.append((start, end))
            found.append(LinkFirstMention(block.index, text, stem))
    return found


def mention(
    page: Page, block: Block, text: str, taken: Collection[tuple[int, int]] = ()
) -> tuple[int, int] | None:
    """Offsets in the block of the first plain mention of exactly `text`, outside `taken`."""
    for start, end, _ in _mentions(page, block, (text,)):
        if all(end <= a or b <= start for a, b in taken):
            return start, end
    return None


def _mentions(page: Page, block: Block, names: tuple[str, ...]) -> list[tuple[int, int, str]]:
    if block.kind is not Kind.PARAGRAPH or block.section.casefold() in _NOT_LINKED or not names:
        return []
    cited = citations(page)
    spans = [
        (sentence.start, sentence.end)
        for sentence in block.sentences
        if any(label in cited for label in sentence.marks)
    ]
    shields = [(token.start, token.end) for token in block.inlines]
    shields += [found.span() for found in _SHIELD.finditer(block.raw)]
    return [
        (found.start(), found.end(), found.group())
        for found in _pattern(names).finditer(block.raw)
        if any(a <= found.start() and found.end() <= b for a, b in spans)
        and all(found.end() <= a or b <= found.start() for a, b in shields)
    ]


def _names(catalog: Sequence[ArticleEntry]) -> dict[str, str]:
    """Every name that can be linked and its article; a name of two articles is nobody's."""
    owners: dict[str, set[str]] = {}
    for entry in catalog:
        for name in (entry.stem, entry.title, *entry.aliases):
            if _is_linkable(name):
                owners.setdefault(name.casefold() if " " in name else name, set()).add(entry.stem)
    return {name: next(iter(stems)) for name, stems in owners.items() if len(stems) == 1}


def _is_linkable(name: str) -> bool:
    telling = name.isupper() or not name.isascii()
    fewest = _FEWEST_TELLING if telling else _FEWEST_CHARACTERS
    return len(name) >= fewest and not regex.search(r"[\[\]|\r\n]|^\s|\s$|^\d+$", name)


@lru_cache(maxsize=64)
def _pattern(names: tuple[str, ...]) -> regex.Pattern[str]:
    return regex.compile(
        "|".join(_bounded(name) for name in sorted(names, key=len, reverse=True)), regex.V1
    )


def _bounded(name: str) -> str:
    before = rf"(?<!{_JOINED}|[-/\\.@\#])" if _EDGE.match(name) else ""
    after = rf"(?!{_JOINED}|[-/@.]\w)" if _EDGE.match(name[-1]) else ""
    case = "(?i:{})" if " " in name else "{}"
    return f"{before}{case.format(regex.escape(name, literal_spaces=True))}{after}"


def _page_name(target: str) -> str:
    """`folder/Page.md#Heading` names Page; in a table the bar after it is escaped."""
    name = regex.split(r"[#^]", target, maxsplit=1)[0].rstrip("\\").strip()
    return name.rpartition("/")[2].removesuffix(".md")
