"""A session as parsed → its messages: redacted, dated and identified."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from pipeline.desk import Desk
from pipeline.gates import dangers
from pipeline.identity import conv_id, message_id
from pipeline.projects import Projects
from pipeline.prose import flat, plain
from pipeline.reading.cleaning import Cleaner, storable_text
from pipeline.reading.discovery import Job
from pipeline.reading.leaving import LeftOut
from pipeline.records import Action, BadLine, Message, Role, Session, Utterance
from pipeline.support.answering import no_answer

_TITLE = 120  # characters of a title at most
_TITLE_FROM = 4000  # characters of a text that its title is taken from
_TITLES_TRIED = 5  # of the user's messages so many may give the title
_LONGEST = 4_000_000  # characters of a message; more is a dump, and judging it takes the memory
_AHEAD = timedelta(days=1)  # of our own clock another may be, and still be right


@dataclass(frozen=True, slots=True)
class Reading:
    """A session as read, redacted and identified, but not yet placed among what is known.

    messages: their conv and position are those of a session that is alone in the world, as nearly
    every one is. resumed: they are not all of the session. redactions: message id -> kind -> how
    many, of those that had any.
    """

    job: Job
    session_id: str
    title: str
    resumed: bool
    messages: tuple[Message, ...]
    redactions: dict[str, Counter[str]] = field(default_factory=dict)
    bad_lines: tuple[BadLine, ...] = ()


@dataclass(slots=True)
class _Heard:
    """An utterance, cleaned. found: what was taken out of it, by kind; None for nothing."""

    said: Utterance
    at: datetime
    text: str
    actions: list[Action]
    found: Counter[str] | None


def read(session: Session, job: Job, projects: Projects, desk: Desk) -> Reading | LeftOut:
    """The messages of the session. What is said twice at the same time is one message."""
    cleaner = Cleaner(desk.config.ingest)
    heard = list(_cleaned(session, cleaner, job, desk))
    given = cleaner.clean(session.title)
    if cleaner.found:
        given = cleaner.again(given)
        for item in heard:
            cleaner.counts = item.found or Counter()
            item.text = cleaner.again(item.text)
            item.actions = [cleaner.trace_again(action) for action in item.actions]
            item.found = cleaner.counts
    session_id = storable_text(session.session_id)
    conv = conv_id(session_id)
    messages: list[Message] = []
    redactions: dict[str, Counter[str]] = {}
    for item, identity in _identified(heard, session):
        if item.found:
            redactions[identity] = item.found
        messages.append(
            Message(
                message_id=identity,
                conv=conv,
                position=len(messages),
                role=item.said.role,
                at=item.at,
                text=item.text,
                actions=tuple(dict.fromkeys(item.actions)) if item.actions else (),
                project=projects.of(storable_text(item.said.cwd)),
            )
        )
    # a fork repeats what was said before it, under an id of its own
    if gone := desk.store.forgetting.messages(m.message_id for m in messages):
        messages = [message for message in messages if message.message_id not in gone]
    if not messages:
        return LeftOut("nothing is left of what is said in it")
    title = _title(given)
    # what is said first in the part read now says nothing of the whole
    if not title and not session.resumed:
        theirs = [m.text for m in messages if m.role is Role.USER] or [messages[0].text]
        title = next((title for text in theirs[:_TITLES_TRIED] if (title := _title(text))), "")
    return Reading(
        job=job,
        session_id=session_id,
        title=title,
        resumed=session.resumed,
        messages=tuple(messages),
        redactions=redactions,
        bad_lines=session.bad_lines,
    )


def _cleaned(session: Session, cleaner: Cleaner, job: Job, desk: Desk) -> Iterator[_Heard]:
    changed = datetime.fromtimestamp(job.mtime_ns / 1e9, UTC)
    times = _times(session.utterances, changed, desk.now() + _AHEAD)
    for said, at in zip(session.utterances, times, strict=True):
        text = said.text
        if len(text) > _LONGEST:
            text = _beginning(text, job, desk)
        text = cleaner.clean(text)
        actions = [cleaner.clean_trace(action) for action in said.actions]
        found = None
        if cleaner.counts:
            found, cleaner.counts = cleaner.counts, Counter()
        yield _Heard(said, at, text, actions, found)


def _identified(heard: Sequence[_Heard], session: Session) -> list[tuple[_Heard, str]]:
    """Those with words, each once, and their ids.

    What was done without a word goes to the assistant's words before it, or else after it.
    """
    seen: set[str] = set()
    waiting: list[Action] = []
    kept: list[tuple[_Heard, str]] = []
    for ordinal, item in enumerate(heard):
        if not item.text:
            if kept and kept[-1][0].said.role is Role.ASSISTANT:
                kept[-1][0].actions += item.actions
            else:
                waiting += item.actions
            continue
        said = item.said
        native_id = said.native_id or f"{session.session_id}#{ordinal}"
        identity = message_id(session.source, said.at, said.role, item.text, native_id)
        if identity in seen:
            continue
        seen.add(identity)
        if said.role is Role.ASSISTANT:
            item.actions = waiting + item.actions
            waiting = []
        else:
            item.actions = []
        kept.append((item, identity))
    return kept


def _beginning(text: str, job: Job, desk: Desk) -> str:
    """The text up to the end of a line or a word: half a secret looks like none."""
    desk.results.problems.append(
        f"{job.path}: of a message of {len(text)} characters the first {_LONGEST} are kept"
    )
    kept = text[:_LONGEST]
    return next((done for end in "\n " if (done := kept.rpartition(end)[0])), "")


def _title(text: str) -> str:
    """One line: a title stands in citations, where a line break would start a heading or a note.

    "" for one that no page may hold: with it in the footnote, the gate would refuse every sentence
    that cites the conversation.
    """
    line = flat(text[:_TITLE_FROM])
    if len(line) > _TITLE:
        line = f"{line[: _TITLE - 1].rstrip()}…"
    return "" if not line or dangers(plain(line)) or no_answer(line) else line


def _times(
    utterances: Sequence[Utterance], otherwise: datetime, latest: datetime
) -> list[datetime]:
    """A time for each, to the millisecond: its own, else the last before it, else the next.

    One after `latest` was told by a wrong clock, and is none: what it dates would be the last word
    on its topic for years.
    """
    known = [u.at if u.at and u.at <= latest else None for u in utterances]
    last = next((at for at in known if at), min(otherwise, latest))
    times = []
    for at in known:
        last = at or last
        odd = last.microsecond % 1000
        times.append(last.replace(microsecond=last.microsecond - odd) if odd else last)
    return times
