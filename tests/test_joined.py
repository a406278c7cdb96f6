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
from pipeline.keeping.rebuilding import rebuild
from pipeline.publish import Press
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
from pipeline.store.ledger import Folding
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
        desk.store.buckets.found(Bucket(topic, description=text), NIGHT)
    for ending in endings:
        conv = hashlib.sha256(f"{topic}{ending}".encode()).hexdigest()[:8]
        fill(desk.store, conv, [f"{text}, {ending}"])
        filed = chunk(desk.store, conv, 0, 0)
        desk.store.chunks.replace_tail(conv, [filed])
        desk.store.buckets.assign(filed.id, [Assignment(filed.id, topic, 1.0)])


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


def from_before(desk: Desk) -> None:
    for name in (ONE, TWIN):
        desk.store._connection.execute("UPDATE buckets SET ours = 0 WHERE name = ?", (name,))


def few(desk: Desk) -> None:
    for name in list(SAID)[:3]:
        topics.merge(name, ONE if name == TWIN else list(SAID)[3], reviewer(desk))


@pytest.mark.parametrize(
    "given", [described, named, taken_back, split, ignored, written, held, from_before, few]
)
def test_the_users_word_stands(desk: Desk, given: Callable[[Desk], None]) -> None:
    """Nor is anything joined that has an article or a draft that waits, or of few topics."""
    given(desk)
    before = {name: holds(desk, name) for name in (ONE, TWIN)}
    assert compare(desk) == []
    assert {name: holds(desk, name) for name in before} == before


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
    """The page says it, and the next run does it."""
    write_page(desk)
    (job,) = cluster.pending(desk)
    (result,) = cluster.work([job], desk)

    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(desk.store.buckets, "merge", dies)
        with pytest.raises(KeyboardInterrupt):
            cluster.keep(result, desk)
    assert desk.store.buckets.get(TWIN).state is BucketState.CAPTURED
    (edits,) = cluster.pending(desk)
    cluster.keep(cluster.work([edits], desk)[0], desk)
    assert desk.store.buckets.get(TWIN).merged_into == ONE
    assert len(holds(desk, ONE)) == 4 and holds(desk, TWIN) == []
    assert compare(desk) == []


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
