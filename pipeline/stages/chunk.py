"""Conversation → chunks: contiguous runs of messages on one topic, each message in exactly one.

What was folded is frozen, and so is what the user put under a topic or a held draft is made of: a
grown conversation is only cut after the last such chunk. What another machine folded is cut as it
was there, lest it be folded once more. A chunk is named by the messages it spans,
so an unchanged span keeps its row and is not asked about again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from pipeline.gates import dangers
from pipeline.identity import chunk_id
from pipeline.ignored_topics import ignored_topics
from pipeline.models import Ask
from pipeline.prose import flat, plain
from pipeline.records import Chunk, Conversation, Done, Message, Outcome, Role
from pipeline.segmentation import Turn, segments
from pipeline.stages import Desk
from pipeline.support.answering import no_answer, of_example
from pipeline.text import content_words, words
from pipeline.transcript import gist, line

NAME = "chunk"
_DROP = "drop"
_LABEL_CHARACTERS = 120
_LABEL_WORDS = 9  # of the chunk's beginning, speaker included, when the model gives no label


@dataclass(frozen=True, slots=True)
class Result:
    """The new chunks of a conversation, after its frozen ones."""

    conversation: Conversation
    chunks: tuple[Chunk, ...]


def key(job: Conversation) -> str:
    """The job's name in `attempts`."""
    return job.conv


def pending(desk: Desk) -> list[Conversation]:
    """Conversations with messages that are in no chunk yet, oldest first."""
    return desk.store.conversations.to_chunk(desk.span)


def work(jobs: Sequence[Conversation], desk: Desk) -> list[Result]:
    """Cut each conversation, then ask about all new spans in one batch: keep it? what label?"""
    drafts: list[tuple[Chunk, Sequence[Message]]] = []
    chunks: dict[str, list[Chunk]] = {}
    elsewhere = desk.store.chunks.cut_elsewhere()
    for conversation in jobs:
        chunks[conversation.conv] = []
        for chunk, messages in _cut(conversation, elsewhere, desk):
            known = desk.store.chunks.get(chunk.id)
            if known is None:
                drafts.append((chunk, messages))
            else:
                chunks[conversation.conv].append(replace(known, ordinal=chunk.ordinal))
    for chunk in _described(drafts, desk):
        chunks[chunk.conv].append(chunk)
    return [
        Result(job, tuple(sorted(chunks[job.conv], key=lambda chunk: chunk.ordinal)))
        for job in jobs
    ]


def keep(result: Result, desk: Desk) -> Outcome:
    """Record the chunks and how far the conversation is chunked."""
    conversation = result.conversation
    known = {chunk.id for chunk in desk.store.chunks.of(conversation.conv)}
    desk.store.chunks.replace_tail(conversation.conv, result.chunks)
    # killed before this line, the conversation is cut again, into the same chunks
    desk.store.conversations.mark_chunked(conversation.conv, conversation.updated_at)
    fresh = [chunk for chunk in result.chunks if chunk.id not in known]
    return Done({"chunks": len(fresh), "dropped": sum(not chunk.keep for chunk in fresh)})


def _cut(
    conversation: Conversation, elsewhere: Collection[str], desk: Desk
) -> list[tuple[Chunk, Sequence[Message]]]:
    frozen = desk.store.chunks.frozen(conversation.conv)
    start = frozen[-1].last + 1 if frozen else 0
    messages = desk.store.conversations.messages(conversation.conv, first=start)
    return [
        (
            Chunk(
                id=_id(span),
                conv=conversation.conv,
                ordinal=len(frozen) + number,
                first=span[0].position,
                last=span[-1].position,
                label="",
                keep=True,
                project=span[0].project,
            ),
            span,
        )
        for number, span in enumerate(_spans(messages, elsewhere, desk))
    ]


def _spans(
    messages: Sequence[Message], elsewhere: Collection[str], desk: Desk
) -> Iterator[Sequence[Message]]:
    """What was cut elsewhere as it was there, and what lies between by its topics."""
    begin = at = 0
    while elsewhere and at < len(messages):
        longest = range(min(desk.policy.chunk.max_messages, len(messages) - at), 0, -1)
        size = next((n for n in longest if _id(messages[at : at + n]) in elsewhere), 0)
        if size:
            yield from _by_topic(messages[begin:at], desk)
            yield messages[at : at + size]
            begin = at + size
        at += size or 1
    yield from _by_topic(messages[begin:], desk)


