"""Rollouts of the Codex CLI and its editor extension, old and new.

A prompt stands in a rollout up to three times: as an event, as a completed item, and as what was
sent to the model, where context that nobody typed stands beside it. The most telling sort that a
file has is taken and the others are not. What Codex put in is dropped, tool output and reasoning
too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from pathlib import Path

from pipeline.errors import SourceFault
from pipeline.records import Action, Role, Session, Utterance
from pipeline.sources.codex_wrappers import persons_words
from pipeline.sources.fields import blocks_of, folder_of, mapping_of, text_of, time_of, trace
from pipeline.sources.jsonl import JsonLines, Record, find

NAME = "codex"
_KNOWN = frozenset({"session_meta", "turn_context", "response_item", "event_msg", "compacted"})
_EVENT, _ITEM, _SENT = "event", "item", "sent"  # where a prompt stands, the most telling first
_CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call", "web_search_call"})
_BEGINNING = 200  # bytes
_OUTPUTS = (
    b'"type":"function_call_output"',
    b'"type":"custom_tool_call_output"',
    b'"type":"reasoning"',
    b'"type":"token_count"',
)
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (?P<path>.+)$", re.MULTILINE)


def default_roots(environ: Mapping[str, str], home: Path) -> list[Path]:
    """Where Codex keeps rollouts, those it has archived included."""
    base = Path(environ.get("CODEX_HOME") or home / ".codex").expanduser()
    return [base / "sessions", base / "archived_sessions"]


class Codex:
    """Rollouts under `roots`: `.jsonl`, `.jsonl.zst` (packed), and the `.json` of the first."""

    name = NAME

    def __init__(self, roots: Sequence[Path]) -> None:
        self.roots = tuple(roots)

    def discover(self) -> Iterator[Path]:
        """Every rollout, sorted by path; of one that stands there packed too, the plain file."""
        paths = find(self.roots, suffixes=(".jsonl", ".jsonl.zst", ".json"))
        plain = {path for path in paths if path.suffix != ".zst"}
        for path in paths:
            other = path.suffix == ".json" and not path.name.startswith("rollout-")
            if not other and (path in plain or path.with_suffix("") not in plain):
                yield path

    def read(self, path: Path, start: int = 0) -> Iterator[Session]:
        """Parse the file. Raises SourceFault when it cannot be opened or is no rollout."""
        grows = path.suffix == ".jsonl"
        if not grows:
            start = 0
        lines = JsonLines(path, start, passes=_is_output)
        rollout = _Rollout(self._turns_of)
        if start:
            for _, entry in JsonLines(path):
                rollout.add(entry, 0)
                if rollout.session_id:
                    break
            rollout.forget_rows()
            rollout.replayed = False  # a turn of its own was reached before
        for _, entry in lines:
            rollout.add(entry, lines.line_start)
        if lines.complete_lines and not rollout.recognised:
            raise SourceFault(
                f"{path} is not a rollout of Codex: no line of it is one of its own",
                mend="move it out of the sessions folder, or leave that folder out of the sources",
            )
        yield Session(
            source=NAME,
            session_id=rollout.session_id or path.name.split(".json")[0],
            path=path,
            title=self._titles.get(rollout.session_id, "") or rollout.title,
            utterances=rollout.utterances(),
            read_offset=rollout.last_turn if grows else 0,
            resumed=start > 0,
            parent=rollout.parent,
            interactive=not rollout.is_subagent,
            bad_lines=tuple(lines.bad_lines),
        )

    @cached_property
    def _titles(self) -> dict[str, str]:
        """Names that sessions were given: they stand beside the rollouts, the last one wins."""
        titles = {}
        for root in self.roots:
            index = root.parent / "session_index.jsonl"
            if not index.is_file():
                continue
            # a session is read without its title if the index cannot be
            with suppress(SourceFault):
                for _, entry in JsonLines(index):
                    if name := text_of(entry.get("thread_name")).strip():
                        titles[text_of(entry.get("id"))] = name
        return titles

    def _turns_of(self, session_id: str) -> frozenset[str]:
        """Ids of the turns of a session, whose rows its forks repeat under new times."""
        if not re.fullmatch(r"[\w.-]+", session_id):
            return frozenset()
        for root in self.roots:
            for path in find([root], suffixes=(f"{session_id}.jsonl", f"{session_id}.jsonl.zst")):
                with suppress(SourceFault):
                    return frozenset(
                        text_of(mapping_of(entry.get("payload")).get("turn_id"))
                        for _, entry in JsonLines(path)
                        if entry.get("type") == "turn_context"
                    ) - {""}
        return frozenset()


def _is_output(line: bytes) -> bool:
    """What a tool gave back, and what only the model can read; told by the line's beginning."""
    beginning = line[:_BEGINNING]
    return any(kind in beginning for kind in _OUTPUTS)


