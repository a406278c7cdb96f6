"""The articles as a reader may see them, found by any of their names.

Looked at afresh each time: what the user saved a moment ago is what is told.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from pipeline.buckets_page import read_buckets
from pipeline.errors import VaultFault
from pipeline.markdown import Page, parse
from pipeline.prose import flat
from pipeline.recall.library import Library
from pipeline.recall.naming import Match, Named, asked_name, lookup
from pipeline.recall.withholding import Withholding
from pipeline.store.buckets import Buckets

_HEAD = re.compile(r"\ufeff?---[ \t]*(?:\r\n|\r|\n)(.*?)^---[ \t]*$", re.DOTALL | re.MULTILINE)
# what most frontmatter consists of; whatever else it may hold is left to the parser of YAML
_PLAIN = r"[^\W\d_](?:[\w./+ -]*[\w./+-])?"
_WORD = re.compile(rf"({_PLAIN}|\d{{4}}-\d\d-\d\d)")
_ENTRY = re.compile(rf"(\w+):[ \t]*(?:({_PLAIN}|\d{{4}}-\d\d-\d\d)|\[([^\[\]\"'#:&*!]*)\])?[ \t]*")
_ITEM = re.compile(rf"[ \t]*-[ \t]+({_PLAIN})[ \t]*")
_NOT_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})
_PROJECTS = """
SELECT DISTINCT folded.article, coalesce(nullif(piece.project, ''), said.project) AS project
FROM synthesized_bucket_chunks AS folded
JOIN chunks AS piece ON piece.id = folded.chunk_id
JOIN conversations AS said ON said.conv = piece.conv
WHERE folded.article <> '' ORDER BY 1, 2
"""


@dataclass(frozen=True, slots=True)
class Card:
    """An article without its text.

    title: its frontmatter's, else its first heading, else the stem. created, updated: ISO days, ""
    where it does not say. size: characters of the file. projects: folders whose conversations went
    into it.
    """

    stem: str
    title: str
    aliases: tuple[str, ...]
    tags: tuple[str, ...]
    created: str
    updated: str
    size: int
    projects: tuple[str, ...] = ()


class Shelf:
    """The articles of an open library, without those that must not be told of.

    Raises VaultFault where there is no vault, and what `Vault` raises.
    """

    def __init__(self, library: Library) -> None:
        if not library.root.is_dir():
            raise VaultFault(f"there is no vault at {library.root}", mend="`memory init` makes one")
        self._library = library
        self.withholding = Withholding(library)

    @cached_property
    def cards(self) -> tuple[Card, ...]:
        """All articles, by stem; pages that are links to other files are none."""
        projects = self._projects()
        stems = (stem for stem in self._library.vault.stems() if not self._path(stem).is_symlink())
        found = [
            replace(card, projects=projects.get(card.stem, ()))
            for card in map(self._card, stems)
            if card is not None
        ]
        return tuple(sorted(found, key=lambda card: (card.stem.casefold(), card.stem)))

    def find(self, name: str) -> tuple[Card, Match]:
        """The article of this name, as `lookup` finds it."""
        bare = unicodedata.normalize("NFC", asked_name(name)).removesuffix(".md")
        if bare in self._library.vault.stems():  # called by its file's name: no other need be read
            card = self._card(bare)
            if card is not None:
                projects = self._projects().get(bare, ())
                return replace(card, projects=projects), Match(bare)
        named = [Named(card.stem, card.title, card.aliases) for card in self.cards]
        match = lookup(name, named, self._redirects)
        return next(card for card in self.cards if card.stem == match.stem), match

    def page(self, stem: str) -> Page:
        """The article's page as it may be told. Raises VaultFault when it is gone meanwhile."""
        text = self._text(stem)
        if text is None:
            raise VaultFault(f"the article {stem!r} is gone", mend="`memory list` shows the others")
        return self.withholding.page(text)

    def texts(self) -> Iterator[tuple[Card, str]]:
        """Every article with its text as it stands, to look for something in it."""
        for card in self.cards:
            with suppress(VaultFault):
                yield card, self._text(card.stem) or ""

    def _card(self, stem: str) -> Card | None:
        clean = self.withholding.clean
        try:
            card = card_of(stem, self._text(stem) or "")
        except VaultFault:  # whoever asks for this very page is told what is wrong with it
            card = card_of(stem, "")
        if self.withholding.is_ignored((stem, card.title, *card.aliases)):
            return None
        names = clean("\n".join((card.title, *card.aliases))).split("\n")
        tags = tuple(map(clean, card.tags))
        return replace(card, title=names[0], aliases=tuple(names[1:]), tags=tags)

    def _text(self, stem: str) -> str | None:
        """The article's text as it stands; None when there is none. No link leads out of here."""
        path = self._path(stem)
        if path.is_symlink():
            raise VaultFault(f"{path} is a link", mend="put the page itself in its place")
        return self._library.vault.read(stem)

    def _path(self, stem: str) -> Path:
        return self._library.root / self._library.vault.article_path(stem)

    def _projects(self) -> Mapping[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        if self._library.store is not None:
            for stem, project in self._library.store.execute(_PROJECTS):
                found[stem] = (*found.get(stem, ()), project) if project else found.get(stem, ())
        return found

    def _redirects(self) -> dict[str, str]:
        """Names of topics, those merged into others too, and the article of each."""
        store = self._library.store
        articles: dict[str, str] = {}
        merged: dict[str, str] = {}
        aliases: dict[str, tuple[str, ...]] = {}
        for bucket in Buckets(store).all() if store is not None else ():
            articles[bucket.name] = bucket.article
            merged[bucket.name] = bucket.merged_into
            aliases[bucket.name] = bucket.aliases
        # the user's word of today counts before what last night knew
        for row in read_buckets(self._library.vault.meta("Buckets.md")).rows:
            articles[row.name] = row.article or articles.get(row.name, "")
            merged[row.name] = row.merged_into
            aliases[row.name] = (*aliases.get(row.name, ()), *(row.aliases or ()))
        found: dict[str, str] = {}
        for name, own in articles.items():
            last, passed = name, {name}
            while merged.get(last) and merged[last] not in passed:
                last = merged[last]
                passed.add(last)
            if articles.get(last):
                names = (name, *aliases[name], *filter(None, (own,)))
                found |= dict.fromkeys(names, articles[last])
        return found


def chosen(
    cards: Iterable[Card],
    *,
    tag: str = "",
    project: str = "",
    since: date | None = None,
    until: date | None = None,
) -> list[Card]:
    """The cards that all of these let pass.

    tag: it or one below it, with or without its sign. project: its folder, one above it, or the
    folder's name. since, until: days of the last change, both included; what bears no day is left
    out where one is asked for.
    """
    wanted = tag.strip().lstrip("#").casefold()
    folder = project.rstrip("/")
    found = []
    for card in cards:
        tags = [own.lstrip("#").casefold() for own in card.tags]
        tagged = not wanted or any(f"{own}/".startswith(f"{wanted}/") for own in tags)
        of_it = not folder or any(
            f"{own}/".startswith(f"{folder}/") or own.rpartition("/")[2] == folder
            for own in card.projects
        )
        late = since is None or card.updated >= since.isoformat()
        early = until is None or "" < card.updated <= until.isoformat()
        if tagged and of_it and late and early:
            found.append(card)
    return found


def card_of(stem: str, text: str) -> Card:
    """What the text's frontmatter says of the article."""
    head = _HEAD.match(text)
    said = _said(head[1]) if head else {}
    title = _words(said.get("title"))
    if not title:
        opening = parse(text).title
        title = (flat(opening.heading_text),) if opening else ()
    return Card(
        stem=stem,
        title=next(iter(title), "") or stem,
        aliases=_words(said.get("aliases")),
        tags=_words(said.get("tags")),
        created=_day(said.get("created")),
        updated=_day(said.get("updated")),
        size=len(text),
    )


def _said(head: str) -> Mapping[str, object]:
    """The values of the frontmatter; none where it is not YAML, which is the user's affair."""
    simple = _simply_said(head.splitlines())
    if simple is not None:
        return simple
    try:
        said = YAML(typ="safe", pure=True).load(head)
    except (YAMLError, ValueError):
        return {}
    return said if isinstance(said, dict) else {}


def _simply_said(lines: list[str]) -> dict[str, object] | None:
    """The values if they are plain words and lists of such, None for the parser of YAML to read.

    That takes a millisecond a page, and a list needs a thousand pages.
    """
    said: dict[str, object] = {}
    name = ""
    for line in lines:
        item = _ITEM.fullmatch(line)
        kept = said.get(name)
        if item and isinstance(kept, list) and item[1].casefold() not in _NOT_WORDS:
            kept.append(item[1])
            continue
        entry = _ENTRY.fullmatch(line)
        if entry is None or entry[1] in said:
            return None
        name, word, listed = entry.groups()
        words = [one.strip() for one in listed.split(",")] if listed and listed.strip() else []
        if any(not _WORD.fullmatch(one) or one.casefold() in _NOT_WORDS for one in words):
            return None
        if word is not None and word.casefold() in _NOT_WORDS:
            return None
        said[name] = words if word is None else word
    return said


def _words(value: object) -> tuple[str, ...]:
    given = value if isinstance(value, list) else [value]
    words = (flat(str(one)) for one in given if one not in (None, "") and one != [])
    return tuple(word for word in words if word)


def _day(value: object) -> str:
    words = _words(value)
    try:
        return date.fromisoformat(words[0][:10]).isoformat() if words else ""
    except ValueError:
        return ""
