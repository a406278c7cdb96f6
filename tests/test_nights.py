"""Nights in a row over a world whose truth is known: what is promised holds after each of them.

The world, the scripted model, the owner and the measures are those of benchmarks/nights.py.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from benchmarks.nights import Row, shuffled, simulate
from benchmarks.nights_measure import PROMISES, Watch
from benchmarks.nights_model import WorldModel
from benchmarks.nights_reading import read
from benchmarks.nights_run import House, Ran
from benchmarks.nights_user import User
from benchmarks.nights_world import make
from pipeline.assemble import Models
from pipeline.models import Account, Model
from pipeline.results import RunResults
from tests.support_night import NIGHT, Script, make_vault, run_night, write_session

NIGHTS, SEED, CROWD = 6, 4, 3
SILENT = Ran("nothing", RunResults(), {"calls": 0, "output_tokens": 0}, (), changed=False)
LOUD = Ran("done", RunResults(), {"calls": 1, "output_tokens": 9}, (), changed=True)
MARK = re.compile(r"\[\^\d+\](?!:)")
# a sentence with its marks, not the first of its line
SENTENCE = re.compile(r"(?<=\]) [^\[\n]+\.(?:\[\^\d+\])+")


def breaches(row: Row) -> list[tuple[int, str, list[str]]]:
    """Night, promise and what broke it."""
    return [(n.night, name, what) for n in row.nights for name, what in n.broken.items() if what]


def test_every_promise_holds_after_every_night(home: Path) -> None:
    """A model that never errs: all facts told stand, in four languages; the owner edits daily."""
    world = make(NIGHTS, SEED, CROWD)
    row = simulate(home / "nights", world, "good", model=WorldModel(world))
    assert breaches(row) == []
    assert len(row.edits) == 8
    last = row.nights[-1]
    assert last.articles == len(world.topics)
    assert last.facts_alive == last.facts_expected > 45


def test_the_promises_hold_with_a_model_that_errs(home: Path) -> None:
    """Invented claims, other values, refusals, cut text, wrong topics: less is known, no harm."""
    world = make(NIGHTS, SEED, CROWD)
    row = simulate(home / "nights", world, "noisy", model=WorldModel(world, 0.3, SEED))
    assert breaches(row) == []
    assert row.nights[-1].facts_alive > 25
    assert sum(len(night.refused) for night in row.nights) > 0


def test_the_order_of_nights_leaves_no_trace(home: Path) -> None:
    """Out of order, with the end of a conversation before its beginning: the same is current."""
    world = make(NIGHTS, SEED, CROWD)
    order = shuffled(world, SEED)
    assert order != sorted(order)
    row = simulate(
        home / "nights", world, "shuffled", model=WorldModel(world), order=order, edited=False
    )
    assert breaches(row) == []
    assert row.current == world.current(range(1, NIGHTS + 1))


def _edited(change: Callable[[str], str]) -> Callable[[House, User, WorldModel], None]:
    """Damage to the first article with a History and several sentences in one paragraph."""

    def damage(house: House, user: User, model: WorldModel) -> None:
        pages = sorted((house.config.vault / "articles").glob("*.md"))
        texts = {page: page.read_text("utf-8") for page in pages}
        page = next(p for p, t in texts.items() if "## History" in t and SENTENCE.search(t))
        changed = change(texts[page])
        assert changed != texts[page]
        page.write_text(changed, "utf-8")

    return damage


def _mark_exchanged(text: str) -> str:
    """The second sentence of a paragraph with the mark of the one before it."""
    found = SENTENCE.search(text)
    assert found
    before: str = MARK.findall(text[: found.start()])[-1]
    sentence = MARK.sub("", found.group()) + before
    return text[: found.start()] + sentence + text[found.end() :]


def _invented(house: House, user: User, model: WorldModel) -> None:
    model.false.add("The kiln was sold to Olga Brandt.")
    _edited(lambda text: SENTENCE.sub(r"\g<0> The kiln was sold to Olga Brandt.[^1]", text, 1))(
        house, user, model
    )


def _talk_emptied(house: House, user: User, model: WorldModel) -> None:
    for page in (house.config.vault / "Talk").glob("*.md"):
        page.unlink()


def _taken_out(house: House, user: User, model: WorldModel) -> None:
    wiki, topic = read(house.config.vault), house.world.topics[0]
    found = [s for s in wiki.standing(house.world.facts()) if s.fact.topic == topic.name]
    user.taken.append((topic.name, found[0].fact))


def _written(house: House, user: User, model: WorldModel) -> None:
    user.kept.append("What the user wrote.")


DAMAGE: dict[str, Callable[[House, User, WorldModel], None]] = {
    "citations alive": _edited(lambda text: MARK.sub("", text, 1)),
    "facts alive": _edited(lambda text: SENTENCE.sub("", text, 1)),
    "current as told": _edited(lambda text: text.replace("## History", "## Background")),
    "answered on Talk": _talk_emptied,
    "evidence true": _edited(_mark_exchanged),
    "no value invented": _invented,
    "no duplicates": _edited(lambda text: SENTENCE.sub(r"\g<0>\g<0>", text, 1)),
    "growth in bounds": _edited(lambda text: SENTENCE.sub(r"\g<0> " + "more " * 999, text, 1)),
    "user's text intact": _written,
    "user's word obeyed": _taken_out,
    "second run silent": lambda house, user, model: None,
}


def test_the_measures_see_what_they_measure(home: Path, tmp_path: Path) -> None:
    """Each kind of damage, done to a sound vault by hand, breaks its promise."""
    world = make(NIGHTS, SEED, CROWD)
    model = WorldModel(world)

    def accounted(account: Account) -> Model:
        return model

    house = House(home / "nights", world, Models(accounted, None))
    watch = Watch(house, User(world, house.config.vault), model, exact=True)
    days = range(1, 5)
    for day in days:
        watch.before()
        house.write(range(1, day + 1))
        ran = house.night(day)
        accepted = house.morning(day)
    sound = watch.after(4, days, ran, SILENT, accepted)
    assert not any(sound.broken.values())
    kept = tmp_path / "kept"
    shutil.copytree(house.config.vault, kept)
    assert set(DAMAGE) == set(PROMISES)
    for promise, damage in DAMAGE.items():
        watch.user = User(world, house.config.vault)
        damage(house, watch.user, model)
        again = LOUD if promise == "second run silent" else SILENT
        assert watch.after(4, days, ran, again, accepted).broken[promise], promise
        shutil.rmtree(house.config.vault)
        shutil.copytree(kept, house.config.vault)


def test_what_the_gate_refuses_of_one_claim_keeps_no_other_out(home: Path) -> None:
    """A citation that does not carry its sentence is left out and told; the rest is folded."""
    writes = ("The Lantern importer writes the report of Amina Okafor at night.", "fact")
    never = ("The Lantern importer never writes the report of Amina Okafor at night.", "fact")
    threads = ("The Lantern worker runs with 4 threads at night.", "fact")
    claims = {said[0]: [said] for said in (writes, never, threads)}
    config = make_vault()

    def tell(session: str, days: int, *said: tuple[str, str]) -> None:
        start = NIGHT - timedelta(days=days)
        lines = [("user", text) for text, _ in said]
        write_session(home, "pi", f"01a227d3-5ba7-760c-a6c2-{session}", start, lines)

    tell("4a98371937f3", 3, writes)
    tell("4a98371937f4", 2, ("The Lantern project has a worker and its reports.", "fact"))
    script = Script({"synthesize/relation": lambda _ask: "same"}, claims)
    first = run_night(config, script)
    assert first.status == "done"
    tell("4a98371937f5", 1, never, threads)
    second = run_night(config, script, at=NIGHT + timedelta(days=1))
    assert second.results.rejected == []
    (page,) = (config.vault / "articles").glob("*.md")
    assert f"{threads[0]}[^" in page.read_text("utf-8")


def test_a_composed_sentence_cites_what_says_it_and_no_more(home: Path) -> None:
    """A statement and its denial, composed in one go, rest on a message each."""
    first = [f"The Lantern {part} was made by Amina Okafor." for part in ("importer", "dashboard")]
    news = [
        "The Lantern login error in the morning comes from the proxy.",
        "The Lantern login error in the morning does not come from the proxy.",
        "The Lantern archives are read in blocks of 64 MB.",
    ]
    script = Script(
        {"synthesize/relation": lambda _ask: "contradicts"},
        {text: [(text, "fact")] for text in (*first, *news)},
    )
    config = make_vault()
    for number, text in enumerate([*first, *news]):
        session = f"01a227d3-5ba7-760c-a6c2-4a98371937f{number}"
        start = NIGHT - timedelta(hours=30 - number)
        write_session(home, "pi", session, start, [("user", text)])
        if text == first[-1]:
            run_night(config, script)
    night = run_night(config, script, at=NIGHT + timedelta(days=1))
    assert "synthesize/compose" in {asked.purpose for asked in night.model.asked}
    standing = {s.text: s.cited for s in read(config.vault).segments}
    assert [len(standing[text]) for text in news] == [1, 1, 1]
    assert len({standing[text] for text in news}) == 3


def test_a_value_may_change_and_change_back_before_one_night(home: Path) -> None:
    """The statement stays, with the source of its return; what came between is History."""
    first, between = (f"The Lantern job keeps the sessions for {n} days." for n in (45, 30))
    told = ["The Lantern importer was made by Amina Okafor.", first, between, first]
    script = Script(
        {"synthesize/relation": lambda _ask: "updates"}, {text: [(text, "fact")] for text in told}
    )
    config = make_vault()
    for number, text in enumerate(told):
        session = f"01a227d3-5ba7-760c-a6c2-4a98371937f{number}"
        start = NIGHT - timedelta(hours=30 - number)
        write_session(home, "pi", session, start, [("user", text)])
        if number == 1:
            run_night(config, script)
    night = run_night(config, script, at=NIGHT + timedelta(days=1))
    assert night.results.refused == []
    standing = {s.text: (s.past, len(s.cited)) for s in read(config.vault).segments}
    assert standing[first] == (False, 2)
    assert standing[between] == (True, 1)
