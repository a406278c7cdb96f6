"""The hooks in a settings file of Claude Code: put in, taken out, shown; the rest stays as it is.

The file is the user's. Its text is changed where the hooks stand and nowhere else, as far as that
can be done; where it cannot, it is written anew in the same indentation, with every key in its
place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.project.json_text import parts, with_one_more, without
from pipeline.user_files import text_of, unusable

PROGRAM = "memory-hook"
# event: what it is called for, and how many seconds the agent waits
EVENTS: dict[str, tuple[str | None, int]] = {
    "SessionStart": ("startup|resume|clear|compact", 10),
    "UserPromptSubmit": (None, 10),
    "PostToolUse": (
        "Edit|MultiEdit|Write|NotebookEdit|Bash|TodoWrite|TaskCreate|TaskUpdate|ExitPlanMode|"
        "AskUserQuestion|mcp__linear.*",
        10,
    ),
    "PostToolUseFailure": ("Bash", 10),  # a command that fails causes no PostToolUse
    "PreCompact": (None, 10),
    "Stop": (None, 10),
    "SessionEnd": (None, 10),
}
_OURS = re.compile(rf"(?:^|[/\\\s\"']){PROGRAM}(?:\.exe)?[\"']?(?:\s|$)")


def read(path: Path) -> tuple[str, dict[str, Any]]:
    """The file's text and what it says; "" and {} where there is none.

    Raises ConfigFault when it is not what Claude Code could read: such a file is not touched.
    """
    text = text_of(path)
    if text is None:
        return "", {}
    try:
        said = _said(text)
    except ValueError as error:
        raise unusable(path, str(error)) from error
    if not isinstance(said, dict) or not isinstance(said.get("hooks", {}), dict):
        raise unusable(path, "it does not hold what settings hold")
    for event, groups in said.get("hooks", {}).items():
        if not isinstance(groups, list):
            raise unusable(path, f"hooks.{event} is no list")
    return text, said


def installed(said: Mapping[str, Any]) -> list[str]:
    """The events that call us, in our order."""
    hooks = said.get("hooks", {})
    return [event for event in EVENTS if any(map(_is_ours, _commands(hooks.get(event, []))))]


def with_ours(text: str, said: Mapping[str, Any], command: str) -> str:
    """The file's text with our hooks in it, once; the same text when they are all there already.

    command: how to call the program.
    """
    if installed(said) == list(EVENTS) and all(
        _is_as_wanted(said["hooks"][event], event, command) for event in EVENTS
    ):
        return text
    hooks = {event: list(groups) for event, groups in _without(said).items()}
    for event in EVENTS:
        hooks.setdefault(event, []).append(_group(event, command))
    return _put(text, said, hooks)


def without_ours(text: str, said: Mapping[str, Any]) -> str:
    """The file's text without our hooks; the same text when there are none."""
    if not installed(said):
        return text
    return _put(text, said, _without(said))


# ------------------------------------------------------------------ what hooks are ours


def _group(event: str, command: str) -> dict[str, Any]:
    matcher, seconds = EVENTS[event]
    called = {"type": "command", "command": f"{command} {_argument(event)}", "timeout": seconds}
    return ({"matcher": matcher} if matcher else {}) | {"hooks": [called]}


def _argument(event: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "-", event).lower()


def _is_ours(command: str) -> bool:
    return _OURS.search(command) is not None


def _commands(groups: Any) -> list[str]:
    return [
        hook["command"]
        for group in groups
        if isinstance(group, dict) and isinstance(group.get("hooks"), list)
        for hook in group["hooks"]
        if isinstance(hook, dict) and isinstance(hook.get("command"), str)
    ]


def _is_as_wanted(groups: Any, event: str, command: str) -> bool:
    ours = [group for group in groups if any(map(_is_ours, _commands([group])))]
    return ours == [_group(event, command)]


def _without(said: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The hooks that are not ours; a group or an event that held ours alone is gone with it."""
    kept: dict[str, list[Any]] = {}
    for event, groups in said.get("hooks", {}).items():
        left = []
        for group in groups:
            if not any(map(_is_ours, _commands([group]))):
                left.append(group)
                continue
            others = [
                hook
                for hook in group["hooks"]
                if not (isinstance(hook, dict) and _is_ours(str(hook.get("command", ""))))
            ]
            if others:
                left.append({**group, "hooks": others})
        if left or not groups:
            kept[event] = left
    return kept


# ------------------------------------------------------------------ the file's text


def _put(text: str, said: Mapping[str, Any], hooks: Mapping[str, list[Any]]) -> str:
    """The text with these hooks in the place of those it has."""
    wanted = {name: value for name, value in said.items() if name != "hooks"}
    if hooks:
        wanted = {**said, "hooks": dict(hooks)}
    indent = re.search(r"\n([ \t]+)\"", text)
    step = indent[1] if indent else "  "
    try:
        changed = _in_place(text, said.get("hooks", {}), hooks, step)
        if _said(changed) == wanted:
            return changed
    except (ValueError, IndexError):
        pass  # written in a way that nobody writes settings
    return json.dumps(wanted, indent=step, ensure_ascii=False) + "\n"


def _in_place(
    text: str, old: Mapping[str, list[Any]], new: Mapping[str, list[Any]], step: str
) -> str:
    """The text with the old hooks made the new ones, part by part."""

    def shown(value: Any) -> str:
        return json.dumps(value, indent=step, ensure_ascii=False)

    top = text.index("{")
    found = [number for number, part in enumerate(parts(text, top)[0]) if part.name == "hooks"]
    if not found:
        entry = f'"hooks": {shown(new)}'
        return with_one_more(text, top, entry, step, 1) if new else text
    if not new:
        return without(text, top, found[-1])
    at = parts(text, top)[0][found[-1]].value
    for event in dict.fromkeys([*old, *new]):
        members = parts(text, at)[0]
        named = [number for number, part in enumerate(members) if part.name == event]
        place = named[-1] if named else None  # of a name that stands twice the last one counts
        if place is None:
            text = with_one_more(text, at, f"{shown(event)}: {shown(new[event])}", step, 2)
        elif event not in new:
            text = without(text, at, place)
        elif old[event] != new[event]:
            value = members[place].value
            kept = [group for group in old[event] if group in new[event]]
            for number in range(len(old[event]) - 1, -1, -1):
                if old[event][number] not in new[event]:
                    text = without(text, value, number)
            for group in new[event][len(kept) :]:
                text = with_one_more(text, value, shown(group), step, 3)
    return text


def _said(text: str) -> Any:
    """What the text says; some editors put a mark before it."""
    bare = text.removeprefix("\ufeff")
    return json.loads(bare) if bare.strip() else {}