@dataclass(slots=True)
class _Said:
    """A row that may become an utterance. sort: of a prompt; "" for what the assistant said."""

    utterance: Utterance
    sort: str
    line_start: int


@dataclass
class _Rollout:
    """One file as it is read, row by row."""

    turns_of: Callable[[str], frozenset[str]]
    recognised: bool = False
    session_id: str = ""
    title: str = ""
    parent: str = ""
    is_subagent: bool = False
    replayed: bool = False  # the rows are copies of the parent's
    _parents_turns: frozenset[str] = frozenset()
    _cwd: str = ""
    _rows: list[_Said] = field(default_factory=list)

    def add(self, entry: Record, line_start: int) -> None:
        """Take in the next row; one of an unknown type says nothing."""
        kind, payload = text_of(entry.get("type")), mapping_of(entry.get("payload"))
        if kind in _KNOWN and "payload" in entry:
            self.recognised = True
        elif entry.get("record_type") == "state" or "instructions" in entry:
            # the first format: a bare header, and rows that are not wrapped
            self.recognised = True
            self.session_id = self.session_id or text_of(entry.get("id"))
            return
        elif kind == "message" and "role" in entry:
            kind, payload = "response_item", entry
            self.recognised = True
        elif isinstance(entry.get("session"), dict) and isinstance(entry.get("items"), list):
            self._add_whole(entry["session"], entry["items"], line_start)
            return
        at = text_of(entry.get("timestamp")) or text_of(payload.get("timestamp"))
        if kind == "session_meta":
            self._add_meta(payload)
        elif kind == "turn_context":
            self._cwd = folder_of(payload.get("cwd")) or self._cwd
            if text_of(payload.get("turn_id")) not in self._parents_turns:
                self.replayed = False
        elif self.replayed and self._parents_turns:
            return
        elif kind == "response_item":
            self._add_item(payload, at, line_start)
        elif kind == "event_msg":
            self._add_event(payload, at, line_start)

    def forget_rows(self) -> None:
        """Keep who it is, but not what was said so far."""
        self._rows.clear()

    def utterances(self) -> tuple[Utterance, ...]:
        """What was said, in file order.

        Of the assistant what it sent, or the event about it in a turn where nothing else says it.
        """
        sort = self._sort
        said: list[Utterance] = []
        told: list[Utterance] = []  # events of this turn
        sent = False
        for row in self._rows:
            if row.sort == "":
                sent = sent or bool(row.utterance.text)
                said.append(row.utterance)
            elif row.utterance.role is Role.ASSISTANT:
                told.append(row.utterance)
            elif row.sort == sort:
                said += [] if sent else told
                told, sent = [], False
                said.append(row.utterance)
        return tuple(said + ([] if sent else told))

    @property
    def last_turn(self) -> int:
        """Where the last prompt stands, 0 if there is none."""
        sort = self._sort
        prompts = [row for row in self._rows if row.utterance.role is Role.USER]
        return max((row.line_start for row in prompts if row.sort == sort), default=0)

    @property
    def _sort(self) -> str:
        found = {row.sort for row in self._rows if row.utterance.role is Role.USER}
        return next((sort for sort in (_EVENT, _ITEM, _SENT) if sort in found), "")

    def _add_meta(self, payload: Mapping[str, object]) -> None:
        """The first one names the session; later ones were copied from the session it came from."""
        if self.session_id:
            self.replayed = True
            return
        self.session_id = text_of(payload.get("id"))
        self._cwd = folder_of(payload.get("cwd"))
        origin = mapping_of(payload.get("source"))
        self.is_subagent = "subagent" in origin
        self.parent = text_of(payload.get("forked_from_id")) or text_of(
            payload.get("parent_thread_id")
        )
        self._parents_turns = self.turns_of(self.parent)
        self.replayed = bool(self._parents_turns)

    def _add_whole(
        self, session: Mapping[str, object], items: Sequence[object], line_start: int
    ) -> None:
        """A session of the first version, all in one object; of its times it tells the last.

        Each item is put a millisecond behind the one before: two that say the same are two, and a
        file that was copied later does not make an old session a new one.
        """
        self.recognised = True
        self.session_id = self.session_id or text_of(session.get("id"))
        saved = time_of(session.get("timestamp"))
        for number, item in enumerate(items):
            at = saved + timedelta(milliseconds=number) if saved else None
            self._add_item(mapping_of(item), at.isoformat() if at else "", line_start)

    def _add_item(self, payload: Mapping[str, object], at: str, line_start: int) -> None:
        kind = text_of(payload.get("type"))
        if kind == "message":
            texts = [text_of(block.get("text")) for block in blocks_of(payload.get("content"))]
            if payload.get("role") == "assistant":
                self._say(Role.ASSISTANT, "\n\n".join(filter(None, texts)), at, "", line_start)
            elif payload.get("role") == "user":
                words = [words for text in texts if (words := persons_words(text))]
                if words:
                    self._say(Role.USER, "\n\n".join(words), at, _SENT, line_start)
        elif kind in _CALLS:
            self._say(Role.ASSISTANT, "", at, "", line_start, _action(payload))

    def _add_event(self, payload: Mapping[str, object], at: str, line_start: int) -> None:
        kind = text_of(payload.get("type"))
        if kind == "user_message":
            if words := persons_words(text_of(payload.get("message"))):
                self._say(Role.USER, words, at, _EVENT, line_start)
        elif kind == "agent_message":
            self._say(Role.ASSISTANT, text_of(payload.get("message")), at, _EVENT, line_start)
        elif kind == "item_completed":
            item = mapping_of(payload.get("item"))
            texts = [text_of(block.get("text")) for block in blocks_of(item.get("content"))]
            words_ = [words for text in texts if (words := persons_words(text))]
            if item.get("type") == "UserMessage" and words_:
                self._say(Role.USER, "\n\n".join(words_), at, _ITEM, line_start)
        elif kind == "thread_name_updated":
            self.title = text_of(payload.get("thread_name")) or text_of(payload.get("name"))

    def _say(
        self, role: Role, text: str, at: str, sort: str, line_start: int, *actions: Action
    ) -> None:
        utterance = Utterance(
            native_id="", role=role, at=time_of(at), text=text, actions=actions, cwd=self._cwd
        )
        self._rows.append(_Said(utterance, sort, line_start))


def _action(payload: Mapping[str, object]) -> Action:
    """The trace of a call. Its arguments are JSON in a string, a patch names its files itself."""
    given = payload.get("arguments") or payload.get("input") or payload.get("action")
    if isinstance(given, str):
        patched = _PATCHED.search(given.replace("\\n", "\n"))
        if patched:
            return trace(payload.get("name"), {"path": patched["path"].strip()})
        try:
            given = json.loads(given)
        except ValueError:
            given = {}
    named = trace(payload.get("name"), given)
    return named if named.tool else named._replace(tool=text_of(payload.get("type")))
