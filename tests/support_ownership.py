"""The user's side of a vault: what they say, edit and commit, and what must hold after a night."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

from pipeline.config import Config
from pipeline.history import History
from pipeline.models import Ask
from tests.support_night import NIGHT, Script, files, run_night, write_session

MORROW = NIGHT + timedelta(days=1)
LATER = NIGHT + timedelta(hours=5)
LAST = MORROW + timedelta(days=1)
SESSION = "3b1f0c2a-7d6e-4f50-9a1b-2c3d4e5f6a7b"
OTHER_SESSION = "7c2e1d3b-8e7f-4061-8b2c-3d4e5f607182"
NEWS = "The Lantern login page asks for a code of 6 digits."
OURS = "The Lantern retention job keeps sessions for 45 days."
NEWER = "The Lantern retention job keeps sessions for 90 days."
THEIRS = "Retention was settled with the auditors, see the blue binder."


def page(config: Config, name: str = "Lantern project") -> Path:
    """The file of an article."""
    return config.vault / "articles" / f"{name}.md"


def text(config: Config, name: str = "Lantern project") -> str:
    """An article's text, line ends as they are."""
    return page(config, name).read_bytes().decode("utf-8")


def edit(path: Path, old: str, new: str) -> None:
    """Replace text that must be there, byte for byte elsewhere."""
    before = path.read_bytes().decode("utf-8")
    assert old in before
    path.write_bytes(before.replace(old, new, 1).encode("utf-8"))


def say(home: Path, *said: str, session: str = SESSION, start: datetime = LATER) -> None:
    """One more conversation, of the user's words; the first line, which is its title, says none."""
    lines = [("user", words) for words in ("Some notes on the work of today.", *said)]
    write_session(home, "claude-code", session, start, lines)


def knowing(*claims: str, **overrides: Callable[[Ask], str]) -> Script:
    """A good model that makes each claim of the message that says it word for word."""
    script = Script({purpose.replace("__", "/"): made for purpose, made in overrides.items()})
    script.claims = {**script.claims, **{claim: [(claim, "fact")] for claim in claims}}
    return script


def git(config: Config, *words: str, check: bool = True) -> str:
    """What git says, called as the user would."""
    who = ("-c", "user.name=Rosa", "-c", "user.email=rosa@localhost")
    done = subprocess.run(
        ["git", *who, *words], cwd=config.vault, capture_output=True, text=True, check=check
    )
    return done.stdout


def authors(config: Config, words: str) -> set[str]:
    """Who committed a change to how often these words stand in articles."""
    log = git(config, "log", f"-S{words}", "--format=%an", "--", "articles")
    return set(log.splitlines())


def our_commits(config: Config, since: str) -> list[list[str]]:
    """The files of each commit under our name after `since`."""
    log = git(config, "log", "--format=%x00%an", "--name-only", f"{since}..HEAD")
    entries = [entry.strip().split("\n") for entry in log.split("\0") if entry.strip()]
    return [[line for line in rest if line] for name, *rest in entries if name == "nightly-memory"]


def standing(config: Config, name: str = "Lantern project") -> str:
    """The part of an article that says what is so: neither History nor References."""
    return re.split(r"^## (?:History|References)", text(config, name), flags=re.M)[0]


def assert_settled(config: Config, script: Script, *, at: datetime = LAST) -> None:
    """The next night has nothing to do: no model call, no byte, no commit."""
    before, head = files(config.vault), History(config.vault).head()
    again = run_night(config, script, at=at)
    assert (again.status, again.model.asked) == ("nothing", [])
    assert files(config.vault) == before
    assert History(config.vault).head() == head


def assert_ours_alone(config: Config, since: str) -> None:
    """Each commit of ours holds one page of ours."""
    made = our_commits(config, since)
    assert made
    for paths in made:
        assert len(paths) == 1
        assert paths[0].startswith(("articles/", "Talk/", "Meta/"))
