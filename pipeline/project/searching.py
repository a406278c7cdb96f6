"""Full-text search that takes any string, ranked by relevance and by age."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Sequence
from typing import Any, NamedTuple

from pipeline.errors import ConfigFault
from pipeline.project import times

_TERM = re.compile(r'"(?P<phrase>[^"]*)"(?P<any>\*?)|(?P<word>[^\s"]+)')
_WILD = re.compile("[%_!]")
_LONGEST = 500  # characters of a word that is looked for anywhere
_UNSPACED = re.compile(  # Thai, Lao, Burmese, Khmer, kana, Chinese characters, Hangul
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff]"
)
_SPOKEN = re.compile(r"\w")
_WORDS = 32  # of a query at most; more would only be the text of an observation itself
_CANDIDATES = 200  # of the best matches so many are ranked by age too
_RANKED = 2500  # of the matches at most, the newest; more are so many that age decides anyway
_HALF_LIFE = 60 * times.DAY
_AGE_WEIGHT = 0.4  # of the score at most, for what is very old

Hit = dict[str, Any]


class Filters(NamedTuple):
    """What a row must be to count. Empty fields let all pass; times in milliseconds, inclusive.

    types, concepts: any of them. file: a part of the path of any of its files.
    """

    types: tuple[str, ...] = ()
    since: int | None = None
    until: int | None = None
    file: str = ""
    concepts: tuple[str, ...] = ()
    linear: str = ""
    session: int | None = None

    def sql(self) -> tuple[str, list[Any]]:
        """A condition on the observations table as `o`, and its values."""
        parts: list[str] = ["1"]
        values: list[Any] = []

        def add(condition: str, *given: Any) -> None:
            parts.append(condition)
            values.extend(given)

        if self.types:
            add(f"o.type IN ({', '.join('?' * len(self.types))})", *self.types)
        if self.since is not None:
            add("o.created_at_epoch >= ?", self.since)
        if self.until is not None:
            add("o.created_at_epoch <= ?", self.until)
        if self.file:  # as it stands in the JSON of the list
            add("instr(o.files, ?) > 0", json.dumps(self.file, ensure_ascii=False)[1:-1])
        if self.concepts:
            each = " OR ".join(["instr(o.concepts, ?) > 0"] * len(self.concepts))
            add(f"({each})", *(json.dumps(one, ensure_ascii=False) for one in self.concepts))
        if self.linear:
            add("o.linear_issue = ?", self.linear)
        if self.session is not None:
            add("o.session_id = ?", self.session)
        return " AND ".join(parts), values


def expression(query: str, joint: str = " ") -> str:
    """An FTS5 expression for what a person typed; "" when there is no word in it.

    `"two words"` is a phrase and `word*` a beginning, everything else is words; none of it is
    FTS5's own syntax. joint: what stands between the terms, " " for all of them, " OR " for any.
    """
    terms = []
    for text, beginning in _terms(query):
        quoted = text.replace('"', '""')
        terms.append(f'"{quoted}"{"*" if beginning else ""}')
    return joint.join(terms)


def _terms(query: str) -> list[tuple[str, bool]]:
    """The words and phrases of a query, each with whether it is a beginning."""
    terms = []
    for found in _TERM.finditer(query):
        text = found["phrase"] if found["phrase"] is not None else found["word"]
        beginning = bool(found["any"]) or (found["phrase"] is None and text.endswith("*"))
        text = text.replace("\0", "").encode("utf-8", "replace").decode()
        if _SPOKEN.search(text):
            terms.append((text.rstrip("*"), beginning))
    return terms[:_WORDS]


def search(
    connection: sqlite3.Connection,
    query: str,
    filters: Filters,
    limit: int,
    *,
    clock: times.Clock,
    advanced: bool,
) -> list[Hit]:
    """The best matches: BM25, lessened by age, the newest first on ties; each row with `score`.

    All words must be in it; where none has all, those with any of them are given. advanced: the
    query is an FTS5 expression; ConfigFault, which says what is wrong with it, if it is none.
    """
    if advanced:
        try:
            found = _candidates(connection, query, filters)
        except sqlite3.OperationalError as error:
            raise ConfigFault(
                f"the query {query!r} is no FTS5 expression: {error}",
                mend="put words that are meant as they stand in double quotes, or leave out "
                "--advanced",
            ) from error
    else:
        wanted = expression(query)
        found = _candidates(connection, wanted, filters) if wanted else []
        if not found and _UNSPACED.search(wanted):
            found = _containing(connection, query, filters)
        if not found and wanted:
            found = _candidates(connection, expression(query, " OR "), filters)
    now = clock()
    scored = [(_score(rank, now - at), at, identity) for identity, rank, at in found]
    best = sorted(scored, reverse=True)[:limit]
    rows = {
        row["id"]: row
        for row in connection.execute(
            f"SELECT * FROM observations WHERE id IN ({', '.join('?' * len(best))})",
            [identity for *_, identity in best],
        )
    }
    return [
        {
            **dict(rows[identity]),
            "files": json.loads(rows[identity]["files"]),
            "concepts": json.loads(rows[identity]["concepts"]),
            "score": round(score, 6),
        }
        for score, _, identity in best
        if identity in rows
    ]


def _candidates(
    connection: sqlite3.Connection, wanted: str, filters: Filters
) -> Sequence[tuple[int, float, int]]:
    """The matches with the best ranks, as id, rank and time."""
    # Ranking costs far more than finding, and a word that is everywhere ranks nothing. Asked for in
    # order of id, a row is ranked when it is taken, and no more are than are taken.
    where, values = filters.sql()
    joined = "JOIN observations AS o ON o.id = f.rowid" if filters != Filters() else ""
    newest = connection.execute(
        f"""SELECT f.rowid, f.rank FROM observations_fts AS f {joined}
            WHERE observations_fts MATCH ? AND {where} ORDER BY f.rowid DESC LIMIT ?""",
        (wanted, *values, _RANKED),
    ).fetchall()
    best = sorted((row["rank"], -row["rowid"]) for row in newest)[:_CANDIDATES]
    ranks = {-number: rank for rank, number in best}
    told = connection.execute(
        f"""SELECT id, created_at_epoch AS at FROM observations
            WHERE id IN ({", ".join("?" * len(ranks))})""",
        [*ranks],
    )
    return [(row["id"], ranks[row["id"]], row["at"]) for row in told]


def _containing(
    connection: sqlite3.Connection, query: str, filters: Filters
) -> Sequence[tuple[int, float, int]]:
    """The newest observations that have every word anywhere, as id, one rank for all, and time.

    For languages without spaces: the index takes what stands between two signs for one word.
    """
    where, values = filters.sql()
    columns = ("title", "subtitle", "content", "files")
    each = " OR ".join(f"o.{name} LIKE ? ESCAPE '!'" for name in columns)
    words = ["%" + _WILD.sub(r"!\g<0>", text[:_LONGEST]) + "%" for text, _ in _terms(query)]
    rows = connection.execute(
        f"""SELECT o.id, o.created_at_epoch AS at FROM observations AS o
            WHERE {where} {f"AND ({each}) " * len(words)}
            ORDER BY o.created_at_epoch DESC LIMIT ?""",
        (*values, *(word for word in words for _ in columns), _CANDIDATES),
    )
    return [(row["id"], -1.0, row["at"]) for row in rows]


def _score(rank: float, age: int) -> float:
    """Better is more. rank: FTS5's, less is better. age: in milliseconds."""
    freshness: float = 2.0 ** (-max(0, age) / _HALF_LIFE)
    return -float(rank) * (1 - _AGE_WEIGHT + _AGE_WEIGHT * freshness)
