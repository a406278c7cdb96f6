"""One Claude Code transcript as it is read, entry by entry."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import regex

from pipeline.records import Action, Role, Utterance
from pipeline.sources.claude_wrappers import (
    REFUSAL,
    REFUSED,
    persons_words,
    slash_command,
    words_of_refusal,
)
from pipeline.sources.fields import blocks_of, folder_of, mapping_of, text_of, time_of, trace

_SYNTHETIC = "<synthetic>"  # the client's own words: an API error, "No response requested."
_TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle"}
_UUID = re.compile(rb'"uuid": ?"([^"\\]{1,64})"')
_END = 800  # bytes of a line at either end, where its uuid stands
_BEGINNING = 2000  # bytes, in which a message begins; where it does not, the line is decoded
_PROGRESS = b'"type":"progress"'
_RESULT = b'"tool_result"'
# by its rarest letter it is found in two thirds of the time that `in` takes
_TEXT = re.compile(rb'xt"(?<="text")').search
# how a refusal begins, from behind what may be escaped: this module leaps by the phrase's length
_REFUSED = regex.compile(regex.escape(REFUSED.partition("'")[2].encode())).search
_REFUSAL = REFUSAL.encode()
_PERSON = b'"message":{"role":"user"'
_RESULT_AGAIN = b'"toolUseResult"'  # what the client knows of the result, behind the message
# Others there are, and new ones with every version; these are enough to know the format by.
_KNOWN = _TITLES.keys() | {
    *("user", "assistant", "attachment", "queue-operation"),
    *("summary", "system", "progress", "file-history-snapshot"),
}


@dataclass(slots=True)
class _Turn:
    """An utterance in the making; one assistant message comes as a line per content block."""

    native_id: str
    role: Role
    at: datetime | None
    cwd: str
    texts: list[str] = field(default_factory=list)
    actions: list[Action] = field(default_factory=list)
    only_queued: bool = False  # known from the queue alone, so far


class Transcript:
    """Feed it every entry of a file with `add`, then ask. agent: the file is a sub-agent's."""

    def __init__(self, *, agent: bool) -> None:
        self.recognised = False
        self.session_id: object = None
        self._agent = agent
        self._turns: list[_Turn] = []
        self._assistant: _Turn | None = None  # the last one, while nobody spoke since
        self._assistant_id = ""  # the id its blocks share
        self._queue: deque[_Turn | None] = deque()  # None: queued, but not by a person
        self._commands: set[str] = set()  # slash commands, as typed
        self._seen: set[tuple[str, int]] = set()
        self._uuids: set[str] = set()
        self._titles: dict[str, str] = {}
        self._summaries: list[tuple[str, str]] = []  # (leaf uuid, summary)

    def add(self, entry: Mapping[str, Any]) -> bool:
        """Take in the next entry of the file; one of an unknown type says nothing.

        Returns whether a turn of the person begins with it that nothing before it can reach into.
        """
        kind = text_of(entry.get("type"))
        if kind not in _KNOWN:
            return False
        self.recognised = True
        if self.session_id is None:
            self.session_id = entry.get("sessionId")
        if uuid := text_of(entry.get("uuid")):
            self._uuids.add(uuid)
        said = len(self._turns)
        if kind == "user":
            self._add_user(entry)
        elif kind == "assistant":
            self._add_assistant(entry)
        elif kind == "queue-operation":
            self._add_queue_operation(entry)
        elif kind == "attachment":
            self._add_attachment(entry)
        elif kind == "summary":
            self._summaries.append((text_of(entry.get("leafUuid")), text_of(entry.get("summary"))))
        elif kind in _TITLES:
            self._titles[kind] = text_of(entry.get(_TITLES[kind])) or self._titles.get(kind, "")
        return kind == "user" and len(self._turns) > said and not self._queue

    def passes(self, line: bytes) -> bool:
        """Whether the line is one of a tool's result alone, or of progress: nobody says anything.

        A person's text beside a result stands in a block of type "text" of the message, what is
        typed in refusing a tool in the result itself, and the type of an entry before its message,
        if at all there; so all are told without decoding megabytes.
        """
        if line.find(_RESULT, 0, _BEGINNING) >= 0:
            places = [found.start()] if (found := _TEXT(line)) else []
            places += [line.find(_REFUSAL)] if _REFUSED(line) else []
            if any(at >= 0 and not _is_behind_message(at, line) for at in places):
                return False
        else:
            kind = line.find(_PROGRESS, 0, _END)
            if kind < 0 or line.find(b'"message"', 0, kind) >= 0:
                return False
        self.recognised = True
        if found := _UUID.search(line, max(0, len(line) - _END)) or _UUID.search(line, 0, _END):
            self._uuids.add(found[1].decode(errors="replace"))
        return True

    def title(self) -> str:
        """The user's title, else the assistant's, else a summary of an entry of this very file.

        Summaries of other sessions stand in files too, so the entry they name has to be here.
        """
        summary = next(
            (text for leaf, text in reversed(self._summaries) if leaf in self._uuids), ""
        )
        return self._titles.get("custom-title") or self._titles.get("ai-title") or summary

    def utterances(self) -> tuple[Utterance, ...]:
        """What was said, in file order; a queued message where it was typed."""
        elsewhere = self._commands | {
            text
            for turn in self._turns
            if turn.role is Role.USER and not turn.only_queued
            for text in turn.texts
        }
        return tuple(
            Utterance(
                turn.native_id,
                turn.role,
                turn.at,
                "\n\n".join(turn.texts),
                tuple(turn.actions),
                turn.cwd,
            )
            for turn in self._turns
            if not (turn.only_queued and elsewhere.issuperset(turn.texts))
        )

    def _add_user(self, entry: Mapping[str, Any]) -> None:
        hidden = entry.get("isMeta") or entry.get("isCompactSummary") or entry.get("isSidechain")
        if hidden or self._agent:
            return
        texts: list[str] = []
        refusing: list[str] = []
        # an image alone is a turn of the person too, though there is nothing to keep of it
        shown = result = False
        for block in blocks_of(mapping_of(entry.get("message")).get("content")):
            kind = block.get("type")
            if kind == "text":
                given = text_of(block.get("text"))
                if command := slash_command(given):
                    self._commands.add(command)
                if words := persons_words(given):
                    texts.append(words)
            elif kind == "tool_result":
                result = True
                if words := _words_of_refusal(block):
                    refusing.append(words)
            elif kind in ("image", "document"):
                shown = True
        if texts or refusing or (shown and not result):
            self._say(entry, refusing + texts)

    def _add_attachment(self, entry: Mapping[str, Any]) -> None:
        attachment = mapping_of(entry.get("attachment"))
        is_prompt = attachment.get("commandMode", "prompt") == "prompt"
        if attachment.get("type") != "queued_command" or not is_prompt:
            return
        if entry.get("isSidechain") or self._agent or attachment.get("isMeta"):
            return
        if texts := _queued_texts(attachment.get("prompt")):
            self._say(entry, texts)

    def _add_queue_operation(self, entry: Mapping[str, Any]) -> None:
        """Follow the queue of messages typed while the assistant was at work.

        One that was taken out to be delivered in mid-turn stands nowhere else in older versions;
        one taken from the front to begin a turn stands again as a user's entry.
        """
        operation = entry.get("operation")
        if operation == "enqueue":
            texts = [] if self._agent else _queued_texts(entry.get("content"))
            self._queue.append(self._turn(entry, Role.USER, texts) if texts else None)
        elif operation == "popAll":  # back into the editor: not sent
            self._queue.clear()
        elif operation in ("dequeue", "remove") and self._queue:
            turn = self._queue.popleft()
            if operation == "remove" and turn is not None:
                turn.only_queued = True
                self._place(turn)

    def _place(self, turn: _Turn) -> None:
        """Put a queued turn where it was typed, by time; behind everything if that is unknown."""
        index = len(self._turns)
        while turn.at and index and (at := self._turns[index - 1].at) and at > turn.at:
            index -= 1
        self._turns.insert(index, turn)

    def _add_assistant(self, entry: Mapping[str, Any]) -> None:
        message = mapping_of(entry.get("message"))
        beside = entry.get("isSidechain") and not self._agent
        if beside or message.get("model") == _SYNTHETIC:
            return
        blocks = blocks_of(message.get("content"))
        texts: list[str] = []
        actions: list[Action] = []
        for block in blocks:
            kind = block.get("type")
            if kind == "text":
                if text := text_of(block.get("text")).strip():
                    texts.append(text)
            elif kind == "tool_use":
                actions.append(trace(block.get("name"), block.get("input")))
        if (texts or actions) and self._again(entry, Role.ASSISTANT, *map(_told, blocks)):
            return
        shared_id = text_of(message.get("id"))
        if self._assistant is None or not shared_id or shared_id != self._assistant_id:
            self._assistant = self._turn(entry, Role.ASSISTANT, [])
            self._assistant_id = shared_id
            self._turns.append(self._assistant)
        self._assistant.texts += texts
        self._assistant.actions += actions

    def _say(self, entry: Mapping[str, Any], texts: list[str]) -> None:
        if not self._again(entry, Role.USER, *texts):
            self._turns.append(self._turn(entry, Role.USER, texts))
            self._assistant = None

    def _again(self, entry: Mapping[str, Any], *said: str) -> bool:
        """Whether this entry stood here before: some versions write the same one twice.

        The id alone does not tell: redacted files reuse one for entries that differ.
        """
        uuid = text_of(entry.get("uuid"))
        if not uuid:
            return False
        # a hash, or all that is said would be in memory twice
        key = (uuid, hash(said))
        again = key in self._seen
        self._seen.add(key)
        return again

    @staticmethod
    def _turn(entry: Mapping[str, Any], role: Role, texts: list[str]) -> _Turn:
        return _Turn(
            native_id=text_of(entry.get("uuid")),
            role=role,
            at=time_of(entry.get("timestamp")),
            cwd=folder_of(entry.get("cwd")),
            texts=texts,
        )


def _is_behind_message(at: int, line: bytes) -> bool:
    """Whether this place is in what the client knows of a result, behind the person's message."""
    end = line.find(_RESULT_AGAIN)
    return 0 <= end <= at and line.find(_PERSON, 0, min(end, _BEGINNING)) >= 0


def _told(block: Mapping[str, Any]) -> str:
    """All that the block says; the plain text of one that is nothing else."""
    if len(block) == 2 and block.get("type") == "text":
        return text_of(block.get("text"))
    return repr(block)


def _queued_texts(prompt: object) -> list[str]:
    given = (text_of(b.get("text")) for b in blocks_of(prompt) if b.get("type") == "text")
    return [words for text in given if (words := persons_words(text))]


def _words_of_refusal(block: Mapping[str, Any]) -> str:
    """What was typed in refusing the call that this is the result of; "" for any other."""
    if block.get("is_error") is not True:
        return ""
    given = (text_of(part.get("text")) for part in blocks_of(block.get("content")))
    return next((words for text in given if (words := words_of_refusal(text))), "")
