"""What is still to do is read off the store, once done it is never asked again, oldest first."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest

from pipeline.identity import claim_id
from pipeline.records import Assignment, Bucket, BucketState, Change, Claim, ClaimKind, Span
from pipeline.store import Store
from pipeline.store.ledger import Folding, PageFile
from tests.support_store import START, chunk, fill, opened

LATER = START + timedelta(days=1)
YEAR = timedelta(days=365)
TEXTS = ["one", "two", "three", "four"]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Two conversations, the one named last begun first."""
    store = opened(tmp_path)
    fill(store, "bbbbbbbb", TEXTS, start=LATER)
    fill(store, "aaaaaaaa", TEXTS, start=START)
    return store


def claims(chunk_id: str, count: int, *, dropped: str = "") -> list[Claim]:
    """Claims of a chunk."""
    return [
        Claim(claim_id(chunk_id, n), chunk_id, n, f"claim {n}", ClaimKind.FACT, (0,), 1.0, dropped)
        for n in range(count)
    ]


def routed(store: Store, conv: str, bucket: str, *, supported: int) -> str:
    """A chunk over a whole conversation, in a bucket, with claims; its id."""
    made = chunk(store, conv, 0, 3)
    store.chunks.replace_tail(conv, [made])
    store.buckets.save(Bucket(bucket), START)
    store.buckets.assign(made.id, [Assignment(made.id, bucket, 1.0)])
    store.claims.save(made.id, claims(made.id, supported))
    return made.id


def folding(bucket: str, chunks: tuple[str, ...]) -> Folding:
    """A fold of these chunks into the article `topic`."""
    change = Change("r1", "topic", "Topic", "", "new", 2, 0, 0, ("Background",), ("aaaaaaaa",))
    return Folding(
        bucket=bucket,
        chunks=chunks,
        change=change,
        stem="topic",
        written_hash="after",
        sentences=("A sentence.",),
        words={"": 2, "Background": 5},
    )


def test_oldest_message_first(store: Store) -> None:
    """The latest statement must be the last one folded, whatever order the files were read in."""
    assert [c.conv for c in store.conversations.to_chunk()] == ["aaaaaaaa", "bbbbbbbb"]
    for conv in ("bbbbbbbb", "aaaaaaaa"):
        store.chunks.replace_tail(conv, [chunk(store, conv, 0, 3)])
    assert [c.conv for c in store.chunks.to_cluster()] == ["aaaaaaaa", "bbbbbbbb"]
    assert [c.conv for c in store.chunks.to_cluster(Span(since=LATER))] == ["bbbbbbbb"]


def test_a_chunk_without_claims_or_bucket_is_not_asked_again(store: Store) -> None:
    """Pitfall 5: "nothing in it" is an answer and is remembered."""
    made = chunk(store, "aaaaaaaa", 0, 3)
    store.chunks.replace_tail("aaaaaaaa", [made])
    store.buckets.assign(made.id, [])
    assert store.chunks.to_cluster() == []
    bucketed = chunk(store, "bbbbbbbb", 0, 3)
    store.chunks.replace_tail("bbbbbbbb", [bucketed])
    store.buckets.save(Bucket("Topic"), START)
    store.buckets.assign(bucketed.id, [Assignment(bucketed.id, "Topic", 1.0)])
    assert store.chunks.to_claim() == [bucketed]
    store.claims.save(bucketed.id, [])
    assert store.chunks.to_claim() == []


def test_ignored_buckets_cost_nothing(store: Store) -> None:
    """No claim is extracted from what only belongs to topics the user ignores."""
    made = chunk(store, "aaaaaaaa", 0, 3)
    store.chunks.replace_tail("aaaaaaaa", [made])
    store.buckets.save(Bucket("Topic", state=BucketState.IGNORED), START)
    store.buckets.assign(made.id, [Assignment(made.id, "Topic", 1.0)])
    assert store.chunks.to_claim() == []


def test_an_unchanged_span_keeps_its_claims_a_folded_one_is_frozen(store: Store) -> None:
    """Pitfall 2: cutting a grown conversation again loses no claim and no fold."""
    first, second = chunk(store, "aaaaaaaa", 0, 1), chunk(store, "aaaaaaaa", 2, 3, ordinal=1)
    store.chunks.replace_tail("aaaaaaaa", [first, second])
    store.buckets.save(Bucket("Topic"), START)
    store.claims.save(first.id, claims(first.id, 2))
    store.ledger.record(
        "Topic", [first.id], run="r", article="topic", commit="c", outcome="folded", at=LATER
    )
    assert store.chunks.frozen("aaaaaaaa") == [first]
    wider = chunk(store, "aaaaaaaa", 2, 3, ordinal=1)
    store.chunks.replace_tail("aaaaaaaa", [wider])
    assert [c.id for c in store.chunks.of("aaaaaaaa")] == [first.id, second.id]
    assert len(store.claims.of(first.id)) == 2


