"""`hooks install|remove|status`: having an agent call us, or no longer."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from pipeline.errors import ConfigFault
from pipeline.project import agent_settings, place
from pipeline.project.call import Answer, Call
from pipeline.project.vocabulary import AGENTS, HOOK_ACTIONS, HOOK_SCOPES, one_of
from pipeline.user_files import FileChange, diff, put, text_of

_LOCAL = "/.claude/settings.local.json"


def hooks(call: Call) -> Answer:
    """Put our hooks into the agent's settings, take them out, or say whether they are there."""
    action = one_of("the action", call["action"], HOOK_ACTIONS)
    one_of("--agent", call["agent"] or AGENTS[0], AGENTS)
    if action == "status" and call["dry_run"]:
        raise ConfigFault("--dry-run does not belong to status", mend="leave it out")
    scope = one_of("--scope", call["scope"] or HOOK_SCOPES[0], HOOK_SCOPES)
    path = _settings_file(call, scope)
    before, said = agent_settings.read(path)
    data = {"settings": str(path), "events": agent_settings.installed(said)}
    if action == "status":
        missing = [one for one in agent_settings.EVENTS if one not in data["events"]]
        lines = [f"{path}: hooks for {', '.join(data['events']) or 'no event'}"]
        if missing:
            lines.append(f"not for {', '.join(missing)}: `anvil-memory hooks install` adds them")
        return Answer({**data, "missing": missing}, lines)
    if action == "install":
        after = agent_settings.with_ours(before, said, _command(call))
    else:
        after = agent_settings.without_ours(before, said)
    written = FileChange(path, text_of(path), after)
    change = diff(written) if after != before else []
    dry = bool(call["dry_run"])
    lines = [*change, f"{'this would be changed' if dry else 'changed'}: {path}"]
    if not change:
        lines = [f"{path}: nothing to change"]
    elif not dry:
        put(written)
        made = written.before is None and scope == HOOK_SCOPES[0]
        # the agent does so itself where it makes the file; paths of this machine are in it
        if made and place.leave_alone(call.place, _LOCAL):
            lines.append(f"git leaves it alone: {call.place.exclude}")
    return Answer({**data, "changed": after != before, "dry_run": dry, "diff": change}, lines)


def _settings_file(call: Call, scope: str) -> Path:
    if scope == "user":
        named = call.environ.get("CLAUDE_CONFIG_DIR")
        return (place.user_path(named) if named else call.home / ".claude") / "settings.json"
    folder = Path(call.place.worktree or call.place.root) / ".claude"
    return folder / ("settings.json" if scope == "project" else "settings.local.json")


def _command(call: Call) -> str:
    """How the agent calls the program: by its path, since an agent's PATH need not have it.

    In settings that are shared with other people by its name, which is theirs to find.
    """
    if (call["scope"] or HOOK_SCOPES[0]) == "project":
        return agent_settings.PROGRAM
    beside = Path(sys.argv[0]).resolve().with_name(agent_settings.PROGRAM)
    if not beside.is_file():
        beside = Path(sys.executable).with_name(agent_settings.PROGRAM)
    return shlex.quote(str(beside)) if beside.is_file() else agent_settings.PROGRAM
