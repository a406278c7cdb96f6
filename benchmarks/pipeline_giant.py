"""Conversations and messages far longer than any prompt, and what a night over one holds in memory.

Tokens are four characters of ASCII or one of anything else, which is about what tokenizers make of
them. `watch` starts the night as a process of its own and looks at it, and at the process its model
works in, from outside.
"""

from __future__ import annotations

import contextlib
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import psutil

from benchmarks.sessions import write_session

SESSION = "5f0c7a3e-1d2b-4c3d-8e4f-a0b1c2d3e4f5"
CONVERSATION, MESSAGE, UNBROKEN = "conversation", "message", "unbroken"
TOKENS = {CONVERSATION: 400_000, MESSAGE: 200_000, UNBROKEN: 200_000}
_EACH = 2000  # tokens of a message of the conversation
_FACT_EVERY = 10  # messages between two that state a fact
_FEW = 4  # facts beside or inside a giant message
_SYLLABLES = [f"{a}{b}" for a in "bdfgklmnprstvz" for b in "aeiou"]
_LOOK = 0.25  # seconds between two looks at the memory
_PATIENCE = 240.0  # seconds a stopped run has to end


def tokens(text: str) -> int:
    """The tokens of a text."""
    ascii_ = sum(character.isascii() for character in text)
    return -(-ascii_ // 4) + len(text) - ascii_


def facts(number: int) -> Iterator[str]:
    """Sentences that each say something of their own."""
    draw = random.Random(7)
    for at in range(number):
        name = "".join(draw.choices(_SYLLABLES, k=3)).capitalize()
        yield f"The {name} depot of the Lantern project holds {at + 11} crates."


def said(kind: str) -> tuple[list[tuple[str, str]], list[str]]:
    """(role, text) of each message, and the facts stated among them.

    conversation: of 400,000 tokens. message: one of 200,000 among two short ones. unbroken: the
    same in a script without spaces, and not a full stop in it.
    """
    draw = random.Random(3)
    vocabulary = ["".join(draw.choices(_SYLLABLES, k=draw.randint(1, 4))) for _ in range(4000)]

    def prose(size: int) -> str:
        words: list[str] = []
        left = size * 4
        while left > 0:
            sentence = draw.choices(vocabulary, k=draw.randint(6, 18))
            words += [sentence[0].capitalize(), *sentence[1:-1], f"{sentence[-1]}."]
            left -= sum(map(len, sentence)) + len(sentence) + 1
        return " ".join(words)

    if kind == CONVERSATION:
        count = TOKENS[kind] // _EACH
        stated = list(facts(count // _FACT_EVERY))
        lines = []
        for at in range(count):
            fact = f"{stated[at // _FACT_EVERY]} " if at % _FACT_EVERY == _FACT_EVERY - 1 else ""
            lines.append(("assistant" if at % 2 else "user", f"{fact}{prose(_EACH)}"))
        return lines, stated
    stated = list(facts(_FEW))
    opening = ("user", f"Here is what came out of the Lantern project. {prose(40)}")
    if kind == MESSAGE:
        parts = [part for fact in stated for part in (prose(TOKENS[kind] // len(stated)), fact)]
        return [
            opening,
            ("assistant", " ".join(parts)),
            ("user", f"Thank you. {prose(40)}"),
        ], stated
    blob = "".join(chr(draw.randint(0x4E00, 0x8FFF)) for _ in range(TOKENS[kind]))
    return [opening, ("assistant", blob), ("user", " ".join(stated))], stated


def write(kind: str, home: Path) -> int:
    """The giant as a transcript under a home folder; returns its tokens."""
    lines, _ = said(kind)
    write_session(home, "claude-code", SESSION, datetime(2026, 11, 26, 9, 0, tzinfo=UTC), lines)
    return sum(tokens(text) for _, text in lines)


@dataclass(frozen=True, slots=True)
class Watched:
    """Peaks of resident memory in MB, of the run's own process and of its model's; its last line.

    ended: False where it was stopped after its minutes.
    """

    run_mb: float
    model_mb: float
    seconds: float
    ended: bool
    said: str


def watch(command: list[str], minutes: float) -> Watched:
    """Run it, look at its memory, and stop it (SIGTERM) after so many minutes."""
    started = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    seen = psutil.Process(process.pid)
    run = model = 0
    ended = True
    while process.poll() is None:
        with contextlib.suppress(psutil.Error):
            run = max(run, seen.memory_info().rss)
            for child in seen.children(recursive=True):
                with contextlib.suppress(psutil.Error):
                    if "pipeline.models.worker" in child.cmdline():
                        model = max(model, child.memory_info().rss)
        if ended and time.monotonic() - started > minutes * 60:
            ended = False
            process.send_signal(signal.SIGTERM)
        if time.monotonic() - started > minutes * 60 + _PATIENCE:
            process.kill()
        time.sleep(_LOOK)
    out = process.stdout.read() if process.stdout else ""
    if process.returncode:
        raise SystemExit(f"the night over a giant ended with {process.returncode}: {out}")
    elapsed = time.monotonic() - started
    return Watched(run / 1e6, model / 1e6, elapsed, ended, out.strip().splitlines()[-1])


def command(script: str, kind: str, home: Path, model: str) -> list[str]:
    """What starts the night over a giant: `script --one KIND HOME --models NAME`."""
    return [sys.executable, script, "--one", kind, str(home), "--models", model]
