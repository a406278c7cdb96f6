"""Sessions of Claude Code.

What stands in a `user` entry is the person's only in part: see claude_wrappers.py for what is taken
away. Dropped as a whole: tool results, but for what was typed in refusing a call; thinking, images,
progress, side chains, compaction summaries, meta entries, slash commands and `!` commands, and
replies made up by the client (`<synthetic>`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pipeline.errors import SourceFault
from pipeline.records import Session
from pipeline.sources.claude_transcript import Transcript
from pipeline.sources.fields import text_of
from pipeline.sources.jsonl import JsonLines, find

NAME = "claude-code"
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_AGENT = "agent-"
_COMPACTION_HELPER = "agent-acompact-"
_OBSERVER = "claude-mem-observer-sessions"  # another memory tool talking to itself
_NOT_SESSIONS = frozenset({"tool-results"})  # folders


def default_roots(environ: Mapping[str, str], home: Path) -> list[Path]:
    """Where Claude Code keeps its projects."""
    config = Path(environ.get("CLAUDE_CONFIG_DIR") or home / ".claude").expanduser()
    return [config / "projects"]


class ClaudeCode:
    """Sessions of Claude Code under `roots`, sub-agents' files included."""

    name = NAME

    def __init__(self, roots: Sequence[Path]) -> None:
        self.roots = tuple(roots)

    def discover(self) -> Iterator[Path]:
        """Every transcript, sorted by path; not those of the compaction helper."""
        for path in find(self.roots, leave_out=_NOT_SESSIONS):
            observed = any(part.endswith(_OBSERVER) for part in path.parent.parts)
            if not observed and not path.name.startswith(_COMPACTION_HELPER):
                yield path

    def read(self, path: Path, start: int = 0) -> Iterator[Session]:
        """Parse the file. Raises SourceFault when it cannot be opened or is not Claude Code's.

        A sub-agent's file gives a session that is not interactive, with the agent's words only:
        what stands there as the user's was written by the agent that called it.
        """
        agent = path.name.startswith(_AGENT)
        transcript = Transcript(agent=agent)
        if start:
            transcript.session_id = _first_id(path)
        lines = JsonLines(path, start, passes=transcript.passes)
        turn = start
        for _, entry in lines:
            if transcript.add(entry):
                turn = lines.line_start
        if lines.complete_lines and not transcript.recognised:
            raise SourceFault(
                f"{path} is not a transcript of Claude Code: no line of it is one of its own",
                mend="move it out of the projects folder, or leave that folder out of the sources",
            )
        yield Session(
            source=NAME,
            session_id=_session_id(path, text_of(transcript.session_id), agent),
            path=path,
            title=transcript.title(),
            utterances=transcript.utterances(),
            read_offset=turn,
            resumed=start > 0,
            interactive=not agent,
            bad_lines=tuple(lines.bad_lines),
        )


def _first_id(path: Path) -> object:
    """The id that the first entry with one has, which what is read on need not have."""
    beginning = Transcript(agent=False)
    for _, entry in JsonLines(path, passes=beginning.passes):
        beginning.add(entry)
        if beginning.session_id is not None:
            break
    return beginning.session_id


def _session_id(path: Path, inside: str, agent: bool) -> str:
    """One file is one session, also when its entries name two: the name of the file decides.

    A sub-agent's entries carry the id of the session that called it; a file that was given a name
    of its own goes by the first id inside.
    """
    if agent:
        return f"{inside or path.parent.name}/{path.stem}"
    return path.stem if _UUID.fullmatch(path.stem) else inside or path.stem
