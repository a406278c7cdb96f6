"""The observations of a store: what was found out, done and decided, one row each."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from pipeline.errors import ConfigFault, UnknownIdFault
from pipeline.project import leaving, times
from pipeline.project.searching import Filters, Hit, search
from pipeline.project.vocabulary import Clean, tokens
from pipeline.sqlite import transaction

Row = dict[str, Any]
TITLE = 300  # characters at most; a title stands in lists
_MANY = 500  # parameters of one statement


class NewObservation(NamedTuple):
    """An observation to be stored. at: milliseconds, None for now. linear_issue: "" for none."""

    type: str
    title: str
    subtitle: str = ""
    content: str = ""
    files: tuple[str, ...] = ()
    concepts: tuple[str, ...] = ()
    project: str = ""
    session_id: int | None = None
    checkpoint_id: int | None = None
    linear_issue: str = ""
    tokens_work: int = 0
    at: int | None = None


def as_row(row: sqlite3.Row) -> Row:
    """The columns by name, lists as lists."""
    found = dict(row)
    for column in ("files", "concepts"):
        found[column] = json.loads(found[column])
    return found


class Observations:
    """The observations table."""

    def __init__(self, connection: sqlite3.Connection, clean: Clean, clock: times.Clock) -> None:
        self._connection = connection
        self._clean = clean
        self._clock = clock

    # ------------------------------------------------------------------ reading

    def get(self, ids: Sequence[int]) -> list[Row]:
        """The observations of these ids, in this order. Raises UnknownIdFault for one not there."""
        found: dict[int, Row] = {}
        for start in range(0, len(ids), _MANY):
            some = ids[start : start + _MANY]
            rows = self._connection.execute(
                f"SELECT * FROM observations WHERE id IN ({', '.join('?' * len(some))})", some
            )
            found.update((row["id"], as_row(row)) for row in rows)
        if missing := [str(one) for one in ids if one not in found]:
            raise UnknownIdFault(
                f"there is no observation {', '.join(missing)}",
                mend="`anvil-memory search` lists the ids there are",
            )
        return [found[one] for one in ids]

    def search(
        self, query: str, filters: Filters, limit: int, *, advanced: bool = False
    ) -> list[Hit]:
        """The best matches for `query`, see `searching.search`."""
        return search(self._connection, query, filters, limit, clock=self._clock, advanced=advanced)

    def recent(self, filters: Filters, limit: int) -> list[Row]:
        """The newest observations that pass the filters, the newest first."""
        where, values = filters.sql()
        rows = self._connection.execute(
            f"SELECT o.* FROM observations AS o WHERE {where} "
            "ORDER BY o.created_at_epoch DESC, o.id DESC LIMIT ?",
            (*values, limit),
        )
        return [as_row(row) for row in rows]

    def around(self, anchor: int, before: int, after: int) -> list[Row]:
        """The anchor with what was observed before and after it, in order of time."""
        (middle,) = self.get([anchor])
        place = (middle["created_at_epoch"], middle["id"])
        earlier = self._connection.execute(
            """SELECT * FROM observations WHERE (created_at_epoch, id) < (?, ?)
               ORDER BY created_at_epoch DESC, id DESC LIMIT ?""",
            (*place, before),
        )
        later = self._connection.execute(
            """SELECT * FROM observations WHERE (created_at_epoch, id) > (?, ?)
               ORDER BY created_at_epoch, id LIMIT ?""",
            (*place, after),
        )
        return [*map(as_row, [*earlier][::-1]), middle, *map(as_row, later)]

    def is_told(self, title: str, at: int) -> bool:
        """Whether an observation of this title was stored for this moment, or just after it."""
        found = self._connection.execute(
            "SELECT 1 FROM observations WHERE created_at_epoch BETWEEN ? AND ? AND title = ?",
            (at, at + 20, title),
        )
        return found.fetchone() is not None

    # ------------------------------------------------------------------ writing

    def add(self, new: NewObservation) -> int:
        """Store an observation; its id. Raises ConfigFault when nothing is left of its title.

        Each has a moment of its own, so that it can be told by it: one that is taken passes to the
        next millisecond.
        """
        values = self._cleaned(
            {
                "title": new.title,
                "subtitle": new.subtitle,
                "content": new.content,
                "files": new.files,
                "concepts": new.concepts,
            }
        )
        with transaction(self._connection):
            at = self._free(self._clock() if new.at is None else new.at)
            cursor = self._connection.execute(
                """INSERT INTO observations
                       (type, title, subtitle, content, file_path, files, concepts, project,
                        session_id, checkpoint_id, linear_issue, tokens_read, tokens_work,
                        content_hash, created_at, created_at_epoch)
                   VALUES (:type, :title, :subtitle, :content, :file_path, :files, :concepts,
                           :project, :session_id, :checkpoint_id, :linear_issue, :tokens_read,
                           :tokens_work, :content_hash, :created_at, :created_at_epoch)""",
                {
                    **values,
                    "type": new.type,
                    "project": self._clean(new.project),
                    "session_id": new.session_id,
                    "checkpoint_id": new.checkpoint_id,
                    "linear_issue": new.linear_issue or None,
                    "tokens_read": _tokens(values),
                    "tokens_work": new.tokens_work,
                    "content_hash": content_hash(new.type, values),
                    "created_at": times.iso(at),
                    "created_at_epoch": at,
                },
            )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def edit(self, identity: int, changes: Mapping[str, Any]) -> None:
        """Put new values in the place of columns: type, title, subtitle, content, files, concepts,
        linear_issue, session_id, project, tokens_work. Raises UnknownIdFault."""
        with transaction(self._connection):
            (old,) = self.get([identity])
            merged = {**old, **changes}
            values = self._cleaned(merged)
            new = {**merged, **values, "files": json.loads(values["files"])}
            leaving.editing(self._connection, old, new)
            self._connection.execute(
                """UPDATE observations SET type = :type, title = :title, subtitle = :subtitle,
                       content = :content, file_path = :file_path, files = :files,
                       concepts = :concepts, linear_issue = :linear_issue,
                       session_id = :session_id, project = :project, tokens_work = :tokens_work,
                       tokens_read = :tokens_read, content_hash = :content_hash WHERE id = :id""",
                {
                    **merged,
                    **values,
                    "linear_issue": merged["linear_issue"] or None,
                    "tokens_read": _tokens(values),
                    "content_hash": content_hash(merged["type"], values),
                    "id": identity,
                },
            )
            leaving.summarized(self._connection, old, new)

    def delete(self, ids: Sequence[int]) -> None:
        """Take rows out, all of them or none, or UnknownIdFault.

        One that tells of a checkpoint or an iteration takes it along.
        """
        with transaction(self._connection):
            for old in self.get(ids):
                leaving.deleting(self._connection, old)
                self._connection.execute("DELETE FROM observations WHERE id = ?", (old["id"],))
                leaving.summarized(self._connection, old)

    # ------------------------------------------------------------------ within

    def _free(self, at: int) -> int:
        while self._connection.execute(
            "SELECT 1 FROM observations WHERE created_at_epoch = ?", (at,)
        ).fetchone():
            at += 1
        return at

    def _cleaned(self, given: Mapping[str, Any]) -> dict[str, str]:
        title = " ".join(self._clean(given["title"]).split())
        if not title:
            raise ConfigFault(
                "the observation has no title, or all of it is private", mend="give it one"
            )
        files = self._each(given["files"])
        return {
            "title": title if len(title) <= TITLE else f"{title[: TITLE - 1].rstrip()}…",
            "subtitle": " ".join(self._clean(given["subtitle"]).split()),
            "content": self._clean(given["content"]),
            "file_path": files[0] if files else "",
            "files": json.dumps(files, ensure_ascii=False),
            "concepts": json.dumps(self._each(given["concepts"]), ensure_ascii=False),
        }

    def _each(self, texts: Iterable[str]) -> list[str]:
        return list(dict.fromkeys(kept for text in texts if (kept := self._clean(text))))


def content_hash(kind: str, values: Mapping[str, str]) -> str:
    """16 hex digits naming what an observation says; files and concepts as JSON text."""
    parts = (kind, *(values[name] for name in ("title", "subtitle", "content", "files")))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _tokens(values: Mapping[str, str]) -> int:
    return tokens("\n".join(values[name] for name in ("title", "subtitle", "content", "files")))
