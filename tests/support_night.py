"""A small night, whole: real transcripts, store, vault and git; only the replies are canned.

Two invented projects, each spoken of in two conversations, one in each format.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.sessions import write_session as write_session
from pipeline import assemble, orchestrator
from pipeline.backlog import Passes, news
from pipeline.config import Config, load_config
from pipeline.control import Control
from pipeline.history import History
from pipeline.models import Ask, Choice, Reply
from pipeline.records import Span
from pipeline.resources import folder
from pipeline.results import RunResults
from pipeline.vault import Vault
from tests.doubles import CannedModel, HashEmbedder

NIGHT = datetime(2026, 11, 28, 3, 0, tzinfo=UTC)

# (format, session id, start, [(role, text)])
CONVERSATIONS: list[tuple[str, str, datetime, list[tuple[str, str]]]] = [
    (
        "claude-code",
        "5f0c7a3e-1d2b-4c3d-8e4f-a0b1c2d3e4f5",
        datetime(2026, 11, 26, 9, 0, tzinfo=UTC),
        [
            ("user", "In the Lantern project we store the sessions in Postgres from now on."),
            ("assistant", "The Lantern session table lives in db/sessions.sql now."),
            ("user", "The Lantern retention job keeps sessions for 45 days."),
            ("assistant", "The Lantern retention job runs at 02:30 with a limit of 45 days."),
        ],
    ),
    (
        "pi",
        "01a227d3-5ba7-760c-a6c2-4a98371937f3",
        datetime(2026, 11, 26, 15, 0, tzinfo=UTC),
        [
            ("user", "The Harbor importer fails on files that are larger than 2 GB."),
            ("assistant", "The Harbor importer reads files in blocks of 64 MB now."),
            ("user", "We chose zstd for the Harbor archives, because it is fast."),
            ("assistant", "The Harbor archives are written by archive.py with zstd."),
        ],
    ),
    (
        "pi",
        "01a227e0-11a7-7b0c-92c2-99aa37193c01",
        datetime(2026, 11, 27, 10, 0, tzinfo=UTC),
        [
            ("user", "The Lantern dashboard shows the queue length of each worker."),
            ("assistant", "The Lantern dashboard reads the queue length from metrics.json."),
        ],
    ),
    (
        "claude-code",
        "9a8b7c6d-5e4f-4a3b-9c2d-1e0f9a8b7c6d",
        datetime(2026, 11, 27, 16, 0, tzinfo=UTC),
        [
            ("user", "The Harbor importer was tested with 12 customers by Amina Okafor."),
            ("assistant", "The Harbor importer passed the test of Amina Okafor for 12 customers."),
        ],
    ),
]

# what a good model makes of each user message
CLAIMS: dict[str, list[tuple[str, str]]] = {
    "we store the sessions in Postgres": [
        ("The Lantern project stores the sessions in Postgres.", "decision")
    ],
    "retention job keeps sessions": [
        ("The Lantern retention job keeps sessions for 45 days.", "fact")
    ],
    "session table lives": [("The Lantern session table lives in db/sessions.sql.", "fact")],
    "larger than 2 GB": [
        ("The Harbor importer fails on files that are larger than 2 GB.", "problem-solution")
    ],
    "blocks of 64 MB": [("The Harbor importer reads files in blocks of 64 MB.", "fact")],
    "We chose zstd": [
        ("The user chose zstd for the Harbor archives, because it is fast.", "decision")
    ],
    "dashboard shows": [("The Lantern dashboard shows the queue length of each worker.", "fact")],
    "tested with 12 customers": [
        ("The Harbor importer was tested with 12 customers by Amina Okafor.", "event")
    ],
}


# what leaves an article as it is; "" is the first of the options offered
UNCHANGED = {
    "wikify/lead": "",
    "wikify/repeat": "different",
    "wikify/split": "part",
    "wikify/merge": "different",
}


@dataclass
class Script:
    """Answers as a good model would, unless told otherwise for a purpose."""

    overrides: Mapping[str, Callable[[Ask], str | Reply | Choice]] = field(default_factory=dict)
    claims: Mapping[str, list[tuple[str, str]]] = field(default_factory=lambda: CLAIMS)

    def choose(self, purpose: str, ask: Ask) -> str | Choice:
        """Keep everything; route by the project's name; new sections by kind."""
        if purpose in self.overrides:
            answer = self.overrides[purpose](ask)
            assert isinstance(answer, str | Choice)
            return answer
        if purpose == "chunk/keep":
            return "keep"
        if purpose == "cluster/route":
            said, topics = ask.prompt.partition("Piece:")[2], ask.prompt.partition("Piece:")[0]
            name = "Lantern" if "Lantern" in said else "Harbor"
            for row in topics.splitlines():
                if name in row:
                    return row[0]
            return "none of these"
        if purpose == "synthesize/section":
            return ask.options[-1]
        if purpose == "synthesize/relation":
            return "unrelated"
        # the article stands well as it is: the present lead is offered first
        assert purpose in UNCHANGED, purpose
        return UNCHANGED[purpose] or ask.options[0]

    def write(self, purpose: str, ask: Ask) -> str | Reply:
        """Labels and names by the project; claims by the table; composing repeats its notes."""
        if purpose in self.overrides:
            answer = self.overrides[purpose](ask)
            assert isinstance(answer, str | Reply)
            return answer
        name = "Lantern" if "Lantern" in ask.prompt else "Harbor"
        if purpose == "chunk/label":
            return f"Work on the {name} project"
        if purpose == "cluster/name":
            return f"{name} project"
        if purpose == "synthesize/claims":
            found = [c for words, made in self.claims.items() if words in ask.prompt for c in made]
            return json.dumps({"claims": [f"{kind}: {text}" for text, kind in found]})
        assert purpose == "synthesize/compose"
        notes = ask.prompt.partition("Notes:")[2].strip().splitlines()
        return json.dumps({"sentences": [note.removeprefix("- ") for note in notes]})


