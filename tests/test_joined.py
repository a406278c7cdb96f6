"""What a night founded twice is joined, and what the user decided is left alone."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from pipeline import assemble
from pipeline.buckets_page import PAGE, set_cells
from pipeline.config import Config
from pipeline.desk import Desk
from pipeline.keeping.forgetting import Forgetter, Wanted
from pipeline.keeping.rebuilding import rebuild
from pipeline.publish import Press, digest, publish
from pipeline.records import (
    Assignment,
    Bucket,
    BucketState,
    Claim,
    ClaimKind,
    Done,
    Draft,
    Skipped,
)
from pipeline.review import Reviewer, splitting, topics
from pipeline.stages import changelog, cluster
from pipeline.store.ledger import Folding, PageFile
from pipeline.topics.obeying import page_now, publish_page
from tests.doubles import CannedModel, HashEmbedder
from tests.support_night import NIGHT, make_vault
from tests.support_store import chunk, fill

# the last two are one, under two names
SAID = {
    "Harbor": "the harbor crane lifts grain from barges at the northern quay",
    "Lantern": "a lantern glass cracked when frost came over the wick",
    "Bakery": "rye dough rests in baskets till the oven stones are hot",
    "Orchard": "apple grafts took badly on the old quince rootstock",
    "Tannery": "oak bark liquor softens hides in the vats for weeks",
    "Quarry": "slate splits along the cleavage under a wide chisel",
    "Weaver": "warp threads broke where the heddle eye had rust",
    "Chapel": "organ pipes hum flat since the bellows leather tore",
    "Ferry": "the ferry rope frayed against the capstan last autumn",
    "Glazier": "putty dries brittle around panes facing south winds",
    "Observatory": "the telescope mirror needs silver coating before winter",
    "Stargazing": "the telescope mirror needs silver coating before spring",
}
ONE, TWIN = "Observatory", "Stargazing"


@pytest.fixture
def config() -> Config:
    return make_vault()


def desk_of(config: Config) -> Desk:
    return assemble.desk(
        config,
        models=assemble.Models(lambda account: CannedModel(), HashEmbedder()),
        say=lambda event: None,
        now=lambda: NIGHT,
    )


@pytest.fixture
def desk(config: Config) -> Iterator[Desk]:
    desk = desk_of(config)
    for name, text in SAID.items():
        say(desk, name, text, f"{name} of today", f"{name} of tomorrow")
    yield desk
    desk.store.close()


def say(desk: Desk, topic: str, text: str, *endings: str) -> None:
    """Conversations that were filed under this topic, founded if need be."""
    known = {bucket.name for bucket in desk.store.buckets.all()}
    if topic not in known:
        first = _conv(topic, endings[0])
        desk.store.buckets.found(Bucket(topic, description=text), NIGHT, conv=first)
    for ending in endings:
        conv = _conv(topic, ending)
        fill(desk.store, conv, [f"{text}, {ending}"])
        filed = chunk(desk.store, conv, 0, 0)
        desk.store.chunks.replace_tail(conv, [filed])
        desk.store.buckets.assign(filed.id, [Assignment(filed.id, topic, 1.0)])


def _conv(topic: str, ending: str) -> str:
    return hashlib.sha256(f"{topic}{ending}".encode()).hexdigest()[:8]


def compare(desk: Desk) -> list[tuple[str, str]]:
    """What one look at the topics joins; nothing is left to be looked at."""
    before = len(desk.results.joined)
    (job,) = cluster.pending(desk)
    assert isinstance(job, cluster.Grown)
    (result,) = cluster.work([job], desk)
    assert isinstance(cluster.keep(result, desk), Done)
    assert cluster.pending(desk) == []
    return desk.results.joined[before:]


def reviewer(desk: Desk) -> Reviewer:
    press = Press(desk.store, desk.vault, desk.history, desk.config.commit_user_edits)
    return Reviewer(press, desk.policy, desk.config.zone, lambda: NIGHT)


def holds(desk: Desk, topic: str) -> list[str]:
    return [one.chunk.label for one in desk.store.buckets.placed(topic)]


def known_of_topics(desk: Desk) -> list[tuple[object, ...]]:
    rows = desk.store._connection.execute(
        """SELECT name, state, merged_into, ours, grown, bucket, chunk_id FROM buckets
           LEFT JOIN chunk_buckets ON bucket = name ORDER BY name, chunk_id"""
    )
    return [tuple(row) for row in rows]


def write_page(desk: Desk) -> None:
    """The table as the end of a night leaves it."""
    press = reviewer(desk).press
    known = desk.vault.hash(PAGE)
    publish_page(press, page_now(press), known, "page", run="", at=NIGHT, trailers={"Run": "one"})


def edit_page(desk: Desk, topic: str, column: str, cell: str) -> None:
    """What the user writes there by hand, and the night obeys."""
    path = desk.config.vault / PAGE
    path.write_text(set_cells(path.read_text(encoding="utf-8"), {topic: {column: cell}}))
    (job,) = cluster.pending(desk)
    cluster.keep(cluster.work([job], desk)[0], desk)


def test_what_was_founded_twice_is_joined(desk: Desk) -> None:
    """Its chunks and its name lead to the other, which the page tells; all else stays apart."""
    before = {name: holds(desk, name) for name in SAID}
    write_page(desk)
    assert compare(desk) == [(TWIN, ONE)]
    assert sorted(holds(desk, ONE)) == sorted(before[ONE] + before[TWIN])
    assert all(holds(desk, name) == before[name] for name in SAID if name not in (ONE, TWIN))
    assert desk.store.buckets.get(TWIN).merged_into == ONE
    assert f"| {TWIN} |" in desk.vault.meta("Buckets.md")
    assert "| → Observatory |" in desk.vault.meta("Buckets.md")
    # it is no edit of the user's that were to be obeyed
    assert cluster.pending(desk) == []


def test_topics_of_tonight_need_not_stand_on_the_page_yet(desk: Desk) -> None:
    """Joined the very night that founded them, both get their rows with it."""
    assert compare(desk) == [(TWIN, ONE)]
    assert "| → Observatory |" in desk.vault.meta("Buckets.md")


def test_what_makes_two_of_them_one_may_come_later(desk: Desk) -> None:
    """A topic that waits is compared when the other one grows, not only when it does itself."""
    desk.store.buckets.compared(SAID)
    assert cluster.pending(desk) == []
    say(desk, ONE, SAID[TWIN], "said once more")
    assert compare(desk) == [(TWIN, ONE)]


def test_it_goes_into_what_has_an_article_never_the_other_way(desk: Desk) -> None:
    """Nothing that is written of changes its place, however much more the other one holds."""
    say(desk, ONE, SAID[ONE], "said once more")
    written = Bucket(TWIN, TWIN, SAID[TWIN], state=BucketState.ARTICLE)
    desk.store.buckets.save(written, NIGHT)
    assert compare(desk) == [(ONE, TWIN)]
    assert desk.store.buckets.get(TWIN) == written


def described(desk: Desk) -> None:
    write_page(desk)
    for name in (ONE, TWIN):
        edit_page(desk, name, "description", "what I want here")


def named(desk: Desk) -> None:
    for name in (ONE, TWIN):
        topics.rename(name, f"{name} of mine", reviewer(desk))


def taken_back(desk: Desk) -> None:
    compare(desk)
    topics.heed(TWIN, reviewer(desk))
    say(desk, TWIN, SAID[TWIN], "said once more")


def split(desk: Desk) -> None:
    planned = splitting.plan(ONE, "Mirrors", reviewer(desk), match="today")
    splitting.split(planned, reviewer(desk))
    topics.ignore(TWIN, reviewer(desk))


def ignored(desk: Desk) -> None:
    topics.ignore(ONE, reviewer(desk))


def written(desk: Desk) -> None:
    for name in (ONE, TWIN):
        desk.store.buckets.save(Bucket(name, name, state=BucketState.ARTICLE), NIGHT)


def held(desk: Desk) -> None:
    for name in (ONE, TWIN):
        chunks = tuple(one.chunk.id for one in desk.store.buckets.placed(name))
        draft = Draft(name, name, "", name, chunks, ())
        desk.store.holds.add("run", draft, None, "", Folding(), ["odd"], NIGHT)


def rejected(desk: Desk) -> None:
    held(desk)
    for hold in desk.store.holds.open():
        desk.store.holds.decide(hold.id, "rejected", "not worth an article", NIGHT)


def undone(desk: Desk) -> None:
    press = reviewer(desk).press
    for name in (ONE, TWIN):
        desk.store.buckets.save(Bucket(name, name, state=BucketState.ARTICLE), NIGHT)
        path, text = f"articles/{name}.md", f"# {name}\n"
        for file, folding in (
            (PageFile(path, "", text), Folding(stem=name)),
            (PageFile(path, digest(text), None), Folding(stem=name, undoes="one")),
        ):
            publish(
                press,
                file,
                run="one",
                at=NIGHT,
                subject=f"{name} {folding.undoes}",
                trailers={"Run": "one"},
                folding=folding,
            )
        assert desk.store.buckets.get(name).state is BucketState.CAPTURED


def noted(desk: Desk) -> None:
    write_page(desk)
    edit_page(desk, ONE, "state", "ask Ruth")
    edit_page(desk, TWIN, "state", "→ The sky")


def from_before(desk: Desk) -> None:
    for name in (ONE, TWIN):
        desk.store._connection.execute("UPDATE buckets SET ours = 0 WHERE name = ?", (name,))


def few(desk: Desk) -> None:
    for name in list(SAID)[:3]:
        topics.merge(name, ONE if name == TWIN else list(SAID)[3], reviewer(desk))


@pytest.mark.parametrize(
    "given",
    [
        described,
        named,
        taken_back,
        split,
        ignored,
        written,
        held,
        rejected,
        undone,
        noted,
        from_before,
        few,
    ],
)
def test_the_users_word_stands(desk: Desk, given: Callable[[Desk], None]) -> None:
    """Nor is anything joined that has an article or a draft that waits, or of few topics."""
    given(desk)
    before = {name: holds(desk, name) for name in (ONE, TWIN)}
    assert compare(desk) == []
    assert {name: holds(desk, name) for name in before} == before


def test_a_row_that_says_something_else_holds_up_no_other(desk: Desk) -> None:
    """What stands in a state that is not understood stays; the other topics are joined."""
    say(desk, "Stargazing too", SAID[TWIN], "once", "twice")
    write_page(desk)
    edit_page(desk, ONE, "state", "ask Ruth")
    (pair,) = compare(desk)
    assert set(pair) == {TWIN, "Stargazing too"}
    assert "| ask Ruth |" in desk.vault.meta("Buckets.md")


def test_a_topic_that_a_row_wants_part_of_holds_up_no_other(desk: Desk) -> None:
    """Asked for in vain, it is named by the user all the same; the other topics are joined."""
    say(desk, "Stargazing too", SAID[TWIN], "once", "twice")
    write_page(desk)
    topics.add(Bucket("Mirrors"), reviewer(desk))
    edit_page(desk, "Mirrors", "state", f"← {ONE}: nothing of the kind")
    assert compare(desk) == [("Stargazing too", TWIN)]
    assert f"| ← {ONE}: nothing of the kind |" in desk.vault.meta("Buckets.md")


def test_what_the_user_says_meanwhile_is_heard_first(desk: Desk) -> None:
    """An edit that came while the topics were compared puts off the joining, and loses nothing."""
    write_page(desk)
    (job,) = cluster.pending(desk)
    (result,) = cluster.work([job], desk)
    page = desk.config.vault / PAGE
    text = set_cells(page.read_text(encoding="utf-8"), {TWIN: {"state": "ignored"}})
    page.write_text(text, encoding="utf-8")
    assert isinstance(cluster.keep(result, desk), Skipped)
    assert page.read_text(encoding="utf-8") == text and TWIN in desk.store.buckets.grown()


def test_a_page_that_is_being_edited_is_left_alone(desk: Desk) -> None:
    """With `commit_user_edits = false` and edits in it, the topics are joined another night."""
    write_page(desk)
    page = desk.config.vault / PAGE
    page.write_text(page.read_text(encoding="utf-8") + "\nMine.\n", encoding="utf-8")
    alone = replace(desk, config=desk.config.model_copy(update={"commit_user_edits": False}))
    (job,) = cluster.pending(alone)
    before = known_of_topics(desk)
    assert isinstance(cluster.keep(cluster.work([job], alone)[0], alone), Skipped)
    assert known_of_topics(desk) == before and alone.results.joined == []
    assert compare(desk) == [(TWIN, ONE)]


def test_a_night_that_dies_between_page_and_store_is_made_good(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page says it, and the next run does it and tells it: the user has decided nothing."""
    write_page(desk)
    undecided = set(desk.store.buckets.movable())
    (job,) = cluster.pending(desk)
    (result,) = cluster.work([job], desk)
    with monkeypatch.context() as patched:
        patched.setattr(desk.store.buckets, "merge", dies)
        with pytest.raises(KeyboardInterrupt):
            cluster.keep(result, desk)
    assert desk.store.buckets.get(TWIN).state is BucketState.CAPTURED
    (edits,) = cluster.pending(desk)
    cluster.keep(cluster.work([edits], desk)[0], desk)
    assert desk.store.buckets.get(TWIN).merged_into == ONE
    assert len(holds(desk, ONE)) == 4 and holds(desk, TWIN) == []
    assert desk.results.joined == [(TWIN, ONE)]
    assert set(desk.store.buckets.movable()) == undecided - {TWIN}
    assert compare(desk) == []


