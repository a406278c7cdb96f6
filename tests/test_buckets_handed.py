"""`← Topic: words` in Meta/Buckets.md: that part goes over, once, and nothing gets lost."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace

import pytest

from pipeline import assemble
from pipeline.buckets_page import PAGE, append_buckets, set_cells
from pipeline.config import Config
from pipeline.desk import Desk
from pipeline.publish import Press
from pipeline.records import Assignment, Bucket, BucketState, Draft
from pipeline.review import Reviewer, splitting, topics
from pipeline.stages import cluster
from pipeline.store.ledger import Folding
from pipeline.topics import obeying
from pipeline.topics.edits import Edits
from pipeline.topics.obeying import page_edits, page_now
from tests.doubles import CannedModel, HashEmbedder
from tests.support_night import NIGHT, make_vault
from tests.support_store import chunk, fill

APPLE = "the apple crate stands in the cellar"
PEAR = "the pear crate went to Amina Okafor"
BOTH = "apple and pear are pressed on Friday"
KEPT = (
    Bucket("Fruit", "", "what grows on trees", ("orchard",)),
    Bucket("Cellar", "", "the rooms below"),
    Bucket("Fruit: exotic"),
    Bucket("Noise", "", "chatter", (), BucketState.IGNORED),
    Bucket("Old fruit", "", "", (), BucketState.MERGED, "Fruit"),
)
HOW = "write `← Topic: words`"


@pytest.fixture
def config() -> Config:
    return make_vault()


@pytest.fixture
def desk(config: Config) -> Iterator[Desk]:
    """Three pieces wait under one topic, and the page is as the pipeline wrote it."""
    desk = assemble.desk(
        config,
        models=assemble.Models(lambda account: CannedModel(), HashEmbedder()),
        say=lambda event: None,
        now=lambda: NIGHT,
    )
    for bucket in KEPT:
        desk.store.buckets.found(bucket, NIGHT)
    for text in (APPLE, PEAR, BOTH):
        say(desk, "Fruit", text)
    write(desk, append_buckets("# Mine\n\n", KEPT) + "\nMine | too.\n")
    yield desk
    desk.store.close()


def say(desk: Desk, topic: str, text: str) -> None:
    """A conversation that was filed under this topic."""
    conv = hashlib.sha256(text.encode()).hexdigest()[:8]
    fill(desk.store, conv, [text])
    filed = chunk(desk.store, conv, 0, 0)
    desk.store.chunks.replace_tail(conv, [filed])
    desk.store.buckets.assign(filed.id, [Assignment(filed.id, topic, 1.0)])
    desk.store.buckets.compared([topic])


def write(desk: Desk, text: str) -> None:
    (desk.config.vault / PAGE).write_bytes(text.encode())


def page(desk: Desk) -> str:
    return (desk.config.vault / PAGE).read_bytes().decode()


def edit(desk: Desk, **states: str) -> None:
    """What the user writes into the state of rows, of new ones too."""
    text = page(desk)
    missing = [Bucket(name) for name in states if f"| {name} |" not in text]
    cells = {name: {"state": state} for name, state in states.items()}
    write(desk, set_cells(append_buckets(text, missing) if missing else text, cells))


def holds(desk: Desk) -> dict[str, set[str]]:
    """What was said, by the topics that have something."""
    conversations = desk.store.conversations
    found = {
        bucket.name: {
            message.text
            for one in desk.store.buckets.placed(bucket.name)
            for message in conversations.messages(one.chunk.conv)
        }
        for bucket in desk.store.buckets.all()
    }
    return {name: texts for name, texts in found.items() if texts}


def press(desk: Desk) -> Press:
    return Press(desk.store, desk.vault, desk.history, desk.config.commit_user_edits)


def reviewer(desk: Desk) -> Reviewer:
    return Reviewer(press(desk), desk.policy, desk.config.zone, lambda: NIGHT)


def follow(desk: Desk) -> list[str]:
    """What a night does with the page; the problems it tells."""
    done: list[object] = []
    before = len(desk.results.problems)
    while jobs := [job for job in cluster.pending(desk) if job not in done]:
        (job,) = jobs
        assert isinstance(job, Edits)
        cluster.keep(cluster.work([job], desk)[0], desk)
        done.append(job)
    write(desk, page_now(press(desk)))
    return desk.results.problems[before:]


def refused(desk: Desk, *words: str) -> None:
    """One problem with these words is told; the topics, what they hold and the page stay."""
    before, held, stood = page(desk), holds(desk), states(desk)
    (problem,) = follow(desk)
    assert all(word in problem for word in words), problem
    assert (page(desk), holds(desk)) == (before, held)
    assert {name: state for name, state in states(desk).items() if name in stood} == stood
    assert desk.results.handed == [] and page_edits(press(desk)).problems == (problem,)


def states(desk: Desk) -> dict[str, BucketState]:
    return {bucket.name: bucket.state for bucket in desk.store.buckets.all()}


def test_a_new_row_gets_the_part(desk: Desk) -> None:
    """What the words choose goes over, the rest stays; the row then says what its topic is."""
    before = page(desk)
    assert "Fruit" in desk.store.buckets.movable()
    edit(desk, Apples="← Fruit: APPLE  the")
    write(desk, page(desk).replace("\n", "\r\n"))
    assert follow(desk) == []
    assert holds(desk) == {"Fruit": {PEAR, BOTH}, "Apples": {APPLE}}
    expected = before.replace("\nMine | too.", "| Apples |  |  |  | captured |\n\nMine | too.")
    assert page(desk) == expected.replace("\n", "\r\n")
    assert desk.results.handed == [("Fruit", "Apples", 1, ())]
    assert cluster.pending(desk) == []
    newest, ours = desk.history.log(PAGE)[:2]
    assert newest.trailers["Run"] == desk.run and not ours.trailers
    # neither is joined to another one by a night any more
    assert not {"Fruit", "Apples"} & {*desk.store.buckets.movable()}


@pytest.mark.parametrize(
    "said",
    [
        "← Fruit: apple",
        "<- Fruit: apple",
        "\\<- Fruit: apple",
        "←fruit:  Apple",
        "← [[Fruit]]: apple",
        "← [[articles/x|Fruit]]: apple",
        "← ORCHARD: apple",
        "← Fruit：apple",  # as a Japanese or Chinese keyboard writes it
    ],
)
def test_a_topic_may_be_named_as_anywhere(desk: Desk, said: str) -> None:
    """By another arrow, another case, a link or an alias."""
    edit(desk, Cellar=said)
    assert follow(desk) == []
    assert holds(desk) == {"Fruit": {PEAR}, "Cellar": {APPLE, BOTH}}


def test_a_name_may_hold_a_colon(desk: Desk) -> None:
    """The longest name that is known counts, and words may hold a colon too."""
    say(desk, "Fruit: exotic", "mango at 12:30 from the apple tree")
    edit(desk, Cellar="← Fruit: exotic: apple 12:30")
    assert follow(desk) == []
    assert holds(desk)["Cellar"] == {"mango at 12:30 from the apple tree"}
    edit(desk, Cellar="← Fruit: crate apple")
    assert follow(desk) == []
    assert APPLE in holds(desk)["Cellar"] and "Fruit: exotic" not in holds(desk)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("←", [HOW]),
        ("<-", [HOW]),
        ("← Fruit", [HOW]),
        ("← Fruit:", [HOW]),
        ("← apple", [HOW]),
        ("← Fruit: exotic:", [HOW]),
        ("← Furit: apple", ["'Furit: apple'", "no topic is called so"]),
        ("← **Fruit**: apple", ["no topic is called so"]),
        ("← Cellar: apple", ["into itself"]),
        ("← Old fruit: apple", ["merged into 'Fruit'"]),
        ("← Fruit: banana", ["no chunk of it holds", "banana"]),
        ("← Fruit: apple; ← Fruit: pear", ["no chunk of it holds"]),
        ("`← Fruit: apple`", ["none of them"]),
        ("captured ← Fruit: apple", ["none of them"]),
        ("→ Fruit: apple", ["'Fruit: apple', which has no row"]),
        ("← Fruit: apple | pear", ["more cells than columns"]),
    ],
)
def test_what_cannot_be_is_told_and_changes_nothing(
    desk: Desk, said: str, words: list[str]
) -> None:
    """The cell stays as it was written, to be mended there."""
    line = next(line for line in page(desk).splitlines() if line.startswith("| Cellar "))
    write(desk, page(desk).replace(line, line.replace("captured", said)))
    refused(desk, *words)


def test_who_gets_it_must_be_a_topic_that_is_written_of(desk: Desk) -> None:
    """Neither ignored nor merged: what goes there would be written nowhere, or elsewhere."""
    edit(desk, Noise="← Fruit: apple")
    refused(desk, "'Noise' is ignored", "captured first")
    edit(desk, Noise="ignored")
    desk.results.problems.clear()
    edit(desk, **{"Old fruit": "← Fruit: apple"})
    refused(desk, "'Old fruit' is merged into 'Fruit'", "captured first")


def test_a_name_of_two_topics_is_not_guessed_at(desk: Desk) -> None:
    """An alias that both have."""
    write(desk, set_cells(page(desk), {"Cellar": {"aliases": "Orchard"}}))
    edit(desk, Apples="← orchard: apple")
    (problem,) = follow(desk)
    assert "more than one topic is called so: 'Cellar', 'Fruit'" in problem
    assert holds(desk) == {"Fruit": {APPLE, PEAR, BOTH}}


def test_an_ignored_topic_gives_what_is_asked_for(desk: Desk) -> None:
    """As it does by the command: the rest is still ignored."""
    edit(desk, Fruit="ignored", Apples="← Fruit: apple")
    assert follow(desk) == []
    assert holds(desk) == {"Fruit": {PEAR}, "Apples": {APPLE, BOTH}}
    assert states(desk)["Fruit"] is BucketState.IGNORED


def fold(desk: Desk, text: str) -> None:
    """Into an article, as a night that wrote it."""
    (one,) = [
        one
        for one in desk.store.buckets.placed("Fruit")
        if desk.store.conversations.messages(one.chunk.conv)[0].text == text
    ]
    desk.store._connection.execute(
        """INSERT INTO synthesized_bucket_chunks
               (bucket, chunk_id, article, run, "commit", at, outcome)
           VALUES ('Fruit', ?, 'Fruit', 'r', 'c', '2026-11-28T03:00:00Z', 'folded')""",
        (one.chunk.id,),
    )


def hold(desk: Desk, text: str) -> None:
    """A draft that waits to be decided about."""
    (one,) = [
        one
        for one in desk.store.buckets.placed("Fruit")
        if desk.store.conversations.messages(one.chunk.conv)[0].text == text
    ]
    draft = Draft("Fruit", "Fruit", "", "Fruit", (one.chunk.id,), ())
    desk.store.holds.add("r", draft, None, "", Folding(), ["odd"], NIGHT)


def outcomes(desk: Desk) -> list[tuple[object, ...]]:
    return [
        tuple(row)
        for row in desk.store._connection.execute("SELECT * FROM synthesized_bucket_chunks")
    ]


def test_what_is_written_or_held_stays(desk: Desk) -> None:
    """The rest of the part goes; why not all of it does is told, and the ledger is untouched."""
    fold(desk, APPLE)
    hold(desk, PEAR)
    before = outcomes(desk)
    edit(desk, Crates="← Fruit: crate")
    refused(desk, "nothing of it would go", "folded into Fruit", "held draft")
    say(desk, "Fruit", "a third crate is empty")
    desk.results.problems.clear()
    assert follow(desk) == []
    assert holds(desk) == {"Fruit": {APPLE, PEAR, BOTH}, "Crates": {"a third crate is empty"}}
    assert outcomes(desk) == before
    ((source, target, number, staying),) = desk.results.handed
    assert (source, target, number) == ("Fruit", "Crates", 1)
    assert len(staying) == 2
    assert "folded into Fruit" in "".join(staying) and "held draft" in "".join(staying)


def test_the_command_and_the_page_choose_alike(desk: Desk) -> None:
    """One rule, down to what stays."""
    fold(desk, APPLE)
    planned = splitting.plan("Fruit", "Apples", reviewer(desk), match="apple")
    edit(desk, Apples="← Fruit: apple")
    (asked,) = page_edits(press(desk)).handovers
    assert list(asked.chunks) == [one.chunk.id for one in planned.chosen.moving]
    assert list(asked.staying) == [why for _, why in planned.chosen.staying]


def test_several_parts_of_one_topic(desk: Desk) -> None:
    """Each gets its own; what two of them choose goes to the upper row, and is in one place."""
    edit(desk, Apples="← Fruit: apple", Pears="← Fruit: pear")
    assert follow(desk) == []
    assert holds(desk) == {"Apples": {APPLE, BOTH}, "Pears": {PEAR}}


def test_a_row_below_for_which_nothing_is_left(desk: Desk) -> None:
    """The row above has it all; that is told."""
    edit(desk, Apples="← Fruit: apple", Friday="← Fruit: Friday")
    (problem,) = follow(desk)
    assert "'Friday'" in problem and "no chunk of it holds" in problem
    assert holds(desk) == {"Fruit": {PEAR}, "Apples": {APPLE, BOTH}}
    assert "← Fruit: Friday" in page(desk) and "← Fruit: apple" not in page(desk)


@pytest.mark.parametrize("order", [["Apples", "Friday"], ["Friday", "Apples"]])
def test_a_part_of_a_part(desk: Desk, order: list[str]) -> None:
    """The same in whatever order the rows stand, in one night."""
    parts = {"Apples": "← Fruit: apple", "Friday": "← Apples: Friday"}
    edit(desk, **{name: parts[name] for name in order})
    assert follow(desk) == []
    assert holds(desk) == {"Fruit": {PEAR}, "Apples": {APPLE}, "Friday": {BOTH}}


def test_a_circle_is_told(desk: Desk) -> None:
    """Of two rows, and of three; a row beside it is obeyed."""
    say(desk, "Cellar", "the cellar is cold")
    edit(desk, Cellar="← Fruit: apple", Fruit="← Cellar: cold")
    before = holds(desk)
    problems = follow(desk)
    assert len(problems) == 2 and all("circle" in problem for problem in problems)
    assert holds(desk) == before
    desk.results.problems.clear()
    edit(desk, Fruit="← Cold: cold", Cold="← Cellar: cold", Pears="← Fruit: pear")
    assert len([problem for problem in follow(desk) if "circle" in problem]) == 3
    assert holds(desk) == before | {"Fruit": {APPLE}, "Pears": {PEAR, BOTH}}


def test_names_may_change_in_the_same_save(desk: Desk) -> None:
    """The topic it comes from, named as before or as now, and the one it goes to."""
    changes = {
        "Fruit": {"bucket": "Harvest"},
        "Cellar": {"bucket": "Rooms", "state": "← Fruit: apple"},
    }
    write(desk, set_cells(page(desk), changes))
    edit(desk, Pears="← Harvest: pear")
    assert follow(desk) == []
    assert holds(desk) == {"Rooms": {APPLE, BOTH}, "Pears": {PEAR}}
    assert "| → Harvest |" in page(desk) and "←" not in page(desk)


def test_what_is_merged_in_the_same_save_gives_nothing(desk: Desk) -> None:
    """Its chunks are the other's, of which it is to be asked; one that grows gives of the whole."""
    edit(desk, Fruit="→ Cellar", Apples="← Fruit: apple")
    (problem,) = follow(desk)
    assert "'Fruit' is merged into 'Cellar'" in problem
    assert holds(desk) == {"Cellar": {APPLE, PEAR, BOTH}}
    edit(desk, Apples="← Cellar: apple", Pears="captured")
    say(desk, "Noise", "apple noise")
    edit(desk, Noise="→ Cellar")
    assert follow(desk) == []
    assert holds(desk) == {"Cellar": {PEAR}, "Apples": {APPLE, BOTH, "apple noise"}}


