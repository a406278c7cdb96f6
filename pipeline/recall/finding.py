"""What was found, looked up: only what may be told, and only what the filters let pass."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property
from typing import Any

from pipeline.prose import flat
from pipeline.recall.hiding import Hiding
from pipeline.recall.index import Line
from pipeline.recall.library import Library

PLACES = ("articles", "claims", "conversations", "observations")
_AT_ONCE = 12  # rows that are looked up together; most are never told
_OBSERVED = "observations"  # the source of the memories of projects
_SQL = """SELECT m.rowid AS row, m.conv, m.position, m.at, m.text, c.title, c.source,
                 coalesce(nullif(m.project, ''), c.project) AS project
          FROM messages AS m JOIN conversations AS c USING (conv) WHERE m.rowid IN ({})"""
_CLAIMS = """SELECT k.rowid AS row, k.text, k.messages, k.chunk_id, p.conv, c.title,
                    coalesce(nullif(p.project, ''), c.project) AS project,
                    (SELECT at FROM messages AS m WHERE m.conv = p.conv AND m.position
                     = coalesce((SELECT max(value) FROM json_each(k.messages)), 0)) AS at
             FROM claims AS k JOIN chunks AS p ON p.id = k.chunk_id
             JOIN conversations AS c USING (conv)
             WHERE k.dropped_reason = '' AND k.rowid IN ({})"""

Cite = tuple[str, int, int]


@dataclass(frozen=True, slots=True)
class Found:
    """A section, claim or message. cites: (conv, first, last) for each of its lines."""

    place: str
    row: int
    title: str
    lines: tuple[str, ...]
    cites: tuple[tuple[Cite, ...], ...]
    day: str
    project: str = ""
    article: str = ""
    anchor: str = ""


class Finding:
    """Looks rows up for one search. Days are those of the library's zone, both included."""

    def __init__(
        self,
        library: Library,
        places: Sequence[str],
        project: str,
        since: date | None,
        until: date | None,
    ) -> None:
        self._library = library
        self._places = places
        self._project = project.rstrip("/")
        self._since = since
        self._until = until
        self._hiding = Hiding(library)

    # ------------------------------------------------------------------ conditions for the index

    def of_messages(self) -> tuple[str, tuple[Any, ...]]:
        """A condition on the row `r` of messages, "" for none, and its values."""
        parts: list[str] = []
        values: list[Any] = []
        if self._since:
            parts.append("r.at >= ?")
            values.append(self._moment(self._since))
        if self._until:
            parts.append("r.at < ?")
            values.append(self._moment(self._until + timedelta(days=1)))
        conversations, given = self._conversations()
        if conversations:
            parts.append(f"r.conv IN (SELECT conv FROM conversations WHERE {conversations})")
            values += given
        return " AND ".join(parts), tuple(values)

    def of_claims(self) -> tuple[str, tuple[Any, ...]]:
        """A condition on the row `r` of claims, wider than the filters, and its values."""
        parts: list[str] = []
        values: list[Any] = []
        if self._since:
            parts.append("updated_at >= ?")
            values.append(self._moment(self._since))
        if self._until:
            parts.append("started_at < ?")
            values.append(self._moment(self._until + timedelta(days=1)))
        project, given = _within("conversations.project", self._project)
        if project:
            own, again = _within("chunks.project", self._project)
            parts.append(f"({project} OR {own})")
            values += [*given, *again]
        if not parts:
            return "", ()
        return (
            f"""r.chunk_id IN (SELECT id FROM chunks JOIN conversations USING (conv)
                WHERE {" AND ".join(parts)})""",
            tuple(values),
        )

    # ------------------------------------------------------------------ what stands in the rows

    def sections(self, rows: Sequence[int]) -> Iterator[Found]:
        """Those of these sections that may be told."""
        for row, found in self._library.sections.each(rows):
            if self._hiding.names(
                (found.stem, found.title, *found.aliases, *(text for text, _ in found.headings))
            ):
                continue
            own = found.headings[-1:]
            convs = {conv for _, cites in (*own, *found.lines) for conv, _, _ in cites}
            gone = self._hiding.forgotten(convs)
            kept = _left(found.lines, gone)
            if found.lines and not kept:
                continue
            day = max(
                (day for conv, day in found.days.items() if conv not in gone), default=found.changed
            )
            if not self._passes(day, convs - gone):
                continue
            yield Found(
                "articles",
                row,
                flat(found.title),
                tuple(text for text, _ in kept),
                tuple(cites for _, cites in kept),
                day,
                article=found.stem,
                # without its heading it belongs to what stands above it, as `withholding` has it
                anchor=found.anchor if not own or _left(own, gone) else "",
            )

    def claims(self, rows: Sequence[int]) -> Iterator[Found]:
        """Those of these claims that are kept and may be told."""
        for told in self._ordered(_CLAIMS, rows):
            conv = told["conv"]
            if conv in self._hiding.convs or self._hiding.chunk(told["chunk_id"]):
                continue
            positions = json.loads(told["messages"])
            day = self.day(told["at"] or "")
            if self._day_passes(day) and self._project_passes(told["project"]):
                cites = tuple((conv, position, position) for position in positions)
                yield Found(
                    "claims",
                    told["row"],
                    self._title(told["title"]),
                    (" ".join(told["text"].split()),),
                    (cites,),
                    day,
                    told["project"],
                )

    def messages(self, rows: Sequence[int]) -> Iterator[Found]:
        """Those of these messages that may be told, and are of a place that is asked for."""
        for told in self._ordered(_SQL, rows):
            conv, position, text = told["conv"], told["position"], told["text"]
            place = "observations" if told["source"] == _OBSERVED else "conversations"
            if place not in self._places or self._hiding.message(conv, position, text):
                continue
            day = self.day(told["at"])  # it may only stand beside what the filters let pass
            if not (self._day_passes(day) and self._project_passes(told["project"])):
                continue
            lines = tuple(line for line in text.splitlines() if line.strip()) or ("",)
            yield Found(
                place,
                told["row"],
                self._title(told["title"]),
                lines,
                ((),) * (len(lines) - 1) + (((conv, position, position),),),
                day,
                told["project"],
            )

    def project_of(self, conv: str) -> str:
        """The folder that a conversation was about, "" where it is not known."""
        store = self._library.store
        row = (
            store
            and store.execute(
                "SELECT project FROM conversations WHERE conv = ?", (conv,)
            ).fetchone()
        )
        return str(row[0]) if row else ""

    def day(self, at: str) -> str:
        """The user's day of a time as the store writes it, ISO; "" for none."""
        if not at:
            return ""
        return datetime.fromisoformat(at).astimezone(self._library.zone).date().isoformat()

    # ------------------------------------------------------------------ inside

    def _title(self, title: str) -> str:
        return "" if self._hiding.title(title) else flat(title)

    def _ordered(self, query: str, rows: Sequence[int]) -> Iterator[sqlite3.Row]:
        store = self._library.store
        if store is None:
            return
        for start in range(0, len(rows), _AT_ONCE):
            some = rows[start : start + _AT_ONCE]
            asked = query.format(", ".join("?" * len(some)))
            found = {row["row"]: row for row in store.execute(asked, list(some))}
            yield from (found[row] for row in some if row in found)

    def _conversations(self) -> tuple[str, list[Any]]:
        """A condition on conversations: the project, and the source where it tells places apart."""
        condition, values = _within("project", self._project)
        told = {"conversations", "observations"} & set(self._places)
        if told == {"observations"}:
            condition = f"{condition} AND source = ?" if condition else "source = ?"
            values = [*values, _OBSERVED]
        return condition, values

    def _passes(self, day: str, convs: set[str] | frozenset[str]) -> bool:
        if not self._day_passes(day):
            return False
        return not self._project or any(conv in self._of_project for conv in convs)

    @cached_property
    def _of_project(self) -> frozenset[str]:
        store = self._library.store
        if store is None:
            return frozenset()
        condition, values = _within("project", self._project)
        rows = store.execute(f"SELECT conv FROM conversations WHERE {condition}", values)
        return frozenset(row[0] for row in rows)

    def _project_passes(self, project: str) -> bool:
        wanted = self._project
        return (
            not wanted
            or project == wanted
            or project.startswith(f"{wanted}/")
            or ("/" not in wanted and project.rpartition("/")[2] == wanted)
        )

    def _day_passes(self, day: str) -> bool:
        if self._since and (not day or day < self._since.isoformat()):
            return False
        return not self._until or ("" < day <= self._until.isoformat())

    def _moment(self, day: date) -> str:
        """When a day begins, as the store writes times."""
        begins = datetime.combine(day, time.min, self._library.zone).astimezone(UTC)
        return begins.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _left(lines: Sequence[Line], gone: frozenset[str]) -> list[Line]:
    """Without those that rest on these conversations alone, and without what cites them."""
    return [
        (text, tuple(cite for cite in cites if cite[0] not in gone))
        for text, cites in lines
        if not cites or not gone.issuperset(cite[0] for cite in cites)
    ]


def _within(column: str, project: str) -> tuple[str, list[Any]]:
    """A condition: the folder, one below it, or a folder of this name; "" for all."""
    if not project:
        return "", []
    parts = [f"{column} = ?", f"substr({column}, 1, ?) = ?"]
    values: list[Any] = [project, len(project) + 1, f"{project}/"]
    if "/" not in project:
        parts.append(f"substr({column}, ?) = ?")
        values += [-len(project) - 1, f"/{project}"]
    return f"({' OR '.join(parts)})", values


def by_score(found: Mapping[int, float]) -> list[int]:
    """The rows, best first; of equals the newest."""
    return sorted(sorted(found, reverse=True), key=found.__getitem__, reverse=True)
