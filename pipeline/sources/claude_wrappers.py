"""What Claude Code writes into the user's turn that the user did not say."""

from __future__ import annotations

import re

# Spans put in beside the person's words. An unclosed one takes nothing with it: the tag is prose.
_SPANS = re.compile(
    r"<(system-reminder|ide_opened_file|ide_selection|ide_diagnostics)>.*?</\1>", re.DOTALL
)
# A text that begins so is no person's at all. Only at the start: people quote these in the middle.
_WRAPPERS = (
    "<local-command-caveat>",
    "Caveat: The messages below",
    "<local-command-stdout>",
    "<local-command-stderr>",
    "<bash-stdout>",
    "<bash-stderr>",
    "<bash-input>",
    "<command-name>",
    "<command-message>",
    "<command-args>",
    "<task-notification>",
    "<agent-notification>",
    "<teammate-message",
    "[Request interrupted by user",
    "Stop hook feedback:",
    "[Image: source:",
)
_COMMAND = re.compile(r"<command-name>([^<]+)</command-name>")
_ARGUMENTS = re.compile(r"<command-args>([^<]*)</command-args>")


def persons_words(text: str) -> str:
    """What is left of a text block of a user's turn when all that was put in is gone; often ""."""
    text = _SPANS.sub("", text).strip()
    return "" if text.startswith(_WRAPPERS) else text


def slash_command(text: str) -> str:
    """The slash command of a text that reports one, as it was typed; "" for any other text."""
    if not text.lstrip().startswith("<command-"):
        return ""
    name, arguments = _COMMAND.search(text), _ARGUMENTS.search(text)
    return f"{name[1] if name else ''} {arguments[1] if arguments else ''}".strip()