@dataclass
class Night:
    """What a run left behind."""

    config: Config
    status: str
    results: RunResults
    model: CannedModel


def write_sessions(home: Path) -> None:
    """The conversations as transcripts, where the agents keep them."""
    for kind, session, start, said in CONVERSATIONS:
        write_session(home, kind, session, start, said)


def make_vault() -> Config:
    """An initialised vault in the test's home; dates in UTC so that no machine's zone matters."""
    config = load_config(timezone="UTC", since_days="all")
    History(config.vault).init()
    seeded = Vault(config.vault).seed(folder("vault_meta"))
    pages = [path.relative_to(config.vault).as_posix() for path in seeded]
    History(config.vault).commit(pages, "init", at=NIGHT - timedelta(days=1))
    return config


def run_night(
    config: Config,
    script: Script | None = None,
    *,
    at: datetime = NIGHT,
    minutes: float = 60,
    only: str = "",
    control: Control | None = None,
    passes: Passes = news,
    span: Span | None = None,
) -> Night:
    """One run with the clock standing at `at`. control: in the place of one of `minutes`."""
    script = script or Script()
    made: list[CannedModel] = []

    def model(account: object) -> CannedModel:
        made.append(CannedModel(script.choose, script.write, account=account))  # type: ignore[arg-type]
        return made[0]

    desk = assemble.desk(
        config,
        models=assemble.Models(model, HashEmbedder()),
        say=lambda event: None,
        span=span,
        now=lambda: at,
    )
    try:
        status = orchestrator.run(desk, control or Control(minutes), only=only, passes=passes)
    finally:
        desk.store.close()
    return Night(config, status, desk.results, made[0])


def files(root: Path, *, git: bool = False) -> dict[str, bytes]:
    """Every file under a folder with its bytes; without .git unless asked for."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and (git or ".git" not in path.relative_to(root).parts)
    }
