"""Transcript files → redacted conversations in the store, and their durable archive. No model.

A file is read again only when its size or time of change differs from what is known, and one that
has merely grown from where the last turn begins. What is read twice is told by message ids: a
message stays where it first came, positions never move, and a fork or a migrated file adds only
what is new in it.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path, PurePath

from pipeline.errors import SourceFault
from pipeline.gates import dangers
from pipeline.identity import SENTINEL, conv_id, message_id
from pipeline.projects import Projects
from pipeline.prose import flat, plain
from pipeline.records import (
    Action,
    BadLine,
    Conversation,
    Done,
    Message,
    Outcome,
    Role,
    Session,
    Skipped,
    Utterance,
)
from pipeline.redact import redact
from pipeline.sources.jsonl import fingerprint_of
from pipeline.spans import without_spans
from pipeline.stages import Desk
from pipeline.store.conversations import FileState
from pipeline.support.answering import no_answer

NAME = "ingest"
_TITLE = 120  # characters of a title at most
_TITLE_FROM = 4000  # characters of a text that its title is taken from
_TITLES_TRIED = 5  # of the user's messages so many may give the title
_UNSEEN = -2  # as size and time of change of what nobody may look at: never as known
_LONGEST = 4_000_000  # characters of a message; more is a dump, and judging it takes the memory
_SURROGATE = re.compile("[\ud800-\udfff]")
_AHEAD = timedelta(days=1)  # of our own clock another may be, and still be right
_LENGTHS = (8, 12, 15)  # of a conversation's id; the longer ones for those that collide


@dataclass(frozen=True, slots=True)
class Job:
    """A transcript file that is new or has changed."""

    source: str
    path: Path
    size: int
    mtime_ns: int
    # what is known of it changes with every try, and it is the same job all the same
    known: FileState | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Batch:
    """The sessions of a file, read one by one while they are kept: a file may not fit in memory."""

    job: Job
    sessions: Iterator[Session]
    projects: Projects


@dataclass(frozen=True, slots=True)
class Reading:
    """A session as read, redacted and identified, but not yet placed among what is known.

    messages: their conv is "" and their position is their place in the file. resumed: they are not
    all of the session. redactions: message id -> kind -> how many.
    """

    job: Job
    session_id: str
    title: str
    resumed: bool
    messages: tuple[Message, ...]
    redactions: dict[str, Counter[str]] = field(default_factory=dict)
    bad_lines: tuple[BadLine, ...] = ()


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A session that gives nothing. final: its file is not looked at again until it changes."""

    reason: str
    final: bool = True


def key(job: Job) -> str:
    """The job's name in `attempts`."""
    return str(_storable(job.path))


def pending(desk: Desk) -> list[Job]:
    """Files whose size or time of change is not as known, the one there longest at the front.

    One walk of the folders; no file is opened.
    """
    known = desk.store.conversations.files()
    jobs = []
    found: set[Path] = set()
    for source in desk.sources:
        for path in source.discover():
            found.add(_storable(path))
            try:
                status = path.stat()
            except FileNotFoundError:  # gone since the walk
                continue
            except OSError:  # reading it will tell
                jobs.append((0, Job(source.name, path, _UNSEEN, _UNSEEN)))
                continue
            state = known.get(path)
            seen = (state.size, state.mtime_ns) if state else None
            if seen != (status.st_size, status.st_mtime_ns):
                job = Job(source.name, path, status.st_size, status.st_mtime_ns, state)
                jobs.append((_there_since(status), job))
    _forget_failures(known.values(), found, desk)
    return [job for _, job in sorted(jobs, key=lambda job: (job[0], job[1].path))]


def work(jobs: Sequence[Job], desk: Desk) -> list[Batch]:
    """Open nothing yet: what a file holds is read while it is kept, one file at a time."""
    sources = {source.name: source for source in desk.sources}
    projects = Projects(desk.config.ingest.project_aliases, Path.home())
    return [Batch(job, sources[job.source].read(job.path, _start(job)), projects) for job in jobs]


