"""A machine with transcripts of every source, and a desk to ingest them at."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pipeline import assemble
from pipeline.config import load_config
from pipeline.desk import Desk
from pipeline.history import History
from pipeline.records import Message, Outcome
from pipeline.stages import ingest
from tests.doubles import CannedModel
from tests.support_transcripts import write_lines

NOW = datetime(2027, 1, 1, 3, 0, tzinfo=UTC)
BEGAN = datetime(2025, 3, 4, 9, 0, tzinfo=UTC)
V4 = "3f2a9c10-5b6d-4e7f-8a9b-0c1d2e3f4a5b"


@dataclass
class House:
    """A machine with transcripts and a desk to ingest them at."""

    root: Path
    desk: Desk
    clock: list[datetime] = field(default_factory=lambda: [NOW])

    @property
    def pi(self) -> Path:
        return self.root / "pi"

    @property
    def codex(self) -> Path:
        return self.root / "codex"

    @property
    def exports(self) -> Path:
        return self.root / "exports"

    @property
    def claude(self) -> Path:
        return self.root / "claude"

    def put(self, source: Path, at: str, *, age: int = 0) -> Path:
        """Copy a file to `at`, last changed `age` minutes before the clock's now."""
        path = self.root / at
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, path)
        return self.touch(path, age=age)

    def touch(self, path: Path, *, age: int = 0) -> Path:
        changed = (self.clock[0] - timedelta(minutes=age)).timestamp()
        os.utime(path, (changed, changed))
        return path

    def night(self) -> list[Outcome]:
        jobs = ingest.pending(self.desk)
        return [ingest.keep(result, self.desk) for result in ingest.work(jobs, self.desk)]

    def talks(self) -> dict[str, list[Message]]:
        """Session id → messages."""
        store = self.desk.store.conversations
        return {c.session_id: store.messages(c.conv) for c in store.to_chunk()}

    def texts(self) -> dict[str, list[str]]:
        return {session: [m.text for m in said] for session, said in self.talks().items()}

    def all_texts(self) -> list[str]:
        return [text for texts in self.texts().values() for text in texts]


def new_house(root: Path, **ingest_settings: object) -> House:
    """One in this folder; settings of the table [ingest] by name. Close its store after use."""
    roots = {
        "pi": [str(root / "pi")],
        "claude-code": [str(root / "claude")],
        "codex": [str(root / "codex")],
        "chatgpt": [str(root / "exports")],
    }
    config = load_config(
        vault=str(root / "vault"),
        cache_dir=str(root / "cache"),
        data_dir=str(root / "data"),
        sources={"roots": roots},
        ingest=ingest_settings,
    )
    History(config.vault).init()
    clock = [NOW]
    desk = assemble.desk(
        config,
        models=assemble.Models(lambda account: CannedModel(), None),
        say=lambda event: None,
        now=lambda: clock[0],
    )
    return House(root, desk, clock)


def said(
    role: str, minute: int, text: str, *, cwd: str = "/home/dev/garden", uuid: str = ""
) -> dict[str, object]:
    """An entry of Claude Code."""
    at = BEGAN + timedelta(minutes=minute)
    content: object = text if role == "user" else [{"type": "text", "text": text}]
    return {
        "type": role,
        "uuid": uuid or f"{role}-{minute}",
        "sessionId": V4,
        "cwd": cwd,
        "timestamp": at.isoformat(),
        "message": {"role": role, "id": f"m{minute}", "content": content},
    }


TALK = [said("user", 0, "How deep do I sow?"), said("assistant", 1, "Three fingers deep.")]


def sound_house(tmp_path: Path) -> Iterator[House]:
    """A house with one sound session, which must be read in the end, whatever befell others."""
    made = new_house(tmp_path / "house")
    write_lines(
        made.claude / "p" / "sound.jsonl", [{**said("user", 50, "sound"), "sessionId": "s"}]
    )
    yield made
    assert made.texts()["s"] == ["sound"]
    made.desk.store.close()
