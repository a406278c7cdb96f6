"""Whatever is decided of topics, by command or on the page, in any order: nothing gets lost."""

from __future__ import annotations

import shutil
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from pipeline import assemble
from pipeline.archive import Archive
from pipeline.buckets_page import PAGE, append_buckets, cells, read_buckets, set_cells
from pipeline.config import Config
from pipeline.errors import ConfigFault
from pipeline.history import History
from pipeline.markdown import parse
from pipeline.records import Bucket, BucketState
from pipeline.review import Reviewer, splitting, topics
from pipeline.store.buckets import normalised
from pipeline.topics.obeying import page_edits, page_now
from tests.support_night import NIGHT, files, make_vault, run_night, write_session, write_sessions
from tests.test_buckets_commands import LATER, LONE, script

THINGS = ("relay", "pump", "valve", "mast", "cable", "crane", "ladder", "engine")
NEW_NAMES = ("Beacon", "lantern PROJECT", "Harbor project", "Größe 9", "A, B", "Zeppelin hangar")

_which = st.integers(0, 5)
_how = st.sampled_from(["command", "page"])
_steps = st.one_of(
    st.tuples(st.just("say"), st.sampled_from(["Lantern", "Harbor", "Zeppelin"])),
    st.tuples(st.just("night")),
    st.tuples(st.just("rename"), _how, _which, st.sampled_from(NEW_NAMES)),
    st.tuples(st.just("merge"), _how, _which, _which),
    st.tuples(st.just("alias"), _how, _which, st.sampled_from(NEW_NAMES)),
    st.tuples(st.just("ignore"), _how, _which),
    st.tuples(st.just("heed"), _how, _which),
    st.tuples(
        st.just("split"),
        _how,
        _which,
        st.sampled_from(NEW_NAMES),
        st.sampled_from(("the", *THINGS)),
        st.booleans(),
    ),
    st.tuples(st.just("delete"), _which),
    st.tuples(
        st.just("odd"),
        _which,
        st.sampled_from(["igored", "→ nowhere", "article", "← nowhere: the"]),
    ),
)


@pytest.fixture
def config(home: Path) -> Config:
    """A vault after its first night, and a copy of all there is."""
    write_sessions(home)
    write_session(home, "pi", "01a227e0-11a7-7b0c-92c2-99aa37193caa", NIGHT, [("user", LONE)])
    config = make_vault()
    run_night(config, script(), at=NIGHT + timedelta(hours=12))
    page = config.vault / PAGE
    text = page.read_text(encoding="utf-8").replace("state |\n", "state | mine |\n", 1)
    rows = [f"{line} kept |" if line.startswith("| ") else line for line in text.splitlines()]
    head = next(n for n, line in enumerate(rows) if line.startswith("| bucket"))
    rows[head] = rows[head].removesuffix(" kept |")
    rows[head + 1] += "---|"
    page.write_text("\r\n".join(["Mine.", "", *rows, "", "Mine | too.", ""]), newline="")
    shutil.copytree(home, home.with_name(f"{home.name}-as-it-was"), symlinks=True)
    return config