def keep(batch: Batch, desk: Desk) -> Outcome:
    """Archive each conversation of the file, then store it; the file's state comes with the last.

    Killed in between, the file is still unknown, so the next run does the same again.
    """
    job = batch.job
    if _storable(job.path) != job.path:
        named = _storable(job.path)
        return _failed(job, f"the name of {named} is not UTF-8: rename it", desk)
    counts: Counter[str] = Counter()
    reason = ""
    postponed = False
    state = FileState(job.path, job.source, job.size, job.mtime_ns, 0)
    try:
        for session in batch.sessions:
            read = _left_out(session, job, desk) or _reading(session, batch, desk)
            state = replace(state, read_offset=session.read_offset)
            if isinstance(read, LeftOut):
                if not session.utterances:
                    _report(session.bad_lines, desk)
                reason = read.reason
                postponed = postponed or not read.final
                continue
            outcome, conv = _keep_one(read, desk)
            state = replace(state, conv=conv)
            counts.update(outcome.counts)
            reason = outcome.reason if isinstance(outcome, Skipped) else reason
    except SourceFault as fault:
        return replace(_failed(job, str(fault), desk), counts=counts)
    if not postponed:
        # of a file that changed meanwhile nobody knows which bytes were read: "" has it read whole
        resumable = state.read_offset and _is_as_found(job)
        fingerprint = fingerprint_of(job.path, state.read_offset) if resumable else ""
        desk.store.conversations.remember_file(replace(state, fingerprint=fingerprint))
    return Done(counts) if counts else Skipped(reason or "nobody says anything in it")


def _start(job: Job) -> int:
    """Where reading goes on in a file that has only grown, 0 to read it whole."""
    known = job.known
    if known is None or not known.conv or not 0 < known.read_offset <= known.size < job.size:
        return 0
    same = fingerprint_of(job.path, known.read_offset) == known.fingerprint != ""
    return known.read_offset if same else 0


def _failed(job: Job, reason: str, desk: Desk) -> Skipped:
    """Tell of it once, then count: it is tried every night, however long until it is mended."""
    if desk.store.conversations.record_failure(_storable(job.path), job.source, reason) == 1:
        desk.results.problems.append(reason)
    return Skipped(reason)


def _forget_failures(known: Iterable[FileState], found: Set[Path], desk: Desk) -> None:
    """What is no longer there, or can be listed again, is not to be mended any more."""
    sources = {source.name for source in desk.sources}
    for state in known:
        if state.failures and state.path not in found and state.source in sources:
            whole = replace(state, failures=0, last_error="")
            desk.store.conversations.remember_file(whole)


def _storable(path: Path) -> Path:
    """The path as it can be told of: on some systems any bytes may be a name."""
    return Path(str(path).encode("utf-8", "surrogateescape").decode("utf-8", "replace"))


def _there_since(status: os.stat_result) -> int:
    """When the file came to be, where the system tells: a session may go on after its fork does.

    A file that was put back keeps its time of change, which is then the earlier one.
    """
    changed = status.st_mtime_ns
    born: float | None = getattr(status, "st_birthtime", None)
    return changed if born is None else min(changed, int(born * 1e9))


def _is_as_found(job: Job) -> bool:
    try:
        status = job.path.stat()
    except OSError:
        return False
    return (status.st_size, status.st_mtime_ns) == (job.size, job.mtime_ns)


def _keep_one(result: Reading, desk: Desk) -> tuple[Done | Skipped, str]:
    """Keep one session; what became of it, and the conversation it is."""
    store = desk.store.conversations
    _report(result.bad_lines, desk)
    own = store.by_session(result.job.source, result.session_id)
    stored = store.messages(own.conv) if own else []
    fresh, rewritten = _news(result.messages, stored, desk)
    if own is None and not fresh:
        return Skipped("all of it stands in another conversation already"), ""
    conv = own.conv if own else _free_conv(result, desk)
    start = len(stored)
    added = [replace(m, conv=conv, position=start + n) for n, m in enumerate(fresh)]
    everything = {m.position: m for m in (*stored, *rewritten, *added)}
    conversation = _conversation(conv, result, list(everything.values()))
    if own is not None and result.resumed:
        conversation = replace(conversation, title=_title(result.title) or own.title)
    if conversation == own and not added and not rewritten:
        return Skipped("nothing new in it"), conv
    desk.archive.write(conversation, [everything[n] for n in sorted(everything)])
    store.save(conversation, [*rewritten, *added], None, archived_at=desk.now())
    return Done(_counts(result, added, new=own is None)), conv


# ------------------------------------------------------------------ what is left out


