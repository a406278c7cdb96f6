"""Whatever a user does between nights, in any order: their sentences stay, ours come once."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, target
from hypothesis import strategies as st

from pipeline.config import Config
from pipeline.errors import ConfigFault
from pipeline.keeping.rebuilding import rebuild
from pipeline.review.undoing import undo
from tests import support_command
from tests.support_forget import own_temporary_folder
from tests.support_night import (
    CLAIMS,
    NIGHT,
    Script,
    make_vault,
    run_night,
    write_session,
    write_sessions,
)
from tests.support_ownership import LATER, assert_settled, edit, git
from tests.support_rebuild import lose
from tests.test_review import decide

__all__ = ["own_temporary_folder"]  # a fixture

THINGS = ("relay", "pump", "valve", "mast", "cable", "crane", "ladder", "engine")
_PAST = re.compile(r"^## (?:History|References)$", flags=re.M)
_MARKS = r"(?: ?\[\^[^\]]+\])*"

_which = st.integers(0, 30)
_steps = st.one_of(
    st.tuples(st.just("say"), st.sampled_from(["Lantern", "Harbor"]), st.integers(1, 3)),
    st.tuples(st.just("night")),
    st.tuples(st.just("note"), _which),
    st.tuples(st.just("add beside"), _which),
    st.tuples(st.just("strike"), _which),
    st.tuples(st.just("reword"), _which),
    st.tuples(st.just("move"), _which, _which),
    st.tuples(st.just("rename"), _which, st.booleans()),
    st.tuples(st.just("head"), _which),
    st.tuples(st.just("retitle"), _which),
    st.tuples(st.just("windows"), _which),
    st.tuples(st.just("drop page"), _which),
    st.tuples(st.just("commit")),
    st.tuples(st.just("undo")),
    st.tuples(st.just("forget"), _which),
    st.tuples(st.just("rebuild")),
)


@pytest.fixture
def config(home: Path) -> Config:
    """A vault after its first night, and a copy of all there is."""
    write_sessions(home)
    config = make_vault()
    run_night(config)
    shutil.copytree(home, home.with_name(f"{home.name}-as-it-was"), symlinks=True)
    return config


class World:
    """One history: what stands in the articles, and what may not come back."""

    def __init__(self, config: Config) -> None:
        self.home = config.vault.parent
        shutil.rmtree(self.home)
        shutil.copytree(
            self.home.with_name(f"{self.home.name}-as-it-was"), self.home, symlinks=True
        )
        self.config = config
        self.night_at = NIGHT
        self.said: dict[str, str] = {}  # claims that were said since → their sessions
        self.waiting: set[str] = set()  # of these, those of no night yet
        self.mine: set[str] = set()  # the user's sentences
        self.gone: set[str] = set()  # struck, taken back, or said of an article that is gone
        self.forgotten: set[str] = set()

    # ------------------------------------------------------------------ what there is

    def pages(self) -> list[Path]:
        """The articles, by name."""
        return sorted((self.config.vault / "articles").rglob("*.md"))

    def standing(self) -> dict[str, Path]:
        """Each claim of ours that is said of the present, and where."""
        return {
            claim: page
            for page in self.pages()
            for claim in (*(text for made in CLAIMS.values() for text, _ in made), *self.said)
            if claim in _present(page)
        }

    def script(self) -> Script:
        """The model that knows all that was said."""
        known = {claim.removesuffix("."): [(claim, "fact")] for claim in self.said}
        return Script(claims={**CLAIMS, **known})

    # ------------------------------------------------------------------ what is done

    def do(self, step: tuple[object, ...]) -> None:
        """One step; where nothing is there to be changed, none."""
        match step:
            case ("say", str(topic), int(count)):
                self.say(topic, count)
            case ("night",):
                self.night()
            case ("note", int(which)):
                self.on_page(which, self.note)
            case ("add beside", int(which)):
                self.on_claim(which, self.add_beside)
            case ("strike", int(which)):
                self.on_claim(which, self.strike)
            case ("reword", int(which)):
                self.on_claim(which, self.reword)
            case ("move", int(which), int(other)):
                self.on_claim(which, lambda claim, page: self.move(claim, page, other))
            case ("rename", int(which), bool(deeper)):
                self.on_page(which, lambda page: self.rename(page, deeper=deeper))
            case ("head", int(which)):
                self.on_claim(which, self.head)
            case ("retitle", int(which)):
                self.on_page(which, self.retitle)
            case ("windows", int(which)):
                self.on_page(which, self.windows)
            case ("drop page", int(which)):
                self.on_page(which, self.drop)
            case ("commit",):
                git(self.config, "add", "-A")
                git(self.config, "commit", "-qm", "mine", check=False)
            case ("undo",):
                self.undo()
            case ("forget", int(which)):
                self.forget(which)
            case ("rebuild",):
                lose(self.config)
                assert rebuild(self.config).problems == ()
            case _:
                raise AssertionError(step)

    def on_page(self, which: int, change: Callable[[Path], None]) -> None:
        """Change one of the articles there are."""
        if pages := self.pages():
            change(pages[which % len(pages)])

    def on_claim(self, which: int, change: Callable[[str, Path], None]) -> None:
        """Change where one of the claims stands."""
        if standing := sorted(self.standing().items()):
            change(*standing[which % len(standing)])

    def say(self, topic: str, count: int) -> None:
        """One more conversation."""
        said = []
        session = f"3b1f0c2a-7d6e-4f50-9a1b-{len(self.said):012x}"
        for _ in range(count):
            number = len(self.said)
            thing = THINGS[number % len(THINGS)]
            said.append(f"The {topic} {thing} carries {number + 103} loads a week.")
            self.said[said[-1]] = session
        self.waiting.update(said)
        start = LATER + timedelta(minutes=10 * len(self.said))
        lines = [("user", text) for text in ("Some notes on the work of today.", *said)]
        write_session(self.home, "claude-code", session, start, lines)

    def night(self) -> None:
        """One run: what was said since stands, and what stood."""
        before = self.standing()
        self.night_at += timedelta(days=1)
        topics = {claim.split()[1] for claim in before}
        run = run_night(self.config, self.script(), at=self.night_at)
        assert run.results.rejected == []
        after = self.standing()
        assert before.keys() <= after.keys()
        for claim in self.waiting - after.keys():
            # only where the user did away with the article
            assert claim.split()[1] not in topics, claim
            self.gone.add(claim)
        self.waiting.clear()

    def note(self, page: Path) -> None:
        """A paragraph of the user's at the end of the lead."""
        text = page.read_text("utf-8")
        lead = text.index("\n## ") if "\n## " in text else len(text)
        page.write_text(f"{text[:lead].rstrip()}\n\n{self.own()}\n{text[lead:]}", "utf-8")

    def add_beside(self, claim: str, page: Path) -> None:
        """A sentence of the user's behind one of ours, in its paragraph."""
        marked = re.search(re.escape(claim) + _MARKS, page.read_text("utf-8"))
        assert marked
        edit(page, marked[0], f"{marked[0]} {self.own()}")

    def strike(self, claim: str, page: Path) -> None:
        """The user does not want the sentence."""
        text = page.read_text("utf-8")
        page.write_text(re.sub(re.escape(claim) + _MARKS, "", text), "utf-8")
        self.gone.add(claim)

    def reword(self, claim: str, page: Path) -> None:
        """The user says it better; it is theirs from then on."""
        mine = f"{claim.removesuffix('.')}, as far as I know."
        edit(page, claim, mine)
        self.gone.add(claim)
        self.mine.add(mine)

    def move(self, claim: str, page: Path, other: int) -> None:
        """The sentence belongs behind another one, the user finds, perhaps in another article."""
        place, there = sorted(self.standing().items())[other % len(self.standing())]
        if place == claim:
            return
        moved = re.search(re.escape(claim) + _MARKS, page.read_text("utf-8"))
        beside = re.search(re.escape(place) + _MARKS, there.read_text("utf-8"))
        assert moved and beside
        edit(page, moved[0], "")
        # a mark is one of its page
        edit(there, beside[0], f"{beside[0]} {moved[0] if page == there else claim}")

    def head(self, claim: str, page: Path) -> None:
        """The user begins a section of their own with the sentence."""
        edit(page, claim, f"\n\n## Part {len(self.mine)}\n\n{claim}")

    def retitle(self, page: Path) -> None:
        """The user calls the article something else, in the page alone."""
        title = re.search(r"^# .+", page.read_text("utf-8"), flags=re.M)
        assert title
        edit(page, title[0], f"{title[0]}, of old")

    def windows(self, page: Path) -> None:
        """Saved by an editor that ends lines as Windows does."""
        page.write_text(page.read_text("utf-8"), "utf-8", newline="\r\n")

    def rename(self, page: Path, *, deeper: bool) -> None:
        """In Obsidian: another name, or a folder."""
        name = f"{page.stem} again.md"
        there = page.parent / "filed" / name if deeper else page.with_name(name)
        there.parent.mkdir(exist_ok=True)
        page.rename(there)

    def drop(self, page: Path) -> None:
        """The user deletes an article with all that stands in it."""
        text = page.read_text("utf-8")
        self.gone |= {claim for claim, where in self.standing().items() if where == page}
        self.mine -= {sentence for sentence in self.mine if sentence in text}
        page.unlink()

    def undo(self) -> None:
        """The last night is taken back."""
        before = self.standing().keys()
        try:
            decide(self.config, lambda r: undo("", "", r), self.night_at)
        except ConfigFault:
            return
        after = self.standing().keys()
        assert after <= before
        self.gone |= before - after

    def forget(self, which: int) -> None:
        """One of the conversations, with what was written from it."""
        known = sorted(set(self.said) - self.waiting - self.forgotten)
        if not known:
            return
        said = known[which % len(known)]
        done = support_command.memory("forget", "--match", said, "--from-articles", "--yes")
        assert done.returncode in (0, 9), done.stderr
        conversation = {c for c, session in self.said.items() if session == self.said[said]}
        self.forgotten |= conversation
        # what the user made of its sentences is struck as well
        self.mine = {m for m in self.mine if not any(c[:-1] in m for c in conversation)}

    def own(self) -> str:
        """Another sentence of the user's."""
        sentence = f"My own note number {len(self.mine) + 1000 + len(self.gone)} stays here."
        while sentence in self.mine:
            sentence = sentence.replace("note", "note, again,", 1)
        self.mine.add(sentence)
        return sentence

    # ------------------------------------------------------------------ what must be so

    def check(self) -> None:
        """After each step."""
        pages = [page.read_text("utf-8") for page in self.pages()]
        everywhere = "\n".join(pages)
        for sentence in self.mine:
            assert everywhere.count(sentence) == 1, sentence
        present = Counter(
            claim
            for page in self.pages()
            for claim in (*(t for made in CLAIMS.values() for t, _ in made), *self.said)
            for _ in range(_present(page).count(claim))
        )
        assert all(count == 1 for count in present.values()), present
        assert not present.keys() & self.gone
        for claim in self.forgotten:
            assert claim not in everywhere


def _present(page: Path) -> str:
    """What an article says of the present."""
    return _PAST.split(page.read_text("utf-8"))[0]


@settings(
    max_examples=8,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(_steps, min_size=6, max_size=14))
def test_nothing_of_the_users_is_lost(config: Config, steps: list[tuple[object, ...]]) -> None:
    """Each sentence of theirs stands once, ours at most once, and what they struck stays away."""
    world = World(config)
    for step in steps:
        world.do(step)
        world.check()
    world.night()
    world.check()
    assert_settled(config, world.script(), at=world.night_at + timedelta(days=1))
    target(len({step[0] for step in steps}))
