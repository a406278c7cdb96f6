"""A memory that has grown for years: many conversations, known and folded, and their articles.

The conversations are transcripts on disk that the ingest stage really reads. What the night would
ask a model for (chunks, topics, claims) is put straight into the store, and the articles, drafted
by the surgery every article goes through, are written by the vault and committed by its git in one
go: the same rows and bytes, without ten thousand model calls and a thousand commits.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.night_models import Canned
from benchmarks.sessions import write_session
from pipeline import assemble
from pipeline.buckets_page import append_buckets
from pipeline.config import Config, load_config
from pipeline.desk import Desk
from pipeline.gates import section_words
from pipeline.history import History
from pipeline.identity import chunk_id, claim_id
from pipeline.publish import digest
from pipeline.records import (
    AppendSentences,
    Assignment,
    Bucket,
    BucketState,
    Chunk,
    Citation,
    CitedSentence,
    Claim,
    ClaimKind,
    Conversation,
    Draft,
    Message,
)
from pipeline.resources import folder
from pipeline.stages import ingest
from pipeline.store.ledger import Folding, PageFile
from pipeline.surgery import apply
from pipeline.vault import Vault

FIRST_DAY = datetime(2025, 3, 3, 9, 0, tzinfo=UTC)
BUILT = datetime(2026, 10, 1, 3, 0, tzinfo=UTC)
_TALKS = 10  # conversations about each topic
_BATCH = 500
_SMALL_TALK = ("Thank you for your help.", "That was all for today.")
_VOCABULARY = """
ba ce di fo gu ha je ki lo mu na pe ri so tu va we xi yo zu
cache index queue parser worker archive ledger mirror router monitor
keeps reads writes drops sorts counts merges splits checks sends
rows pages blocks files frames tokens leases orders images events
"""
_SYLLABLES, _PARTS, _DOES, _WHAT = (line.split() for line in _VOCABULARY.strip().splitlines())


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic and what was said of it: per conversation two sentences, each in one message."""

    name: str
    said: tuple[tuple[str, str], ...]


def home_config(home: Path) -> Config:
    """The settings of this home; its agents are pi and Claude Code."""
    return load_config(
        vault=home / "vault",
        cache_dir=home / "cache",
        data_dir=home / "data",
        timezone="UTC",
        since_days="all",
        sources={
            "enabled": ["pi", "claude-code"],
            "roots": {
                "pi": [str(home / ".pi" / "agent" / "sessions")],
                "claude-code": [str(home / ".claude" / "projects")],
            },
        },
    )


def topic(number: int) -> Topic:
    """The topic of this number, the same whatever the size of the world."""
    name = f"{invented(2 * number).title()} {invented(2 * number + 1).title()}"
    return Topic(
        name, tuple((sentence(name, 2 * n), sentence(name, 2 * n + 1)) for n in range(_TALKS))
    )


def invented(number: int) -> str:
    """A word of four syllables; another for every number below 160,000."""
    found = []
    number = number * 7919 % len(_SYLLABLES) ** 4  # prime to it, so that neighbours look unlike
    for _ in range(4):
        number, rest = divmod(number, len(_SYLLABLES))
        found.append(_SYLLABLES[rest])
    return "".join(found)


def sentence(name: str, number: int) -> str:
    """The statement of this number about a topic: a part of it, what it does, and how much."""
    part, tens = _PARTS[number % 10], number // 10
    does, what = _DOES[(number + tens) % 10], _WHAT[(number + 3 * tens) % 10]
    return f"The {name} {part} {does} {17 + 3 * number} {what} per shard."


