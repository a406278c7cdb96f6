"""Events sent to the hook as an agent sends them, and what the store has of them."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from pipeline import hook
from tests.support_project import Project


def fire(project: Project, event: str, **fields: Any) -> dict[str, Any] | None:
    """Send an event as the agent would, in this process."""
    payload = {"session_id": "agent-1", "cwd": str(project.root), "hook_event_name": event}
    stream = io.BytesIO(json.dumps(payload | fields).encode())
    return hook.run([event], stream, os.environ, Path.home())


def tool(project: Project, name: str, given: dict[str, Any], answer: Any = None) -> None:
    fire(project, "PostToolUse", tool_name=name, tool_input=given, tool_response=answer)


def edit(project: Project, path: str, start: int, count: int, **more: Any) -> None:
    tool(
        project,
        "Edit",
        {"file_path": f"{project.root}/{path}", "old_string": "a", "new_string": "b", **more},
        {"filePath": path, "structuredPatch": [{"newStart": start, "newLines": count}]},
    )


def bash(project: Project, command: str, out: str = "", err: str = "") -> None:
    tool(project, "Bash", {"command": command}, {"stdout": out, "stderr": err})


def rows(project: Project) -> list[dict[str, Any]]:
    """All observations, in order."""
    return list(json.loads(project.call("export")[1]).get("observations", []))


def told(project: Project) -> list[tuple[str, str]]:
    return [(row["type"], row["title"]) for row in rows(project)]


def process(
    arguments: list[str], given: bytes, cwd: Path, **environ: str
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "pipeline.hook", *arguments],
        input=given, cwd=cwd, capture_output=True, check=False,
        env={**os.environ, "PYTHONPATH": str(Path(hook.__file__).parents[1]), **environ},
    )  # fmt: skip


def context(project: Project, source: str = "startup") -> str:
    """What the agent is told when a session begins."""
    answer = fire(project, "SessionStart", source=source)
    told_of = (answer or {}).get("hookSpecificOutput", {})
    return str(told_of.get("additionalContext", ""))


def failed(project: Project, command: str, error: str, tool_name: str = "Bash") -> None:
    fire(
        project, "PostToolUseFailure",
        tool_name=tool_name, tool_input={"command": command}, error=error, is_interrupt=False,
    )  # fmt: skip
