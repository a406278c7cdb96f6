"""Meta/Buckets.md: the table through which the user sees and steers the buckets.

    | bucket | article | aliases | description | state |

state: captured, article, ignored, `→ Other` for a bucket that is merged into Other, or `← Other:
words` for one that is to get part of Other. Columns go by their names. What is written there is put
into cells; every other byte of the page stays.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import astuple, dataclass

from pipeline.markdown import Block, Kind, Page, parse
from pipeline.prose import inline, plain, reading
from pipeline.records import Bucket, BucketState
from pipeline.store.buckets import normalised
from pipeline.store.derived import Derived, Worked

PAGE = "Meta/Buckets.md"
COLUMNS = ("bucket", "article", "aliases", "description", "state")
_KIND = "buckets page 3"  # another number when rows are read otherwise
MERGED = re.compile(r"(?:→|->)\s*(?P<name>.+)")
TAKES = re.compile(r"(?:←|<-)\s*(?P<part>.*)")
_BOLD = re.compile(r"(\*\*|__|\*|_)(?P<inner>.+)\1")
_STATES = {
    "captured": BucketState.CAPTURED,
    "article": BucketState.ARTICLE,
    "ignore": BucketState.IGNORED,
    "ignored": BucketState.IGNORED,
}
_CELL_END = re.compile(r"(?<!\\)\|")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


@dataclass(frozen=True, slots=True)
class Row:
    """What a row says of a bucket; None where it says nothing, not even that there is none.

    That is so where the table lacks the column, or the row ends before it. article: a stem. said:
    the state as read. merged_into: the name after the arrow. takes: what stands after an arrow that
    comes from another bucket, its name and the words of the part; then the state says nothing else.
    """

    name: str
    article: str | None = None
    aliases: tuple[str, ...] | None = None
    description: str | None = None
    said: str | None = None
    merged_into: str = ""
    takes: str | None = None

    @property
    def state(self) -> BucketState | None:
        """The state it says, None for none or a word that is none of them."""
        if self.merged_into:
            return BucketState.MERGED
        return _STATES.get((self.said or "").casefold())


@dataclass(frozen=True, slots=True)
class Listing:
    """The table as read. rows: each bucket once. names: all that stand in its first column, also
    of rows that cannot be used. problems: what could not be understood, a sentence each.
    """

    rows: tuple[Row, ...] = ()
    names: frozenset[str] = frozenset()
    problems: tuple[str, ...] = ()


def read_buckets(text: str) -> Listing:
    """The table of this page. A row without a name, or with one that stands above, is not used."""
    page = parse(text)
    table = _table(page)
    if table is None:
        if any(block.kind is Kind.TABLE for block in page.blocks):
            problem = f"Buckets.md has no table with the columns {', '.join(COLUMNS)}"
            return Listing(problems=(problem,))
        return Listing()
    header, lines = _rows(table)
    width = len(_cells(_LINE.findall(table.raw)[0]))
    found: dict[str, Row] = {}
    names, problems = set(), []
    for number, line in enumerate(lines, 1):
        cells = _cells(line)
        row = _row({name: cells[at] for name, at in header.items() if at < len(cells)})
        if any(cells[width:]):
            problems.append(
                f"Buckets.md has more cells than columns for {row.name!r}, of which only the name "
                "is used: write \\| for a bar in a cell"
            )
            row = Row(row.name)
        names.add(row.name)
        known = found.get(normalised(row.name))
        if not row.name:
            problems.append(f"row {number} of Buckets.md names no bucket")
        elif "|" not in line:  # to Markdown it is a row, to who wrote it a sentence
            problems.append(f"Buckets.md has a line of its table without a bar: {row.name!r}")
        elif known:
            problems.append(f"Buckets.md names {known.name!r} twice: row {number} is not used")
        else:
            found[normalised(row.name)] = row
            if row.said and row.state is None and row.takes is None:
                problems.append(
                    f"Buckets.md gives {row.name!r} the state {row.said!r}, which is none of them"
                )
    return Listing(tuple(found.values()), frozenset(names), tuple(problems))


def listed_buckets(text: str, derived: Derived) -> Listing:
    """As `read_buckets` of this page of the vault; worked out anew when the page is another.

    Several stages of every night look at it, and it is as long as there are topics.
    """
    digest = hashlib.sha256(text.encode()).hexdigest()
    kept = derived.get(_KIND, PAGE)
    if kept is None or kept.digest != digest:
        found = read_buckets(text)
        value = [[astuple(row) for row in found.rows], sorted(found.names), found.problems]
        kept = Worked(digest, json.dumps(value).encode())
        derived.put(_KIND, {PAGE: kept})
    rows, names, problems = json.loads(kept.value)
    return Listing(tuple(_from_list(*row) for row in rows), frozenset(names), tuple(problems))


def append_buckets(text: str, buckets: Sequence[Bucket]) -> str:
    """The page with a row more for each bucket, under the table's last; nothing else changes.

    A page without the table gets one at its end.
    """
    page = parse(text)
    nl = page.newline
    table = _table(page)
    if table is None:
        gap = "" if not text else nl if text.endswith(("\n", "\r")) else nl + nl
        header = [f"| {' | '.join(COLUMNS)} |", f"|{'---|' * len(COLUMNS)}"]
        return text + gap + nl.join([*header, *(_line(b, COLUMNS) for b in buckets)]) + nl
    columns = [cell.casefold() for cell in _cells(_LINE.findall(table.raw)[0])]
    before = text[: table.end]
    gap = "" if before.endswith(("\n", "\r")) else nl
    rows = "".join(_line(bucket, columns) + nl for bucket in buckets)
    return before + gap + rows + text[table.end :]


def set_cells(text: str, changes: Mapping[str, Mapping[str, str]]) -> str:
    """The page with other cells: by the name of a row, which is the first of that name, by column.

    The values are Markdown as `cells` makes it. A column that the table lacks is left out.
    """
    table = _table(parse(text))
    if table is None:
        return text
    header, _ = _rows(table)
    lines = _LINE.findall(table.raw)
    left = dict(changes)
    for number, line in enumerate(lines[2:], 2):
        cells = _cells(line)
        if header["bucket"] >= len(cells):
            continue
        for column, value in left.pop(_name(cells[header["bucket"]]), {}).items():
            if column in header:
                lines[number] = _with_cell(lines[number], header[column], value)
    return text[: table.start] + "".join(lines) + text[table.end :]


def up_to_date(
    text: str,
    listing: Listing,
    buckets: Sequence[Bucket],
    articles: frozenset[str],
    obeyed: Collection[str] = (),
) -> str:
    """The page with what only the pipeline can say: which buckets there are and have an article.

    listing: the page as read. articles: stems of those in the vault; a cell that names one of them
    is the user's, and stays. obeyed: buckets that have the part their row asks for.
    """
    rows = {row.name: row for row in listing.rows}
    changes: dict[str, dict[str, str]] = {}
    for bucket in buckets:
        row = rows.get(bucket.name)
        if row is None:
            continue
        other = row.article is not None and row.article != bucket.article
        stale = other and row.article not in articles
        if stale:
            changes.setdefault(bucket.name, {})["article"] = cells(bucket)["article"]
        outdated = row.state is BucketState.CAPTURED and bucket.state is BucketState.ARTICLE
        taken_back = row.state is BucketState.ARTICLE and bucket.state is BucketState.CAPTURED
        if outdated or (taken_back and stale and row.article) or row.name in obeyed:
            changes.setdefault(bucket.name, {})["state"] = cells(bucket)["state"]
    missing = [bucket for bucket in buckets if bucket.name not in listing.names]
    changed = set_cells(text, changes) if changes else text
    return append_buckets(changed, missing) if missing else changed


def cells(bucket: Bucket) -> dict[str, str]:
    """What stands in the columns of a bucket's row."""
    return {
        "bucket": plain(bucket.name),
        "article": f"[[{bucket.article}]]" if bucket.article else "",
        "aliases": ", ".join(plain(as_alias(alias)) for alias in bucket.aliases),
        "description": plain(bucket.description),
        "state": f"→ {plain(bucket.merged_into)}" if bucket.merged_into else bucket.state.value,
    }


