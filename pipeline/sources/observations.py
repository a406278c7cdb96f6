"""The memories of projects: what agents and hooks observed, as conversations.

A session of a project is a conversation, or a day where there was none; each observation is a
message of its own, so that it is cited on its own. All of them are the assistant's words: a hook
makes them by rules, and `observe` is mostly called by an agent, so none of them shows what the user
decided or wants. What the user asked in the session is left out: it stands in the transcript of the
very session, which another source reads, and told twice it would weigh twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pipeline.errors import SourceFault, StoreFault
from pipeline.project import machine
from pipeline.project.nightly import Told, told
from pipeline.project.observations import Row
from pipeline.records import Action, Role, Session, Utterance
from pipeline.repository import is_file

NAME = "observations"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def default_roots(environ: Mapping[str, str], home: Path) -> list[Path]:
    """The stores that `anvil-memory init` made on this machine."""
    return machine.registered(machine.settings(environ, home).data_dir)


class Observations:
    """The stores at `roots`, which are the files themselves."""

    name = NAME

    def __init__(self, roots: Sequence[Path]) -> None:
        self.roots = tuple(roots)

    def discover(self) -> Iterator[Path]:
        """Every store that is there, sorted by path."""
        return iter(sorted({root for root in self.roots if is_file(root)}))

    def read(self, path: Path, start: int = 0) -> Iterator[Session]:  # noqa: ARG002 - read whole
        """The sessions in the store. Raises SourceFault when it cannot be read."""
        try:
            for one in told(path):
                yield _session(one, path)
        except StoreFault as fault:
            raise SourceFault(str(fault), mend=fault.mend) from fault


def _session(one: Told, path: Path) -> Session:
    return Session(
        source=NAME,
        # the transcript of the same session has its id, and is another conversation
        session_id=f"{NAME}/{one.name}",
        path=path,
        title=one.title,
        utterances=tuple(_utterance(row, one.folder) for row in one.rows),
        read_offset=0,
    )


def _utterance(row: Row, folder: str) -> Utterance:
    issue = f" ({row['linear_issue']})" if row["linear_issue"] else ""
    head = f"{row['type'].replace('_', ' ').capitalize()}{issue}: {row['title']}"
    parts = (head, row["subtitle"], row["content"])
    return Utterance(
        native_id=f"{row['id']}",
        role=Role.ASSISTANT,
        at=_EPOCH + timedelta(milliseconds=row["created_at_epoch"]),
        text="\n\n".join(part for part in parts if part),
        actions=tuple(Action(row["type"], file) for file in row["files"]),
        cwd=folder,
    )
