"""Transcripts in their real formats, written where the agents keep them."""

from __future__ import annotations

import json
import uuid
from datetime import datetime, timedelta
from pathlib import Path


def write_session(
    home: Path, kind: str, session: str, start: datetime, said: list[tuple[str, str]]
) -> Path:
    """One transcript in its real format; returns its path."""
    make = _claude_code if kind == "claude-code" else _pi
    path, lines = make(home, session, start, said)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def _claude_code(
    home: Path, session: str, start: datetime, said: list[tuple[str, str]]
) -> tuple[Path, list[dict[str, object]]]:
    parent = None
    lines: list[dict[str, object]] = []
    for number, (role, text) in enumerate(said):
        own = str(uuid.uuid5(uuid.UUID(session), str(number)))
        message: dict[str, object] = {"role": role, "content": text}
        if role == "assistant":
            message |= {"id": f"msg_{number}", "content": [{"type": "text", "text": text}]}
        lines.append(
            {
                "parentUuid": parent,
                "isSidechain": False,
                "userType": "external",
                "cwd": "/home/dev/code",
                "sessionId": session,
                "version": "2.1.17",
                "type": role,
                "message": message,
                "uuid": own,
                "timestamp": stamp(start, number),
            }
        )
        parent = own
    return home / ".claude" / "projects" / "-home-dev-code" / f"{session}.jsonl", lines


def _pi(
    home: Path, session: str, start: datetime, said: list[tuple[str, str]]
) -> tuple[Path, list[dict[str, object]]]:
    lines: list[dict[str, object]] = [
        {
            "type": "session",
            "version": 3,
            "id": session,
            "timestamp": stamp(start, 0),
            "cwd": "/home/dev/code",
        }
    ]
    parent = None
    for number, (role, text) in enumerate(said):
        own = f"{number:08x}"
        at = start + timedelta(minutes=number)
        lines.append(
            {
                "type": "message",
                "id": own,
                "parentId": parent,
                "timestamp": stamp(start, number),
                "message": {
                    "role": role,
                    "content": [{"type": "text", "text": text}],
                    "timestamp": int(at.timestamp() * 1000),
                },
            }
        )
        parent = own
    name = f"{start:%Y-%m-%dT%H-%M-%S-000Z}_{session}.jsonl"
    return home / ".pi" / "agent" / "sessions" / "--home-dev-code--" / name, lines


def stamp(start: datetime, minutes: int) -> str:
    """ISO with milliseconds, as both agents write it."""
    return f"{start + timedelta(minutes=minutes):%Y-%m-%dT%H:%M:%S}.000Z"
