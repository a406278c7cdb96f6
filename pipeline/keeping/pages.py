"""What the vault's pages say of conversations."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pipeline import ordinary
from pipeline.footnotes import citations_of
from pipeline.keeping.backing_up import walk
from pipeline.keeping.searching import Needles
from pipeline.markdown import parse
from pipeline.prose import reading
from pipeline.spelling import in_vault


@dataclass(frozen=True, slots=True)
class Cited:
    """A page of the vault that tells of it. sentences: those that rest on nothing else.

    quotes: its words stand there, beside the conversation's id.
    """

    path: str
    sentences: tuple[str, ...]
    quotes: bool


def pages(vault: Path) -> Iterator[tuple[str, str]]:
    """Every page that can be read, with its text; its path from the vault's root."""
    for path in walk(vault, (vault / ".git",)):
        if path.suffix == ".md" and not path.is_symlink():
            with suppress(OSError, UnicodeDecodeError):
                yield (
                    in_vault(path.relative_to(vault).as_posix(), vault),
                    ordinary.content(path).decode("utf-8"),
                )


def as_read(vault: Path) -> Iterator[tuple[str, str]]:
    """Every page, with its text as it stands and as a reader sees it."""
    for path, text in pages(vault):
        yield path, "\n".join([text, reading(text), *parse(text).said])


def resting_on(text: str, convs: Collection[str]) -> list[str]:
    """The sentences of a page that cite these conversations and no other."""
    page = parse(text)
    found = []
    for block in page.blocks:
        for sentence in block.sentences:
            cited = citations_of(page, sentence.marks)
            if cited and all(one.conv in convs for one in cited):
                found.append(sentence.text)
    return found


def citing(vault: Path, convs: Collection[str], needles: Needles) -> Iterator[Cited]:
    """Pages that cite these conversations, or quote them, escapes of Markdown aside."""
    for path, text in pages(vault):
        quotes = needles.said(text) or needles.said(reading(text))
        if quotes or any(f"conv:{conv}" in text for conv in convs):
            yield Cited(path, tuple(resting_on(text, convs)), quotes)