def _by_topic(messages: Sequence[Message], desk: Desk) -> Iterator[Sequence[Message]]:
    if messages:
        turns = [
            Turn(m.role is Role.USER, desk.model.count(line(m)), m.text, m.at) for m in messages
        ]
        for first, last in segments(turns, desk.embedder, desk.policy.chunk):
            yield messages[first : last + 1]


def _id(span: Sequence[Message]) -> str:
    return chunk_id([message.message_id for message in span])


def _described(drafts: Sequence[tuple[Chunk, Sequence[Message]]], desk: Desk) -> list[Chunk]:
    """Each draft with its label, and dropped if there is nothing in it worth remembering.

    The model labels only what it keeps, and is not asked about what can be told without it.
    """
    ignored = [one.casefold() for one in ignored_topics(desk.vault.meta("Topics_to_Ignore.md"))]
    rules = desk.vault.rules("Chunking.md")
    gists = [gist(messages, desk.policy.chunk.gist_words) for _, messages in drafts]
    said = [" ".join(message.text for message in messages) for _, messages in drafts]
    open_ = [n for n, text in enumerate(said) if words(text) and not _ignores(text, ignored)]
    kept = _kept(open_, gists, ignored, rules, desk)
    written = _labels([gists[number] for number in kept], rules, desk)
    labels = dict(zip(kept, written, strict=True))
    described = []
    for number, (chunk, _) in enumerate(drafts):
        label = labels.get(number) or _first_words(gists[number])
        # a label can name the topic that the messages only speak around
        worth = number in labels and not _ignores(f"{label} {said[number]}", ignored)
        described.append(replace(chunk, label=label, keep=worth))
    return described


def _kept(
    numbers: Sequence[int], gists: Sequence[str], ignored: Sequence[str], rules: str, desk: Desk
) -> list[int]:
    """Those of the numbers that the model does not drop."""
    topics = "; ".join(ignored) or "(nothing)"
    verdicts = desk.model.choose(
        [
            desk.prompts.ask(
                "chunk/keep", {"transcript": gists[number], "topics": topics, "rules": rules}
            )
            for number in numbers
        ],
        stage=NAME,
        purpose="chunk/keep",
    )
    drops = [dict(zip(v.options, v.probabilities, strict=True))[_DROP] for v in verdicts]
    return [n for n, drop in zip(numbers, drops, strict=True) if drop < desk.policy.chunk.drop_bar]


def _labels(texts: Sequence[str], rules: str, desk: Desk) -> list[str]:
    """A label for each, "" where the model gives none."""
    prompt = desk.prompts.get("chunk/label")
    asks: list[Ask] = [
        desk.prompts.ask("chunk/label", {"transcript": text, "rules": rules}) for text in texts
    ]
    replies = desk.model.write(
        asks,
        stage=NAME,
        purpose="chunk/label",
        max_tokens=prompt.max_tokens,
        grammar=prompt.grammar,
        seeds=[0] * len(asks),
        temperature=prompt.temperature,
    )
    return [
        "" if of_example(reply.text, ask) else _label(reply.text)
        for reply, ask in zip(replies, asks, strict=True)
    ]


def _label(text: str) -> str:
    """The model's label, cut to length; "" when it says nothing, one thing over and over, or what
    no page may hold.
    """
    label = flat(text)
    said = words(label.casefold())
    if 2 * len(set(said)) <= len(said) or no_answer(label) or dangers(plain(label)):
        return ""
    return label[:_LABEL_CHARACTERS].strip(" .")


def _first_words(text: str) -> str:
    """How the first message begins whose beginning can be a label, "" if none can."""
    beginnings = (" ".join(line.split()[1:_LABEL_WORDS]) for line in text.splitlines())
    return next((label for said in beginnings if (label := _label(said))), "")


def _ignores(said: str, topics: Sequence[str]) -> bool:
    """Whether every content word of a topic to ignore is said."""
    words_said = set(content_words(said)) if topics else set()
    return any((wanted := set(content_words(topic))) and wanted <= words_said for topic in topics)
