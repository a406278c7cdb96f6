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
    "<task-notification>",
    "<agent-notification>",
    "<teammate-message",
    "[Request interrupted by user",
    "Stop hook feedback:",
    "This session is being continued from a previous conversation",
    "[Image: source:",
)
_COMMAND = re.compile(r"<command-name>([^<]+)</command-name>")
_ARGUMENTS = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)
# How the result of a call begins that the person refused, and where in it their own words do.
REFUSED = "The user doesn't want to proceed with this tool use."
REFUSAL = "the user said:"
_ADVICE = "\n\nNote: The user's next message may contain a correction"  # to the assistant
_WORDS = 3  # so many make a sentence; fewer, and options and paths, are for the command alone


def persons_words(text: str) -> str:
    """What is left of a text block of a user's turn when all that was put in is gone; often "".

    A slash command is no speech, but what is typed behind it may be: a task, told only here.
    """
    text = (_SPANS.sub("", text) if "<" in text else text).strip()
    if text.startswith("<command-"):
        given = _ARGUMENTS.search(text)
        return given[1].strip() if given and _is_said(given[1]) else ""
    return "" if text.startswith(_WRAPPERS) else text


def words_of_refusal(result: str) -> str:
    """What the person typed in refusing a call, from its result; "" for any other result."""
    if not result.startswith(REFUSED):
        return ""
    return persons_words(result.partition(REFUSAL)[2].partition(_ADVICE)[0])


def slash_command(text: str) -> str:
    """The slash command of a text that reports one, as it was typed; "" for any other text."""
    if not text.lstrip().startswith("<command-"):
        return ""
    name, arguments = _COMMAND.search(text), _ARGUMENTS.search(text)
    return f"{name[1] if name else ''} {arguments[1] if arguments else ''}".strip()


def _is_said(arguments: str) -> bool:
    """Whether there is a sentence in them; in scripts without blanks a few signs may be one."""
    words = [word.strip(".,;:!?\"'()") for word in arguments.split()]
    return sum(word.isalpha() for word in words) >= _WORDS or not arguments.isascii()
