"""The hooks in a settings file of Claude Code: put in, taken out, shown; the rest stays as it is.

The file is the user's. Its text is changed where the hooks stand and nowhere else, as far as that
can be done; where it cannot, it is written anew in the same indentation, with every key in its
place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from difflib import unified_diff
from pathlib import Path
from typing import Any

from pipeline.errors import ConfigFault

PROGRAM = "memory-hook"
# event: what it is called for, and how many seconds the agent waits
EVENTS: dict[str, tuple[str | None, int]] = {
    "SessionStart": ("startup|resume|clear|compact", 10),
    "UserPromptSubmit": (None, 10),
    "PostToolUse": (
        "Edit|MultiEdit|Write|NotebookEdit|Bash|TodoWrite|ExitPlanMode|AskUserQuestion|mcp__linear.*",
        10,
    ),
    "PreCompact": (None, 10),
    "Stop": (None, 10),
    "SessionEnd": (None, 10),
}
_OURS = re.compile(rf"(?:^|[/\\\s\"']){PROGRAM}(?:\.exe)?[\"']?(?:\s|$)")


def read(path: Path) -> tuple[str, dict[str, Any]]:
    """The file's text and what it says; "" and {} where there is none.

    Raises ConfigFault when it is not what Claude Code could read: such a file is not touched.
    """
    try:
        text = path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return "", {}
    except (OSError, ValueError) as error:
        raise _unusable(path, str(error)) from error
    try:
        said = json.loads(text) if text.strip() else {}
    except ValueError as error:
        raise _unusable(path, str(error)) from error
    if not isinstance(said, dict) or not isinstance(said.get("hooks", {}), dict):
        raise _unusable(path, "it does not hold what settings hold")
    for event, groups in said.get("hooks", {}).items():
        if not isinstance(groups, list):
            raise _unusable(path, f"hooks.{event} is no list")
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


def diff(path: Path, before: str, after: str) -> list[str]:
    """The change as a unified diff, lines without their ends."""
    return [
        line.rstrip("\n")
        for line in unified_diff(
            before.splitlines(keepends=True), after.splitlines(keepends=True), str(path), str(path)
        )
    ]


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
    indent = _indent(text)
    new = json.dumps(hooks, indent=indent, ensure_ascii=False)
    spliced = _spliced(text, new, indent, keep=bool(hooks)) if text.strip() else None
    if spliced is not None and _says(spliced, wanted):
        return spliced
    return json.dumps(wanted, indent=indent, ensure_ascii=False) + "\n"


def _says(text: str, wanted: Mapping[str, Any]) -> bool:
    try:
        return bool(json.loads(text) == wanted)
    except ValueError:
        return False


def _indent(text: str) -> str | int:
    found = re.search(r"\n([ \t]+)\"", text)
    return found[1] if found else 2


def _spliced(text: str, new: str, indent: str | int, *, keep: bool) -> str | None:
    """The text with the value of its outer "hooks" replaced, added or taken out; None if it is
    written in a way that this cannot be done in."""
    members = _members(text)
    if members is None:
        return None
    step = indent if isinstance(indent, str) else " " * indent
    shifted = new.replace("\n", f"\n{step}")
    place = next((one for one in members if one[0] == "hooks"), None)
    if place:
        _, start, value, end = place
        if keep:
            return text[:value] + shifted + text[end:]
        return _cut(text, members, start, end)
    if not keep:
        return text
    entry = f'"hooks": {shifted}'
    if members:
        last = members[-1][3]
        return f"{text[:last]},\n{step}{entry}{text[last:]}"
    opening = text.index("{") + 1
    return f"{text[:opening]}\n{step}{entry}\n}}\n"


def _cut(text: str, members: list[tuple[str, int, int, int]], start: int, end: int) -> str:
    """Without the member from `start` to `end` and the comma that parts it from a neighbour."""
    at = [one[1] for one in members].index(start)
    if at + 1 < len(members):
        return text[:start] + text[members[at + 1][1] :]
    if at:
        return text[: members[at - 1][3]] + text[end:]
    return text[:start].rstrip() + text[end:].lstrip()


def _members(text: str) -> list[tuple[str, int, int, int]] | None:
    """The outer members: name, where it starts, where its value starts, where that ends."""
    decoder = json.JSONDecoder()
    space = re.compile(r"[ \t\r\n]*")

    def past(at: int) -> int:
        found = space.match(text, at)
        return found.end() if found else at

    found = []
    try:
        at = past(text.index("{") + 1)
        while text[at] != "}":
            start = at
            name, at = decoder.raw_decode(text, at)
            at = past(at)
            if text[at] != ":":
                return None
            value = past(at + 1)
            _, at = decoder.raw_decode(text, value)
            found.append((name, start, value, at))
            at = past(at)
            if text[at] == ",":
                at = past(at + 1)
    except (ValueError, IndexError):
        return None
    return found


def _unusable(path: Path, reason: str) -> ConfigFault:
    return ConfigFault(
        f"{path} cannot be changed: {reason}",
        mend="mend the file, or move it aside, then try again",
    )