class World:
    """One history: what was said, and what was ever written."""

    def __init__(self, config: Config) -> None:
        home = config.vault.parent
        shutil.rmtree(home)
        shutil.copytree(home.with_name(f"{home.name}-as-it-was"), home, symlinks=True)
        self.config = config
        self.claims: dict[str, str] = {}
        self.written: dict[str, Counter[str]] = {}
        self.night_at = NIGHT + timedelta(days=1)
        self.shared = False  # whether chunks belong to two topics by a split

    def say(self, topic: str) -> None:
        """One more conversation."""
        number = len(self.claims)
        text = f"The {topic} {THINGS[number % len(THINGS)]} carries {number + 3} loads a week."
        self.claims[text.removesuffix(".")] = text
        session = f"3b1f0c2a-7d6e-4f50-9a1b-{number:012x}"
        start = LATER + timedelta(minutes=10 * number)
        write_session(self.config.vault.parent, "claude-code", session, start, [("user", text)])

    def night(self) -> tuple[str, int]:
        """One run: its status, and how often the model was asked."""
        self.night_at += timedelta(days=1)
        done = run_night(self.config, script(**self.claims), at=self.night_at)
        for path in (self.config.vault / "articles").glob("*.md"):
            self.written.setdefault(path.stem, Counter()).update(self.said(path.stem))
        return done.status, len(done.model.asked)

    def said(self, stem: str) -> Counter[str]:
        """The sentences of an article."""
        page = parse((self.config.vault / "articles" / f"{stem}.md").read_text(encoding="utf-8"))
        return Counter(s.text for block in page.blocks for s in block.sentences)

    def decide(self, step: tuple[object, ...], reviewer: Reviewer) -> None:
        """One decision by day, as the command makes it."""
        match step:
            case ("rename", _, int(which), str(new)):
                topics.rename(self.name(which, reviewer), new, reviewer)
            case ("merge", _, int(which), int(other)):
                topics.merge(self.name(which, reviewer), self.name(other, reviewer), reviewer)
            case ("alias", _, int(which), str(new)):
                topics.alias(self.name(which, reviewer), [new], [], reviewer)
            case ("ignore", _, int(which)):
                topics.ignore(self.name(which, reviewer), reviewer)
            case ("heed", _, int(which)):
                topics.heed(self.name(which, reviewer), reviewer)
            case ("split", _, int(which), str(into), str(word), bool(folded)):
                source = self.name(which, reviewer)
                planned = splitting.plan(source, into, reviewer, match=word, folded=folded)
                splitting.split(planned, reviewer)
                self.shared |= bool(planned.chosen.sharing)

    def edit(self, step: tuple[object, ...], reviewer: Reviewer) -> None:
        """The same by hand: other cells, or a row less."""
        path = self.config.vault / PAGE
        text = path.read_bytes().decode()
        rows = read_buckets(text).rows
        at = step[2] if isinstance(step[1], str) else step[1]
        assert isinstance(at, int)
        name = rows[at % len(rows)].name
        match step:
            case ("rename", _, _, str(new)):
                change = {"bucket": new}
            case ("merge", _, _, int(other)):
                change = {"state": f"→ {cells(Bucket(rows[other % len(rows)].name))['bucket']}"}
            case ("alias", _, _, str(new)):
                change = {"aliases": new}
            case ("ignore", *_):
                change = {"state": "ignored"}
            case ("split", _, _, str(into), str(word), _):
                change = {"state": f"← {cells(Bucket(name))['bucket']}: {word}"}
                known = {normalised(row.name): row.name for row in rows}
                name = known.get(normalised(into), into)
                text = text if name in known.values() else append_buckets(text, [Bucket(into)])
            case ("heed", *_):
                change = {"state": ""}
            case ("odd", _, str(state)):
                change = {"state": state}
            case _:
                lines = text.splitlines(keepends=True)
                row = next(n for n, line in enumerate(lines) if line.startswith(f"| {name} "))
                path.write_bytes("".join([*lines[:row], *lines[row + 1 :]]).encode())
                return
        path.write_bytes(set_cells(text, {name: change}).encode())

    @staticmethod
    def name(which: int, reviewer: Reviewer) -> str:
        """One of the topics there are."""
        names = sorted(bucket.name for bucket in reviewer.press.store.buckets.all())
        return names[which % len(names)]


@settings(
    max_examples=12,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(_steps, min_size=2, max_size=6))
def test_nothing_is_lost_whatever_is_decided(
    config: Config, steps: list[tuple[object, ...]]
) -> None:
    """Every kept chunk has a topic, nothing is folded twice or lost, page and store agree."""
    world = World(config)
    for step in steps:
        if step[0] == "say":
            world.say(str(step[1]))
        elif step[0] == "night":
            world.night()
        else:
            with assemble.reviewer(config, now=lambda: world.night_at) as reviewer:
                if step[0] in ("delete", "odd") or step[1] == "page":
                    world.edit(step, reviewer)
                    continue
                topics.catch_up(reviewer)
                try:
                    world.decide(step, reviewer)
                except ConfigFault:
                    event(f"{step[0]} refused")
                reviewer.press.store.journal.write()
    world.night()

    with assemble.reviewer(config) as reviewer:
        store = reviewer.press.store
        buckets = {bucket.name: bucket for bucket in store.buckets.all()}
        placed = {name: store.buckets.placed(name) for name in buckets}
        kept = {
            chunk.id
            for conv in Archive(config.archive_dir).convs()
            for chunk in store.chunks.of(conv)
            if chunk.keep
        }
        unlike = page_edits(reviewer.press).any, page_now(reviewer.press)
    standing = [n for n, bucket in buckets.items() if bucket.state is not BucketState.MERGED]
    assert {one.chunk.id for name in standing for one in placed[name]} == kept
    assert all(not placed[name] for name in buckets.keys() - set(standing))

    page = (config.vault / PAGE).read_bytes().decode()
    assert unlike == (False, page)
    assert buckets.keys() <= read_buckets(page).names
    assert page.startswith("Mine.\r\n") and page.endswith("\r\nMine | too.\r\n")
    assert "\n" not in page.replace("\r\n", "")

    claimed = {*world.claims.values(), LONE}
    everywhere: Counter[str] = Counter()
    for stem, written in world.written.items():
        said = world.said(stem)
        assert said.keys() == written.keys(), "a sentence is gone"
        assert all(said[text] <= 1 for text in claimed), "folded twice"
        everywhere += said
    assert world.shared or all(everywhere[text] <= 1 for text in claimed), "folded twice"

    before, head = files(config.vault), History(config.vault).head()
    assert world.night() == ("nothing", 0)
    assert files(config.vault) == before and History(config.vault).head() == head
