"""Sessions of the pi coding agent, versions 1 to 3, and of mlx-bun, which embeds it.

A session is a tree of entries; every branch is kept, in file order, because a turn that was left
behind by /tree or a compaction was said all the same. Only what the person and the assistant said
is kept: tool results, shell commands run by hand, summaries and context put in by extensions are
roles and entry types of their own, so they fall away by not being asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from pipeline.errors import SourceFault
from pipeline.identity import SENTINEL
from pipeline.records import Role, Session, Utterance
from pipeline.sources.fields import blocks_of, folder_of, mapping_of, text_of, time_of, trace
from pipeline.sources.jsonl import JsonLines, Record, find

NAME = "pi"
_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT}
# Others there are; a file without any of these is not pi's.
_KNOWN = frozenset({"session", "message", "session_info", "compaction", "model_change"})
_BEGINNING = 400  # bytes
_NOT_SESSIONS = frozenset({"subagent-artifacts"})  # folders


def default_roots(environ: Mapping[str, str], home: Path) -> list[Path]:
    """Where pi and mlx-bun keep sessions, as far as their environment variables move them."""
    agent = Path(environ.get("PI_CODING_AGENT_DIR") or home / ".pi" / "agent").expanduser()
    sessions = environ.get("PI_CODING_AGENT_SESSION_DIR")
    return [
        Path(sessions).expanduser() if sessions else agent / "sessions",
        home / ".mlx-bun" / "sessions",
        home / ".mlx-bun" / "pi" / "sessions",
    ]


class Pi:
    """Sessions of pi under `roots`, in folders per project or flat."""

    name = NAME

    def __init__(self, roots: Sequence[Path]) -> None:
        self.roots = tuple(roots)

    def discover(self) -> Iterator[Path]:
        """Every session file, sorted by path."""
        return iter(find(self.roots, leave_out=_NOT_SESSIONS))

    def read(self, path: Path, start: int = 0) -> Iterator[Session]:
        """Parse the file. Raises SourceFault when it cannot be opened or is not pi's."""
        lines = JsonLines(path, start, passes=_is_tool_result)
        header: Record = _header(path) if start else {}
        title = ""
        recognised = ours = False
        said: list[Utterance] = []
        turn = start
        for _, entry in lines:
            kind = text_of(entry.get("type"))
            if kind not in _KNOWN:
                continue
            recognised = True
            if kind == "session" and not header:
                header = entry
            elif kind == "session_info":
                title = text_of(entry.get("name"))
            elif kind == "message":
                message = mapping_of(entry.get("message"))
                if message.get("role") == "system":
                    ours = ours or _text(message).startswith(SENTINEL)
                elif utterance := _utterance(entry, message, folder_of(header.get("cwd"))):
                    said.append(utterance)
                    if utterance.role is Role.USER:
                        turn = lines.line_start
        if lines.complete_lines and not recognised:
            raise SourceFault(
                f"{path} is not a session of pi: no line of it is one of pi's",
                mend="move it out of the sessions folder, or leave that folder out of the sources",
            )
        yield Session(
            source=NAME,
            session_id=text_of(header.get("id")) or path.stem,
            path=path,
            title=title,
            utterances=() if ours else tuple(said),
            read_offset=turn,
            resumed=start > 0,
            parent=_session_of(header.get("parentSession") or header.get("branchedFrom")),
            bad_lines=tuple(lines.bad_lines),
        )


def _is_tool_result(line: bytes) -> bool:
    """Told by its beginning, where its role stands."""
    return b'"role":"toolResult"' in line[:_BEGINNING]


def _header(path: Path) -> Record:
    """The record that names the session and its folder: the first, but for a title before it."""
    records = (entry for _, entry in JsonLines(path))
    return next((entry for entry in records if entry.get("type") == "session"), {})


def _utterance(entry: Record, message: Mapping[str, Any], cwd: str) -> Utterance | None:
    role = _ROLES.get(text_of(message.get("role")))
    if role is None:
        return None
    return Utterance(
        native_id=text_of(entry.get("id")),
        role=role,
        at=time_of(entry.get("timestamp")) or time_of(message.get("timestamp")),
        text=_text(message),
        actions=tuple(
            trace(block.get("name"), block.get("arguments"))
            for block in blocks_of(message.get("content"))
            if block.get("type") == "toolCall"
        ),
        cwd=cwd,
    )


def _text(message: Mapping[str, Any]) -> str:
    blocks = blocks_of(message.get("content"))
    texts = (text_of(block.get("text")) for block in blocks if block.get("type") == "text")
    return "\n\n".join(text for text in texts if text)


def _session_of(path: object) -> str:
    """The session id in the name of a session file, `<time>_<id>.jsonl`; "" if there is none."""
    given = text_of(path)
    name = (PureWindowsPath if "\\" in given else PurePosixPath)(given).name
    return name.removesuffix(".jsonl").partition("_")[2]