def as_alias(name: str) -> str:
    """A name as it can stand among the aliases, which commas part."""
    return " ".join(name.replace(",", " ").split())


def _from_list(
    name: str,
    article: str | None,
    aliases: list[str] | None,
    description: str | None,
    said: str | None,
    merged_into: str,
    takes: str | None,
) -> Row:
    known = None if aliases is None else tuple(aliases)
    return Row(name, article, known, description, said, merged_into, takes)


def _table(page: Page) -> Block | None:
    """The first table with a bucket and a state column."""
    for block in page.blocks:
        if block.kind is Kind.TABLE and {"bucket", "state"} <= _rows(block)[0].keys():
            return block
    return None


def _rows(table: Block) -> tuple[dict[str, int], list[str]]:
    """Which column has which name, the first of two, and the lines under the header."""
    lines = _LINE.findall(table.raw)
    header: dict[str, int] = {}
    for at, cell in enumerate(_cells(lines[0])):
        header.setdefault(cell.casefold(), at)
    return header, lines[2:]


def _spans(line: str) -> list[tuple[int, int]]:
    """Where the cells of a line are, from bar to bar."""
    start, end = len(line) - len(line.lstrip()), len(line.rstrip())
    if line.startswith("|", start, end):
        start += 1
    if end > start and line[end - 1] == "|" and line[end - 2] != "\\":
        end -= 1
    bars = [found.start() for found in _CELL_END.finditer(line, start, end)]
    return list(zip([start, *(bar + 1 for bar in bars)], [*bars, end], strict=True))


