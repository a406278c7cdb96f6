"""Meta/Buckets.md: the table through which the user sees and steers the buckets.

    | bucket | article | aliases | description | state |

state: captured, article, ignored, or `→ Other` for a bucket that is merged into Other.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence

from pipeline.markdown import Block, Kind, Page, parse
from pipeline.prose import inline, plain, reading
from pipeline.records import Bucket, BucketState
from pipeline.store.derived import Derived, Worked

_KIND, _PAGE = "buckets page 1", "Meta/Buckets.md"  # another number when rows are read otherwise
_COLUMNS = ("bucket", "article", "aliases", "description", "state")
_MERGED = re.compile(r"(?:→|->)\s*(?P<name>.+)")
_STATES = {
    "": None,
    "captured": BucketState.CAPTURED,
    "article": BucketState.ARTICLE,
    "ignore": BucketState.IGNORED,
    "ignored": BucketState.IGNORED,
}
_CELL_END = re.compile(r"(?<!\\)\|")


def read_buckets(text: str) -> tuple[list[Bucket], list[str]]:
    """The rows of the table, and what in it could not be understood, a sentence each.

    A row with an unknown state still counts, with the state its article column speaks for; a row
    without a name, or with one that stands above already, does not.
    """
    page = parse(text)
    table = _table(page)
    if table is None:
        if any(block.kind is Kind.TABLE for block in page.blocks):
            return [], [f"Buckets.md has no table with the columns {', '.join(_COLUMNS)}"]
        return [], []
    header, rows = _rows(table)
    found: dict[str, Bucket] = {}
    problems = []
    for number, cells in enumerate(rows, 1):
        row = dict(zip(header, [*cells, *[""] * len(header)], strict=False))
        bucket, problem = _bucket(row)
        if not bucket.name:
            problems.append(f"row {number} of Buckets.md names no bucket")
        elif bucket.name in found:
            problems.append(f"Buckets.md names {bucket.name!r} twice: row {number} is not used")
        else:
            found[bucket.name] = bucket
            problems += [problem] if problem else []
    for bucket in found.values():
        if bucket.merged_into == bucket.name:
            problems.append(f"Buckets.md merges {bucket.name!r} into itself")
        elif bucket.merged_into and bucket.merged_into not in found:
            problems.append(
                f"Buckets.md merges {bucket.name!r} into {bucket.merged_into!r}, which has no row"
            )
    return list(found.values()), problems


def listed_buckets(text: str, derived: Derived) -> tuple[list[Bucket], list[str]]:
    """As `read_buckets` of this page of the vault; worked out anew when the page is another.

    Several stages of every night look at it, and it is as long as there are topics.
    """
    digest = hashlib.sha256(text.encode()).hexdigest()
    kept = derived.get(_KIND, _PAGE)
    if kept is None or kept.digest != digest:
        found, problems = read_buckets(text)
        rows = [
            [b.name, b.article, b.description, b.aliases, b.state, b.merged_into] for b in found
        ]
        kept = Worked(digest, json.dumps([rows, problems]).encode())
        derived.put(_KIND, {_PAGE: kept})
    rows, problems = json.loads(kept.value)
    return [_from_row(*row) for row in rows], problems


def append_buckets(text: str, buckets: Sequence[Bucket]) -> str:
    """The page with a row more for each bucket, under the table's last; nothing else changes.

    A page without the table gets one at its end.
    """
    page = parse(text)
    nl = page.newline
    table = _table(page)
    if table is None:
        gap = "" if not text else nl if text.endswith(("\n", "\r")) else nl + nl
        header = [f"| {' | '.join(_COLUMNS)} |", f"|{'---|' * len(_COLUMNS)}"]
        return text + gap + nl.join([*header, *(_row(bucket, _COLUMNS) for bucket in buckets)]) + nl
    header, _ = _rows(table)
    before = text[: table.end]
    gap = "" if before.endswith(("\n", "\r")) else nl
    rows = "".join(_row(bucket, header) + nl for bucket in buckets)
    return before + gap + rows + text[table.end :]


def _from_row(
    name: str, article: str, about: str, aliases: list[str], state: str, merged_into: str
) -> Bucket:
    return Bucket(name, article, about, tuple(aliases), BucketState(state), merged_into)


def _table(page: Page) -> Block | None:
    """The first table with a bucket and a state column."""
    for block in page.blocks:
        if block.kind is Kind.TABLE and {"bucket", "state"} <= set(_rows(block)[0]):
            return block
    return None


def _rows(table: Block) -> tuple[list[str], list[list[str]]]:
    lines = [_cells(line) for line in table.raw.splitlines()]
    return [cell.casefold() for cell in lines[0]], lines[2:]


def _cells(line: str) -> list[str]:
    inner = line.strip()
    inner = inner.removeprefix("|")
    if inner.endswith("|") and not inner.endswith("\\|"):
        inner = inner[:-1]
    return [cell.replace("\\|", "|").strip() for cell in _CELL_END.split(inner)]


def _bucket(row: dict[str, str]) -> tuple[Bucket, str]:
    name, said = reading(row["bucket"]), reading(row["state"])
    linked = [token for token in inline(row.get("article", "")) if token.kind == "wikilink"]
    article = linked[0].target if linked else reading(row.get("article", ""))
    merged = _MERGED.fullmatch(said)
    state = BucketState.MERGED if merged else _STATES.get(said.casefold())
    problem = ""
    if state is None:
        state = BucketState.ARTICLE if article else BucketState.CAPTURED
        if said:
            problem = f"Buckets.md gives {name!r} the state {said!r}, which is none of them"
    aliases = (reading(alias) for alias in row.get("aliases", "").split(","))
    bucket = Bucket(
        name=name,
        article=article,
        description=reading(row.get("description", "")),
        aliases=tuple(alias for alias in aliases if alias),
        state=state,
        merged_into=merged["name"].strip() if merged else "",
    )
    return bucket, problem


def _row(bucket: Bucket, columns: Sequence[str]) -> str:
    cells = {
        "bucket": plain(bucket.name),
        "article": f"[[{bucket.article}]]" if bucket.article else "",
        "aliases": ", ".join(plain(alias.replace(",", " ")) for alias in bucket.aliases),
        "description": plain(bucket.description),
        "state": f"→ {plain(bucket.merged_into)}" if bucket.merged_into else bucket.state.value,
    }
    return f"| {' | '.join(cells.get(name, '').replace('|', chr(92) + '|') for name in columns)} |"
