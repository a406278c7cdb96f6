"""The nouns of the pipeline, in the order they come to be.

Session → Conversation → Message → Chunk → Bucket → Claim → Draft (edits) → Change. All are frozen;
every time is an aware UTC datetime; every position and ordinal counts from 0. What there are
thousands of in a file is a tuple, which takes a third of the time to make.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple


class Role(StrEnum):
    """Who speaks. Tool results have no role: they are dropped at ingest."""

    USER = "user"
    ASSISTANT = "assistant"


class Action(NamedTuple):
    """A one-line trace of something the assistant did: the tool's name and the path it touched."""

    tool: str
    path: str = ""


# ------------------------------------------------------------------ what a source hands over


class Utterance(NamedTuple):
    """One message as a source parsed it: not redacted, not yet identified.

    native_id: the id the source gave it, "" where the format has none; not unique across files.
    at: aware UTC; None where the format does not say.
    cwd: the working directory when it was said, "" if unknown.
    """

    native_id: str
    role: Role
    at: datetime | None
    text: str
    actions: tuple[Action, ...] = ()
    cwd: str = ""


@dataclass(frozen=True, slots=True)
class BadLine:
    """A place in a transcript file that could not be read. `line` counts from 1."""

    path: Path
    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class Session:
    """One session as parsed by its source.

    utterances: the whole session in file order, tree branches included; with `resumed` only from
    where reading went on, since what stands before it was read another time.
    parent: session id of the session this one was forked or cloned from, "" if none.
    interactive: False for sub-agents and helper sessions.
    read_offset: byte where reading goes on once the file has grown: where the last turn of the user
    begins, for what follows it may still grow. 0 in a format that is always read whole.
    """

    source: str
    session_id: str
    path: Path
    title: str
    utterances: tuple[Utterance, ...]
    read_offset: int
    parent: str = ""
    interactive: bool = True
    resumed: bool = False
    bad_lines: tuple[BadLine, ...] = ()


# ------------------------------------------------------------------ what the store holds