def test_what_the_user_wrote_beside_a_join_that_was_cut_short_is_their_word(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An edit of theirs on that page makes all of it theirs: nobody can tell who meant what."""
    write_page(desk)
    (job,) = cluster.pending(desk)
    (result,) = cluster.work([job], desk)
    with monkeypatch.context() as patched:
        patched.setattr(desk.store.buckets, "merge", dies)
        with pytest.raises(KeyboardInterrupt):
            cluster.keep(result, desk)
    page = desk.config.vault / PAGE
    text = set_cells(page.read_text(encoding="utf-8"), {"Quarry": {"description": "slate"}})
    page.write_text(text, encoding="utf-8")
    (edits,) = cluster.pending(desk)
    cluster.keep(cluster.work([edits], desk)[0], desk)
    assert desk.store.buckets.get(TWIN).merged_into == ONE
    assert desk.results.joined == []
    assert not {"Quarry", ONE} & set(desk.store.buckets.movable())


def dies(*_: object) -> None:
    """As if the process were killed here."""
    raise KeyboardInterrupt


def test_the_journal_knows_what_was_joined(config: Config, desk: Desk) -> None:
    """With the database lost as well, the topics are joined as they were, and compared."""
    compare(desk)
    desk.store.journal.write()
    before = known_of_topics(desk)
    desk.store.close()
    config.store_path.unlink()
    rebuild(config)
    again = desk_of(config)
    assert known_of_topics(again) == before
    again.store.close()


def test_the_changelog_tells_what_was_joined(desk: Desk) -> None:
    """Once, in a night that wrote nothing else too."""
    compare(desk)
    (section,) = changelog.pending(desk)
    assert "\n- joined the topic Stargazing to Observatory\n" in section.text


def test_two_halves_earn_an_article_together(desk: Desk) -> None:
    """One conversation under each name was too little for either."""
    policy = desk.policy.cluster
    for name in ("Beekeeping", "Apiary"):
        say(desk, name, "the hives by the lime trees swarm in june", "again")
        (waiting,) = desk.store.buckets.placed(name)
        made = waiting.chunk.id
        claim = Claim(f"{made} 0", made, 0, "The hives swarm.", ClaimKind.EVENT, (0,), 1.0)
        desk.store.claims.save(made, [claim])

    def ripe() -> list[str]:
        least = {"min_conversations": policy.min_chunks, "min_claims": policy.min_claims}
        return [bucket.name for bucket in desk.store.buckets.ripe(**least)]

    assert ripe() == []
    assert ("Apiary", "Beekeeping") in compare(desk)
    assert ripe() == ["Beekeeping"]


def test_what_is_forgotten_leaves_no_name_of_a_topic(config: Config, desk: Desk) -> None:
    """Named by the model after what only that conversation says, and joined to another since."""
    say(desk, "Nightglass", SAID[TWIN], "told once")
    write_page(desk)
    others = [pair for pair in compare(desk) if pair[0] != "Nightglass"]
    assert len(others) + 1 == len(desk.results.joined)
    (section,) = changelog.pending(desk)
    changelog.keep(section, desk)
    told = desk.results.as_json()
    desk.store.runs.finish(desk.run, NIGHT, status="done", vault="", results=told)
    forgetter = Forgetter(config, desk.store, now=lambda: NIGHT)
    plan = forgetter.plan(Wanted(conv=_conv("Nightglass", "told once")))
    assert plan.topics == {"Nightglass"}
    forgetter.forget(plan, from_articles=True)
    page, log = desk.vault.meta("Buckets.md"), desk.vault.meta("Changelog.md")
    assert "Nightglass" not in page + log
    assert not [table for table, text in desk.store.forgetting.cells() if "Nightglass" in text]
    # what others said stays, and is not changed another time
    assert all(f"| {name} |" in page for name in SAID)
    assert others and all(f"- joined the topic {a} to {b}\n" in log for a, b in others)
    assert cluster.pending(desk) == []


def test_topics_that_one_conversation_founded_go_together(config: Config, desk: Desk) -> None:
    """The one that was joined and the one it was joined to, in whatever order."""
    held = {"Nightglass": "a", "Sunglass": "b", "Moonglass": "c"}
    for name, ending in held.items():
        say(desk, name, "seal oil burns in whale bone lamps all night", ending)
    write_page(desk)
    joined = [pair for pair in compare(desk) if pair[0] in held]
    assert {name for pair in joined for name in pair} == set(held)
    forgetter = Forgetter(config, desk.store, now=lambda: NIGHT)
    plan = forgetter.plan(Wanted(match="seal oil burns"))
    assert plan.topics == set(held)
    forgetter.forget(plan, from_articles=True)
    assert not {bucket.name for bucket in desk.store.buckets.all()} & set(held)