def test_recurrence_counts_over_the_whole_store(store: Store) -> None:
    """Pitfall 6: one chunk a night, on two nights, is a topic that recurs."""
    routed(store, "aaaaaaaa", "Topic", supported=1)
    assert store.buckets.ripe(min_conversations=2, min_claims=6) == []
    routed(store, "bbbbbbbb", "Topic", supported=1)
    assert [b.name for b in store.buckets.ripe(min_conversations=2, min_claims=6)] == ["Topic"]


def test_many_claims_of_one_conversation_are_enough(store: Store) -> None:
    """Six supported claims earn an article; refused ones do not count."""
    chunk_id = routed(store, "aaaaaaaa", "Topic", supported=5)
    assert store.buckets.ripe(min_conversations=2, min_claims=6) == []
    refused = Claim(claim_id(chunk_id, 5), chunk_id, 5, "x", ClaimKind.FACT, (), 0.0, "unsupported")
    store.claims.save(chunk_id, [refused])
    assert store.buckets.ripe(min_conversations=2, min_claims=6) == []
    sixth = Claim(claim_id(chunk_id, 6), chunk_id, 6, "y", ClaimKind.FACT, (0,), 1.0)
    store.claims.save(chunk_id, [sixth])
    assert [b.name for b in store.buckets.ripe(min_conversations=2, min_claims=6)] == ["Topic"]


def test_settling_a_publication_records_everything_at_once(store: Store) -> None:
    """After the commit: ledger, bucket, change, sentences and words; and the intent is gone."""
    chunk_id = routed(store, "aaaaaaaa", "Topic", supported=2)
    waiting = store.buckets.unfolded(["Topic", "Other"])
    assert {name: [c.id for c in found] for name, found in waiting.items()} == {"Topic": [chunk_id]}
    assert store.buckets.unfolded(["Other"]) == {}
    intent = store.ledger.announce(
        "r1", PageFile("articles/topic.md", "", "text"), "new", {}, folding("Topic", (chunk_id,))
    )
    assert store.ledger.intents() == [intent]
    store.ledger.settle(intent, "abc123", LATER)
    assert store.ledger.intents() == []
    assert store.buckets.unfolded(["Topic"]) == {}
    assert store.buckets.get("Topic").state is BucketState.ARTICLE
    assert store.buckets.get("Topic").article == "topic"
    assert [change.commit for change in store.ledger.unreported_changes()] == ["abc123"]
    assert store.ledger.written_sentences("topic") == {"A sentence."}
    assert store.ledger.unlinked() == ["topic"]


def test_of_each_bucket_the_first_and_the_newest_chunks_tell(store: Store) -> None:
    """What a topic is about is told by how it began and by its newest chunks, in that order."""
    for conv in ("cccccccc", "dddddddd"):
        fill(store, conv, ["one", "two", "three", "four"])
    for conv in ("aaaaaaaa", "bbbbbbbb", "cccccccc", "dddddddd"):
        routed(store, conv, "Topic", supported=1)
    told = [label for _, _, label in store.buckets.telling(first=1, newest=2)]
    assert told == ["label of aaaaaaaa 0", "label of cccccccc 0", "label of dddddddd 0"]
    assert len(store.buckets.telling(first=2, newest=2)) == 4


def test_the_changelog_tells_a_change_once(store: Store) -> None:
    """Publishing the changelog marks what it told, together with its own settling."""
    intent = store.ledger.announce("r1", PageFile("a", "", ""), "s", {}, folding("", ()))
    store.ledger.settle(intent, "c1", LATER)
    told = store.ledger.announce("r1", PageFile("l", "", ""), "s", {}, Folding(reports=True))
    store.ledger.settle(told, "c2", LATER)
    assert store.ledger.unreported_changes() == []


