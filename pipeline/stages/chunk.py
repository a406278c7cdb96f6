"""Conversation → chunks: contiguous runs of messages on one topic, each message in exactly one.

What was folded is frozen: a grown conversation is only cut after its last folded chunk. A chunk is
named by the messages it spans, so an unchanged span keeps its row and is not asked about again.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    for conversation in jobs:
        chunks[conversation.conv] = []
        for chunk, messages in _cut(conversation, desk):
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


def _cut(conversation: Conversation, desk: Desk) -> list[tuple[Chunk, Sequence[Message]]]:
    frozen = desk.store.chunks.frozen(conversation.conv)
    start = frozen[-1].last + 1 if frozen else 0
    messages = desk.store.conversations.messages(conversation.conv, first=start)
    if not messages:
        return []
    turns = [Turn(m.role is Role.USER, desk.model.count(line(m)), m.text, m.at) for m in messages]
    cut: list[tuple[Chunk, Sequence[Message]]] = []
    for number, (first, last) in enumerate(segments(turns, desk.embedder, desk.policy.chunk)):
        span = messages[first : last + 1]
        cut.append(
            (
                Chunk(
                    id=chunk_id([message.message_id for message in span]),
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
        )
    return cut


def _described(drafts: Sequence[tuple[Chunk, Sequence[Message]]], desk: Desk) -> list[Chunk]:
    """Each draft with its label, and dropped if there is nothing in it worth remembering."""
    if not drafts:
        return []
    policy = desk.policy.chunk
    ignored = [one.casefold() for one in ignored_topics(desk.vault.meta("Topics_to_Ignore.md"))]
    texts = [gist(messages, policy.gist_words) for _, messages in drafts]
    rules = desk.vault.rules("Chunking.md")
    labels = _labels(texts, rules, desk)
    verdicts = iter(
        desk.model.choose(
            [
                desk.prompts.ask(
                    "chunk/keep",
                    {
                        "transcript": text,
                        "topics": "; ".join(ignored) or "(nothing)",
                        "rules": rules,
                    },
                )
                for text in texts
            ],
            stage=NAME,
            purpose="chunk/keep",
        )
    )
    described = []
    for (chunk, messages), label in zip(drafts, labels, strict=True):
        verdict = next(verdicts)
        drop = dict(zip(verdict.options, verdict.probabilities, strict=True))[_DROP]
        said = f"{label} {' '.join(message.text for message in messages)}"
        worth = (
            len(content_words(said)) >= policy.min_content_words
            and drop < policy.drop_bar
            and not any(_speaks_of(said, topic) for topic in ignored)
        )
        described.append(replace(chunk, label=label, keep=worth))
    return described


def _labels(texts: Sequence[str], rules: str, desk: Desk) -> list[str]:
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
    said = [
        "" if of_example(reply.text, ask) else _label(reply.text)
        for reply, ask in zip(replies, asks, strict=True)
    ]
    return [label or _first_words(text) for label, text in zip(said, texts, strict=True)]


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


def _speaks_of(said: str, topic: str) -> bool:
    """Whether every content word of an ignored topic is said."""
    wanted = set(content_words(topic))
    return bool(wanted) and wanted <= set(content_words(said))
