"""What stands in a vault, read without the pipeline's own parser: what is measured measures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.nights_world import Fact

HISTORY = "History"
_NOT_PROSE = frozenset({"See also", "References"})
_MARKS = re.compile(r"((?:\[\^[^\]\s]+\])+)")
_LABEL = re.compile(r"\[\^([^\]\s]+)\]")
_DEFINITION = re.compile(r"\[\^([^\]\s]+)\]: (.*)")
_SOURCE = re.compile(r"`conv:([0-9a-f]+)` \([^)]*messages? (\d+)(?:–(\d+))?\)")
_LINK = re.compile(r"\[\[(?:[^\]|]*\|)?([^\]]*)\]\]")
_DATED = re.compile(r"- \d{4}-\d{2}-\d{2}: ")
_ESCAPED = re.compile(r"\\([^\w\s])")

Place = tuple[str, int, int]  # conversation, first and last message, counted from 1


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of prose up to its marks, links read as their text. past: it stands in History."""

    article: str
    text: str
    past: bool
    cited: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Standing:
    """A planted fact where it stands."""

    fact: Fact
    segment: Segment


@dataclass(frozen=True, slots=True)
class Wiki:
    """Every article by its path under articles/. loose: marks without a definition or the reverse.

    talk: all Talk pages in one.
    """

    raw: Mapping[str, str]
    segments: tuple[Segment, ...]
    loose: tuple[str, ...]
    talk: str

    def cited(self) -> set[Place]:
        """Every citation that stands at a sentence."""
        return {place for segment in self.segments for place in segment.cited}

    def standing(self, known: Iterable[Fact]) -> list[Standing]:
        """Where planted facts stand; a sentence of the user's may stand before one."""
        by_text = sorted(known, key=lambda fact: -len(fact.text))
        found = []
        for segment in self.segments:
            fact = next((f for f in by_text if segment.text.endswith(f.text)), None)
            if fact is not None:
                found.append(Standing(fact, segment))
        return found

    def article(self, title: str) -> str:
        """The path of the article with this title, "" if there is none."""
        return next((p for p, text in self.raw.items() if f"\n# {title}\n" in text), "")


def read(vault: Path) -> Wiki:
    """The vault as it stands."""
    folder = vault / "articles"
    raw = {
        path.relative_to(folder).as_posix(): path.read_bytes().decode()
        for path in sorted(folder.rglob("*.md"))
    }
    segments: list[Segment] = []
    loose: list[str] = []
    for name, text in raw.items():
        found = map(_DEFINITION.match, text.splitlines())
        sources = {match[1]: match[2] for match in found if match}
        segments += _segments(name, text, sources)
        prose = [line for line in text.splitlines() if not _DEFINITION.match(line)]
        marks = {label for line in prose for label in _LABEL.findall(line)}
        loose += [f"{name}: [^{label}]" for label in sorted(marks ^ set(sources))]
    talk = "\n".join(path.read_text("utf-8") for path in sorted((vault / "Talk").rglob("*.md")))
    return Wiki(raw, tuple(segments), tuple(loose), talk)


def _segments(name: str, text: str, sources: Mapping[str, str]) -> Iterator[Segment]:
    section = ""
    for line in _body(text):
        if line.startswith("#"):
            section = line.lstrip("# ").strip()
        elif section not in _NOT_PROSE and not _DEFINITION.match(line):
            pieces = [*_MARKS.split(_DATED.sub("", line)), ""]
            for said, marks in zip(pieces[::2], pieces[1::2], strict=True):
                shown = _ESCAPED.sub(r"\1", _LINK.sub(r"\1", said)).strip()
                cited = tuple(_places(marks, sources))
                if shown or cited:
                    yield Segment(name, shown, section == HISTORY, cited)


def _body(text: str) -> list[str]:
    lines = text.splitlines()
    if lines and lines[0] == "---":
        lines = lines[lines.index("---", 1) + 1 :]
    return lines


def _places(marks: str, sources: Mapping[str, str]) -> Iterator[Place]:
    for label in _LABEL.findall(marks):
        if found := _SOURCE.match(sources.get(label, "")):
            yield found[1], int(found[2]), int(found[3] or found[2])
