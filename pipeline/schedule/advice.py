"""What launchctl's error numbers mean here, and what to do about each.

Apple documents the numbers by `launchctl error N` alone. Several say less than they know: 5 stands
for almost anything, which is why its cure is a list.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pipeline.errors import MemoryFault
from pipeline.system import NOT_THERE, TOO_LATE, Answer

NO_SUCH_PROCESS = 3
IO_ERROR = 5
EXISTS = 17
IN_PROGRESS = 36
ALREADY = 37
NO_DOMAIN = 112
NO_SERVICE = 113
UNSUPPORTED = 125

_AT_THE_SCREEN = (
    "log in at the Mac's own screen (not over ssh, not with sudo) and run `memory schedule` there; "
    "what is written already is loaded at the next login"
)
_ALLOW = "System Settings > General > Login Items & Extensions"


@dataclass(frozen=True, slots=True)
class Advice:
    """meaning: what the error says, as a clause. cure: what to do about it."""

    meaning: str
    cure: str


KNOWN: dict[int, Advice] = {
    1: Advice(
        "macOS does not permit it",
        "give the terminal Full Disk Access under System Settings > Privacy & Security, and run "
        "the command as yourself, without sudo",
    ),
    NO_SUCH_PROCESS: Advice("the job is not loaded", "load it: memory schedule"),
    IO_ERROR: Advice(
        "launchd will not load the job and does not say why",
        f"of these, one is usual: the job is switched off ({_ALLOW}); it is still being unloaded "
        "(wait a minute); nobody is logged in at the screen (log in, not over ssh); the job's file "
        "or folder lies where macOS asks for a grant. Then: memory schedule",
    ),
    EXISTS: Advice(
        "a job of this name is loaded already",
        "take it out and schedule anew: memory unschedule, then memory schedule",
    ),
    IN_PROGRESS: Advice(
        "launchd is still ending the job",
        "wait until the run at work has ended, then: memory schedule",
    ),
    ALREADY: Advice(
        "launchd is at it already",
        "wait a minute, then: memory schedule",
    ),
    NO_DOMAIN: Advice("nobody is logged in at the Mac's screen", _AT_THE_SCREEN),
    NO_SERVICE: Advice("the job is not loaded", "load it: memory schedule"),
    119: Advice(
        "the job is switched off",
        f"allow it under {_ALLOW}, then: memory schedule",
    ),
    122: Advice(
        "the job's file, or a folder above it, may be changed by others or is not yours",
        "make ~/Library/LaunchAgents your own, then: memory schedule",
    ),
    TOO_LATE: Advice(
        "launchctl gave no answer, or the login session is ending",
        "try again once you are logged in",
    ),
    UNSUPPORTED: Advice("this session cannot have jobs of the screen's user", _AT_THE_SCREEN),
    126: Advice(
        "this macOS no longer knows the request",
        "update nightly-memory, then: memory schedule",
    ),
    NOT_THERE: Advice("there is no launchctl", "run it on the Mac itself, with /bin in PATH"),
    134: Advice("the job cannot be loaded in a session of this kind", _AT_THE_SCREEN),
    150: Advice(
        "System Integrity Protection stands against it",
        "install nightly-memory, and keep its files, in your home folder rather than in one that "
        "belongs to macOS; then: memory schedule",
    ),
    155: Advice(
        "the program is quarantined, as downloaded files are",
        "install nightly-memory with a package installer (uv, pipx, pip), then: memory schedule",
    ),
}

# Some versions answer with an exit code of no use and the number or the words in the text.
_NUMBER = re.compile(r"\b(?:failed|service [^\n]*): (\d+): ")
_WORDS = (
    ("Could not find domain", NO_DOMAIN),
    ("Could not find service", NO_SERVICE),
    ("No such process", NO_SUCH_PROCESS),
    ("Service is disabled", 119),
    ("Domain does not support specified action", UNSUPPORTED),
    ("Service cannot load in requested session", 134),
    ("System Integrity Protection", 150),
    ("Operation not permitted", 1),
)


def number(answer: Answer) -> int:
    """The error that an answer of launchctl stands for; 0 if it is none."""
    if answer.code == 0:
        return 0
    text = f"{answer.err}\n{answer.out}"
    found = _NUMBER.search(text)
    told = int(found[1]) if found else answer.code
    # the words know better where the number is the one that stands for anything
    if told not in KNOWN or told in (1, IO_ERROR):
        return next((code for words, code in _WORDS if words in text), told)
    return told


def explain(answer: Answer) -> Advice:
    """What it means and how to mend it, for any answer that is an error."""
    code = number(answer)
    if code in KNOWN:
        return KNOWN[code]
    said = (answer.err or answer.out).strip().splitlines()
    return Advice(
        f"it says {said[0]!r}" if said else "it says nothing",
        f"see what macOS means by it: launchctl error {code}",
    )


def fault(verb: str, answer: Answer) -> MemoryFault:
    """The fault to raise for a refusal of `launchctl verb`."""
    advice = explain(answer)
    return MemoryFault(
        f"launchctl {verb} failed with {number(answer)}: {advice.meaning}", mend=advice.cure
    )