@pytest.mark.parametrize("moment", ["before the page", "after the page"])
def test_a_night_that_dies_in_between_is_made_good(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """The part has it, the row asks for it still: that is no problem, and the row is cleared."""
    edit(desk, Apples="← Fruit: apple", Friday="← Apples: Friday")
    kept = obeying.publish_page

    def dies(*given: object, **named: object) -> None:
        if moment == "after the page":
            kept(*given, **named)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    (job,) = cluster.pending(desk)
    with monkeypatch.context() as patched:
        patched.setattr(obeying, "publish_page", dies)
        with pytest.raises(KeyboardInterrupt):
            cluster.keep(cluster.work([job], desk)[0], desk)
    assert holds(desk) == {"Fruit": {PEAR}, "Apples": {APPLE, BOTH}}
    assert follow(desk) == []
    assert holds(desk) == {"Fruit": {PEAR}, "Apples": {APPLE}, "Friday": {BOTH}}
    assert "←" not in page(desk) and cluster.pending(desk) == []


def test_nothing_goes_over_when_the_store_does_not_follow(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of it or nothing, and the page still asks for it."""
    edit(desk, Apples="← Fruit: apple", Pears="← Fruit: pear")
    before = page(desk), holds(desk)

    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    (job,) = cluster.pending(desk)
    with monkeypatch.context() as patched:
        patched.setattr(desk.store.buckets, "decided", dies)
        with pytest.raises(KeyboardInterrupt):
            cluster.keep(cluster.work([job], desk)[0], desk)
    assert (page(desk), holds(desk)) == before
    assert follow(desk) == []
    assert holds(desk) == {"Apples": {APPLE, BOTH}, "Pears": {PEAR}}


def test_what_happens_to_have_the_words_is_not_taken_for_the_part(desk: Desk) -> None:
    """Only what the user put there tells that it is done."""
    say(desk, "Cellar", "a banana in the cellar")
    edit(desk, Cellar="← Fruit: banana")
    refused(desk, "holds all these words: banana")


def test_what_stays_is_told_after_a_kill_too(desk: Desk) -> None:
    """Nothing more goes, and why; the row is cleared all the same."""
    fold(desk, APPLE)
    planned = splitting.plan("Fruit", "Crates", reviewer(desk), match="pear crate")
    splitting.split(planned, reviewer(desk))
    edit(desk, Crates="← Fruit: crate")
    (problem,) = follow(desk)
    assert "no more of it goes there" in problem and "folded into Fruit" in problem
    assert "←" not in page(desk) and page_edits(press(desk)) == Edits()


def test_a_page_that_is_to_be_left_alone_keeps_the_row(desk: Desk) -> None:
    """The part goes over, once; the night goes on with what is to be filed, and no problem."""
    edit(desk, Apples="← Fruit: apple")
    alone = replace(desk, config=desk.config.model_copy(update={"commit_user_edits": False}))
    before = page(desk)
    (job,) = cluster.pending(alone)
    cluster.keep(cluster.work([job], alone)[0], alone)
    assert holds(desk) == {"Fruit": {PEAR}, "Apples": {APPLE, BOTH}} and page(desk) == before
    assert cluster.pending(alone) == [] and alone.results.problems == []
    assert follow(desk) == [] and "←" not in page(desk)


def test_what_the_user_saves_meanwhile_stands(desk: Desk) -> None:
    """Other words in the cell are another part, obeyed next."""
    edit(desk, Apples="← Fruit: apple")
    (job,) = cluster.pending(desk)
    edit(desk, Apples="← Fruit: pear", Cellar="ignored")
    cluster.keep(cluster.work([job], desk)[0], desk)
    assert "← Fruit: pear" in page(desk)
    assert follow(desk) == []
    assert holds(desk) == {"Apples": {APPLE, PEAR, BOTH}}
    assert states(desk)["Cellar"] is BucketState.IGNORED and "←" not in page(desk)


def test_a_command_obeys_it_first(desk: Desk) -> None:
    """And says what did not go, which no changelog will tell."""
    fold(desk, APPLE)
    edit(desk, Apples="← Fruit: apple", Friday="← Apples: Friday")
    (told,) = topics.catch_up(reviewer(desk))
    assert "'Apples'" in told and "folded into Fruit" in told
    assert holds(desk) == {"Fruit": {APPLE, PEAR}, "Friday": {BOTH}}
    assert "←" not in page(desk) and desk.history.log(PAGE)[0].trailers["Topics"]


def test_other_decisions_go_on_beside_what_is_not_understood(desk: Desk) -> None:
    """A command edits other rows, and leaves this one as it is."""
    edit(desk, Cellar="← Fruit: banana")
    topics.describe("Fruit", "what falls from trees", reviewer(desk))
    assert "| ← Fruit: banana |" in page(desk)
    assert desk.store.buckets.get("Fruit").description == "what falls from trees"