def _left_out(session: Session, job: Job, desk: Desk) -> LeftOut | None:
    def because(reason: str, *, final: bool = True) -> LeftOut:
        return LeftOut(reason, final)

    if not session.utterances:
        return because("nobody says anything in it")
    if not session.interactive and not desk.config.ingest.subagents:
        return because("a sub-agent's session")
    first = next((u.text for u in session.utterances if u.role is Role.USER), "")
    folder = PurePath(_most_frequent(u.cwd for u in session.utterances))
    if first.lstrip().startswith(SENTINEL) or any(
        folder.is_relative_to(own) for own in desk.own_folders
    ):
        return because("a session of nightly-memory itself")
    folders = {u.cwd for u in session.utterances if u.cwd}
    if any(_is_excluded(cwd, desk.config.ingest.exclude_projects) for cwd in folders):
        return because("a project that is not to be read")
    if _is_at_work(session, job, desk):
        return because("still being written", final=False)
    return None


def _is_excluded(cwd: str, patterns: Sequence[str]) -> bool:
    """Whether the folder or one above it matches; case is ignored, as on a Mac."""
    folders = [str(path).casefold() for path in (PurePath(cwd), *PurePath(cwd).parents)]
    wanted = [str(Path(pattern).expanduser()).casefold() for pattern in patterns]
    return any(fnmatchcase(folder, pattern) for folder in folders for pattern in wanted)


def _is_at_work(session: Session, job: Job, desk: Desk) -> bool:
    minutes = desk.config.ingest.quiet_minutes
    if minutes is None:
        minutes = desk.policy.ingest.quiet_minutes
    changed = datetime.fromtimestamp(job.mtime_ns / 1e9, UTC)
    # a copied file is newer than its last message, and a wrong clock dates one in the future
    last = min(max((u.at for u in session.utterances if u.at), default=changed), changed)
    return desk.now() - last < timedelta(minutes=minutes)


# ------------------------------------------------------------------ read, redact, identify


def _reading(session: Session, batch: Batch, desk: Desk) -> Reading | LeftOut:
    job = batch.job
    settings = desk.config.ingest
    found: Counter[str] = Counter()

    def clean(text: str) -> str:
        plain = _storable_text(without_spans(text))
        done = redact(
            plain,
            emails=settings.redact_emails,
            phones=settings.redact_phones,
            payments=settings.redact_payments,
            patterns=settings.redact_patterns,
        )
        found.update(done.counts)
        # mostly nothing is found: then it is the same object, and takes no memory twice
        return (plain if done.text == plain else done.text).strip()

    # the same tools and files come again and again
    clean_trace = cache(clean)
    messages: list[Message] = []
    redactions: dict[str, Counter[str]] = {}
    seen: set[str] = set()
    waiting: list[Action] = []  # of assistant turns without a word, for the next with one
    changed = datetime.fromtimestamp(job.mtime_ns / 1e9, UTC)
    times = _times(session.utterances, changed, desk.now() + _AHEAD)
    for ordinal, (said, at) in enumerate(zip(session.utterances, times, strict=True)):
        found.clear()
        text = clean(_beginning(said.text, job, desk))
        actions = [Action(clean_trace(a.tool), clean_trace(a.path)) for a in said.actions]
        if not text:
            if messages and messages[-1].role is Role.ASSISTANT:
                messages[-1] = _with_actions(messages[-1], actions)
            else:
                waiting += actions
            continue
        native_id = said.native_id or f"{session.session_id}#{ordinal}"
        identity = message_id(session.source, said.at, said.role, text, native_id)
        if identity in seen:
            continue
        seen.add(identity)
        redactions[identity] = found.copy()
        message = Message(
            message_id=identity,
            conv="",
            position=len(messages),
            role=said.role,
            at=at,
            text=text,
            project=batch.projects.of(_storable_text(said.cwd)),
        )
        if said.role is Role.ASSISTANT:
            message = _with_actions(message, [*waiting, *actions])
            waiting = []
        messages.append(message)
    if not messages:
        return LeftOut("nothing is left of what is said in it")
    theirs = [m.text for m in messages if m.role is Role.USER] or [messages[0].text]
    given = _title(clean(session.title))
    first = next((title for text in theirs[:_TITLES_TRIED] if (title := _title(text))), "")
    return Reading(
        job=job,
        session_id=_storable_text(session.session_id),
        # what is said first in the part read now says nothing of the whole
        title=given if session.resumed else given or first,
        resumed=session.resumed,
        messages=tuple(messages),
        redactions=redactions,
        bad_lines=session.bad_lines,
    )


