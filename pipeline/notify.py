"""Telling the user, or a program of theirs, that a run has ended. Neither can harm the run."""

from __future__ import annotations

import html
import logging
import sys
from collections.abc import Sequence
from typing import Protocol

from pipeline.system import Answer, Ask
from pipeline.terminal import one_line

HOOK_SECONDS = 60.0
HOOK_SECONDS_STOPPED = 5.0  # of a run that a signal ended: it has ten in all

# Longer ones are cut by the desktop; the log has the whole.
_LONGEST = 240

# The words come as arguments, so that nothing in them can be taken for script.
_SCRIPT = (
    "on run argv",
    "display notification (item 2 of argv) with title (item 1 of argv)",
    "end run",
)

_log = logging.getLogger(__name__)


class AskGiven(Protocol):
    """`system.ask` in full: with text for the program's standard input, and a limit."""

    def __call__(self, argv: Sequence[str], *, given: str = ..., seconds: float = ...) -> Answer:
        """Run a program to its end."""


def notify(title: str, text: str, ask: Ask) -> bool:
    """Show a notification, if the system can; whether it took it. Never raises."""
    title, text = _shown(title), _shown(text)
    if sys.platform == "darwin":
        lines = [word for line in _SCRIPT for word in ("-e", line)]
        # it documents no end of options; the first word that is none ends them
        argv = ["osascript", *lines, title.lstrip("- "), text]
    else:
        # a body is markup by the desktops' agreement, a title is not
        argv = ["notify-send", "--app-name=nightly-memory", "--", title, html.escape(text)]
    answer = ask(argv)
    if answer.code:
        _log.info("no notification: %s", _said(answer))
    return answer.code == 0


def tell_command(
    argv: Sequence[str], results_json: str, ask: AskGiven, *, seconds: float = HOOK_SECONDS
) -> bool:
    """Start the user's `on_finish` command with the result on its standard input.

    It has `seconds`; what it does wrong is logged and is no fault of the run. Never raises.
    """
    if not argv:
        return True
    try:
        answer = ask(list(argv), given=results_json, seconds=seconds)
    except (ValueError, OSError) as error:  # a NUL in a word, a closed pipe
        _log.warning("on_finish: %s cannot be started: %s", argv[0], error)
        return False
    if answer.code:
        _log.warning("on_finish: %s ended with %s", argv[0], _said(answer))
    return answer.code == 0


def _shown(text: str) -> str:
    """One line that any program takes as an argument: no control character, nothing half."""
    whole = text.encode("utf-8", "replace").decode("utf-8")
    line = one_line(whole)
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1].rstrip() + "…"


def _said(answer: Answer) -> str:
    first = (answer.err or answer.out).strip().partition("\n")[0]
    return f"{answer.code}: {first}" if first else str(answer.code)