def grow(home: Path, articles: int, conversations: int) -> Config:
    """A home with so many articles, ten conversations behind each; nothing is left to be done.

    The rest of the conversations (at least ten an article) were not worth keeping.
    """
    config = home_config(home)
    history, vault = History(config.vault), Vault(config.vault)
    history.init()
    seeded = vault.seed(folder("vault_meta"))
    history.commit([p.relative_to(config.vault).as_posix() for p in seeded], "init", at=BUILT)
    topics = [topic(number) for number in range(articles)]
    for number, about in enumerate(topics):
        for talk, said in enumerate(about.said):
            _transcript(home, number, talk, said)
    for number in range(conversations - _TALKS * articles):
        _transcript(home, articles + number // _TALKS, number % _TALKS, _SMALL_TALK)
    desk = assemble.desk(
        config,
        models=assemble.Models(Canned([]).opened, None),  # never asked while the world is built
        say=lambda _event: None,
        now=lambda: BUILT,
    )
    _ingest(desk)
    _fold(topics, desk)
    desk.store.runs.finish(
        desk.run, BUILT, status="done", vault=history.head(), results=desk.results.as_json()
    )
    desk.store.close()
    return config


def tell(home: Path, about: Topic, talk: int, said: Sequence[tuple[str, str]], day: int) -> None:
    """One more conversation about a topic, so many days after the memory was built."""
    session = str(uuid.uuid5(uuid.NAMESPACE_URL, f"news/{about.name}/{talk}"))
    write_session(home, "claude-code", session, BUILT + timedelta(days=day - 1), list(said))


def _transcript(home: Path, number: int, talk: int, said: tuple[str, str]) -> None:
    start = FIRST_DAY + timedelta(hours=13 * talk, minutes=7 * number)
    session = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{number}/{talk}"))
    chance = random.Random(session)
    talked = [
        " ".join(invented(chance.randrange(4000)) for _ in range(40)).capitalize() + "."
        for _ in range(4)
    ]
    one, other = said
    write_session(
        home,
        "pi" if talk % 2 else "claude-code",
        session,
        start,
        [
            ("user", f"{one} {talked[0]}"),
            ("assistant", talked[1]),
            ("user", f"{other} {talked[2]}"),
            ("assistant", talked[3]),
        ],
    )


def _ingest(desk: Desk) -> None:
    jobs = ingest.pending(desk)
    for start in range(0, len(jobs), _BATCH):
        for batch in ingest.work(jobs[start : start + _BATCH], desk):
            ingest.keep(batch, desk)


def _fold(topics: Sequence[Topic], desk: Desk) -> None:
    """Chunks, topics, claims and articles, as the stages after ingest would have left them."""
    of_topic: dict[str, list[tuple[Conversation, list[Message]]]] = {t.name: [] for t in topics}
    with desk.store.together():
        _sort(of_topic, desk)
    buckets, pages = [], {}
    with desk.store.together():
        for about in topics:
            bucket = Bucket(about.name, description=f"Work on {about.name}")
            desk.store.buckets.save(bucket, BUILT)
            path, text = _article(about, of_topic[about.name], desk)
            pages[path] = text
            stem = Path(path).stem
            buckets.append(Bucket(about.name, stem, bucket.description, state=BucketState.ARTICLE))
        desk.store.buckets.compared(bucket.name for bucket in buckets)
    listed = append_buckets(desk.vault.meta("Buckets.md"), buckets)
    desk.vault.write("Meta/Buckets.md", listed, expect=desk.vault.hash("Meta/Buckets.md"))
    desk.history.commit([*pages, "Meta/Buckets.md"], "the articles so far", at=BUILT)


def _sort(of_topic: dict[str, list[tuple[Conversation, list[Message]]]], desk: Desk) -> None:
    """Each conversation to its topic; small talk is dropped as the chunk stage would."""
    for conversation in desk.store.conversations.to_chunk():
        messages = desk.store.conversations.messages(conversation.conv)
        name = " ".join(messages[0].text.split()[1:3])
        if name in of_topic:
            of_topic[name].append((conversation, messages))
        else:
            _keep_chunk(conversation, messages, desk, label="", keep=False)


def _article(
    about: Topic, talks: Sequence[tuple[Conversation, list[Message]]], desk: Desk
) -> tuple[str, str]:
    """Path and text of the topic's article, with everything the store holds of it."""
    stem = about.name
    sentences, chunks = [], []
    for conversation, messages in talks:
        label = f"Work on {about.name}"
        chunk = _keep_chunk(conversation, messages, desk, label=label, keep=True)
        desk.store.buckets.assign(chunk.id, [Assignment(chunk.id, about.name, 1.0)])
        chunks.append(chunk.id)
        claims: list[Claim] = []
        for position in (0, 2):
            text = messages[position].text.partition(". ")[0] + "."
            claims.append(
                Claim(
                    claim_id(chunk.id, len(claims)),
                    chunk.id,
                    len(claims),
                    text,
                    ClaimKind.FACT,
                    (position,),
                    1.0,
                )
            )
            date = messages[position].at.date().isoformat()
            cited = Citation(
                conversation.conv, position, position, date, conversation.source, conversation.title
            )
            sentences.append(CitedSentence(text, (cited,)))
        desk.store.claims.save(chunk.id, claims)
    edits = (
        AppendSentences("", tuple(sentences[:1])),
        AppendSentences(desk.policy.headings[ClaimKind.FACT], tuple(sentences[1:])),
    )
    draft = Draft(stem, about.name, "", about.name, tuple(chunks), edits)
    text = apply(
        None,
        draft,
        today=BUILT.date().isoformat(),
        paragraph_sentences=desk.policy.synthesize.paragraph_sentences,
    )
    path = desk.vault.article_path(stem)
    desk.vault.write(path, text, expect="")
    folding = Folding(
        bucket=about.name,
        chunks=tuple(chunks),
        stem=stem,
        written_hash=digest(text),
        sentences=tuple(s.text for s in sentences),
        words=section_words(text),
        linked=True,
    )
    ledger = desk.store.ledger
    intent = ledger.announce(desk.run, PageFile(path, "", text), f"new: {stem}", {}, folding)
    ledger.settle(intent, "built", BUILT)
    return path, text


def _keep_chunk(
    conversation: Conversation, messages: Sequence[Message], desk: Desk, *, label: str, keep: bool
) -> Chunk:
    """The whole conversation as one chunk."""
    chunk = Chunk(
        id=chunk_id(m.message_id for m in messages),
        conv=conversation.conv,
        ordinal=0,
        first=0,
        last=len(messages) - 1,
        label=label,
        keep=keep,
    )
    desk.store.chunks.replace_tail(conversation.conv, [chunk])
    desk.store.conversations.mark_chunked(conversation.conv, conversation.updated_at)
    return chunk
