"""The fixture vaults read in: pages, conversations, news and lies."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from pipeline.records import Citation, Message, Role

FIXTURES = Path(__file__).parents[2] / "fixtures" / "vaults"

Cites = tuple[str, int, int]


@dataclass(frozen=True)
class News:
    """A row of news.jsonl or lies.jsonl (see fixtures/vaults/README.md)."""

    article: str
    kind: str
    text: str
    cites: tuple[()] | Cites = ()
    section: str = ""
    of: str = ""
    target: str = ""
    wrong: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Spoken:
    """A conversation: where it comes from and what was said."""

    source: str
    title: str
    messages: tuple[Message, ...]


@dataclass(frozen=True)
class Vault:
    """A fixture vault. pages: stem → text."""

    name: str
    pages: dict[str, str]
    conversations: dict[str, Spoken]
    news: tuple[News, ...] = ()
    lies: tuple[News, ...] = field(default=())

    def news_of(self, stem: str) -> list[News]:
        """What could be written to this article."""
        return [one for one in self.news if one.article == stem]

    def citation(self, conv: str, first: int, last: int) -> Citation:
        """A citation as the pipeline would make it."""
        spoken = self.conversations[conv]
        date = spoken.messages[min(last, len(spoken.messages) - 1)].at.date().isoformat()
        return Citation(conv, first, last, date, spoken.source, spoken.title)

    def evidence(self, citation: Citation) -> Sequence[Message]:
        """The messages a citation points at; none where there are none."""
        spoken = self.conversations.get(citation.conv)
        return spoken.messages[citation.first : citation.last + 1] if spoken else ()


@lru_cache(maxsize=1)
def vaults() -> tuple[Vault, ...]:
    """Every fixture vault, by name."""
    return tuple(_read(folder) for folder in sorted(FIXTURES.iterdir()) if folder.is_dir())


def conversation(conv: str, said: Sequence[tuple[str, str]], *, title: str = "") -> Spoken:
    """An invented conversation of (role, text)."""
    at = datetime.fromisoformat("2026-09-09T09:09:00+00:00")
    return Spoken(
        "pi",
        title or "Something said",
        tuple(
            Message(f"{conv}-{position}", conv, position, Role(role), at, text)
            for position, (role, text) in enumerate(said)
        ),
    )


def _read(folder: Path) -> Vault:
    pages = {}
    for path in sorted((folder / "articles").glob("*.md")):
        pages[path.stem] = path.read_bytes().decode("utf-8")
    conversations = {}
    for row in _rows(folder / "conversations.jsonl"):
        conversations[row["conv"]] = Spoken(
            row["source"],
            row["title"],
            tuple(
                Message(
                    f"{row['conv']}-{position}",
                    row["conv"],
                    position,
                    Role(said["role"]),
                    datetime.fromisoformat(said["at"]),
                    said["text"],
                )
                for position, said in enumerate(row["messages"])
            ),
        )
    news = tuple(_news(row) for row in _rows(folder / "news.jsonl"))
    lies = tuple(_news(row) for row in _rows(folder / "lies.jsonl"))
    return Vault(folder.name, pages, conversations, news, lies)


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _news(row: dict[str, Any]) -> News:
    cites = row.pop("cites", ())
    wrong = row.pop("wrong", ())
    return News(
        cites=tuple(cites),
        wrong=tuple((sort, text) for sort, text in wrong),
        **row,
    )
