"""Thirty simulated nights, and what is promised of every one of them.

    python benchmarks/nights.py [--nights N] [--seed N] [--noise SHARE] [--order shuffled]
                                [--model ALIAS] [--json FILE] [--png FILE]

Transcripts, store, vault and git are real; what is said, and so what is true, comes from
benchmarks/nights_world.py. The model is scripted: one row by a model that never errs, one by a
model that answers badly now and then. Its tokens are words between spaces, so that languages
written without spaces count low. Between nights the owner accepts held drafts and edits the wiki.

--order shuffled: the same nights in another order, without the owner's edits; in the end the same
statements must be current. --model: a real model that was fetched, over the first --nights of the
thirty; of its work all is promised but that it catches every fact. Exits with 1 when a promise is
broken.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.nights_measure import PROMISES, Key, Measured, Watch
from benchmarks.nights_model import WorldModel
from benchmarks.nights_reading import Wiki, read
from benchmarks.nights_run import House
from benchmarks.nights_user import User
from benchmarks.nights_world import World, make
from pipeline.assemble import Models
from pipeline.models import Account, Model
from pipeline.text import similarity

NIGHTS, NOISE = 30, 0.25
_CAUGHT = 0.75  # a sentence with the value of a fact, at least this like it, tells it
_SHOWN = 3  # breaches of a promise that are printed
_COLUMNS: dict[str, Callable[[Measured], object]] = {
    "night": lambda m: m.night,
    "convs": lambda m: m.conversations,
    "claims": lambda m: m.claims,
    "words+": lambda m: m.added_words,
    "of": lambda m: 2 * m.claim_words,
    "arts": lambda m: m.articles,
    "words": lambda m: m.words,
    "cites": lambda m: m.citations,
    "alive": lambda m: f"{m.facts_alive}/{m.facts_expected}",
    "current": lambda m: m.facts_current,
    "reworded": lambda m: m.repeats,
    "made up": lambda m: m.unsaid,
    "held": lambda m: m.held,
    "rejected": lambda m: m.rejected,
    "tok/claim": lambda m: f"{m.tokens / m.claims:.1f}" if m.claims else "-",
}


@dataclass(frozen=True, slots=True)
class Row:
    """One way through the nights. current: what is current in the end. edits: of the owner.

    told: facts told in all, proposed: put forward by the scripted model, caught: told by the wiki.
    """

    name: str
    nights: tuple[Measured, ...]
    current: frozenset[Key]
    edits: tuple[str, ...]
    seconds: float
    told: int
    proposed: int
    caught: int

    def broken(self, promise: str) -> int:
        """Breaches of a promise, all nights together."""
        return sum(len(night.broken[promise]) for night in self.nights)

    def as_json(self) -> dict[str, Any]:
        """Flat figures, and the nights one by one."""
        tokens, claims = (sum(getattr(n, k) for n in self.nights) for k in ("tokens", "claims"))
        return {
            "broken": {promise: self.broken(promise) for promise in PROMISES},
            "tokens_per_claim": round(tokens / max(1, claims), 2),
            "claims": claims,
            "held": sum(night.held for night in self.nights),
            "rejected": sum(night.rejected for night in self.nights),
            "refused": sum(len(night.refused) for night in self.nights),
            "current": len(self.current),
            "reworded": self.nights[-1].repeats,
            "made_up": self.nights[-1].unsaid,
            "told": self.told,
            "proposed": self.proposed,
            "caught": self.caught,
            "edits": list(self.edits),
            "nights": [asdict(night) for night in self.nights],
        }


def simulate(
    root: Path,
    world: World,
    name: str,
    *,
    model: WorldModel | str,
    order: Sequence[int] = (),
    edited: bool = True,
    say: Callable[[Measured], None] = lambda _night: None,
) -> Row:
    """All nights of a world in a home of their own, or those of `order`, in that order.

    model: a scripted one, or the name of a real one.
    """
    started = time.monotonic()
    scripted = model if isinstance(model, WorldModel) else None
    real = model if isinstance(model, str) else "auto"
    house = House(root, world, _models(scripted), model=real)
    user = User(world, house.config.vault)
    exact = scripted is not None and not scripted.noise
    watch = Watch(house, user, scripted, exact)
    order = order or range(1, world.nights + 1)
    straight = list(order) == sorted(order)
    nights: list[int] = []
    measured = []
    for number, night in enumerate(order):
        nights.append(night)
        # out of their order, the nights come after the last day that is spoken of
        day = night if straight else world.nights + 1 + number
        watch.before()
        house.write(nights)
        ran, again = house.night(day), house.again(day)
        accepted = house.morning(day)
        measured.append(watch.after(night, nights, ran, again, accepted))
        say(measured[-1])
        if edited:
            user.edit(night)
            if scripted:
                scripted.learn(user.own)
    wiki = read(house.config.vault)
    return Row(
        name,
        tuple(measured),
        frozenset(s.fact.key for s in wiki.standing(world.facts()) if not s.segment.past),
        tuple(user.done),
        time.monotonic() - started,
        len({fact.key for _, fact in world.told(nights)}),
        len({f.key for f in world.facts() if scripted and f.text in scripted.proposed}),
        _caught(wiki, world, nights),
    )


def shuffled(world: World, seed: int) -> list[int]:
    """The nights of a world in another order."""
    nights = list(range(1, world.nights + 1))
    random.Random(seed).shuffle(nights)
    return nights


def _models(scripted: WorldModel | None) -> Models | None:
    if scripted is None:
        return None

    def accounted(account: Account) -> Model:
        scripted.account = account
        return scripted

    return Models(accounted, None)


def _caught(wiki: Wiki, world: World, nights: Sequence[int]) -> int:
    """Facts told so far that a sentence of the wiki tells, in whatever words."""
    told = {fact.key for _, fact in world.told(nights)}
    texts = [segment.text for segment in wiki.segments if segment.cited]
    caught = {
        fact.key
        for fact in world.facts()
        if fact.key in told
        and any(
            (fact.value in text or fact.value == "against")
            and similarity(fact.text, text) >= _CAUGHT
            for text in texts
        )
    }
    return len(caught)


# ------------------------------------------------------------------ what is printed


def table(row: Row) -> str:
    """Nights 1, 5, 10, …, the last, and the promises."""
    last = row.nights[-1]
    lines = [f"{row.name}: {len(row.nights)} nights, {row.seconds:.0f} s", ""]
    lines.append("".join(f"{name:>10}" for name in _COLUMNS))
    for number, night in enumerate(row.nights, start=1):
        if number == 1 or number % 5 == 0 or night is last:
            lines.append("".join(f"{cell(night)!s:>10}" for cell in _COLUMNS.values()))
    figures = row.as_json()
    lines += [
        "",
        f"claims folded {figures['claims']}, tokens per claim {figures['tokens_per_claim']}, "
        f"held {figures['held']}, jobs rejected {figures['rejected']}, "
        f"claims refused {figures['refused']}, edits of the owner {len(row.edits)}",
        f"facts told {row.told}, put forward {row.proposed or '?'}, caught {row.caught}",
        "",
    ]
    for promise, breach in PROMISES.items():
        count = row.broken(promise)
        lines.append(f"{'pass' if not count else 'FAIL':6}{promise:22}{count:4}  {breach}")
        told = [(n.night, what) for n in row.nights for what in n.broken[promise]]
        lines += [f"          night {night}: {what}" for night, what in told[:_SHOWN]]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run the rows asked for, print them, write the figures; 1 when a promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--nights", type=int, default=NIGHTS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--noise", type=float, default=NOISE, help="share of bad answers")
    parser.add_argument("--order", choices=("plain", "shuffled"), default="plain")
    parser.add_argument("--model", help="a real model by its alias, instead of the scripted one")
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument("--png", type=Path, help="draw the curve here")
    asked = parser.parse_args()
    world = make(NIGHTS if asked.model else asked.nights, asked.seed)
    with tempfile.TemporaryDirectory(prefix="nights-") as place:
        # the owner's own settings are none of the benchmark's
        os.environ["MEMORY_CONFIG"] = str(Path(place) / "none.toml")
        rows = list(_rows(Path(place), world, asked))
    sys.stdout.write("\n".join(map(table, rows)))
    kept = not any(row.broken(promise) for row in rows for promise in PROMISES)
    if asked.order == "shuffled":
        differing = rows[0].current ^ rows[1].current
        kept = kept and not differing
        sys.stdout.write(f"\ncurrent in one order only: {sorted(differing) or 'nothing'}\n")
    if asked.json:
        figures = {row.name: row.as_json() for row in rows}
        asked.json.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n", "utf-8")
    if asked.png:
        from benchmarks.nights_curve import draw  # noqa: PLC0415 - slow, and seldom asked for

        draw([(row.name, row.nights) for row in rows], asked.png)
    return 0 if kept else 1


def _rows(place: Path, world: World, asked: argparse.Namespace) -> list[Row]:
    def say(night: Measured) -> None:
        sys.stderr.write(f"\rnight {night.night} ")

    if asked.model:
        first = range(1, asked.nights + 1)
        return [
            simulate(place / "real", world, asked.model, model=asked.model, order=first, say=say)
        ]
    if asked.order == "shuffled":
        return [
            simulate(place / name, world, name, model=WorldModel(world), order=order,
                     edited=False, say=say)
            for name, order in (("in order", ()), ("shuffled", shuffled(world, asked.seed)))
        ]  # fmt: skip
    return [
        simulate(place / "good", world, "model that never errs", model=WorldModel(world), say=say),
        simulate(
            place / "noisy",
            world,
            f"model that errs {asked.noise:.0%} of the time",
            model=WorldModel(world, asked.noise, asked.seed),
            say=say,
        ),
    ]


if __name__ == "__main__":
    sys.exit(main())
