"""What the reading commands print: lines for a reader, values for a program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from pipeline.markdown import Page
from pipeline.recall.pages import Link, Note, Section, notes, sections, told
from pipeline.recall.shelf import Card


def card_as_json(card: Card) -> dict[str, Any]:
    """The article without its text."""
    return {
        "article": card.stem,
        "title": card.title,
        "aliases": card.aliases,
        "tags": card.tags,
        "created": card.created,
        "updated": card.updated,
        "projects": card.projects,
        "characters": card.size,
    }


def page_as_json(card: Card, page: Page) -> dict[str, Any]:
    """The article whole."""
    return {**card_as_json(card), "sections": toc_as_json(page), "text": page.text}


def toc_as_json(page: Page) -> list[dict[str, Any]]:
    """The sections without their text."""
    return [
        {"heading": s.heading, "level": s.level, "anchor": s.anchor, "characters": s.size}
        for s in sections(page)
    ]


def section_as_json(card: Card, page: Page, part: Section) -> dict[str, Any]:
    """One section, with its footnotes apart."""
    return {
        "article": card.stem,
        "heading": part.heading,
        "anchor": part.anchor,
        "text": page.text[part.start : part.end].strip("\r\n"),
        "notes": [_note_as_json(note) for note in notes(page, part)],
    }


def links_as_json(card: Card, outward: Sequence[Link], inward: Sequence[Card]) -> dict[str, Any]:
    """Links out and in; `article` is "" where no article is called so."""
    return {
        "article": card.stem,
        "out": [{"name": link.name, "article": link.stem, "title": link.title} for link in outward],
        "in": [{"article": other.stem, "title": other.title} for other in inward],
    }


def toc_lines(page: Page) -> list[str]:
    """The sections, indented by their level, each with its size."""
    return [
        f"{part.size:>7}  {'  ' * max(0, part.level - 2)}{part.anchor or '(lead)'}"
        for part in sections(page)
    ]


def section_lines(page: Page, part: Section) -> list[str]:
    """The section's text with its footnotes."""
    return told(page, part).splitlines()


def links_lines(outward: Sequence[Link], inward: Sequence[Card]) -> list[str]:
    """Links out with →, links in with ←."""
    return [
        *(f"→ {link.stem or f'{link.name} (no such article)'}" for link in outward),
        *(f"← {card.stem}" for card in inward),
    ]


def list_line(card: Card) -> str:
    """The day of its last change, its size, its names, its tags."""
    names = dict.fromkeys(filter(lambda name: name != card.stem, (card.title, *card.aliases)))
    also = f" ({', '.join(names)})" if names else ""
    tags = "".join(f" #{tag}" for tag in card.tags)
    return f"{card.updated or '-':<10}  {card.size:>7}  {card.stem}{also}{tags}"


def _note_as_json(note: Note) -> dict[str, Any]:
    cited = None
    if note.citation:
        cited = asdict(note.citation) | {
            # counted from 1, as in the footnotes and for `memory source`
            "first": note.citation.first + 1,
            "last": note.citation.last + 1,
        }
    return {"label": note.label, "text": note.text, "citation": cited}