class Message(NamedTuple):
    """One redacted message. `message_id` is unique in the store; `position` in its conversation."""

    message_id: str
    conv: str
    position: int
    role: Role
    at: datetime
    text: str
    actions: tuple[Action, ...] = ()
    project: str = ""


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation without its messages. `conv` is 8 or more hex digits (identity.conv_id)."""

    conv: str
    source: str
    session_id: str
    title: str
    project: str
    started_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Span:
    """Conversations last updated from `since` to `until`, both included; None sets no bound."""

    since: datetime | None = None
    until: datetime | None = None


ALWAYS = Span()


@dataclass(frozen=True, slots=True)
class Chunk:
    """A contiguous run of messages on one topic: positions first..last, both included.

    keep: False when nothing in it is worth remembering (still searchable).
    """

    id: str
    conv: str
    ordinal: int
    first: int
    last: int
    label: str
    keep: bool
    project: str = ""


class BucketState(StrEnum):
    """captured: seen, too thin for an article yet. merged: folded into `merged_into`."""

    CAPTURED = "captured"
    ARTICLE = "article"
    IGNORED = "ignored"
    MERGED = "merged"


@dataclass(frozen=True, slots=True)
class Bucket:
    """A topic. `article` is the stem of its file in articles/, "" while captured."""

    name: str
    article: str = ""
    description: str = ""
    aliases: tuple[str, ...] = ()
    state: BucketState = BucketState.CAPTURED
    merged_into: str = ""


@dataclass(frozen=True, slots=True)
class Assignment:
    """A chunk belongs to a bucket with this score (0..1)."""

    chunk_id: str
    bucket: str
    score: float


class ClaimKind(StrEnum):
    """What sort of thing a claim states; decides its section in a new article."""

    FACT = "fact"
    DECISION = "decision"
    PREFERENCE = "preference"
    EVENT = "event"
    SOLUTION = "problem-solution"
    QUESTION = "open-question"


@dataclass(frozen=True, slots=True)
class Claim:
    """One self-contained sentence and the messages that support it.

    messages: positions in the chunk's conversation, ascending, never empty for a kept claim.
    dropped_reason: "" for a kept claim, else why support or form refused it.
    """

    id: str
    chunk_id: str
    ordinal: int
    text: str
    kind: ClaimKind
    messages: tuple[int, ...]
    support: float
    dropped_reason: str = ""


# ------------------------------------------------------------------ what is written to an article


@dataclass(frozen=True, slots=True)
class Citation:
    """Where a sentence comes from: messages first..last of one conversation, both included.

    date: the local date of the evidence, ISO. title: flattened to one line when rendered.
    """

    conv: str
    first: int
    last: int
    date: str
    source: str
    title: str


@dataclass(frozen=True, slots=True)
class CitedSentence:
    """A sentence to be written, without marks, and what it rests on; code renders the marks."""

    text: str
    citations: tuple[Citation, ...]


@dataclass(frozen=True, slots=True)
class SentenceRef:
    """Addresses a sentence of the page a draft was made from: block index, sentence index in it."""

    block: int
    sentence: int


@dataclass(frozen=True, slots=True)
class AddCitation:
    """The sentence already says it: give it one more citation."""

    at: SentenceRef
    citation: Citation


@dataclass(frozen=True, slots=True)
class AppendSentences:
    """Append to the section with this heading text ("" = the lead); a missing section is made."""

    section: str
    sentences: tuple[CitedSentence, ...]


@dataclass(frozen=True, slots=True)
class Supersede:
    """`sentence` takes the place of the one at `at`, which moves to History dated `date` (ISO)."""

    at: SentenceRef
    sentence: CitedSentence
    date: str


@dataclass(frozen=True, slots=True)
class Retire:
    """The sentence at `at` moves to History dated `date` (ISO); nothing takes its place."""

    at: SentenceRef
    date: str


@dataclass(frozen=True, slots=True)
class MoveSentence:
    """The sentence at `at` moves, marks and all, to the end of this section ("" = the lead)."""

    at: SentenceRef
    section: str


@dataclass(frozen=True, slots=True)
class MergeRepeat:
    """The sentence at `repeat` says no more than that at `at`: it goes, its citations pass on."""

    at: SentenceRef
    repeat: SentenceRef


@dataclass(frozen=True, slots=True)
class AppendHistory:
    """An older statement about something the page already knows better: goes to History."""

    sentence: CitedSentence
    date: str


@dataclass(frozen=True, slots=True)
class LinkFirstMention:
    """Turn the first plain mention of `text` in block `block` into a wikilink to `target`."""

    block: int
    text: str
    target: str


@dataclass(frozen=True, slots=True)
class SetSeeAlso:
    """Add links to these articles, by stem, to the See also list; entries the user wrote stay."""

    stems: tuple[str, ...]


Edit = (
    AddCitation
    | AppendSentences
    | Supersede
    | Retire
    | MoveSentence
    | MergeRepeat
    | AppendHistory
    | LinkFirstMention
    | SetSeeAlso
)


@dataclass(frozen=True, slots=True)
class Draft:
    """Edits to one article, addressed against the page whose bytes hash to `base_hash`.

    base_hash: sha256 hex of the file's bytes, "" when the article is to be created.
    title: the article's title. bucket and chunks: what the ledger records once it is committed.
    talk: entries for the Talk page of the article.
    claims_words: words of all claims folded, the measure of the growth ceiling.
    """

    article: str
    title: str
    base_hash: str
    bucket: str
    chunks: tuple[str, ...]
    edits: tuple[Edit, ...]
    talk: tuple[str, ...] = ()
    claims_words: int = 0


@dataclass(frozen=True, slots=True)
class Change:
    """A committed draft.

    kind: "new", "updated" or "tidied". merged: repeats that went into other sentences. led: another
    sentence leads the article now.
    """

    run: str
    article: str
    title: str
    commit: str
    kind: str
    claims: int
    citations: int
    superseded: int
    sections: tuple[str, ...]
    convs: tuple[str, ...]
    merged: int = 0
    led: bool = False


# ------------------------------------------------------------------ outcomes of a job


@dataclass(frozen=True, slots=True)
class Done:
    """The job's work was kept. counts: what it adds to the run's counts, e.g. {"messages": 12}."""

    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Held:
    """A draft of this article waits for the user: reasons in words a user understands."""

    article: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Skipped:
    """Nothing to keep, by design; not retried. counts: as for Done."""

    reason: str
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Failed:
    """The job was not done; it is retried after a growing pause and parked in the end.

    parks: False where the page stands against it, as one with conflicts or in iCloud: its owner
    will mend that, and it is retried for as long as that takes.
    """

    reasons: tuple[str, ...]
    parks: bool = True


Outcome = Done | Held | Skipped | Failed


@dataclass(frozen=True, slots=True)
class Event:
    """Progress, told to whoever watches: one stage, how far, and what it just did."""

    stage: str
    done: int
    total: int
    message: str = ""
    tokens_per_second: float = 0.0
    data: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Call:
    """One accounted model call, for `model_calls`; purpose is the prompt's name.

    retry: a second try of the same ask, or a later one.
    """

    stage: str
    purpose: str
    prompt_tokens: int
    cached_tokens: int
    output_tokens: int
    seconds: float
    finish: str
    retry: bool = False