def _cells(line: str) -> list[str]:
    return [line[start:end].replace("\\|", "|").strip() for start, end in _spans(line)]


def _with_cell(line: str, at: int, value: str) -> str:
    """The line with another text in this cell; one that ends before it is continued."""
    content = line.rstrip("\r\n")
    ending = line[len(content) :]
    lacking = at + 1 - len(_spans(content))
    if lacking > 0:
        content = content.rstrip()
        closed = content.endswith("|") and not content.endswith("\\|") and len(content) > 1
        content += ("" if closed else " |") + " |" * lacking
    start, end = _spans(content)[at]
    return f"{content[:start]} {_escaped(value)} {content[end:]}{ending}"


def _escaped(cell: str) -> str:
    return cell.replace("|", "\\|")


def _name(cell: str) -> str:
    """The name in a cell of the first column, which may stand there in bold or as a link."""
    bold = _BOLD.fullmatch(cell)
    return reading(bold["inner"] if bold and bold[1] not in bold["inner"] else cell)


def _row(cell: Mapping[str, str]) -> Row:
    article = aliases = description = said = None
    if "article" in cell:
        linked = [token for token in inline(cell["article"]) if token.kind == "wikilink"]
        named = linked[0].target if linked else reading(cell["article"])
        stem = named.partition("#")[0].rpartition("/")[2].removesuffix(".md").strip()
        article = unicodedata.normalize("NFC", stem)
    if "aliases" in cell:
        read = (reading(alias) for alias in cell["aliases"].split(","))
        aliases = tuple(dict.fromkeys(alias for alias in read if alias))
    if "description" in cell:
        description = reading(cell["description"])
    if "state" in cell:
        said = reading(cell["state"])
    merged = MERGED.fullmatch(said or "")
    into = merged["name"].strip() if merged else ""
    taking = TAKES.fullmatch(said or "")
    takes = taking["part"].strip() if taking else None
    return Row(_name(cell.get("bucket", "")), article, aliases, description, said, into, takes)


def _line(bucket: Bucket, columns: Sequence[str]) -> str:
    made = cells(bucket)
    return f"| {' | '.join(_escaped(made.get(name, '')) for name in columns)} |"
