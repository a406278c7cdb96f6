"""The agents that the server and the skill are made known to, and where each keeps them.

As each documents it; Claude Desktop's folder on a Mac has not been seen on one.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from pipeline.mcp.entries import NAME, Entry, with_json, with_toml, without_json, without_toml
from pipeline.user_files import FileChange, text_of

NEEDS = "pipx inject nightly-memory mcp, or install it with its extra: pipx install '.[mcp]'"
_PROGRAM = "memory"
_MARK = re.compile(r"\n<!-- nightly-memory (?P<digest>[0-9a-f]{16}) -->\n\Z")


@dataclass(frozen=True, slots=True)
class Plan:
    """Files to be changed, and what else the user should know."""

    files: tuple[FileChange, ...]
    said: tuple[str, ...] = ()


def installing(
    client: str, scope: str, arguments: Sequence[str], environ: Mapping[str, str] = os.environ
) -> Plan:
    """Server and skill for this client. arguments: after `memory mcp`.

    Raises ConfigFault for settings that are broken.
    """
    changes, said = [], []
    settings, skill = _places(client, scope, environ)
    if settings is None:
        said.append(
            "pi has no MCP of its own: it gets the skill alone, and calls the `memory` command"
        )
    else:
        before = text_of(settings)
        shared = client == "claude-code" and scope == "project"
        entry = _entry(client, arguments, shared=shared)
        put_in = with_toml if settings.suffix == ".toml" else with_json
        changes.append(FileChange(settings, before, put_in(settings, before or "", entry)))
        said.append(f"{client} has it in sessions that begin after this change")
        if find_spec("mcp") is None:
            said.append(f"the server needs one package more: {NEEDS}")
    if skill is not None:
        before = text_of(skill)
        if before is None or _is_ours(before):
            changes.append(FileChange(skill, before, _skill()))
        else:
            said.append(f"{skill} is yours and stays; move it aside to have the shipped one")
    return Plan(tuple(changes), tuple(said))


def uninstalling(client: str, scope: str, environ: Mapping[str, str] = os.environ) -> Plan:
    """Server and skill out of this client's settings; a skill that the user changed stays."""
    changes, said = [], []
    settings, skill = _places(client, scope, environ)
    if settings is not None and (before := text_of(settings)) is not None:
        take_out = without_toml if settings.suffix == ".toml" else without_json
        changes.append(FileChange(settings, before, take_out(settings, before)))
    if skill is not None and (before := text_of(skill)) is not None:
        if _is_ours(before):
            changes.append(FileChange(skill, before, None))
        else:
            said.append(f"{skill} is yours and stays")
    return Plan(tuple(changes), tuple(said))


def _places(client: str, scope: str, environ: Mapping[str, str]) -> tuple[Path | None, Path | None]:
    """The client's settings and our skill, None for what it does not have."""
    home = Path.home()

    def folder(variable: str, default: Path) -> Path:
        return Path(environ.get(variable) or default).expanduser().absolute()

    skill = Path("skills") / NAME / "SKILL.md"
    if client == "claude-code" and scope == "project":
        return Path.cwd() / ".mcp.json", Path.cwd() / ".claude" / skill
    if client == "claude-code":
        own = environ.get("CLAUDE_CONFIG_DIR")
        settings = folder("CLAUDE_CONFIG_DIR", home) / ".claude.json"
        return settings, (folder("CLAUDE_CONFIG_DIR", home) if own else home / ".claude") / skill
    if client == "codex":
        return folder("CODEX_HOME", home / ".codex") / "config.toml", home / ".agents" / skill
    if client == "pi":
        return None, folder("PI_CODING_AGENT_DIR", home / ".pi" / "agent") / skill
    if sys.platform == "darwin":
        above = home / "Library" / "Application Support"
    else:
        above = folder("XDG_CONFIG_HOME", home / ".config")
    return above / "Claude" / "claude_desktop_config.json", None


def _entry(client: str, arguments: Sequence[str], *, shared: bool) -> Entry:
    """How the client starts the server: by its path, since a client's PATH need not have it.

    In a file that is shared with other people by its name, which is theirs to find.
    """
    beside = Path(sys.executable).with_name(_PROGRAM)
    command = str(beside) if beside.is_file() else shutil.which(_PROGRAM) or _PROGRAM
    called = {"command": _PROGRAM if shared else command, "args": ["mcp", *arguments]}
    return {"type": "stdio", **called} if client == "claude-code" else called


def _skill() -> str:
    """The skill as it is installed: with a mark that tells whether somebody changed it since."""
    text = (files("pipeline") / "mcp" / "SKILL.md").read_text(encoding="utf-8")
    return f"{text}\n<!-- nightly-memory {_digest(text)} -->\n"


def _is_ours(text: str) -> bool:
    mark = _MARK.search(text)
    return mark is not None and mark["digest"] == _digest(text[: mark.start()])


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
