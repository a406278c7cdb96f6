"""Models that misbehave when a prompt says so, made in the child's process by its own worker."""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from pipeline.errors import OutOfMemory
from pipeline.models import Account, Ask, Choice, Grammar, Reply
from pipeline.records import Call
from tests.doubles import CannedModel
from tests.support_night import Script

DIES, DIES_ONCE, HANGS, POOR, BROKEN, SLOW = "DIES", "DIES1", "HANGS", "POOR", "BROKEN", "SLOW"
CHATTY = "CHATTY"


class Moody:
    """Keeps the Model protocol. Every reply tells the process and the size of its batches."""

    def __init__(self, folder: Path, *, account: Account, beat: Callable[[], None], batch: int):
        self._folder, self._account, self._beat, self._batch = folder, account, beat, batch
        self.name = "moody"

    def choose(self, asks: Sequence[Ask], *, stage: str, purpose: str) -> list[Choice]:
        """The first option of each."""
        return [Choice(ask.options, (1.0, *[0.0] * (len(ask.options) - 1))) for ask in asks]

    def write(
        self,
        asks: Sequence[Ask],
        *,
        stage: str,
        purpose: str,
        max_tokens: int,
        grammar: Grammar | None = None,
        seeds: Sequence[int] | None = None,
        temperature: float = 0.0,
    ) -> list[Reply]:
        """`PROCESS BATCH`, unless a prompt asks for something else."""
        with (self._folder / "asked").open("a", encoding="utf-8") as log:
            log.write(f"{os.getpid()} {self._batch} {[ask.prompt for ask in asks]}\n")
        for ask in asks:
            misbehave(ask.prompt, self._folder, self._beat)
        self._account(Call(stage, purpose, 3, 1, 2, 0.5, "stop"))
        return [Reply(f"{os.getpid()} {self._batch}", "stop", 3, 1, 2, 0.5) for _ in asks]

    def count(self, text: str) -> int:
        """Words."""
        return len(text.split())

    def close(self) -> None:
        """Nothing to give back."""


def misbehave(prompt: str, folder: Path, beat: Callable[[], None]) -> None:
    """What the prompt asks for."""
    said = prompt.split()
    once = folder / "died"
    if DIES in said or (DIES_ONCE in said and not once.exists()):
        once.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if HANGS in said:
        time.sleep(600)
    if SLOW in said:
        for _ in range(5):
            time.sleep(0.9)
            beat()
    if POOR in said:
        raise OutOfMemory("One request is too much.", mend="Take less.")
    if CHATTY in said:
        print("a line of a library", flush=True)
        logging.getLogger("moody").warning("%d tokens", "many")
    if BROKEN in said:
        logging.getLogger("moody").warning("about to break")
        raise KeyError("what")


def scripted(
    folder: Path, *, account: Account, beat: Callable[[], None], batch: int
) -> CannedModel:
    """A good model that answers as in `support_night`, and misbehaves where a prompt says so."""
    script = Script()

    def write(purpose: str, ask: Ask) -> str | Reply:
        misbehave(ask.prompt.replace(".", " "), folder, beat)
        return script.write(purpose, ask)

    return CannedModel(script.choose, write, account=account)
