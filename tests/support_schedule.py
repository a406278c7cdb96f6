"""Recorded answers of the system's schedulers, and a job to schedule."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from datetime import time
from pathlib import Path

from pipeline.schedule.jobs import Job, ProcessType
from pipeline.schedule.surroundings import interpreter_path
from pipeline.system import Answer

FIXTURES = Path(__file__).parents[1] / "fixtures"


def recorded(name: str) -> Answer:
    """An answer by its file, e.g. `launchctl/bootstrap-5`."""
    told = json.loads((FIXTURES / f"{name}.json").read_text(encoding="utf-8"))
    return Answer(told["code"], told["out"], told["err"])


class Recorded:
    """An `ask` that gives recorded answers by the verb asked; the last one of a verb stays.

    answers: a verb -> names of answers, in order. A verb without any fails the test.
    """

    def __init__(self, folder: str, **answers: Sequence[str]) -> None:
        self._folder = folder
        self._answers = {verb.replace("_", "-"): list(names) for verb, names in answers.items()}
        self.asked: list[list[str]] = []

    def __call__(self, argv: Sequence[str]) -> Answer:
        """The next answer."""
        self.asked.append(list(argv))
        key = self._key(argv)
        names = self._answers.get(key)
        assert names, f"asked beyond what was recorded: {list(argv)}"
        return recorded(f"{self._folder}/{names.pop(0) if len(names) > 1 else names[0]}")

    def told(self, *verbs: str) -> list[list[str]]:
        """What was asked with these verbs, in order."""
        return [argv for argv in self.asked if self._key(argv) in verbs]

    def _key(self, argv: Sequence[str]) -> str:
        verb = next(word for word in argv[1:] if not word.startswith("-"))
        return f"{verb}-{argv[-1].rpartition('.')[2]}" if verb == "show" else verb


def no_pause(seconds: float) -> None:
    """The clock's double: no time passes."""


def script(folder: Path, python: str = sys.executable) -> Path:
    """A console script as an installer writes it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "memory"
    path.write_text(f"#!{python}\nimport sys\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def job(path: Path, at: time = time(3, 0), **settings: str) -> Job:
    """A job that starts this script, with these variables."""
    return Job(at, False, ProcessType.STANDARD, path, interpreter_path(path), settings)
