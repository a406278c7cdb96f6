"""How much of the evidence a search finds, on LoCoMo, and how long it takes.

    python benchmarks/recall.py [--tune] [--embedder] [--speed] [--write] [--json FILE]

Each dialogue of LoCoMo (two people, some thirty sessions) becomes a store, each session a
conversation in it, as an export would bring it: who speaks and what a picture shows stand in the
text. Each question is searched as it stands. A row gives the share of the turns that answer it,
and of the sessions they stand in, among the first 5 and 10 found; intervals are the bootstrap's
95 % over questions. One row is `memory search` itself; its sessions are those of its hits, in
their order.

--tune: choose the weights anew for each dialogue by the other four, and say what that one gets.
--embedder: rows for MiniLM, alone and fused with ours, if it was fetched. --speed: 1,000 articles
and 100,000 claims and messages. --write: put the table into docs/quality.md.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path

from benchmarks.recall_locomo import (
    DATA,
    Dialogue,
    Place,
    Question,
    conv,
    dialogues,
    interval,
    mean,
    recalls,
    stored,
)
from benchmarks.recall_meaning import FUSIONS, by_meaning, encoder, fused
from benchmarks.recall_rivals import Rival, rivals
from benchmarks.recall_speed import speed
from pipeline.recall import messages
from pipeline.recall.days import days
from pipeline.recall.library import Library, opened
from pipeline.recall.ranking import Weights
from pipeline.recall.searching import Filters, search
from pipeline.recall.terms import terms

PAGE = Path(__file__).parents[1] / "docs" / "quality.md"
BEGIN, END = "<!-- recall -->", "<!-- /recall -->"
_DEEP = 60  # hits among which ten conversations are looked for
_BESIDE = (
    {1: 0.7, 2: 0.3, -1: 0.4, -2: 0.2},
    {1: 0.65, 2: 0.3, 3: 0.1, -1: 0.4, -2: 0.2, -3: 0.1},
    {1: 0.5, 2: 0.25, -1: 0.5, -2: 0.25},
)
GRID = [
    Weights(beside=beside, length=length, saturation=saturation, group=group)
    for beside, length, saturation, group in itertools.product(
        _BESIDE, (0.1, 0.2), (1.0,), (0.8, 1.2)
    )
]

Ranking = tuple[list[Place], list[int]]  # turns and sessions, best first
Rows = list[tuple[float, ...]]  # of each question turns at 5 and 10, sessions at 5 and 10


@dataclass(frozen=True, slots=True)
class Shelf:
    """A dialogue with its store opened."""

    dialogue: Dialogue
    library: Library
    connection: sqlite3.Connection
    places: dict[int, Place]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tune", action="store_true")
    parser.add_argument("--embedder", action="store_true")
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    asked = parser.parse_args()
    if not DATA.is_file():
        sys.exit(f"LoCoMo is not here: {DATA} (CC BY-NC, never part of this repository)")
    figures: dict[str, float] = {}
    table: list[tuple[str, Rows]] = []
    with tempfile.TemporaryDirectory(prefix="recall-") as place, ExitStack() as held:
        shelves = [_shelf(one, Path(place), held) for one in dialogues()]
        table += ((rival.name, _rival(rival, shelves)) for rival in rivals())
        honest = _left_out(shelves) if asked.tune else []
        if honest:
            table.append(("ours, weights chosen without the dialogue", honest))
        table.append(("**ours, `memory search`**", ours := _rows(shelves, _searched)))
        if asked.embedder:
            table += _with_meaning(shelves)
    lines = [
        f"| {sum(len(s.dialogue.questions) for s in shelves)} questions | turns R@5 | R@10 "
        "| sessions R@5 | R@10 |",
        "|---|---|---|---|---|",
        *(_line(name, rows) for name, rows in table),
    ]
    print("\n".join(lines))
    keys = ("turn_r5", "turn_r10", "session_r5", "session_r10")
    shown = mean(honest or ours)
    figures |= {f"locomo_{k}": round(v, 4) for k, v in zip(keys, shown, strict=True)}
    if asked.write:
        write(PAGE, lines)
    if asked.speed:
        figures |= speed()
    for name, figure in figures.items():
        print(f"{name:44} {figure}")
    if asked.json:
        asked.json.write_text(json.dumps(figures, indent=1) + "\n")


def write(page: Path, lines: Iterable[str]) -> None:
    """Put the table between its marks."""
    before, _, rest = page.read_text("utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n" + "\n".join(lines) + f"\n{END}{after}", "utf-8")


def _shelf(dialogue: Dialogue, folder: Path, held: ExitStack) -> Shelf:
    with stored(dialogue, folder):
        pass
    library = held.enter_context(opened(folder / "none", folder / dialogue.name, {}, UTC))
    connection = library.store
    assert connection is not None
    rows = connection.execute("SELECT rowid, conv, position FROM messages")
    return Shelf(dialogue, library, connection, {r: (c, p) for r, c, p in rows})


# ------------------------------------------------------------------ ours


def _rows(shelves: Iterable[Shelf], rank: Callable[[Shelf, str], list[Place]]) -> Rows:
    return [
        _row(one, rank(shelf, one.text)) for shelf in shelves for one in shelf.dialogue.questions
    ]


def _row(question: Question, found: Sequence[Place]) -> tuple[float, ...]:
    sessions = list(dict.fromkeys(name for name, _ in found))
    wanted = frozenset(name for name, _ in question.evidence)
    return *recalls(found, question.evidence), *recalls(sessions, wanted)


def _searched(shelf: Shelf, question: str) -> list[Place]:
    hits = search(shelf.library, question, Filters(places=("conversations",)), _DEEP)
    cited = (hit.citation.removeprefix("conv:").partition("#") for hit in hits)
    return [(name, int(number) - 1) for name, _, number in cited]


def _weighed(weights: Weights) -> Callable[[Shelf, str], list[Place]]:
    def rank(shelf: Shelf, question: str) -> list[Place]:
        named = days(question)
        then = (lambda at: named.cover(at[:10])) if named else None
        units = messages.rank(shelf.connection, terms(question), weights=weights, then=then)
        best = sorted(units, key=lambda row: (units[row], row), reverse=True)
        return [shelf.places[row] for row in best[:_DEEP]]

    return rank


def _left_out(shelves: Sequence[Shelf]) -> Rows:
    """Each dialogue with the weights of GRID that do best on the others."""
    table = []
    for number, weights in enumerate(GRID, 1):
        table.append([_rows([shelf], _weighed(weights)) for shelf in shelves])
        print(f"weights {number} of {len(GRID)}", file=sys.stderr)
    best = max(range(len(GRID)), key=lambda n: sum(sum(mean(rows)) for rows in table[n]))
    print(f"with all: {GRID[best]}", file=sys.stderr)
    return _chosen(table)


def _chosen(table: Sequence[Sequence[Rows]]) -> Rows:
    """Of each dialogue the rows by that choice which does best on the others.

    table: of each choice the rows of each dialogue.
    """
    found: Rows = []
    for out in range(len(table[0])):

        def worth(rows: Sequence[Rows], out: int = out) -> float:
            return sum(sum(mean(own)) for at, own in enumerate(rows) if at != out)

        best = max(range(len(table)), key=lambda number: worth(table[number]))
        print(f"without dialogue {out + 1}: choice {best + 1}", file=sys.stderr)
        found += table[best][out]
    return found


def _with_meaning(shelves: Sequence[Shelf]) -> Iterator[tuple[str, Rows]]:
    """MiniLM alone, fused with ours as equals, and by a fusion chosen without the dialogue."""
    model = encoder()
    alone: Rows = []
    table: list[list[Rows]] = [[] for _ in FUSIONS]
    for shelf in shelves:
        asked = shelf.dialogue.questions
        meant = by_meaning(shelf.dialogue, model)
        said = [_searched(shelf, one.text) for one in asked]
        alone += [_row(one, found) for one, found in zip(asked, meant, strict=True)]
        for own, (weight, added) in zip(table, FUSIONS, strict=True):
            own.append(
                [
                    _row(one, fused(words, meaning, weight, added))
                    for one, words, meaning in zip(asked, said, meant, strict=True)
                ]
            )
        print(f"meaning of {shelf.dialogue.name}", file=sys.stderr)
    yield "MiniLM alone", alone
    yield "ours fused with MiniLM, as equals", [row for rows in table[0] for row in rows]
    yield "ours fused with MiniLM, fusion chosen without the dialogue", _chosen(table)


# ------------------------------------------------------------------ rivals, and the table


def _rival(rival: Rival, shelves: Sequence[Shelf]) -> Rows:
    rows: Rows = []
    for shelf in shelves:
        turns, sessions = rival.ranked(shelf.dialogue)
        for one, found, held in zip(shelf.dialogue.questions, turns, sessions, strict=True):
            wanted = frozenset(name for name, _ in one.evidence)
            named = [conv(number) for number in held]
            rows.append((*recalls(found, one.evidence), *recalls(named, wanted)))
    return rows


def _line(name: str, rows: Rows) -> str:
    cells = (
        f"{value:.3f} [{low:.2f}, {high:.2f}]"
        for value, (low, high) in zip(mean(rows), interval(rows), strict=True)
    )
    return f"| {name} | {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
