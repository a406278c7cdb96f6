"""Conversations and their messages, and the files they were read from."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from json.encoder import encode_basestring
from pathlib import Path

from pipeline.errors import StoreFault
from pipeline.records import ALWAYS, Action, Conversation, Message, Role, Span
from pipeline.sqlite import transaction
from pipeline.store.times import bounds, from_text, to_text

_NEVER_READ = -1  # as size and mtime: no file on disk looks like this, so it is tried again
_MANY = 500  # parameters of one statement; SQLite allows 999 at least


@dataclass(frozen=True, slots=True)
class FileState:
    """A transcript file as it was when last read. size and read_offset in bytes.

    fingerprint: of what stands before read_offset, "" where the file is always read whole.
    conv: the conversation its messages went to, "" when it gave none. failures counts the tries
    since it could last be read, last_error says why; 0 and "" after a good read.
    """

    path: Path
    source: str
    size: int
    mtime_ns: int
    read_offset: int
    conv: str = ""
    failures: int = 0
    last_error: str = ""
    fingerprint: str = ""


def _conversation(row: sqlite3.Row) -> Conversation:
    return Conversation(
        conv=row["conv"],
        source=row["source"],
        session_id=row["session_id"],
        title=row["title"],
        project=row["project"],
        started_at=from_text(row["started_at"]),
        updated_at=from_text(row["updated_at"]),
    )


def _message(row: sqlite3.Row) -> Message:
    return Message(
        message_id=row["message_id"],
        conv=row["conv"],
        position=row["position"],
        role=Role(row["role"]),
        at=from_text(row["at"]),
        text=row["text"],
        actions=tuple(Action(tool, path) for tool, path in json.loads(row["actions"])),
        project=row["project"],
    )


def _actions(message: Message) -> str:
    # spelled out: to encode a list takes three times as long
    written = encode_basestring
    return f"[{', '.join([f'[{written(a.tool)}, {written(a.path)}]' for a in message.actions])}]"


class Conversations:
    """The conversations, messages, source_files and watermarks tables."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    # ------------------------------------------------------------------ reading

    def get(self, conv: str) -> Conversation:
        """The conversation of this id. Raises StoreFault when there is none."""
        row = self._one("SELECT * FROM conversations WHERE conv = ?", conv)
        if row is None:
            raise StoreFault(f"there is no conversation {conv!r} in the store")
        return _conversation(row)

    def find(self, conv: str) -> Conversation | None:
        """The conversation of this id, if there is one."""
        row = self._one("SELECT * FROM conversations WHERE conv = ?", conv)
        return _conversation(row) if row else None

    def by_session(self, source: str, session_id: str) -> Conversation | None:
        """The conversation that holds this session of this source."""
        row = self._one(
            "SELECT * FROM conversations WHERE source = ? AND session_id = ?", source, session_id
        )
        return _conversation(row) if row else None

    def messages(
        self, conv: str, first: int | None = None, last: int | None = None
    ) -> list[Message]:
        """The messages of a conversation, in order; only positions first..last, both included."""
        rows = self._connection.execute(
            """SELECT * FROM messages WHERE conv = ? AND position BETWEEN ? AND ?
               ORDER BY position""",
            (conv, 0 if first is None else first, 2**62 if last is None else last),
        )
        return [_message(row) for row in rows]

    def find_message_ids(self, ids: Iterable[str]) -> dict[str, str]:
        """Which of these messages are stored, and in which conversation: id -> conv."""
        wanted = list(ids)
        found: dict[str, str] = {}
        for start in range(0, len(wanted), _MANY):
            some = wanted[start : start + _MANY]
            rows = self._connection.execute(
                "SELECT message_id, conv FROM messages "
                f"WHERE message_id IN ({', '.join('?' * len(some))})",
                some,
            )
            found.update((row["message_id"], row["conv"]) for row in rows)
        return found

    def files(self) -> dict[Path, FileState]:
        """Every file known, by path."""
        return {
            Path(row["path"]): FileState(
                path=Path(row["path"]),
                source=row["source"],
                size=row["size"],
                mtime_ns=row["mtime_ns"],
                read_offset=row["read_offset"],
                conv=row["conv"] or "",
                failures=row["failures"],
                last_error=row["last_error"],
                fingerprint=row["fingerprint"],
            )
            for row in self._connection.execute("SELECT * FROM source_files")
        }

    def watermarks(self) -> dict[str, datetime]:
        """The time of the newest message stored, per source."""
        rows = self._connection.execute("SELECT source, cursor FROM watermarks ORDER BY source")
        return {row["source"]: from_text(row["cursor"]) for row in rows}

    def counts(self) -> dict[str, int]:
        """How many conversations, messages, files, and files that could not be read, there are."""
        row = self._connection.execute(
            """SELECT (SELECT count(*) FROM conversations) AS conversations,
                      (SELECT count(*) FROM messages) AS messages,
                      (SELECT count(*) FROM source_files) AS files,
                      (SELECT count(*) FROM source_files WHERE failures > 0) AS unreadable"""
        ).fetchone()
        return dict(row)

    def to_chunk(self, span: Span = ALWAYS) -> list[Conversation]:
        """Conversations with messages that were never chunked, the one begun first at the front."""
        rows = self._connection.execute(
            """SELECT * FROM conversations
               WHERE (chunked_at IS NULL OR updated_at > chunked_at)
                 AND updated_at BETWEEN ? AND ?
               ORDER BY started_at, conv""",
            bounds(span),
        )
        return [_conversation(row) for row in rows]

    # ------------------------------------------------------------------ writing

    def save(
        self,
        conversation: Conversation,
        messages: Sequence[Message],
        file: FileState | None,
        *,
        archived_at: datetime,
    ) -> None:
        """Record a conversation, messages of it, and the file they came from: all or nothing.

        file: None when more conversations of it are to come.

        messages: the new ones, or ones whose row at that position is to be replaced; the rest
        stay. A conversation with any is due for chunking, also when they are older than those
        already chunked. Raises StoreFault when a message belongs to another conversation already.
        """
        with transaction(self._connection):
            self._save_conversation(conversation, messages, archived_at)
            (last,) = self._connection.execute("SELECT max(rowid) FROM messages").fetchone()
            try:
                self._connection.executemany(
                    """INSERT INTO messages
                           (conv, position, message_id, role, at, text, actions, project)
                       VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                       ON CONFLICT (conv, position) DO UPDATE SET
                           message_id = excluded.message_id, role = excluded.role,
                           at = excluded.at, text = excluded.text, actions = excluded.actions,
                           project = excluded.project""",
                    (
                        (
                            m.conv,
                            m.position,
                            m.message_id,
                            m.role.value,  # SQLite asks long what any other str may be
                            to_text(m.at),
                            m.text,
                            _actions(m),
                            m.project,
                        )
                        for m in messages
                    ),
                )
            except sqlite3.IntegrityError as error:
                raise StoreFault(
                    f"a message of conversation {conversation.conv} is stored elsewhere: {error}"
                ) from error
            # no trigger puts a new row into the index, see 0010_index.sql; a replaced one stays
            self._connection.execute(
                """INSERT INTO messages_fts (rowid, text)
                   SELECT rowid, text FROM messages WHERE rowid > ?""",
                (last or 0,),
            )
            if messages:
                newest = to_text(max(message.at for message in messages))
                self._connection.execute(
                    """INSERT INTO watermarks (source, cursor, updated_at) VALUES (?, ?, ?)
                       ON CONFLICT (source) DO UPDATE SET
                           cursor = max(cursor, excluded.cursor),
                           updated_at = excluded.updated_at""",
                    (conversation.source, newest, to_text(archived_at)),
                )
            if file is not None:
                self.remember_file(file)

    def remember_file(self, file: FileState) -> None:
        """Record that a file was read as it stands, so that it is not opened again."""
        self._connection.execute(
            """INSERT OR REPLACE INTO source_files
                   (path, source, size, mtime_ns, read_offset, conv, failures, last_error,
                    fingerprint)
               VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)""",
            (
                str(file.path),
                file.source,
                file.size,
                file.mtime_ns,
                file.read_offset,
                file.conv or None,
                file.failures,
                file.last_error,
                file.fingerprint,
            ),
        )

    def record_failure(self, path: Path, source: str, reason: str) -> int:
        """Count a failed read; return how many there were since the last good one.

        What an earlier good read knew of the file stays, so that it is tried again.
        """
        (failures,) = self._connection.execute(
            """INSERT INTO source_files (path, source, size, mtime_ns, failures, last_error)
               VALUES (?, ?, ?, ?, 1, ?)
               ON CONFLICT (path) DO UPDATE SET
                   failures = failures + 1, last_error = excluded.last_error
               RETURNING failures""",
            (str(path), source, _NEVER_READ, _NEVER_READ, reason),
        ).fetchone()
        return int(failures)

    def imported(self) -> dict[Path, str]:
        """Exports the user has imported, with the source that reads each."""
        rows = self._connection.execute("SELECT path, source FROM imported ORDER BY path")
        return {Path(row["path"]): row["source"] for row in rows}

    def remember_import(self, path: Path, source: str, at: datetime) -> None:
        """Look at this export again every night."""
        self._connection.execute(
            "INSERT OR REPLACE INTO imported (path, source, at) VALUES (?, ?, ?)",
            (str(path), source, to_text(at)),
        )

    def mark_chunked(self, conv: str, updated_at: datetime) -> None:
        """Note that a conversation was chunked as it stood at `updated_at`."""
        self._connection.execute(
            "UPDATE conversations SET chunked_at = ? WHERE conv = ?", (to_text(updated_at), conv)
        )

    # ------------------------------------------------------------------ within

    def _one(self, query: str, *values: str) -> sqlite3.Row | None:
        row: sqlite3.Row | None = self._connection.execute(query, values).fetchone()
        return row

    def _save_conversation(
        self, conversation: Conversation, messages: Sequence[Message], archived_at: datetime
    ) -> None:
        self._connection.execute(
            """INSERT INTO conversations (conv, source, session_id, title, project, started_at,
                                          updated_at, content_hash, archived_at)
               VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
               ON CONFLICT (conv) DO UPDATE SET
                   title = excluded.title, project = excluded.project,
                   started_at = excluded.started_at, updated_at = excluded.updated_at,
                   content_hash = excluded.content_hash, archived_at = excluded.archived_at,
                   chunked_at = iif(? AND chunked_at >= excluded.updated_at, NULL, chunked_at)""",
            (
                conversation.conv,
                conversation.source,
                conversation.session_id,
                conversation.title,
                conversation.project,
                to_text(conversation.started_at),
                to_text(conversation.updated_at),
                self._content_hash(conversation.conv, messages),
                to_text(archived_at),
                bool(messages),
            ),
        )

    def _content_hash(self, conv: str, messages: Sequence[Message]) -> str:
        """Of the conversation as it is once these messages are written."""
        rows = self._connection.execute(
            "SELECT position, message_id FROM messages WHERE conv = ?", (conv,)
        )
        ids = {row["position"]: row["message_id"] for row in rows}
        ids |= {message.position: message.message_id for message in messages}
        return hashlib.sha256("".join(ids[at] for at in sorted(ids)).encode()).hexdigest()