def _beginning(text: str, job: Job, desk: Desk) -> str:
    """The text, up to a line's or a word's end if it is too long: half a secret looks like none."""
    if len(text) <= _LONGEST:
        return text
    desk.results.problems.append(
        f"{job.path}: of a message of {len(text)} characters the first {_LONGEST} are kept"
    )
    kept = text[:_LONGEST]
    return next((done for end in "\n " if (done := kept.rpartition(end)[0])), "")


def _with_actions(message: Message, actions: Sequence[Action]) -> Message:
    """The message with these actions too, each named once."""
    return replace(message, actions=tuple(dict.fromkeys((*message.actions, *actions))))


def _storable_text(text: str) -> str:
    """Without NULs and lone surrogates, which JSON can carry and neither files nor SQLite can.

    Nearly every text is storable as it is: then it is the same object, and takes no memory twice.
    """
    if "\0" not in text and not _SURROGATE.search(text):
        return text
    return text.replace("\0", "").encode("utf-8", errors="replace").decode()


def _title(text: str) -> str:
    """One line: a title stands in citations, where a line break would start a heading or a note.

    "" for one that no page may hold: with it in the footnote, the gate would refuse every sentence
    that cites the conversation.
    """
    line = flat(text[:_TITLE_FROM])
    if dangers(plain(line)) or no_answer(line):
        return ""
    return line if len(line) <= _TITLE else f"{line[: _TITLE - 1].rstrip()}…"


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
        times.append(last.replace(microsecond=last.microsecond // 1000 * 1000))
    return times


# ------------------------------------------------------------------ place among what is known


def _news(
    messages: Sequence[Message], stored: Sequence[Message], desk: Desk
) -> tuple[list[Message], list[Message]]:
    """What was read and is new, and stored messages of this conversation as they read now.

    A stored message that is no longer in the file, where another by the same speaker at the same
    time now stands, is that one: it was read while its last blocks were still being written, or
    redaction has learnt since.
    """
    known = desk.store.conversations.find_message_ids(m.message_id for m in messages)
    fresh = [m for m in messages if m.message_id not in known]
    in_file = {m.message_id: m for m in messages}
    moments = Counter((m.role, m.at) for m in fresh)
    by_moment = {(m.role, m.at): m for m in fresh}
    rewritten = []
    for old in stored:
        now = in_file.get(old.message_id)
        if now is None and moments[old.role, old.at] == 1:
            now = by_moment[old.role, old.at]
            moments[old.role, old.at] = 0
            fresh.remove(now)
        if now and (now.message_id, now.actions) != (old.message_id, old.actions):
            rewritten.append(replace(now, conv=old.conv, position=old.position))
    return fresh, rewritten


def _free_conv(reading: Reading, desk: Desk) -> str:
    """The session's id, longer if a session that came earlier has it."""
    for length in _LENGTHS:
        conv = conv_id(reading.session_id, length)
        if desk.store.conversations.find(conv) is None:
            return conv
    # the same session id in two sources
    return conv_id(f"{reading.job.source}/{reading.session_id}", _LENGTHS[-1])


def _conversation(conv: str, reading: Reading, messages: Sequence[Message]) -> Conversation:
    return Conversation(
        conv=conv,
        source=reading.job.source,
        session_id=reading.session_id,
        title=reading.title,
        project=_most_frequent(m.project for m in messages),
        started_at=min(m.at for m in messages),
        updated_at=max(m.at for m in messages),
    )


def _most_frequent(folders: Iterable[str]) -> str:
    """The folder most was said in: a session is often started in another than it works in."""
    counts = Counter(folder for folder in folders if folder)
    return counts.most_common(1)[0][0] if counts else ""


def _report(bad_lines: Sequence[BadLine], desk: Desk) -> None:
    if bad_lines:
        first = bad_lines[0]
        desk.results.problems.append(
            f"{first.path}: {len(bad_lines)} unreadable line(s) left out, "
            f"the first is line {first.line} ({first.reason})"
        )


def _counts(reading: Reading, added: Sequence[Message], *, new: bool) -> dict[str, int]:
    redactions: Counter[str] = Counter()
    for message in added:
        redactions += reading.redactions[message.message_id]
    counts = {
        "conversations": int(new),
        "messages": len(added),
        "bad lines": len(reading.bad_lines),
        **{f"redacted {kind}": count for kind, count in redactions.items()},
    }
    return {name: count for name, count in counts.items() if count}
