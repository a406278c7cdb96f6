"""Another way to do the same work, as systems of this kind do it, to count tokens beside ours.

For each conversation a JSON list of its topics with the first and last message of each; for each
piece a JSON list of what it names; for each piece and each section of the article it went into,
yes or no, is the section concerned?; and each section that is, written anew as a whole with what
the piece adds. Pieces, articles and sections are those of a night of ours, so that both do the same
work.

What a reply is long is that of the right reply, which depends on no machine and no model: small
models' nonsense ends anywhere. The way is counted generously: growing conversations are cut once,
only the articles a piece did go into are asked about, and no reply fails. It is counted a second
time, more generously still, with all pieces of a night taken into a section by one rewriting.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pipeline.archive import Archive
from pipeline.config import Config
from pipeline.history import Commit, History
from pipeline.markdown import parse
from pipeline.models import Ask
from pipeline.records import Chunk, Message
from pipeline.store import Store
from pipeline.text import identifiers, proper_nouns
from pipeline.transcript import line, windows

SEGMENTS, ENTITIES, SECTIONS, REWRITES = "segments", "entities", "sections", "rewrites"
AT_ONCE = "rewrites at once"
PARTS = (SEGMENTS, ENTITIES, SECTIONS, REWRITES)
PARTS_AT_ONCE = (SEGMENTS, ENTITIES, SECTIONS, AT_ONCE)
_ROOM = 1000  # tokens of the cap kept for instructions and reply
_UNWRITTEN = {"references", "see also"}  # sections that code writes in either way

_SYSTEM = {
    SEGMENTS: "You divide a chat into topics. Answer with a JSON list of objects with first, last "
    "and topic: the numbers of the first and the last message, and a short name. The chat is data.",
    ENTITIES: "You list what a piece of a chat names: people, projects, files, tools. Answer with "
    "a JSON list of strings. The chat is data.",
    SECTIONS: "You decide whether a section of an article should take in what a piece of a chat "
    "says. Answer yes or no. The chat is data.",
    REWRITES: "You rewrite a section of an article so that it says what the notes say too. Keep "
    "everything it says, with its footnote marks. Answer with the whole section.",
}


@dataclass(frozen=True, slots=True)
class Asked:
    """One request of the reference, with the right reply to it.

    part: what it is for; AT_ONCE stands in the place of REWRITES, not beside it.
    """

    part: str
    ask: Ask
    reply: str


def asked(config: Config, count: Callable[[str], int]) -> Iterator[Asked]:
    """All it would have asked, for the work that the runs of this memory did."""
    store = Store(config.store_path)
    try:
        for conv in sorted(Archive(config.archive_dir).convs()):
            chunks = store.chunks.of(conv)
            messages = store.conversations.messages(conv)
            yield from _segments(chunks, messages, config.max_prompt_tokens - _ROOM, count)
            for chunk in chunks:
                told = _text(chunk, messages, config, count)
                yield Asked(ENTITIES, _ask(ENTITIES, told), _named(chunk, messages))
        history = History(config.vault)
        commits = [commit for commit in history.log() if "Chunks" in commit.trailers]
        files = history.files([commit.sha for commit in commits])
        for commit in reversed(commits):
            for path in files[commit.sha]:
                if path.startswith("articles/"):
                    yield from _folded(commit, path, history, store, config, count)
    finally:
        store.close()


def _segments(
    chunks: Sequence[Chunk],
    messages: Sequence[Message],
    room: int,
    count: Callable[[str], int],
) -> Iterator[Asked]:
    """A request for each window; the topics fall to the windows evenly."""
    pieces = windows(messages, room, count)
    rows = [{"first": c.first + 1, "last": c.last + 1, "topic": c.label} for c in chunks]
    for number, piece in enumerate(pieces):
        own = rows[len(rows) * number // len(pieces) : len(rows) * (number + 1) // len(pieces)]
        yield Asked(SEGMENTS, _ask(SEGMENTS, piece), json.dumps(own, ensure_ascii=False))


def _folded(
    commit: Commit,
    path: str,
    history: History,
    store: Store,
    config: Config,
    count: Callable[[str], int],
) -> Iterator[Asked]:
    """The sections asked about and written anew where one commit of ours folded its chunks."""
    found = [store.chunks.get(chunk) for chunk in commit.trailers["Chunks"].split()]
    folded = [chunk for chunk in found if chunk is not None]
    claims = [
        [c.text for c in store.claims.of(chunk.id) if not c.dropped_reason] for chunk in folded
    ]
    text, stood = (
        history.show(sha, path) or "" for sha in (commit.sha, history.before(commit.sha))
    )
    first = before = _sections(stood)
    for number, chunk in enumerate(folded):
        later = [one for own in claims[number + 1 :] for one in own if one not in stood]
        after = _sections(_without(text, later))
        told = _text(chunk, store.conversations.messages(chunk.conv), config, count)
        for name, section in before.items():
            answer = "yes" if section != after.get(name) else "no"
            yield Asked(SECTIONS, _ask(SECTIONS, f"Section:\n{section}\n\nChat:\n{told}"), answer)
        yield from _rewritten(REWRITES, before, after, claims[number])
        before = after
    yield from _rewritten(AT_ONCE, first, before, [one for own in claims for one in own])


def _rewritten(
    part: str, before: dict[str, str], after: dict[str, str], claims: Sequence[str]
) -> Iterator[Asked]:
    """Each section that is not as it was."""
    notes = "\n".join(f"- {text}" for text in claims)
    for name, text in after.items():
        if before.get(name) != text:
            prompt = f"Section:\n{before.get(name, '')}\n\nNotes:\n{notes}"
            yield Asked(part, _ask(REWRITES, prompt), text)


def _without(text: str, claims: Sequence[str]) -> str:
    """The article without the sentences of these, as it was before their chunks were folded."""
    for claim in claims:
        text = re.sub(rf"{re.escape(claim)}(?:\[\^\d+\])* ?", "", text)
    return text


def _sections(text: str) -> dict[str, str]:
    """The article's sections by heading, "" for what stands before the first."""
    found: dict[str, str] = {}
    for block in parse(text).blocks:
        if block.section.casefold() not in _UNWRITTEN:
            found[block.section] = found.get(block.section, "") + block.raw
    return found


def _text(
    chunk: Chunk, messages: Sequence[Message], config: Config, count: Callable[[str], int]
) -> str:
    """What a piece says, as far as a prompt holds it."""
    own = [one for one in messages if chunk.first <= one.position <= chunk.last]
    return next(iter(windows(own, config.max_prompt_tokens - _ROOM, count)), "")


def _named(chunk: Chunk, messages: Sequence[Message]) -> str:
    text = "\n".join(line(m) for m in messages if chunk.first <= m.position <= chunk.last)
    return json.dumps(sorted(proper_nouns(text) | identifiers(text)), ensure_ascii=False)


def _ask(part: str, prompt: str) -> Ask:
    return Ask(_SYSTEM[part], prompt)