def test_the_baseline_looks_back_over_the_window(store: Store) -> None:
    """Pitfall 24: the floor measures against the text as it was, not against last night's loss."""
    for day, words in ((0, 400), (10, 300), (20, 200)):
        at = START + timedelta(days=day)
        intent = store.ledger.announce(
            f"r{day}",
            PageFile("a", "", ""),
            "s",
            {},
            Folding(stem="topic", written_hash="h", words={"": words}),
        )
        store.ledger.settle(intent, "c", at)
    assert store.ledger.baseline_words("topic", START + timedelta(days=15)) == {"": 300}
    assert store.ledger.baseline_words("topic", START - timedelta(days=5)) == {"": 400}
    assert store.ledger.baseline_words("other", START) == {}


def test_a_failing_job_rests_longer_each_time_and_is_parked(store: Store) -> None:
    """It is tried again, but not every night, and in the end not at all."""
    pause = timedelta(hours=20)
    now = START
    rests = []
    for _ in range(5):
        attempt = store.attempts.fail(
            "synthesize", "job", "why", now=now, pause=pause, max_attempts=5
        )
        assert store.attempts.resting("synthesize", now, YEAR) == {"job"}
        rested = next(
            hours
            for hours in range(20, 1000, 20)
            if attempt.parked
            or not store.attempts.resting(
                "synthesize", now + timedelta(hours=hours, seconds=1), YEAR
            )
        )
        rests.append((rested, attempt.parked))
    assert rests == [(20, False), (40, False), (80, False), (160, False), (20, True)]
    assert store.attempts.resting("synthesize", now + timedelta(days=9999), YEAR) == {"job"}
    store.attempts.succeed("synthesize", "job")
    assert store.attempts.all() == []


def test_a_job_that_waits_for_the_user_is_never_parked(store: Store) -> None:
    """However often it failed, it is tried again within four days."""
    for _ in range(50):
        attempt = store.attempts.fail(
            "synthesize",
            "job",
            "why",
            now=START,
            pause=timedelta(hours=20),
            max_attempts=5,
            parks=False,
        )
    assert not attempt.parked
    assert store.attempts.resting("synthesize", START, YEAR) == {"job"}
    assert store.attempts.resting("synthesize", START + timedelta(days=4), YEAR) == frozenset()


def test_a_pause_set_by_a_wrong_clock_does_not_last(store: Store) -> None:
    """A clock that was ten years ahead for a night does not silence a job for ten years."""
    ahead = START + timedelta(days=3650)
    pause = timedelta(hours=20)
    store.attempts.fail("synthesize", "job", "why", now=ahead, pause=pause, max_attempts=5)
    assert store.attempts.resting("synthesize", ahead, YEAR) == {"job"}
    assert store.attempts.resting("synthesize", START, YEAR) == frozenset()


def test_a_killed_run_is_marked_and_run_ids_never_collide(store: Store) -> None:
    """Two runs within one second get ids of their own, on other machines too; the one that never
    finished is named so.
    """
    first = store.runs.begin(START, START, model="m", prompts={}, vault="")
    second = store.runs.begin(START, START, model="m", prompts={}, vault="")
    assert first != second
    assert all(re.fullmatch(r"20010203-040506-[a-z2-9]{4}", run) for run in (first, second))
    store.runs.finish(second, LATER, status="done", vault="", results={"version": 1})
    last = store.runs.last()
    assert last is not None and (last.id, last.status) == (second, "done")
    assert store.runs.first_started() == "2001-02-03T04:05:06.000Z"


def test_full_text_stays_in_step(store: Store, tmp_path: Path) -> None:
    """What is deleted is not found any more, what is stored is."""
    made = chunk(store, "aaaaaaaa", 0, 3)
    store.chunks.replace_tail("aaaaaaaa", [made])
    store.claims.save(made.id, claims(made.id, 1))
    store.copy_to(tmp_path / "copy.sqlite")
    copy = Store(tmp_path / "copy.sqlite")
    for table, word in (("messages", "three"), ("chunks", "label"), ("claims", "claim")):
        for opened_store in (store, copy):
            found = opened_store._connection.execute(
                f"SELECT count(*) FROM {table}_fts WHERE {table}_fts MATCH ?", (word,)
            ).fetchone()[0]
            assert found > 0, table
    store.chunks.replace_tail("aaaaaaaa", [])
    for table in ("chunks", "claims"):
        store._connection.execute(
            f"INSERT INTO {table}_fts ({table}_fts, rank) VALUES ('integrity-check', 1)"
        )
        assert not store._connection.execute(f"SELECT * FROM {table}_fts").fetchall()
    copy.close()
