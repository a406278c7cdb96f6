"""What Codex writes into the user's turn that the user did not say."""

from __future__ import annotations

# A text that begins so is no person's. Only at the start: people quote these in the middle.
_WRAPPERS = (
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md instructions for",
    "<INSTRUCTIONS>",
    "<recommended_plugins>",
    "<skill>",
    "<turn_aborted>",
    "<subagent_notification>",
    "<user_shell_command>",
    "<goal_context>",
    "<codex_internal_context",
    "<collaboration_mode>",
    "<permissions instructions>",
)
_IDE = "# Context from my IDE setup:"
_REQUEST = "## My request for Codex:"


def persons_words(text: str) -> str:
    """What is left of a text of a user's turn when all that was put in is gone; often ""."""
    text = text.strip()
    if text.startswith(_IDE):
        return text.partition(_REQUEST)[2].strip()
    return "" if text.startswith(_WRAPPERS) else text
