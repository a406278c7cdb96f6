"""`hooks install|remove|status`: having an agent call us, or no longer."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

from pipeline.errors import ConfigFault
from pipeline.project import agent_settings, place
from pipeline.project.call import Answer, Call
from pipeline.project.vocabulary import AGENTS, HOOK_ACTIONS, HOOK_SCOPES, one_of


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
    change = agent_settings.diff(path, before, after)
    dry = bool(call["dry_run"])
    if after != before and not dry:
        _write(path, before, after)
    if not change:
        lines = [f"{path}: nothing to change"]
    else:
        lines = [*change, f"{'this would be changed' if dry else 'changed'}: {path}"]
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


def _write(path: Path, before: str, after: str) -> None:
    """Write the file whole, unless it was changed meanwhile; a link stays a link."""
    target = path.resolve()
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        mode = target.stat().st_mode & 0o777 if target.is_file() else 0o600
        if not mode & 0o222:
            raise ConfigFault(f"{path} is read-only", mend="have it writable, then try again")
        draft.write_bytes(after.encode())
        draft.chmod(mode)
        if agent_settings.read(path)[0] != before:
            raise ConfigFault(f"{path} was changed meanwhile", mend="try again")
        draft.replace(target)
    except OSError as error:
        raise ConfigFault(
            f"{path} cannot be written: {error.strerror or error}", mend="check its permissions"
        ) from error
    finally:
        draft.unlink(missing_ok=True)
